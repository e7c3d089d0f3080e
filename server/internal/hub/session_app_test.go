package hub

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
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

// A linked git worktree has the name of its main repository, which its path does not contain. Gate facts tell it
// from a name that a person chose.
func TestIngest_LinkedWorktreeMovesNoSession(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	post := func(session, app, cwd, gate string) string {
		body := fmt.Sprintf(`{"session_id":%q,"source_app":%q,"agent":"qwen","hook_event_type":"Stop","payload":{"cwd":%q},"gate":{"client":"1"%s}}`,
			session, app, cwd, gate)
		saved, err := h.Ingest(t.Context(), []byte(body), Caller{})
		require.NoError(t, err)
		return decodeEvent(t, saved.JSON).SourceApp
	}
	const chosen = `,"appChosen":true`
	require.Equal(t, "shop", post("s", "shop", "/home/dev/shop", ""))
	require.Equal(t, "shop", post("s", "api", "/home/dev/fix-1", ""), "a worktree of another project")
	require.Equal(t, "api", post("s", "api", "/home/dev/shop/services/api", chosen), "final, although a directory has that name")
	require.Equal(t, "qwen", post("s", "qwen", "/home/dev/shop", chosen))
	require.Equal(t, "shop", post("s", "api", "/home/dev/fix-1", ""), "the session stays where it began")
	require.Equal(t, "web", post("s2", "web", "/home/dev/fix-2", ""), "a session that began in a worktree")
	require.Equal(t, "web", post("s2", "fix-2", "/home/dev/fix-2", ""))
	require.Equal(t, "team", post("s3", "team", "/home/dev/web", chosen))
	require.Equal(t, "team", post("s3", "api", "/home/dev/fix-1", ""))
}

// An agent that works in the folder of another application, such as the second one of its workspace, stops at the
// freezes of both.
func TestIngest_FreezeOfTheFolderStopsTheCall(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	caller := Caller{Accepts: &control.Accepts{Freeze: true}}
	post := func(app string) (string, *control.Directive) {
		body := fmt.Sprintf(`{"session_id":"s","source_app":%q,"agent":"cursor","hook_event_type":"PreToolUse","payload":{},"gate":{"client":"1"}}`, app)
		saved, err := h.Ingest(t.Context(), []byte(body), caller)
		require.NoError(t, err)
		return decodeEvent(t, saved.JSON).SourceApp, saved.Directive
	}
	freeze := func(app string) {
		_, _, err := h.Freeze(t.Context(), &control.FreezeDraft{Scope: control.FreezeApp, SourceApp: app}, Caller{})
		require.NoError(t, err)
	}
	post("shop")
	freeze("other")
	app, directive := post("api")
	require.Equal(t, "shop", app)
	require.Nil(t, directive)
	freeze("api")
	app, directive = post("api")
	require.Equal(t, "api", app, "the call that the freeze stops")
	require.NotNil(t, directive.FreezeNotice())
	app, directive = post("shop")
	require.Equal(t, "shop", app)
	require.Nil(t, directive)
	freeze("shop")
	app, directive = post("api")
	require.Equal(t, "shop", app)
	require.Equal(t, "shop", directive.FreezeNotice().SourceApp)
}
