package install_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/install"
)

var obj = install.Object

var hooked = obj("matcher", "a|b", "hooks", []any{
	obj("command", "[ -x '/x y' ] && { exec z; }", "args", []string{"hook", "x"}, "timeout", 10, "async", true),
})

func TestAnEntryIsWrittenAsTheFileIs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ before, after string }{
		"empty": {
			"{}",
			"{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"n\": 1\n      }\n    ]\n  }\n}",
		},
		"empty, line end, BOM, CRLF": {
			"\ufeff{\r\n}\r\n",
			"\ufeff{\r\n  \"hooks\": {\r\n    \"Stop\": [\r\n      {\r\n        \"n\": 1\r\n      }\r\n    ]\r\n  }\r\n}\r\n",
		},
		"one line": {
			`{"a":1e0 , "b": "\u00e4\/"}`,
			`{"a":1e0 , "b": "\u00e4\/", "hooks": {"Stop": [{"n": 1}]}}`,
		},
		"tabs, a comment behind the last entry": {
			"{\n\t\"a\": 1 // one\n}\n",
			"{\n\t\"a\": 1, // one\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{\n\t\t\t\t\"n\": 1\n\t\t\t}\n\t\t]\n\t}\n}\n",
		},
		"a comma behind the last entry": {
			"{\n    \"a\": 1, /* one */ // and\n    // end\n}",
			"{\n    \"a\": 1, /* one */ // and\n    \"hooks\": {\n        \"Stop\": [\n            {\n                \"n\": 1\n            }\n        ]\n    },\n    // end\n}",
		},
		"the container is there": {
			"{\n  \"hooks\": {\n    \"Stop\": [\n      {\"theirs\": true}\n    ]\n  }\n}",
			"{\n  \"hooks\": {\n    \"Stop\": [\n      {\"theirs\": true},\n      {\n        \"n\": 1\n      }\n    ]\n  }\n}",
		},
		"the container is there, on one line in a file of many": {
			"{\n  \"hooks\": {\"Stop\": [{\"theirs\": true}]}\n}",
			"{\n  \"hooks\": {\"Stop\": [{\"theirs\": true}, {\"n\": 1}]}\n}",
		},
		"a name with an escape": {
			`{"\u0068ooks": {"Stop": [ ]}}`,
			"{\"\\u0068ooks\": {\"Stop\": [\n  {\n    \"n\": 1\n  }\n ]}}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var trace install.Trace
			after, err := install.Add(test.before, []string{"hooks", "Stop"}, obj("n", 1), &trace)
			require.NoError(t, err)
			require.Equal(t, test.after, after)
			require.Equal(t, test.before, takeOut(t, after, [][]string{{"hooks", "Stop"}}, trace))
		})
	}
}

// takeOut removes the last entry of each path's array, and what was made for it.
func takeOut(t testing.TB, content string, paths [][]string, trace install.Trace) string {
	t.Helper()
	for i := len(paths) - 1; i >= 0; i-- {
		n, err := install.Members(content, paths[i])
		require.NoError(t, err)
		content, err = install.Cut(content, paths[i], n-1, &trace)
		require.NoError(t, err)
	}
	content, err := install.Unmake(content, &trace)
	require.NoError(t, err)
	require.Empty(t, trace.Made)
	return content
}

func TestOthersMayEditInBetween(t *testing.T) {
	t.Parallel()
	var trace install.Trace
	content, err := install.Add("{}", []string{"hooks", "Stop"}, obj("n", 1), &trace)
	require.NoError(t, err)
	content = strings.Replace(content, "\n    ]", ",\n      {\"theirs\": 1} // mine\n    ]", 1)
	content, err = install.Cut(content, []string{"hooks", "Stop"}, 0, &trace)
	require.NoError(t, err)
	content, err = install.Unmake(content, &trace)
	require.NoError(t, err)
	require.Equal(t, "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"theirs\": 1} // mine\n    ]\n  }\n}", content)
	require.Len(t, trace.Made, 2, "both are still in use")
}

