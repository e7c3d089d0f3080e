package hub

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
)

// A hook names its event after the directory, which the model changes while it works.
func TestIngest_SessionKeepsItsApplication(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	post := func(caller Caller, agent, app, payload string) schema.Event {
		body := fmt.Sprintf(`{"session_id":"s1","\u0073ource_app":%q,"agent":%q,"hook_event_type":"Stop","payload":%s,"summary":"x"}`, app, agent, payload)
		saved, err := h.Ingest(t.Context(), []byte(body), caller)
		require.NoError(t, err)
		return decodeEvent(t, saved.JSON)
	}
	require.Equal(t, "shop", post(Caller{}, "qwen", "shop", `{"cwd":"/home/dev/shop"}`).SourceApp)
	moved := post(Caller{}, "qwen", "api", `{"cwd":"/home/dev/shop/services/api/"}`)
	require.Equal(t, "shop", moved.SourceApp)
	require.Equal(t, "x", moved.Summary)
	require.Equal(t, "shop", post(Caller{}, "qwen", "b", `{"workspace_roots":["/home/dev/a","C:\\dev\\b"]}`).SourceApp)
	require.Equal(t, "shop", post(Caller{}, "qwen", "qwen", `{}`).SourceApp, "without a directory it has the agent's name")
	require.Equal(t, "chosen", post(Caller{}, "qwen", "chosen", `{"cwd":"/home/dev/shop"}`).SourceApp, "by a person")
	require.Equal(t, "api", post(Caller{}, "codex", "api", `{"cwd":"/srv/api"}`).SourceApp, "another agent's session")
	require.Equal(t, "api", decodeEvent(t, h.post(`{"source_app":"api","session_id":"s1","hook_event_type":"Stop","payload":{"cwd":"/srv/api"}}`).JSON).SourceApp, "no coding agent")

	token := Caller{Identity: auth.Identity{Name: "build", Agent: true, Via: "token", Apps: []string{"api"}}}
	require.Equal(t, "api", post(token, "qwen", "api", `{"cwd":"/srv/api"}`).SourceApp, "the token is not valid for shop")
	h.Hub = New(h.Config) // without the memory of the first one
	require.Equal(t, "shop", post(Caller{}, "qwen", "api", `{"cwd":"/srv/api"}`).SourceApp, "after a restart")
}

func TestSessionApp_QuestionIsClosedAfterChangeOfDirectory(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	asked := withQuestion(hookEvent(t, "PermissionRequest", rmCall, `"cwd":"/home/dev/a"`))
	id := h.send(asked)
	ran := hookEvent(t, "PostToolUse", rmCall, `"cwd":"/home/dev/a/services/api"`)
	ran.SourceApp = "api"
	h.send(ran)
	require.Equal(t, reasonRan, h.status(id).Reason)
}
