package hookrun

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// The environment must not be able to approve: a grant counts only from the address in the
// command line, and only on this machine or signed: the environment names the proxy and the
// certificate authorities of HTTPS.
func TestGrant_CountsOnlyFromTheHubFlag(t *testing.T) {
	t.Parallel()
	for hub, counts := range map[string]bool{"": false, "http://127.0.0.1:4000": true, "http://hub.example": false, "https://hub.example": false} {
		env := func(name string) string {
			if name == "HOOKBACK_URL" {
				return "http://127.0.0.1:4000"
			}
			return ""
		}
		h := newHookRun(env, cli.Streams{})
		h.selectHub().Hub = hub
		h.selectHub().Unsigned = true
		c := &hook.Call{Tool: &schema.ToolCall{Name: "Bash", Arguments: []byte(`{}`)}}
		require.Equal(t, counts, h.checkGrant(c, &control.Grant{}) == nil, "%q", hub)
	}
}

// The long strings of a call that is too long are cut. A grant for the text that remains does not
// count: a model could have got it for a short call, and append what no one saw.
func TestGrant_CountsOnlyForTheWholeCall(t *testing.T) {
	t.Parallel()
	apply := func(command string) hook.Effect {
		input := `{"session_id":"s1","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"` + command + `"}}`
		h := newHookRun(func(string) string { return "" }, cli.Streams{In: strings.NewReader(input)})
		h.agent, _ = hook.Find("claude-code")
		h.selectHub().Hub, h.selectHub().Unsigned = "http://127.0.0.1:4000", true
		c, _, err := h.readCall()
		require.NoError(t, err)
		grant := &control.Grant{Digest: control.Digest(c.Tool.Name, c.Tool.Arguments)}
		return h.applyDirective(c, &control.Directive{Grant: grant}, hook.Verdict{Effect: hook.Ask}).Effect
	}
	require.Equal(t, hook.Allow, apply("ls"))
	require.Equal(t, hook.Ask, apply(strings.Repeat("x", schema.MaxBody)))
	require.Equal(t, hook.Ask, apply("ls \xff"), "several inputs become this text")
}

// A hub rejects arguments that nest too deep. A freeze stops their call all the same.
func TestFreeze_StopsACallThatTheHubRejects(t *testing.T) {
	t.Parallel()
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set(control.AppliedHeader, control.MinimalReturn)
		if strings.Contains(string(body), strings.Repeat("[", 200)) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, "{}")
			return
		}
		_, _ = io.WriteString(w, `{"id":1,"directive":{"freeze":{"id":1,"by":"Ada"}}}`)
	}))
	t.Cleanup(hub.Close)
	input := `{"session_id":"s1","hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"t1","tool_input":{"x":` +
		strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}}`
	var out bytes.Buffer
	h := newHookRun(func(string) string { return "" }, cli.Streams{In: strings.NewReader(input), Out: &out, Err: io.Discard})
	h.sendTimeout = time.Minute // a busy machine takes longer than an agent may wait
	require.Zero(t, h.run(t.Context(), []string{"claude-code", "--hub", hub.URL}))
	require.Contains(t, out.String(), `"permissionDecision":"deny"`)
	require.Contains(t, out.String(), `"continue":false`)
}
