package schema

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestToolCall_ResolveArguments(t *testing.T) {
	t.Parallel()
	const payload = `{"tool_name":"Write","tool_input":{"file_path":"/w/a","n":1.50},"a/b":{"~":{"x":[{"y":1},{"y":2}]}},"twice":{"a":1},"twice":{"a":2},"list":[1],"":{"z":1},"null":null}`
	for ref, want := range map[string]string{
		"/tool_input":               `{"file_path":"/w/a","n":1.50}`,
		"/a~1b/~0/x/1":              `{"y":2}`,
		"/":                         `{"z":1}`,
		"/twice":                    "", // the agent could run the other one
		"/twice/a":                  "",
		"/tool_name":                "", // no object
		"/null":                     "",
		"/list":                     "",
		"/list/0":                   "",
		"/list/01":                  "",
		"/list/-1":                  "",
		"/missing":                  "",
		"/tool_input/../..":         "",
		"tool_input":                "",
		"#/tool_input":              "",
		"../toolCall":               "",
		"//":                        "",
		strings.Repeat("/a", 1<<20): "",
	} {
		c := ToolCall{ArgumentsRef: ref, ID: "t1"}
		err := c.ResolveArguments(json.RawMessage(payload), "Write")
		if want == "" {
			require.ErrorIs(t, err, ErrInvalid, "%.40s", ref)
			require.Nil(t, c.Arguments)
			continue
		}
		require.NoError(t, err, ref)
		require.Equal(t, want, string(c.Arguments))
		require.Equal(t, "Write", c.Name)
	}
	both := ToolCall{ArgumentsRef: "/tool_input", Arguments: json.RawMessage(`{"file_path":"/tmp/harmless"}`)}
	require.ErrorIs(t, both.ResolveArguments(json.RawMessage(payload), "Write"), ErrInvalid, "one call can't show two sets of arguments")
	require.NoError(t, (*ToolCall)(nil).ResolveArguments(nil, ""))
	require.NoError(t, (&ToolCall{Name: "x"}).ResolveArguments(nil, ""))
}

func TestHumanInTheLoop_ArgumentsRefIsNotEditable(t *testing.T) {
	t.Parallel()
	q := HumanInTheLoop{Question: "?", Type: Permission, ToolCall: &ToolCall{ArgumentsRef: "/tool_input"}}
	require.NoError(t, q.Validate())
	q.ToolCall.Editable = true
	require.ErrorIs(t, q.Validate(), ErrInvalid)
}
