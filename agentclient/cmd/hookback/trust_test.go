package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
	"github.com/hookback/hookback/agentclient/internal/fakehub"
	"github.com/hookback/hookback/agentclient/policy"
)

// The real programs: neither HOOKBACK_URL nor the default port, HOME and XDG_CONFIG_HOME let a
// fake hub approve or receive the token.
func TestProgram_UntrustedHubApprovesNothing(t *testing.T) {
	t.Parallel()
	attacker := clitest.StartAttackingHub(t, &fakehub.Hub{})
	attacker.ApproveAll(t)
	for agent, sample := range map[string]string{
		"claude-code": "claude-code-PermissionRequest-Bash", "copilot": "copilot-PreToolUse-bash", "droid": "droid-PreToolUse-Execute",
	} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			c := newHookCommand(t, attacker.URL(), readFirstSample(t, agent, sample))
			c.args = []string{agent}
			clitest.PinHub(t, c.home, clitest.TrustedHub.PinLineFor("http://127.0.0.1:4000"))
			require.NoError(t, os.WriteFile(filepath.Join(c.home, policy.FileName), []byte(`{"rules": [{"tool": "*", "then": "ask"}]}`), 0o600))
			c.env = []string{"HOOKBACK_TOKEN=hubin_secret", "CLAUDE_CODE_ENTRYPOINT=sdk-cli", "XDG_CONFIG_HOME=" + t.TempDir()}
			got := c.run(t)
			require.NotContains(t, got.out, `"allow"`)
			require.NotContains(t, got.out, `"approve"`)
			require.Contains(t, c.log(), "HOOKBACK_TOKEN was not sent to "+attacker.URL()+": this account trusts http://127.0.0.1:4000 only")
		})
	}
	for name, args := range map[string][]string{
		"permission": {"Go?"}, "on-unreachable": {"Go?", "--on-unreachable", "allow"}, "text": {"Name?", "--text"}, "choice": {"Which?", "--choice", "a"},
	} {
		t.Run("ask "+name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			clitest.PinHub(t, home, clitest.TrustedHub.PinLineFor("http://127.0.0.1:4000"))
			got := runProgram(t, home, []string{"HOOKBACK_URL=" + attacker.URL(), "HOOKBACK_TOKEN=hubin_secret"}, append([]string{"ask"}, args...)...)
			require.Equal(t, cli.ExitError, got.status)
			require.Empty(t, got.out)
			require.Contains(t, got.err, "The hub at "+attacker.URL()+" did not sign this answer. This account trusts hub "+clitest.TrustedHub.KeyID()+" (http://127.0.0.1:4000). Nothing was approved.")
		})
	}
	t.Cleanup(func() {
		require.Empty(t, attacker.Tokens())
	})
}

