package jsonc_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/install/jsonc"
)

// newObject returns an object with alternating names and values.
func newObject(pairs ...any) any {
	var all jsonc.Fields
	for i := 0; i < len(pairs); i += 2 {
		all = all.With(pairs[i].(string), pairs[i+1])
	}
	return all
}

// minify returns content without comments and white space.
func minify(content string) (string, error) {
	d, err := jsonc.Parse(content)
	if err != nil {
		return "", err
	}
	return jsonc.Minify(d.Lookup()), nil
}

// minifyValue returns the minified form of a value as in jsonc.Fields.
func minifyValue(t *testing.T, v any) string {
	t.Helper()
	d, err := jsonc.Parse(`{"v": ` + jsonc.OneLine(v) + "}")
	require.NoError(t, err)
	return jsonc.Minify(d.Lookup("v"))
}

// countMembers returns the number of members of the container at path.
func countMembers(content string, path []string) (int, error) {
	d, err := jsonc.Parse(content)
	if err != nil {
		return 0, err
	}
	return len(jsonc.Members(d.Lookup(path...))), nil
}

var hookEntry = newObject("matcher", "a|b", "hooks", []any{
	newObject("command", "[ -x '/x y' ] && { exec z; }", "args", []string{"hook", "x"}, "timeout", 10, "async", true),
})

func TestAddEntry_FollowsFileLayout(t *testing.T) {
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
		"tabs, comment after the last entry": {
			"{\n\t\"a\": 1 // one\n}\n",
			"{\n\t\"a\": 1, // one\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{\n\t\t\t\t\"n\": 1\n\t\t\t}\n\t\t]\n\t}\n}\n",
		},
		"trailing comma": {
			"{\n    \"a\": 1, /* one */ // and\n    // end\n}",
			"{\n    \"a\": 1, /* one */ // and\n    \"hooks\": {\n        \"Stop\": [\n            {\n                \"n\": 1\n            }\n        ]\n    },\n    // end\n}",
		},
		"existing container": {
			"{\n  \"hooks\": {\n    \"Stop\": [\n      {\"theirs\": true}\n    ]\n  }\n}",
			"{\n  \"hooks\": {\n    \"Stop\": [\n      {\"theirs\": true},\n      {\n        \"n\": 1\n      }\n    ]\n  }\n}",
		},
		"existing one-line container in a multi-line file": {
			"{\n  \"hooks\": {\"Stop\": [{\"theirs\": true}]}\n}",
			"{\n  \"hooks\": {\"Stop\": [{\"theirs\": true}, {\"n\": 1}]}\n}",
		},
		"a comment without a line end after the settings": {
			"{\"a\": 1} // end",
			"{\"a\": 1, \"hooks\": {\"Stop\": [{\"n\": 1}]}} // end",
		},
		"a name with an escape": {
			`{"\u0068ooks": {"Stop": [ ]}}`,
			"{\"\\u0068ooks\": {\"Stop\": [\n  {\n    \"n\": 1\n  }\n ]}}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var trace jsonc.Insertion
			after, err := jsonc.AddEntry(test.before, []string{"hooks", "Stop"}, newObject("n", 1), &trace)
			require.NoError(t, err)
			require.Equal(t, test.after, after)
			require.Equal(t, test.before, cutInserted(t, after, [][]string{{"hooks", "Stop"}}, trace))
		})
	}
}

// cutInserted removes the last entry of each path's array and the created parents.
func cutInserted(t testing.TB, content string, paths [][]string, trace jsonc.Insertion) string {
	t.Helper()
	for i := len(paths) - 1; i >= 0; i-- {
		n, err := countMembers(content, paths[i])
		require.NoError(t, err)
		content, err = jsonc.CutMember(content, paths[i], n-1, &trace)
		require.NoError(t, err)
	}
	content, err := jsonc.RemoveCreatedParents(content, &trace)
	require.NoError(t, err)
	require.Empty(t, trace.CreatedPaths)
	return content
}

