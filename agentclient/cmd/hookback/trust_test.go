package main

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/internal/fakehub"
	"github.com/hookback/hookback/schema"
)

// trustedHub is the hub that the accounts of these tests trust. It never runs.
var trustedHub = &fakehub.Hub{Key: fakehub.NewKey()}

// pinHub writes the known hubs of an account.
func pinHub(t testing.TB, home string, lines ...string) {
	t.Helper()
	dir := filepath.Join(home, ".config", "hookback")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, fakehub.WritePins(filepath.Join(dir, "known_hubs"), lines...))
}

func knownHubsIn(t testing.TB, home string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(home, ".config", "hookback", "known_hubs"))
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	return string(text)
}

// attackingHub is a fake hub that approves every question, and records the tokens that it
// receives.
type attackingHub struct {
	*fakehub.Hub
	mu     sync.Mutex
	tokens []string
}

// startAttackingHub starts a hub that breaks the protocol in one of the ways in attacks.
func startAttackingHub(t *testing.T, hub *fakehub.Hub) *attackingHub {
	t.Helper()
	a := &attackingHub{Hub: hub}
	intercept := hub.Intercept
	hub.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if token := r.Header.Get("Authorization"); token != "" {
			a.mu.Lock()
			a.tokens = append(a.tokens, token)
			a.mu.Unlock()
		}
		return intercept != nil && intercept(w, r)
	}
	require.NoError(t, hub.Start())
	t.Cleanup(hub.Stop)
	return a
}

// approveAll answers every question with an approval until the test ends.
func (a *attackingHub) approveAll(t *testing.T) {
	t.Helper()
	var answers sync.WaitGroup
	answers.Go(func() {
		for n := 1; ; n++ {
			q, err := a.Question(t.Context(), n)
			if err != nil {
				return
			}
			if q.HumanInTheLoop == nil {
				continue
			}
			answers.Go(func() { _, _ = q.Push(t.Context(), answerFor(q.HumanInTheLoop)) }) // the agent may refuse to listen
		}
	})
	t.Cleanup(answers.Wait)
}

// answerFor returns the most permissive answer to a question.
func answerFor(q *schema.HumanInTheLoop) schema.Answer {
	switch {
	case q.Type == schema.Permission:
		return schema.Answer{Permission: ptr(true), Outcome: schema.Approve, Source: schema.ByHuman}
	case q.Type == schema.Choice:
		return schema.Answer{Choice: &q.Choices[0]}
	default:
		return schema.Answer{Response: ptr("yes")}
	}
}

// attacks are the ways in which a hub that the account does not trust answers.
func attacks() map[string]*fakehub.Hub {
	return map[string]*fakehub.Hub{
		"unsigned":  {},
		"other key": {Key: fakehub.NewKey()},
		"another ask": {Key: trustedHub.Key, Forge: func(q *fakehub.Question, a *schema.Answer) {
			s := q.Statement(*a)
			s.Subject[0].Digest["sha256"] = strings.Repeat("0", 64)
			*a.Seal = q.Sign(s)
		}},
		"claims that no one watches": {Watching: ptr(0)},
		"claims that the agent continued": {Intercept: func(w http.ResponseWriter, r *http.Request) bool {
			if !fakehub.IsPull(r) {
				return false
			}
			fakehub.Refuse(w, &schema.StatusError{Err: schema.ErrExpired, Status: schema.Status{Status: schema.Failed, Outcome: schema.Cancelled, Source: schema.ByAgent}})
			return true
		}, Status: schema.Status{Delivery: &schema.Delivery{State: schema.Blocked}}},
	}
}

// A hub that the account does not trust gets a yes from no adapter. A call that the policy
// leaves to a person does not run.
func TestHook_UntrustedHubApprovesNothing(t *testing.T) {
	t.Parallel()
	for name, hub := range attacks() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			attacker := startAttackingHub(t, hub)
			if !strings.HasPrefix(name, "claims") {
				attacker.approveAll(t)
			}
			for _, c := range readSampleCalls(t) {
				if c.call.Point == hook.Observe {
					continue
				}
				for _, option := range []string{"", thenAllow} {
					checkUntrustedHub(t, attacker, c, option)
				}
			}
			attacker.mu.Lock()
			defer attacker.mu.Unlock()
			require.Empty(t, attacker.tokens)
		})
	}
}