// readFirstSample returns the sample, or the first PreToolUse sample of the agent.
func readFirstSample(t *testing.T, agent, name string) string {
	t.Helper()
	if _, err := os.Stat(filepath.Join("..", "..", "hook", "testdata", name+".json")); err == nil {
		return readSample(t, name)
	}
	files, err := filepath.Glob(filepath.Join("..", "..", "hook", "testdata", agent+"-PreToolUse*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	text, err := os.ReadFile(files[0])
	require.NoError(t, err)
	return string(text)
}

// runProgram runs the program with a home directory.
func runProgram(t *testing.T, home string, env []string, args ...string) cliResult {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env, cmd.Dir = slices.Concat([]string{"HOME=" + home}, env), home
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	_ = cmd.Run()
	return cliResult{cmd.ProcessState.ExitCode(), out.String(), stderr.String()}
}

// Nothing is pinned for an address from the environment. One from a flag is pinned at first
// contact, and then no other hub counts.
func TestAsk_FirstContact(t *testing.T) {
	t.Parallel()
	hub, other := clitest.StartAttackingHub(t, &fakehub.Hub{Key: fakehub.NewKey()}), clitest.StartAttackingHub(t, &fakehub.Hub{Key: fakehub.NewKey()})
	hub.ApproveAll(t)
	other.ApproveAll(t)
	home := t.TempDir()
	got := runProgram(t, home, []string{"HOOKBACK_URL=" + hub.URL(), "HOOKBACK_TOKEN=hubin_secret"}, "ask", "Go?")
	require.Equal(t, cliResult{0, "approved\n", ""}, got)
	require.Empty(t, clitest.KnownHubsIn(t, home))
	require.Contains(t, hub.Tokens(), "Bearer hubin_secret", "as before, as long as no hub is pinned")

	got = runProgram(t, home, nil, "ask", "Go?", "--hub", hub.URL(), "--json")
	require.Equal(t, 0, got.status)
	require.Contains(t, got.out, `"signed":true`)
	require.Contains(t, got.err, "this account now trusts hub "+hub.KeyID()+" ("+hub.URL()+")")
	require.Equal(t, hub.PinLine(), clitest.KnownHubsIn(t, home))

	got = runProgram(t, home, nil, "ask", "Go?", "--hub", other.URL())
	require.Equal(t, cli.ExitError, got.status)
	require.Contains(t, got.err, "The answer is signed by an unknown key ("+other.KeyID()+"). This account trusts hub "+hub.KeyID())
	require.Equal(t, hub.PinLine(), clitest.KnownHubsIn(t, home))
}

// A hook notes the first contact in its log.
func TestHook_LogsFirstContact(t *testing.T) {
	t.Parallel()
	hub := clitest.StartAttackingHub(t, &fakehub.Hub{Key: fakehub.NewKey()})
	hub.ApproveAll(t)
	c := newHookCommand(t, "http://127.0.0.1:1", readSample(t, "claude-code-PermissionRequest-Bash"), "--hub", hub.URL())
	c.env = []string{"CLAUDE_CODE_ENTRYPOINT=sdk-cli"}
	require.Equal(t, cliResult{0, allowed, ""}, c.run(t))
	require.Contains(t, c.log(), "this account now trusts hub "+hub.KeyID()+" ("+hub.URL()+"), the first one that it has contacted")
	require.Equal(t, hub.PinLine(), clitest.KnownHubsIn(t, c.home))
}

// --unsigned accepts a version 1 server next to a pinned hub.
func TestAsk_Unsigned(t *testing.T) {
	t.Parallel()
	old := clitest.StartAttackingHub(t, &fakehub.Hub{})
	old.ApproveAll(t)
	home := t.TempDir()
	clitest.PinHub(t, home, clitest.TrustedHub.PinLineFor("http://127.0.0.1:4000"))
	require.Equal(t, cliResult{0, "approved\n", ""}, runProgram(t, home, nil, "ask", "Go?", "--hub", old.URL(), "--unsigned"))
}

// The fallback of an unreachable hub needs a pinned address.
func TestHook_DeadPortInEnvironmentAllowsNothing(t *testing.T) {
	t.Parallel()
	dead := clitest.ClosedHubURL(t)
	for pinned, allows := range map[string]bool{"http://127.0.0.1:4000": false, dead: true} {
		c := newHookCommand(t, dead, readSample(t, "claude-code-PermissionRequest-Bash"), "--on-unreachable", "allow")
		c.env = []string{"CLAUDE_CODE_ENTRYPOINT=sdk-cli"}
		clitest.PinHub(t, c.home, clitest.TrustedHub.PinLineFor(pinned))
		require.Equal(t, allows, strings.Contains(c.run(t).out, `"allow"`), pinned)
	}
	c := newHookCommand(t, "::not an address", readSample(t, "claude-code-PermissionRequest-Bash"), "--on-unreachable", "allow")
	c.env = []string{"CLAUDE_CODE_ENTRYPOINT=sdk-cli"}
	clitest.PinHub(t, c.home, clitest.TrustedHub.PinLineFor("http://127.0.0.1:4000"))
	require.NotContains(t, c.run(t).out, `"allow"`)
}

// An environment that names another home changes neither the user's policy nor the pins of the
// real program. This build has no test home, but an account database with an account of the test.
func TestProgram_HomeComesFromAccount(t *testing.T) {
	t.Parallel()
	released := filepath.Join(t.TempDir(), "hookback")
	account, home := t.TempDir(), t.TempDir()
	passwd := filepath.Join(account, "passwd")
	require.NoError(t, os.WriteFile(passwd, fmt.Appendf(nil, "me:x:%d:0::%s:/bin/sh\n", os.Getuid(), account), 0o600))
	require.NoError(t, buildProgramWith(released, " -X github.com/hookback/hookback/agentclient/internal/account.passwdFile="+passwd))
	own := &fakehub.Hub{Key: fakehub.NewKey()}
	clitest.PinHub(t, account, own.PinLineFor("http://127.0.0.1:4001"))
	dir := filepath.Join(home, ".config", "hookback")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	rules := `{"rules": [{"tool": "Read", "then": "allow"}, {"tool": "Bash", "then": "deny"}]}`
	require.NoError(t, os.WriteFile(filepath.Join(dir, policy.FileName), []byte(rules), 0o600))
	clitest.PinHub(t, home, clitest.TrustedHub.PinLineFor("http://127.0.0.1:4000"))
	for _, variable := range []string{"HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, ".config")} {
		for tool, want := range map[string]string{"Read": "The policy has no opinion", "Bash": "Denied immediately"} {
			c := newHookCommand(t, "", `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"`+tool+`","tool_input":{"file_path":"/tmp/x","command":"ls"}}`, "--explain")
			c.program, c.home, c.env = released, t.TempDir(), []string{variable}
			require.Contains(t, c.run(t).out, want, "%s, %s", variable, tool)
		}
		cmd := exec.CommandContext(t.Context(), released, "trust")
		cmd.Env = []string{variable}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err)
		require.NotContains(t, string(out), clitest.TrustedHub.KeyID())
		require.Contains(t, string(out), own.KeyID())
	}
}

func TestTrust_RequiresTerminal(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	clitest.PinHub(t, home, clitest.TrustedHub.PinLineFor("http://127.0.0.1:4000"))
	pins := clitest.KnownHubsIn(t, home)
	got := runProgram(t, home, nil, "trust")
	require.Contains(t, got.out, pins)
	other := clitest.StartAttackingHub(t, &fakehub.Hub{Key: fakehub.NewKey()})
	cmd := exec.CommandContext(t.Context(), program, "trust", other.URL())
	cmd.Env, cmd.Stdin = []string{"HOME=" + home}, strings.NewReader("y\n")
	refused, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(refused), "trust requires a terminal")
	require.Equal(t, cli.ExitError, runProgram(t, home, nil, "trust", "a", "b").status)
	require.Equal(t, pins, clitest.KnownHubsIn(t, home))
}