func TestAnEntryBehindACommentStaysOnItsLine(t *testing.T) {
	t.Parallel()
	content := "[\n  1, // one\n  2, 3\n]"
	content = `{"a": ` + content + `}`
	after, err := install.Cut(content, []string{"a"}, 1, nil)
	require.NoError(t, err)
	require.Equal(t, "{\"a\": [\n  1, // one\n   3\n]}", after)
}

func TestWithoutATraceAnEmptiedListIsClosed(t *testing.T) {
	t.Parallel()
	for before, want := range map[string]string{
		"{\"a\": [\n  1\n]}":           `{"a": []}`,
		"{\"a\": [\n  1, \n]}":         `{"a": []}`,
		"{\"a\": [\n  1 // why\n]}":    "{\"a\": [ // why\n]}",
		"{\"a\": [/* why */\n  1\n]}":  "{\"a\": [/* why */\n]}",
		"{\"a\": [0, /* why */ 1]}":    "{\"a\": [0 /* why */]}",
		"{\"a\": [0, /* why */ 1 , ]}": "{\"a\": [0, /* why */  ]}",
	} {
		last, err := install.Members(before, []string{"a"})
		require.NoError(t, err)
		after, err := install.Cut(before, []string{"a"}, last-1, nil)
		require.NoError(t, err)
		require.Equal(t, want, after)
	}
}

func TestReplaceKeepsWhatStandsAround(t *testing.T) {
	t.Parallel()
	before := "{\n  \"a\": [ // list\n    {\"old\": [1, 2]}, // ours\n    3\n  ]\n}"
	after, err := install.Replace(before, []string{"a"}, 0, obj("new", "a && b <c>"))
	require.NoError(t, err)
	require.Equal(t, "{\n  \"a\": [ // list\n    {\n      \"new\": \"a && b <c>\"\n    }, // ours\n    3\n  ]\n}", after)
}

func TestSetAddsAPlainMemberOnce(t *testing.T) {
	t.Parallel()
	var trace install.Trace
	after, err := install.Set("{}\n", "version", 1, &trace)
	require.NoError(t, err)
	require.Equal(t, "{\n  \"version\": 1\n}\n", after)
	again, err := install.Set(after, "version", 2, &trace)
	require.NoError(t, err)
	require.Equal(t, after, again)
	full, err := install.Add(after, []string{"hooks", "stop"}, 1, &trace)
	require.NoError(t, err)
	kept, err := install.Unmake(full, &trace)
	require.NoError(t, err)
	require.Equal(t, full, kept, "a version that others need stays")
	require.Equal(t, "{}\n", takeOut(t, full, [][]string{{"hooks", "stop"}}, trace))
}

