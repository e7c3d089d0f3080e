package hub

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/redact"
)

// referringQuestion asks about the call whose arguments are in the payload.
const referringQuestion = `{"question":"May I?","type":"permission","toolCall":{"name":"","argumentsRef":"/tool_input"}}`

// withTool sets the event's tool_name.
func withTool(event, tool string) string {
	return strings.Replace(event, `{`, `{"tool_name":"`+tool+`",`, 1)
}

// A call that refers to its arguments is the same as one that contains them.
func TestArgumentsRef_EqualsArguments(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	payload := `{"tool_name":"Bash","tool_input":{"command":"git push -f"},"tool_use_id":"t"}`
	whole := h.post(questionEvent(questionAbout(`{"name":"Bash","arguments":{"command":"git push -f"}}`, ""), payload))
	referring := h.post(withTool(questionEvent(referringQuestion, payload), "Bash"))
	e := decodeEvent(t, referring.JSON)
	require.Equal(t, "Bash", e.HumanInTheLoop.ToolCall.Name)
	require.Empty(t, e.HumanInTheLoop.ToolCall.Arguments, "they are stored once, in the payload")
	st := h.status(referring.ID)
	require.Equal(t, schema.HighRisk, st.Risk)
	require.Equal(t, "git push -f", st.Findings[0].Excerpt)
	require.Equal(t, 2, h.status(whole.ID).Waiters, "both are one request")

	other := h.post(withTool(questionEvent(referringQuestion, strings.Replace(payload, "-f", "-n", 1)), "Bash"))

	require.Equal(t, 2, h.status(whole.ID).Waiters, "other arguments are another request")

	edit := approval()
	edit.ModifiedArguments = []byte(`{"command":"git push"}`)
	_, err := h.Respond(t.Context(), other.ID, edit, Caller{})
	require.ErrorIs(t, err, schema.ErrWrongAnswer)
}

func TestArgumentsRef_LargeArguments(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	arguments := `{"file_path":"/srv/a","content":"` + strings.Repeat("0123456789abcde\\n", 300_000) + `"}`
	saved := h.post(withTool(questionEvent(referringQuestion, `{"tool_input":`+arguments+`}`), "Write"))
	e := decodeEvent(t, saved.JSON)
	require.NoError(t, e.HumanInTheLoop.ToolCall.ResolveArguments(e.Payload, ""))
	require.Equal(t, arguments, string(e.HumanInTheLoop.ToolCall.Arguments))
	require.Less(t, len(saved.JSON), len(arguments)+64<<10)
	listed, err := h.query.Recent(t.Context(), 10, query.Summaries)
	require.NoError(t, err)
	require.Contains(t, string(listed), `"argumentsRef":"/tool_input"`, "lists have the question")
	answered, err := h.Respond(t.Context(), saved.ID, approval(), Caller{})
	require.NoError(t, err)
	require.NotEmpty(t, answered)
}

func TestArgumentsRef_IsRedacted(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(c *Config) { c.Redactor = redact.New() })
	secret := "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
	saved := h.post(withTool(questionEvent(referringQuestion, `{"tool_input":{"command":"rm -rf / # `+secret+`"}}`), "Bash"))
	require.NotContains(t, string(saved.JSON), secret)
	require.Contains(t, string(saved.JSON), schema.RedactedPrefix)
	require.Equal(t, schema.CriticalRisk, h.status(saved.ID).Risk)
}

// A reference that does not resolve never becomes a question without arguments.
func TestArgumentsRef_InvalidIsRejected(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	for _, call := range []string{
		`{"argumentsRef":"/missing"}`, `{"argumentsRef":"tool_input"}`, `{"argumentsRef":"/../humanInTheLoop"}`, `{"argumentsRef":"/tool_name"}`,
		`{"argumentsRef":"/twice"}`, `{"argumentsRef":"/tool_input","editable":true}`, `{"argumentsRef":"/tool_input","arguments":{"command":"ls"}}`,
		`{"arguments_ref":"/missing"}`, `{"argumentsRef":7}`, `{"name":"Bash","argumentsRef":"/tool_input/command"}`,
	} {
		body := withTool(questionEvent(questionAbout(call, ""), `{"tool_name":"Bash","tool_input":{"command":"rm -rf /"},"twice":{},"twice":{}}`), "Bash")
		_, err := h.Ingest(t.Context(), []byte(body), Caller{})
		require.ErrorIs(t, err, schema.ErrInvalid, call)
	}
	_, err := h.Ingest(t.Context(), []byte(questionEvent(referringQuestion, `{"tool_input":{}}`)), Caller{})
	require.ErrorIs(t, err, schema.ErrInvalid, "no tool name")
}