// checkUntrustedHub runs one hook whose HOOKBACK_URL names the attacker.
func checkUntrustedHub(t *testing.T, attacker *attackingHub, c sampleCall, onUnreachable string) {
	t.Helper()
	home := t.TempDir()
	pinHub(t, home, trustedHub.PinLineFor("http://127.0.0.1:4000"))
	env := map[string]string{"HOOKBACK_URL": attacker.URL(), "HOME": home, "HOOKBACK_TOKEN": "hubin_secret"}
	for name, value := range c.env {
		env[name] = value
	}
	var out, stderr bytes.Buffer
	h := newHookRun(func(name string) string { return env[name] }, streams{strings.NewReader(c.text), &out, &stderr})
	h.agent, h.workDir, h.onUnreachable, h.limit = c.agent, t.TempDir(), onUnreachable, time.Second
	require.NoError(t, os.WriteFile(filepath.Join(h.workDir, agentclient.PolicyFileName), []byte(`{"rules": [{"tool": "*", "then": "ask"}]}`), 0o600))
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

// readLog returns the hook log.
func (h *hookRun) readLog() string {
	text, _ := os.ReadFile(h.log.file)
	return string(text)
}

// The real programs: neither HOOKBACK_URL nor the default port, HOME and XDG_CONFIG_HOME let a
// fake hub approve or receive the token.
func TestProgram_UntrustedHubApprovesNothing(t *testing.T) {
	t.Parallel()
	attacker := startAttackingHub(t, &fakehub.Hub{})
	attacker.approveAll(t)
	for agent, sample := range map[string]string{
		"claude-code": "claude-code-PermissionRequest-Bash", "copilot": "copilot-PreToolUse-bash", "droid": "droid-PreToolUse-Execute",
	} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			c := newHookCommand(t, attacker.URL(), readFirstSample(t, agent, sample))
			c.args = []string{agent}
			pinHub(t, c.home, trustedHub.PinLineFor("http://127.0.0.1:4000"))
			require.NoError(t, os.WriteFile(filepath.Join(c.home, agentclient.PolicyFileName), []byte(`{"rules": [{"tool": "*", "then": "ask"}]}`), 0o600))
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
			pinHub(t, home, trustedHub.PinLineFor("http://127.0.0.1:4000"))
			got := runProgram(t, home, []string{"HOOKBACK_URL=" + attacker.URL(), "HOOKBACK_TOKEN=hubin_secret"}, append([]string{"ask"}, args...)...)
			require.Equal(t, exitError, got.status)
			require.Empty(t, got.out)
			require.Contains(t, got.err, "The hub at "+attacker.URL()+" did not sign this answer. This account trusts hub "+trustedHub.KeyID()+" (http://127.0.0.1:4000). Nothing was approved.")
		})
	}
	t.Cleanup(func() {
		attacker.mu.Lock()
		defer attacker.mu.Unlock()
		require.Empty(t, attacker.tokens)
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
	hub, other := startAttackingHub(t, &fakehub.Hub{Key: fakehub.NewKey()}), startAttackingHub(t, &fakehub.Hub{Key: fakehub.NewKey()})
	hub.approveAll(t)
	other.approveAll(t)
	home := t.TempDir()
	got := runProgram(t, home, []string{"HOOKBACK_URL=" + hub.URL(), "HOOKBACK_TOKEN=hubin_secret"}, "ask", "Go?")
	require.Equal(t, cliResult{0, "approved\n", ""}, got)
	require.Empty(t, knownHubsIn(t, home))
	require.Contains(t, hub.tokens, "Bearer hubin_secret", "as before, as long as no hub is pinned")

	got = runProgram(t, home, nil, "ask", "Go?", "--hub", hub.URL(), "--json")
	require.Equal(t, 0, got.status)
	require.Contains(t, got.out, `"signed":true`)
	require.Contains(t, got.err, "this account now trusts hub "+hub.KeyID()+" ("+hub.URL()+")")
	require.Equal(t, hub.PinLine(), knownHubsIn(t, home))

	got = runProgram(t, home, nil, "ask", "Go?", "--hub", other.URL())
	require.Equal(t, exitError, got.status)
	require.Contains(t, got.err, "The answer is signed by an unknown key ("+other.KeyID()+"). This account trusts hub "+hub.KeyID())
	require.Equal(t, hub.PinLine(), knownHubsIn(t, home))
}

// A hook notes the first contact in its log.
func TestHook_LogsFirstContact(t *testing.T) {
	t.Parallel()
	hub := startAttackingHub(t, &fakehub.Hub{Key: fakehub.NewKey()})
	hub.approveAll(t)
	c := newHookCommand(t, "http://127.0.0.1:1", readSample(t, "claude-code-PermissionRequest-Bash"), "--hub", hub.URL())
	c.env = []string{"CLAUDE_CODE_ENTRYPOINT=sdk-cli"}
	require.Equal(t, cliResult{0, allowed, ""}, c.run(t))
	require.Contains(t, c.log(), "this account now trusts hub "+hub.KeyID()+" ("+hub.URL()+"), the first one that it has contacted")
	require.Equal(t, hub.PinLine(), knownHubsIn(t, c.home))
}

// --unsigned accepts a version 1 server beside a pinned hub.
func TestAsk_Unsigned(t *testing.T) {
	t.Parallel()
	old := startAttackingHub(t, &fakehub.Hub{})
	old.approveAll(t)
	home := t.TempDir()
	pinHub(t, home, trustedHub.PinLineFor("http://127.0.0.1:4000"))
	require.Equal(t, cliResult{0, "approved\n", ""}, runProgram(t, home, nil, "ask", "Go?", "--hub", old.URL(), "--unsigned"))
}

// The fallback of an unreachable hub needs a pinned address.
func TestHook_DeadPortInEnvironmentAllowsNothing(t *testing.T) {
	t.Parallel()
	dead := closedHubURL(t)
	for pinned, allows := range map[string]bool{"http://127.0.0.1:4000": false, dead: true} {
		c := newHookCommand(t, dead, readSample(t, "claude-code-PermissionRequest-Bash"), "--on-unreachable", "allow")
		c.env = []string{"CLAUDE_CODE_ENTRYPOINT=sdk-cli"}
		pinHub(t, c.home, trustedHub.PinLineFor(pinned))
		require.Equal(t, allows, strings.Contains(c.run(t).out, `"allow"`), pinned)
	}
	c := newHookCommand(t, "::not an address", readSample(t, "claude-code-PermissionRequest-Bash"), "--on-unreachable", "allow")
	c.env = []string{"CLAUDE_CODE_ENTRYPOINT=sdk-cli"}
	pinHub(t, c.home, trustedHub.PinLineFor("http://127.0.0.1:4000"))
	require.NotContains(t, c.run(t).out, `"allow"`)
}

// An environment that names another home changes neither the user's policy nor the pins of the
// real program: this build has no test home.
func TestProgram_HomeComesFromAccount(t *testing.T) {
	t.Parallel()
	released := filepath.Join(t.TempDir(), "hookback")
	require.NoError(t, buildProgramWith(released, ""))
	home := t.TempDir()
	dir := filepath.Join(home, ".config", "hookback")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	rules := `{"rules": [{"tool": "Read", "then": "allow"}, {"tool": "Bash", "then": "deny"}]}`
	require.NoError(t, os.WriteFile(filepath.Join(dir, agentclient.PolicyFileName), []byte(rules), 0o600))
	pinHub(t, home, trustedHub.PinLineFor("http://127.0.0.1:4000"))
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
		require.NotContains(t, string(out), trustedHub.KeyID())
	}
}

