package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
	"github.com/hookback/hookback/agentclient/internal/fakehub"
)

func TestDoctor_ReportsPin(t *testing.T) {
	t.Parallel()
	hub := clitest.StartAttackingHub(t, &fakehub.Hub{Key: fakehub.NewKey()})
	for name, test := range map[string]struct{ pins, want string }{
		"not pinned": {"", "look: : the hub's key is KEY, which this account does not trust yet → hookback trust HUB, if the hub prints that id"},
		"pinned":     {hub.PinLine(), "ok: : the hub's key is KEY, trusted in HOME/.config/hookback/known_hubs → "},
		"other":      {clitest.TrustedHub.PinLineFor("http://127.0.0.1:4000"), "problem: : the hub's key is KEY, but this account trusts hub OTHER (http://127.0.0.1:4000), so its answers are denied → hookback trust HUB, if you replaced the hub"},
		"unreadable": {"nonsense", "problem: : the trusted hubs can't be read: your known hubs: HOME/.config/hookback/known_hubs:1: a line must have the form ORIGIN ed25519 BASE64 → fix the file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			if test.pins != "" {
				clitest.PinHub(t, home, test.pins)
			}
			d := &doctor{Flags: cli.NewBareFlags("doctor", doctorHelp), env: clitest.NoEnv}
			d.AddHubFlags(func(name string) string { return map[string]string{"HOME": home}[name] })
			d.machine.Home = "/elsewhere"
			d.examineKey(t.Context(), hub.URL())
			require.Len(t, d.findings, 1)
			f := d.findings[0]
			stable := strings.NewReplacer(home, "HOME", hub.KeyID(), "KEY", hub.URL(), "HUB", clitest.TrustedHub.KeyID(), "OTHER")
			got := stable.Replace(string(f.Severity) + ": " + f.Agent + ": " + f.Text + " → " + f.Remedy)
			require.Contains(t, got, test.want)
		})
	}
}

func TestFormatAge(t *testing.T) {
	t.Parallel()
	for want, of := range map[string]time.Duration{
		"0 s": -time.Second, "59 s": 59 * time.Second, "1 min": 119 * time.Second, "1 h": time.Hour, "47 h": 47 * time.Hour, "3 days": 73 * time.Hour,
	} {
		require.Equal(t, want, formatAge(of))
	}
}

func TestDoctor_WarnsOfUnknownEvent(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	env := func(name string) string { return map[string]string{"HOME": home}[name] }
	d := &doctor{Flags: cli.NewBareFlags("doctor", doctorHelp), env: env}
	d.examineLog("cline")
	require.Empty(t, d.findings, "no log")
	log := cli.HookLogFile(env)
	require.NoError(t, os.MkdirAll(filepath.Dir(log), 0o700))
	require.NoError(t, os.WriteFile(log, []byte(time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)+` hook cline: Cline sent an unknown event "tool_call2" with a tool call; it is`+"\n"), 0o600))
	d.examineLog("codex")
	require.Empty(t, d.findings)
	d.examineLog("cline")
	require.Len(t, d.findings, 1)
	require.Contains(t, d.findings[0].Text, `it sent the unknown event "tool_call2"`)
}

// A hook whose agent has another HOOKBACK_URL than doctor may trust another hub than the one that answers it.
func TestDoctor_WarnsOfRejectedAnswer(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	env := func(name string) string { return map[string]string{"HOME": home}[name] }
	d := &doctor{Flags: cli.NewBareFlags("doctor", doctorHelp), env: env}
	d.AddHubFlags(env)
	known := filepath.Join(home, "known_hubs")
	d.KnownHubs = known
	require.NoError(t, os.WriteFile(known, []byte(clitest.TrustedHub.PinLineFor("http://127.0.0.1:4000")+"\n"), 0o600))
	log := cli.HookLogFile(env)
	require.NoError(t, os.MkdirAll(filepath.Dir(log), 0o700))
	at := time.Now().Add(-time.Hour)
	require.NoError(t, os.WriteFile(log, []byte(at.UTC().Format(time.RFC3339)+` hook codex: an answer was rejected: The answer is signed by an unknown key (x). `+
		"This account trusts hub y. Nothing was approved. If you replaced the hub, run: hookback trust http://127.0.0.1:4010\n"), 0o600))
	d.examineLog("codex")
	require.Empty(t, d.findings, "the trusted hubs changed since then")
	require.NoError(t, os.Chtimes(known, at, at.Add(-time.Minute)))
	d.examineLog("cline")
	require.Empty(t, d.findings)
	d.examineLog("codex")
	require.Len(t, d.findings, 1)
	require.Equal(t, "1 h ago it rejected an answer, because this account trusts another hub", d.findings[0].Text)
	require.Equal(t, "hookback trust http://127.0.0.1:4010, if you replaced the hub", d.findings[0].Remedy)
}
