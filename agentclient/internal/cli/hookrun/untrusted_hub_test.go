package hookrun

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
	"github.com/hookback/hookback/agentclient/internal/fakehub"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
)

// attacks are the ways in which a hub that the account does not trust answers.
func attacks() map[string]*fakehub.Hub {
	return map[string]*fakehub.Hub{
		"unsigned":  {},
		"other key": {Key: fakehub.NewKey()},
		"another ask": {Key: clitest.TrustedHub.Key, Forge: func(q *fakehub.Question, a *schema.Answer) {
			s := q.Statement(*a)
			s.Subject[0].Digest["sha256"] = strings.Repeat("0", 64)
			*a.Seal = q.Sign(s)
		}},
		"claims that no one watches": {Watching: new(int)},
		"claims that the agent continued": {Intercept: func(w http.ResponseWriter, r *http.Request) bool {
			if !fakehub.IsPull(r) {
				return false
			}
			fakehub.Refuse(w, &schema.StatusError{
				Err:    schema.ErrExpired,
				Status: schema.Status{Status: schema.Failed, Outcome: schema.Cancelled, Source: schema.ByAgent},
			})
			return true
		}, Status: schema.Status{Delivery: &schema.Delivery{State: schema.Blocked}}},
	}
}

// A hub that the account does not trust gets an approval from no adapter. A call that the policy
// leaves to a person does not run.
func TestHook_UntrustedHubApprovesNothing(t *testing.T) {
	t.Parallel()
	for name, hub := range attacks() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			attacker := clitest.StartAttackingHub(t, hub)
			if !strings.HasPrefix(name, "claims") {
				attacker.ApproveAll(t)
			}
			for _, c := range readSampleCalls(t) {
				if c.call.Point == hook.Observe {
					continue
				}
				for _, option := range []string{"", thenAllow} {
					checkUntrustedHub(t, attacker, c, option, clitest.TrustedHub.PinLineFor("http://127.0.0.1:4000"))
				}
				checkUntrustedHub(t, attacker, c, "") // the account trusts no hub
			}
			require.Empty(t, attacker.Tokens())
		})
	}
}

// checkUntrustedHub runs one hook whose HOOKBACK_URL names the attacker, in an account with these pins.
func checkUntrustedHub(t *testing.T, attacker *clitest.AttackingHub, c sampleCall, onUnreachable string, pins ...string) {
	t.Helper()
	home := t.TempDir()
	if len(pins) > 0 {
		clitest.PinHub(t, home, pins...)
	}
	env := map[string]string{"HOOKBACK_URL": attacker.URL(), "HOME": home, "HOOKBACK_TOKEN": "hubin_secret"}
	for name, value := range c.env {
		env[name] = value
	}
	var out, stderr bytes.Buffer
	h := newHookRun(func(name string) string { return env[name] }, cli.Streams{In: strings.NewReader(c.text), Out: &out, Err: &stderr})
	h.agent, h.workDir, h.onUnreachable, h.limit = c.agent, t.TempDir(), onUnreachable, time.Second
	require.NoError(t, os.WriteFile(filepath.Join(h.workDir, policy.FileName), []byte(`{"rules": [{"tool": "*", "then": "ask"}]}`), 0o600))
	call := c.call
	hd := h.decide(&call, false)
	status := h.handle(t.Context(), &call, false)
	got := observeEffect(c.agent.Name, c.call.Point, hook.Reply{Stdout: out.Bytes(), Exit: status})
	require.False(t, got.approves, "%s: %s", c.name, out.String())
	if c.call.Point == hook.Gate && hd.ask {
		require.True(t, got.holds, "%s runs: %s", c.name, out.String())
	}
	require.NotContains(t, h.readLog(), "panic")
}

// The person sees in hook.log why an approval did nothing, and the command that mends it.
func TestHook_LogsRejectedAnswer(t *testing.T) {
	t.Parallel()
	attacker := clitest.StartAttackingHub(t, &fakehub.Hub{Key: fakehub.NewKey()})
	attacker.ApproveAll(t)
	home := t.TempDir()
	clitest.PinHub(t, home, clitest.TrustedHub.PinLineFor("http://127.0.0.1:4000"))
	input, err := os.ReadFile("../../../hook/testdata/claude-code-PermissionRequest-Bash.json")
	require.NoError(t, err)
	var out, stderr bytes.Buffer
	env := func(name string) string { return map[string]string{"HOOKBACK_URL": attacker.URL(), "HOME": home}[name] }
	h := newHookRun(env, cli.Streams{In: bytes.NewReader(input), Out: &out, Err: &stderr})
	require.Zero(t, h.run(t.Context(), []string{"claude-code"}))
	require.NotContains(t, out.String(), "allow")
	require.Contains(t, h.readLog(), "hook claude-code: an answer was rejected: The answer is signed by an unknown key (")
	require.Contains(t, h.readLog(), "If you replaced the hub, run: hookback trust "+attacker.URL())
}

// readLog returns the hook log.
func (h *hookRun) readLog() string {
	text, _ := os.ReadFile(h.log.file)
	return string(text)
}