func TestTrust_Command(t *testing.T) {
	t.Parallel()
	hub := startAttackingHub(t, &fakehub.Hub{Key: fakehub.NewKey()})
	home := t.TempDir()
	env := func(name string) string { return map[string]string{"HOME": home}[name] }
	trust := func(answer string) cliResult {
		f := newBareFlags("trust", trustHelp)
		f.addHubFlags(env)
		f.hub = hub.URL()
		pins, err := agentclient.LoadTrust(f.options())
		require.NoError(t, err)
		var out, stderr bytes.Buffer
		status := trustHub(t.Context(), f, pins, streams{strings.NewReader(answer), &out, &stderr})
		return cliResult{status, out.String(), stderr.String()}
	}
	for _, answer := range []string{"", "n\n", "\n", "yeah\n", strings.Repeat("y", 1<<11)} {
		got := trust(answer)
		require.Equal(t, exitProblem, got.status, answer)
		require.Contains(t, got.err, "Nothing was changed.")
		require.Empty(t, knownHubsIn(t, home))
	}
	got := trust("y\n")
	require.Equal(t, 0, got.status)
	require.Equal(t, "This account trusts hub "+hub.KeyID()+" ("+hub.URL()+").\n", got.out)
	require.Equal(t, hub.PinLine(), knownHubsIn(t, home))
	require.Equal(t, cliResult{0, "This account already trusts hub " + hub.KeyID() + " (" + hub.URL() + ").\n", ""}, trust(""))

	old := hub.PinLine()
	hub.Stop()
	hub.Key = fakehub.NewKey()
	require.NoError(t, hub.Start())
	got = trust("n\n")
	require.Equal(t, exitProblem, got.status)
	require.Contains(t, got.err, "trusted now  "+keyIDOf(t, old))
	require.Contains(t, got.err, "this hub     "+hub.KeyID())
	require.Contains(t, got.err, "Replace the key of "+hub.URL()+"?")
	require.Equal(t, old, knownHubsIn(t, home))
	require.Equal(t, 0, trust("YES\n").status)
	require.Equal(t, hub.PinLine(), knownHubsIn(t, home))

	got = runProgram(t, home, nil, "trust")
	require.Contains(t, got.out, hub.PinLine())
	other := startAttackingHub(t, &fakehub.Hub{Key: fakehub.NewKey()})
	cmd := exec.CommandContext(t.Context(), program, "trust", other.URL())
	cmd.Env, cmd.Stdin = []string{"HOME=" + home}, strings.NewReader("y\n")
	refused, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(refused), "trust requires a terminal")
	require.Equal(t, exitError, runProgram(t, home, nil, "trust", "a", "b").status)
	require.Equal(t, hub.PinLine(), knownHubsIn(t, home))
}