func TestCutMember_KeepsForeignEdits(t *testing.T) {
	t.Parallel()
	var trace jsonc.Insertion
	content, err := jsonc.AddEntry("{}", []string{"hooks", "Stop"}, newObject("n", 1), &trace)
	require.NoError(t, err)
	content = strings.Replace(content, "\n    ]", ",\n      {\"theirs\": 1} // mine\n    ]", 1)
	content, err = jsonc.CutMember(content, []string{"hooks", "Stop"}, 0, &trace)
	require.NoError(t, err)
	content, err = jsonc.RemoveCreatedParents(content, &trace)
	require.NoError(t, err)
	require.Equal(t, "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"theirs\": 1} // mine\n    ]\n  }\n}", content)
	require.Len(t, trace.CreatedPaths, 2, "both containers are still in use")
}

func TestCutMember_KeepsPrecedingComment(t *testing.T) {
	t.Parallel()
	content := "[\n  1, // one\n  2, 3\n]"
	content = `{"a": ` + content + `}`
	after, err := jsonc.CutMember(content, []string{"a"}, 1, nil)
	require.NoError(t, err)
	require.Equal(t, "{\"a\": [\n  1, // one\n   3\n]}", after)
}

func TestCutMember_WithoutRecordCollapsesList(t *testing.T) {
	t.Parallel()
	for before, want := range map[string]string{
		"{\"a\": [\n  1\n]}":           `{"a": []}`,
		"{\"a\": [\n  1, \n]}":         `{"a": []}`,
		"{\"a\": [\n  1 // why\n]}":    "{\"a\": [ // why\n]}",
		"{\"a\": [/* why */\n  1\n]}":  "{\"a\": [/* why */\n]}",
		"{\"a\": [0, /* why */ 1]}":    "{\"a\": [0 /* why */]}",
		"{\"a\": [0, /* why */ 1 , ]}": "{\"a\": [0, /* why */  ]}",
	} {
		last, err := countMembers(before, []string{"a"})
		require.NoError(t, err)
		after, err := jsonc.CutMember(before, []string{"a"}, last-1, nil)
		require.NoError(t, err)
		require.Equal(t, want, after)
	}
}

func TestReplaceMember_KeepsSurroundings(t *testing.T) {
	t.Parallel()
	before := "{\n  \"a\": [ // list\n    {\"old\": [1, 2]}, // ours\n    3\n  ]\n}"
	after, err := jsonc.ReplaceMember(before, []string{"a"}, 0, newObject("new", "a && b <c>"))
	require.NoError(t, err)
	require.Equal(t, "{\n  \"a\": [ // list\n    {\n      \"new\": \"a && b <c>\"\n    }, // ours\n    3\n  ]\n}", after)
}

func TestSetMember_AddsOnce(t *testing.T) {
	t.Parallel()
	var trace jsonc.Insertion
	after, err := jsonc.SetMember("{}\n", "version", 1, &trace)
	require.NoError(t, err)
	require.Equal(t, "{\n  \"version\": 1\n}\n", after)
	again, err := jsonc.SetMember(after, "version", 2, &trace)
	require.NoError(t, err)
	require.Equal(t, after, again)
	full, err := jsonc.AddEntry(after, []string{"hooks", "stop"}, 1, &trace)
	require.NoError(t, err)
	kept, err := jsonc.RemoveCreatedParents(full, &trace)
	require.NoError(t, err)
	require.Equal(t, full, kept, "a version that foreign entries need stays")
	require.Equal(t, "{}\n", cutInserted(t, full, [][]string{{"hooks", "stop"}}, trace))
}

