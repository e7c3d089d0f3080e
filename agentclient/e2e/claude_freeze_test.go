package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

func (p *testEnv) freezeAll(t testing.TB) {
	t.Helper()
	var f control.Freeze
	p.callFreezes(t, http.MethodPost, control.PathFreezes, control.FreezeDraft{Scope: control.FreezeAll}, &f)
}

// A freeze reaches Claude Code's http hooks: no further call runs. The run is headless, so it ends
// with the model's text instead of with nothing and the status of success.
func TestClaudeHTTPHooks_Freeze(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	p.writeHTTPHooks(t, "PreToolUse", "PermissionRequest", "PostToolUse", "Stop")
	frozen := make(chan struct{})
	next := bashCall("no.txt")
	next.after = frozen
	m := newModel(t, bashCall("yes.txt"), next, bashCall("never.txt"))
	out := p.startClaude(t, m, "-p", "Go", "--allowedTools", "Bash")
	require.True(t, eventually(func() bool { return p.hasFile("yes.txt") && m.requestCount() == 2 }))
	p.freezeAll(t)
	close(frozen)
	require.Contains(t, out(), "Done.")
	require.Contains(t, m.lastRequest(), "froze all agents. Nothing ran.", "the model gets the cause")
	require.False(t, p.hasFile("no.txt") || p.hasFile("never.txt"))
}

// A freeze denies the permission that Claude Code waits for, over both kinds of hooks.
func TestClaude_FreezeDeniesPendingPermission(t *testing.T) {
	t.Parallel()
	for name, install := range map[string]func(t *testing.T, p *testEnv){
		"command": func(t *testing.T, p *testEnv) { t.Helper(); p.installHooks(t, "claude-code") },
		"http": func(t *testing.T, p *testEnv) {
			t.Helper()
			p.writeHTTPHooks(t, "PreToolUse", "PermissionRequest", "PostToolUse", "Stop")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newTestEnv(t)
			install(t, p)
			m := newModel(t, bashCall("no.txt"), bashCall("never.txt"))
			out := p.startClaude(t, m, "-p", "Go", "--permission-mode", "default")
			asked := p.waitForQuestion(t, "PermissionRequest")
			p.freezeAll(t)
			st := p.waitForSettled(t, asked.ID)
			require.Equal(t, schema.ByFreeze, st.Source)
			require.Contains(t, out(), "Done.")
			require.False(t, p.hasFile("no.txt") || p.hasFile("never.txt"))
			for _, e := range p.events(t) {
				require.False(t, strings.HasPrefix(e.HookEventType, "PostToolUse"), "nothing ran")
			}
		})
	}
}