func keyIDOf(t *testing.T, pinLine string) string {
	t.Helper()
	key, err := schema.ParsePublicKey(strings.Fields(pinLine)[2])
	require.NoError(t, err)
	return schema.KeyID(key)
}

func TestInstall_PinsHub(t *testing.T) {
	t.Parallel()
	hub := startAttackingHub(t, &fakehub.Hub{Key: fakehub.NewKey()})
	d := newTestMachine(t)
	got := d.run("install", "--agent", "codex", "--hub", hub.URL())
	require.Equal(t, 0, got.status, got.err)
	require.Contains(t, got.err, "This account now trusts hub "+hub.KeyID()+" ("+hub.URL()+")")
	require.Equal(t, hub.PinLine(), knownHubsIn(t, d.home))
	require.Contains(t, d.run("install", "--agent", "codex", "--hub", hub.URL()).err, "This account trusts hub "+hub.KeyID())

	other := startAttackingHub(t, &fakehub.Hub{Key: fakehub.NewKey()})
	got = d.run("install", "--agent", "codex", "--hub", other.URL())
	require.Contains(t, got.err, "but the hub at "+other.URL()+" has the key "+other.KeyID()+", so its answers are denied; to trust it, run hookback trust "+other.URL())
	require.Equal(t, hub.PinLine(), knownHubsIn(t, d.home))
	require.Contains(t, d.run("install", "--agent", "codex", "--hub", closedHubURL(t)).err, "yet, so its key is not pinned")
	old := startAttackingHub(t, &fakehub.Hub{})
	require.Contains(t, d.run("install", "--agent", "codex", "--hub", old.URL()).err, "has no key")

	file := filepath.Join(d.home, "hubs")
	got = d.run("install", "--agent", "codex", "--hub", other.URL(), "--known-hubs", file)
	require.Contains(t, got.err, "This account now trusts hub "+other.KeyID())
	require.Contains(t, d.installedEntry("codex", "Stop").Args, file)
}