func TestParse_ReportsSyntaxErrorPosition(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"":                                    "line 1, column 1: the file is empty",
		" \n ":                                "line 2, column 2: the file is empty",
		"[]":                                  "line 1, column 1: the settings must be an object",
		"{\"a\": 1,\n \"ä\": 2, \"a\": 3}":    `line 2, column 10: duplicate name "a"`,
		"{\"a\": {\"x\": 1, \"\\u0078\": 2}}": `line 1, column 16: duplicate name "x"`,
		"{\"a\" 1}":                           "line 1, column 6: invalid character '1' after object name",
		"{\"a\": }":                           "line 1, column 7: invalid character '}' at start of value",
		"{\"a\":":                             "line 1, column 1: this { has no matching }",
		"{\"a\": 01}":                         "line 1, column 7: invalid literal: 01",
		"{\"a\": nul}":                        "line 1, column 7: invalid literal: nul",
		"{'a': 1}":                            `line 1, column 2: invalid character '\'' at start of value`,
		"{\"a\": 1 \"b\": 2}":                 "line 1, column 9: invalid character '\"' after object value",
		"{\n  \"a\": [1, 2\n}":                "line 3, column 1: invalid character '}' after array value",
		"{\"a\": [1,,2]}":                     "line 1, column 10: invalid character ',' at start of value",
		"{,}":                                 "line 1, column 2: invalid character ',' at start of value",
		"{":                                   "line 1, column 1: this { has no matching }",
		"{\"a\": \"x":                         "line 1, column 7: the string is not closed",
		"{\"a\": \"x\ny\"}":                   "line 1, column 9: a string must not contain control characters",
		"{\"a\": \"\\x\"}":                    "line 1, column 7: the string has an escape",
		"{} {}":                               "line 1, column 4: invalid character '{' after top-level value",
		"{ /* }":                              "line 1, column 3: the comment is not closed",
		"{ // a\rb\n}":                        "line 1, column 7: parsers disagree",
		"{\n\"\xff\": 1}":                     "line 2, column 2: the text is not valid UTF-8",
		"\ufeff{x}":                           "line 1, column 2: invalid literal: x",
		"{\"ä\": 1,\n \"ä\" 2}":               "line 2, column 6: invalid character '2' after object name",
		strings.Repeat(`{"a":`, 300):          "line 1, column 1006: nested too deeply",
		"{ // isn't \"\n" + strings.Repeat(`"a":[`, 1<<20): "line 2, column 1005: nested too deeply",
	} {
		_, err := minify(content)
		var syntax *jsonc.SyntaxError
		require.ErrorAs(t, err, &syntax, "%q", content)
		require.Contains(t, err.Error(), want, "%q", content)
		require.Positive(t, syntax.Line)
	}
}

func TestAddEntry_RejectsWrongShape(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		`{"hooks": null}`:         "line 1, column 11: hooks must be an object",
		`{"hooks": []}`:           "line 1, column 11: hooks must be an object",
		`{"hooks": {"Stop": {}}}`: "line 1, column 20: hooks.Stop must be an array",
	} {
		_, err := jsonc.AddEntry(content, []string{"hooks", "Stop"}, 1, &jsonc.Insertion{})
		var syntax *jsonc.SyntaxError
		require.ErrorAs(t, err, &syntax)
		require.Contains(t, err.Error(), want)
	}
}

// FuzzInsertion_RoundTrip checks for any parsable file that adding entries changes nothing
// else, and that removing them restores every byte.
func FuzzInsertion_RoundTrip(f *testing.F) {
	for _, seed := range []string{
		"{}", "{ }", "{\n}", "{ // a\n}", "{/**/}", "\ufeff{\r\n\t\"hooks\": { } // x\r\n}\r\n", `{"a":1,}`, `{"a":1 /*b*/ , /*c*/ }`,
		`{"hooks":{"PreToolUse":[{"hooks":[]},],"Stop":[]},"z":[1,2,{"x":"\u0000"}]}`, "{\"a\": 1 // one\r\n\r\n}", "{\"hooks\":\n{\n\"Stop\"\n:[\n]}}",
		"{\n  \"a\": 1, // one\n  \"hooks\": {\n    // none\n  },\n}", "{\"version\":2,\"hooks\":{\"Stop\":[1 // x\n]}}",
	} {
		f.Add(seed)
	}
	paths := [][]string{{"hooks", "PreToolUse"}, {"hooks", "Stop"}, {"hooks", "PreToolUse"}, {"hooks", "SessionEnd"}}
	f.Fuzz(func(t *testing.T, before string) {
		meant, err := minify(before)
		if err != nil {
			t.Skip()
		}
		var trace jsonc.Insertion
		content, err := jsonc.SetMember(before, "version", 1, &trace)
		require.NoError(t, err)
		for _, path := range paths {
			if content, err = jsonc.AddEntry(content, path, hookEntry, &trace); err != nil {
				var syntax *jsonc.SyntaxError
				require.ErrorAs(t, err, &syntax, "only a value of the wrong kind is an error")
				return
			}
		}
		full, err := minify(content)
		require.NoError(t, err)
		require.Equal(t, len(paths), strings.Count(full, minifyValue(t, hookEntry))-strings.Count(meant, minifyValue(t, hookEntry)))
		require.Equal(t, before, cutInserted(t, content, paths, trace))
	})
}