func TestInstall_PinsHub(t *testing.T) {
	t.Parallel()
	hub := clitest.StartAttackingHub(t, &fakehub.Hub{Key: fakehub.NewKey()})
	d := newTestMachine(t)
	got := d.run("install", "--agent", "codex", "--hub", hub.URL())
	require.Equal(t, 0, got.status, got.err)
	require.Contains(t, got.err, "This account now trusts hub "+hub.KeyID()+" ("+hub.URL()+")")
	require.Equal(t, hub.PinLine(), clitest.KnownHubsIn(t, d.home))
	require.Contains(t, d.run("install", "--agent", "codex", "--hub", hub.URL()).err, "This account trusts hub "+hub.KeyID())

	other := clitest.StartAttackingHub(t, &fakehub.Hub{Key: fakehub.NewKey()})
	got = d.run("install", "--agent", "codex", "--hub", other.URL())
	require.Contains(t, got.err, "but the hub at "+other.URL()+" has the key "+other.KeyID()+", so its answers are denied; to trust it, run hookback trust "+other.URL())
	require.Equal(t, hub.PinLine(), clitest.KnownHubsIn(t, d.home))
	require.Contains(t, d.run("install", "--agent", "codex", "--hub", clitest.ClosedHubURL(t)).err, "yet, so its key is not pinned")
	old := clitest.StartAttackingHub(t, &fakehub.Hub{})
	require.Contains(t, d.run("install", "--agent", "codex", "--hub", old.URL()).err, "has no key")

	file := filepath.Join(d.home, "hubs")
	got = d.run("install", "--agent", "codex", "--hub", other.URL(), "--known-hubs", file)
	require.Contains(t, got.err, "This account now trusts hub "+other.KeyID())
	require.Contains(t, d.installedEntry("codex", "Stop").Args, file)
}
