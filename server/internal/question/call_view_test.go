package question_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// viewOf returns the view of a posted call, and the status that contains it.
func viewOf(t *testing.T, tool, arguments string) (schema.CallView, []byte) {
	t.Helper()
	ask := fmt.Sprintf(`{"type":"permission","question":"May I?","toolCall":{"name":%q,"arguments":%s},"context":{"cwd":"/srv"}}`, tool, arguments)
	status := newRow(t, nil, ask).snapshot().Question.Event.Status
	var st schema.Status
	require.NoError(t, json.Unmarshal(status, &st))
	require.NotNil(t, st.View)
	return *st.View, status
}

// cut returns the text at a place as JavaScript cuts it out.
func cut(text string, p schema.CallPlace) string {
	units := utf16.Encode([]rune(text))
	if p.To == 0 {
		return text
	}
	return string(utf16.Decode(units[p.From:p.To]))
}

func TestCallView(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, tool, arguments, view string }{
		{
			"commands, directories and files", "Bash", `{"command":"ls; cd /tmp && rm -r x"}`,
			`{"lines":[{"at":"/command","shell":"sh"}],"commands":[{"at":"/command","to":2,"program":"ls"},` +
				`{"at":"/command","from":4,"to":6,"program":"cd"},{"at":"/command","from":15,"to":17,"program":"rm","dir":"/tmp"}],` +
				`"files":[{"at":"/command","from":21,"to":22,"path":"/tmp/x","op":"delete"}]}`,
		},
		{
			"list of words", "shell", `{"command":["bash","-lc","id"]}`,
			`{"lines":[{"at":"/command","shell":"sh","text":"bash -lc id"}],` +
				`"commands":[{"at":"/command/0","program":"bash"},{"at":"/command/2","program":"id"}]}`,
		},
		{
			"JSON in a text", "tool_call", `{"name":"Bash","arguments":"{\"command\":\"id\"}"}`,
			`{"lines":[{"at":"/arguments","shell":"sh","text":"id"}],"commands":[{"at":"/arguments","program":"id"}]}`,
		},
		{
			"equal names", "Bash", `{"command":"ls","command":"./evil.sh"}`,
			`{"lines":[{"at":"/command","shell":"sh","text":"ls"},{"at":"/command","shell":"sh","text":"./evil.sh"}],` +
				`"commands":[{"at":"/command","program":"ls"},{"at":"/command","program":"./evil.sh"}],` +
				`"unread":[{"at":"/command","reason":"the argument command is there twice"}],` +
				`"source":"{\"command\":\"ls\",\"command\":\"./evil.sh\"}"}`,
		},
		{
			"number twice", "pay", `{"to":{"n":1,"n":9007199254740993}}`, `{"source":"{\"to\":{\"n\":1,\"n\":9007199254740993}}"}`,
		},
		{
			"half a character is no second name", "pay", `{"note":"\ud83d"}`, `{}`,
		},
		{
			"redacted word", "Bash", `{"command":"PASSWORD=[redacted:password] ./deploy"}`,
			`{"lines":[{"at":"/command","shell":"sh"}],"commands":[{"at":"/command","from":29,"to":37,"program":"./deploy"}]}`,
		},
		{
			"unread part", "Bash", `{"command":"ls; $TOOL x"}`,
			`{"lines":[{"at":"/command","shell":"sh"}],"commands":[{"at":"/command","to":2,"program":"ls"},` +
				`{"at":"/command","from":4,"to":9,"program":"…"}],` +
				`"unread":[{"at":"/command","from":4,"to":9,"reason":"the program is known only at run time"}]}`,
		},
		{
			"host and file", "WebFetch", `{"url":"https://example.com/a"}`,
			`{"hosts":[{"at":"/url","name":"example.com","method":"GET"}]}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			view, _ := viewOf(t, c.tool, c.arguments)
			got, err := json.Marshal(view)
			require.NoError(t, err)
			require.JSONEq(t, c.view, string(got))
		})
	}
}

func TestCallView_OffsetsCountAsJavaScriptDoes(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"😀", "e\u0301", "世界", "\ufffd", "\U0010ffff\u00e9", `\ud83d\ude00`, `\ud83d`} {
		arguments := `{"command":"echo ` + before + `; rm ` + before + `"}`
		fixed, _ := schema.ReplaceHalfSurrogates([]byte(arguments)) // as the hub stores it
		var args struct{ Command string }
		require.NoError(t, json.Unmarshal(fixed, &args))
		view, _ := viewOf(t, "Bash", string(fixed))
		require.Len(t, view.Commands, 2)
		require.Equal(t, "rm", cut(args.Command, view.Commands[1].CallPlace))
		require.NotZero(t, view.Commands[1].To)
	}
}

func TestCallView_InexactTextHasNoOffsets(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"\xe2\x82", "\xff", `\ud83d`} {
		view, status := viewOf(t, "Bash", `{"command":"echo `+before+`; rm x"}`)
		require.Len(t, view.Commands, 2)
		require.Equal(t, schema.CallPlace{At: "/command"}, view.Commands[1].CallPlace)
		require.NotEmpty(t, view.Lines[0].Text, "%s", status)
	}
}

func TestCallView_IsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5000)
	for name, arguments := range map[string]string{
		"commands": `{"command":"` + strings.Repeat("$A /tmp/a >/tmp/b; ", 3000) + `"}`,
		"names":    `{"` + long[:400] + `":{"paths":["/a` + strings.Repeat(`","/a`, 20) + `"]}}`,
		"texts":    `{"command":["` + long + `","` + long + `"],"file_path":"/` + long + `"}`,
	} {
		view, status := viewOf(t, "unknown", arguments)
		require.Less(t, len(status), 40<<10, name)
		require.Positive(t, view.Omitted, name)
		require.Empty(t, view.Commands, "all or none")
	}
	view, _ := viewOf(t, "unknown", `{"`+long+`":{"command":"$A"}}`)
	require.Equal(t, []schema.CallUnread{{Reason: "the program is known only at run time"}}, view.Unread, "a long pointer is left out")
	require.Equal(t, "$A", view.Lines[0].Text)
}