func TestBrokenFilesAreRefusedWithTheirPlace(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"":                                    "line 1, column 1: there is nothing in the file",
		" \n ":                                "line 2, column 2: there is nothing in the file",
		"[]":                                  "line 1, column 1: the settings must be an object",
		"{\"a\": 1,\n \"ä\": 2, \"a\": 3}":    `line 2, column 10: "a" is there twice`,
		"{\"a\": {\"x\": 1, \"\\u0078\": 2}}": `line 1, column 16: "x" is there twice`,
		"{\"a\" 1}":                           "line 1, column 6: a colon is missing",
		"{\"a\": }":                           `line 1, column 7: a value is wanted here, not "}"`,
		"{\"a\":":                             "line 1, column 6: the text ends where a value is wanted",
		"{\"a\": 01}":                         `line 1, column 7: "01" is no JSON value`,
		"{\"a\": nul}":                        `line 1, column 7: "nul" is no JSON value`,
		"{'a': 1}":                            "line 1, column 2: a name in double quotes",
		"{\"a\": 1 \"b\": 2}":                 "line 1, column 9: a comma or } is missing",
		"{\n  \"a\": [1, 2\n}":                "line 3, column 1: a comma or ] is missing",
		"{\"a\": [1,,2]}":                     `line 1, column 10: a value is wanted here, not ","`,
		"{,}":                                 "line 1, column 2: a name in double quotes",
		"{":                                   "line 1, column 1: this { has no }",
		"{\"a\": \"x":                         "line 1, column 7: this string has no end",
		"{\"a\": \"x\ny\"}":                   "line 1, column 9: a string must not contain",
		"{\"a\": \"\\x\"}":                    "line 1, column 7: this string has an escape",
		"{} {}":                               "line 1, column 4: nothing may follow",
		"{ /* }":                              "line 1, column 3: this comment has no end",
		"{ // a\rb\n}":                        "line 1, column 7: readers differ",
		"{\n\"\xff\": 1}":                     "line 2, column 2: this is not UTF-8",
		"\ufeff{x}":                           "line 1, column 2: a name in double quotes",
		strings.Repeat(`{"a":`, 300):          "line 1, column 1006: nested too deep",
	} {
		_, err := install.Parsed(content)
		var syntax *install.SyntaxError
		require.ErrorAs(t, err, &syntax, "%q", content)
		require.Contains(t, err.Error(), want, "%q", content)
		require.Positive(t, syntax.Line)
	}
}

func TestAWrongShapeIsLeftAlone(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		`{"hooks": null}`:         "line 1, column 11: hooks should be an object",
		`{"hooks": []}`:           "line 1, column 11: hooks should be an object",
		`{"hooks": {"Stop": {}}}`: "line 1, column 20: hooks.Stop should be an array",
	} {
		_, err := install.Add(content, []string{"hooks", "Stop"}, 1, &install.Trace{})
		var syntax *install.SyntaxError
		require.ErrorAs(t, err, &syntax)
		require.Contains(t, err.Error(), want)
	}
}

// FuzzInstallAndUninstall: whatever a readable file holds, adding entries changes
// nothing else, and taking them out gives back every byte.
func FuzzInstallAndUninstall(f *testing.F) {
	for _, seed := range []string{
		"{}", "{ }", "{\n}", "{ // a\n}", "{/**/}", "\ufeff{\r\n\t\"hooks\": { } // x\r\n}\r\n", `{"a":1,}`, `{"a":1 /*b*/ , /*c*/ }`,
		`{"hooks":{"PreToolUse":[{"hooks":[]},],"Stop":[]},"z":[1,2,{"x":"\u0000"}]}`, "{\"a\": 1 // one\r\n\r\n}", "{\"hooks\":\n{\n\"Stop\"\n:[\n]}}",
		"{\n  \"a\": 1, // one\n  \"hooks\": {\n    // none\n  },\n}", "{\"version\":2,\"hooks\":{\"Stop\":[1 // x\n]}}",
	} {
		f.Add(seed)
	}
	paths := [][]string{{"hooks", "PreToolUse"}, {"hooks", "Stop"}, {"hooks", "PreToolUse"}, {"hooks", "SessionEnd"}}
	f.Fuzz(func(t *testing.T, before string) {
		meant, err := install.Parsed(before)
		if err != nil {
			t.Skip()
		}
		var trace install.Trace
		content, err := install.Set(before, "version", 1, &trace)
		require.NoError(t, err)
		for _, path := range paths {
			if content, err = install.Add(content, path, hooked, &trace); err != nil {
				var syntax *install.SyntaxError
				require.ErrorAs(t, err, &syntax, "only a wrong shape may stop it")
				return
			}
		}
		full, err := install.Parsed(content)
		require.NoError(t, err)
		require.Equal(t, len(paths), strings.Count(full, install.PlainOf(hooked))-strings.Count(meant, install.PlainOf(hooked)))
		require.Equal(t, before, takeOut(t, content, paths, trace))
	})
}