func TestDoctor_ReportsPin(t *testing.T) {
	t.Parallel()
	hub := startAttackingHub(t, &fakehub.Hub{Key: fakehub.NewKey()})
	for name, test := range map[string]struct{ pins, want string }{
		"not pinned": {"", "look: : the hub's key is KEY, which this account does not trust yet → hookback trust HUB, if the hub prints that id"},
		"pinned":     {hub.PinLine(), "ok: : the hub's key is KEY, trusted in HOME/.config/hookback/known_hubs → "},
		"other":      {trustedHub.PinLineFor("http://127.0.0.1:4000"), "problem: : the hub's key is KEY, but this account trusts hub OTHER (http://127.0.0.1:4000), so its answers are denied → hookback trust HUB, if you replaced the hub"},
		"unreadable": {"nonsense", "problem: : the trusted hubs can't be read: your known hubs: HOME/.config/hookback/known_hubs:1: a line must have the form ORIGIN ed25519 BASE64 → fix the file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			if test.pins != "" {
				pinHub(t, home, test.pins)
			}
			d := &doctor{flags: newBareFlags("doctor", doctorHelp), env: noEnv}
			d.addHubFlags(func(name string) string { return map[string]string{"HOME": home}[name] })
			d.machine.Home = "/elsewhere"
			d.examineKey(t.Context(), hub.URL())
			require.Len(t, d.findings, 1)
			f := d.findings[0]
			got := strings.NewReplacer(home, "HOME", hub.KeyID(), "KEY", hub.URL(), "HUB", trustedHub.KeyID(), "OTHER").Replace(string(f.Severity) + ": " + f.Agent + ": " + f.Text + " → " + f.Remedy)
			require.Contains(t, got, test.want)
		})
	}
}

// Answers of an MCP server can't be signed. The bridge talks only to the trusted hub.
func TestMCP_ChecksHub(t *testing.T) {
	t.Parallel()
	const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"request_approval"}}`
	start := func(key *fakehub.Hub) *attackingHub {
		key.Intercept = respondWith(200, "application/json", `{"jsonrpc":"2.0","id":7,"result":{"behavior":"allow"}}`)
		return startAttackingHub(t, key)
	}
	hub, fake, old := start(&fakehub.Hub{Key: trustedHub.Key}), start(&fakehub.Hub{Key: fakehub.NewKey()}), start(&fakehub.Hub{})
	for name, test := range map[string]struct {
		env, flag string
		pin       string
		want      string // empty: the call is forwarded
	}{
		"no pin":                            {env: fake.URL()},
		"trusted":                           {env: hub.URL(), pin: hub.PinLine()},
		"trusted key at another address":    {flag: hub.URL(), pin: trustedHub.PinLineFor("http://127.0.0.1:4000")},
		"relayed proof":                     {env: hub.URL(), pin: trustedHub.PinLineFor("http://127.0.0.1:4000"), want: "is not a trusted one"},
		"fake hub":                          {env: fake.URL(), pin: hub.PinLine(), want: "is not a trusted one"},
		"fake hub at the trusted address":   {env: fake.URL(), pin: trustedHub.PinLineFor(fake.URL()), want: "has an unknown key (" + fake.KeyID() + ")"},
		"fake hub by flag":                  {flag: fake.URL(), pin: hub.PinLine(), want: "has an unknown key"},
		"hub of an earlier version by flag": {flag: old.URL(), pin: hub.PinLine(), want: "has no key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			if test.pin != "" {
				pinHub(t, home, test.pin)
			}
			args := []string{"mcp"}
			if test.flag != "" {
				args = append(args, "--hub", test.flag)
			}
			var out, stderr bytes.Buffer
			env := map[string]string{"HOME": home, "HOOKBACK_URL": test.env, "HOOKBACK_TOKEN": "hubin_secret"}
			status := run(t.Context(), args, func(name string) string { return env[name] }, streams{strings.NewReader(call), &out, &stderr})
			require.Equal(t, 0, status, stderr.String())
			if test.want == "" {
				require.Contains(t, out.String(), `"behavior":"allow"`)
				return
			}
			require.NotContains(t, out.String(), "allow")
			require.Contains(t, out.String(), test.want)
			require.Contains(t, out.String(), "Nothing was approved.")
		})
	}
}
