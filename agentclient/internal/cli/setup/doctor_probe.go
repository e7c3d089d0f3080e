package setup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/install"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// probes are made-up calls that never run. For each agent it has the event at which the
// call is denied and the hook input. SESSION and DIR are placeholders.
var probes = map[string]struct{ event, input string }{
	"claude-code": {"PermissionRequest", `{"session_id":"SESSION","cwd":"DIR","permission_mode":"default","hook_event_name":"PermissionRequest",
		"tool_name":"Bash","tool_input":{"command":"echo hookback-doctor","description":"Hookback denies this itself"}}`},
	"codex": {"PreToolUse", `{"session_id":"SESSION","turn_id":"1","cwd":"DIR","hook_event_name":"PreToolUse","model":"probe",
		"permission_mode":"default","tool_name":"Bash","tool_input":{"command":"echo hookback-doctor"}}`},
	"gemini": {"BeforeTool", `{"session_id":"SESSION","cwd":"DIR","hook_event_name":"BeforeTool","tool_name":"run_shell_command",
		"tool_input":{"command":"echo hookback-doctor"}}`},
	"cursor": {"beforeShellExecution", `{"conversation_id":"SESSION","cursor_version":"3.0.0","workspace_roots":["DIR"],"cwd":"DIR",
		"hook_event_name":"beforeShellExecution","command":"echo hookback-doctor"}`},
	"copilot": {"PreToolUse", `{"hook_event_name":"PreToolUse","session_id":"SESSION","cwd":"DIR","tool_name":"Bash",
		"tool_input":{"command":"echo hookback-doctor"}}`},
	"qwen": {"PreToolUse", `{"session_id":"SESSION","cwd":"DIR","hook_event_name":"PreToolUse","permission_mode":"default",
		"tool_name":"run_shell_command","tool_input":{"command":"echo hookback-doctor"}}`},
	"droid": {"PreToolUse", `{"session_id":"SESSION","cwd":"DIR","permission_mode":"off","hook_event_name":"PreToolUse","tool_name":"Execute",
		"tool_input":{"command":"echo hookback-doctor"}}`},
	"crush": {"PreToolUse", `{"event":"PreToolUse","session_id":"SESSION","cwd":"DIR","tool_name":"bash","tool_input":{"command":"echo hookback-doctor"}}`},
	"cline": {"PreToolUse", `{"hookName":"PreToolUse","taskId":"SESSION","workspaceRoots":["DIR"],
		"preToolUse":{"toolName":"execute_command","parameters":{"command":"echo hookback-doctor"}}}`},
	"windsurf": {"pre_run_command", `{"agent_action_name":"pre_run_command","trajectory_id":"SESSION",
		"tool_info":{"command_line":"echo hookback-doctor","cwd":"DIR"}}`},
	"antigravity": {"PreToolUse", `{"conversationId":"SESSION","workspacePaths":["DIR"],"stepIdx":1,
		"toolCall":{"name":"run_command","args":{"CommandLine":"echo hookback-doctor","Cwd":"DIR"}}}`},
	"opencode": {"hookback.js", `{"type":"permission.asked","directory":"DIR","properties":{"id":"per_probe","sessionID":"SESSION","permission":"bash",
		"patterns":["echo hookback-doctor"],"metadata":{"command":"echo hookback-doctor"},"always":[]}}`},
	"kiro": {"preToolUse", `{"hook_event_name":"preToolUse","cwd":"DIR","session_id":"SESSION","tool_name":"execute_bash",
		"tool_input":{"command":"echo hookback-doctor"}}`},
}

// askAllPolicy leaves every call of a probe to a person.
const askAllPolicy = `{"rules": [{"tool": "*", "then": "ask", "reason": "hookback doctor tests the gate"}]}` + "\n"

const slowHook = 100 * time.Millisecond // median run time above which doctor warns

// examineHooks runs the hooks of an agent with the agent's exact command.
func (d *doctor) examineHooks(ctx context.Context, hub *doctorClient, hooks install.InstalledHooks) {
	probe, known := probes[hooks.Agent]
	i := slices.IndexFunc(hooks.Entries, func(e install.HookEntry) bool { return e.Event == probe.event })
	if !known || i < 0 {
		return
	}
	entry := hooks.Entries[i]
	if address := flagValue(entry.Args, "--hub"); address != "" && !namesHub(address, hub.url) {
		d.warn(hooks.Agent, "hookback doctor --hub "+address, "its hooks use a different hub, %s", address)
		return
	}
	if !entry.Observes() {
		start := time.Now()
		if err := d.probeGate(ctx, hub, hooks.Agent, entry); err != nil {
			d.fail(hooks.Agent, "check "+abbreviateHome(d.machine.Home, cli.HookLogFile(d.env)), "the gate does not block calls: %v", err)
		} else {
			d.ok(hooks.Agent, "the gate works: a made-up call was denied in %d ms", time.Since(start).Milliseconds())
		}
	}
	median, worst, err := d.measureHook(ctx, hub, hooks.Agent, entry)
	switch text := fmt.Sprintf("a hook takes %d ms (median of %d runs, slowest %d ms)", median.Milliseconds(), d.runs, worst.Milliseconds()); {
	case err != nil:
		d.fail(hooks.Agent, "run it in a terminal: "+strings.Join(entry.Argv, " "), "a hook fails: %v", err)
	case median > slowHook:
		d.warn(hooks.Agent, "every tool call waits that long; check the load of this machine", "%s", text)
	default:
		d.ok(hooks.Agent, "%s", text)
	}
}

func flagValue(args []string, name string) string {
	if i := slices.Index(args, name); i >= 0 && i+1 < len(args) {
		return args[i+1]
	}
	return ""
}

// probeRun is one run of a hook with a made-up call.
type probeRun struct {
	session, dir   string
	ticket         string
	input          []byte
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
}

// prepareProbe prepares a run of the entry in a temporary project directory with the given
// policy. The caller must call clean.
func (d *doctor) prepareProbe(
	ctx context.Context, hub *doctorClient, agent string, e install.HookEntry, policy string,
) (r *probeRun, clean func(), err error) {
	parent, err := os.MkdirTemp("", "hookback-")
	if err != nil {
		return nil, nil, err
	}
	clean = func() { _ = os.RemoveAll(parent) }
	r = &probeRun{session: newDoctorSession(), dir: filepath.Join(parent, schema.TestApp)}
	if r.ticket, err = hub.ticket(ctx); err != nil {
		return nil, clean, err
	}
	if err = os.Mkdir(r.dir, 0o700); err == nil && policy != "" {
		err = os.WriteFile(filepath.Join(r.dir, "hookback.json"), []byte(policy), 0o600)
	}
	dir, _ := json.Marshal(r.dir)
	r.input = []byte(strings.NewReplacer("SESSION", r.session, `"DIR"`, string(dir)).Replace(probes[agent].input))
	e.Argv = withArguments(e.Argv, d.probeArguments(parent)...)
	r.cmd = exec.CommandContext(ctx, e.Argv[0], e.Argv[1:]...) //nolint:gosec // Hookback's own command from the settings
	r.cmd.Dir, r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = r.dir, bytes.NewReader(r.input), &r.stdout, &r.stderr
	r.cmd.Env = append(d.probeEnv(parent), control.TicketVariable+"="+r.ticket)
	r.cmd.WaitDelay = time.Second
	return r, clean, err
}

// probeArguments returns the arguments that a probe adds to the hook's own. They exclude the
// user's policy, which the environment can't, and select the application that is not counted.
func (d *doctor) probeArguments(dir string) []string {
	arguments := []string{"--policy", filepath.Join(dir, "none.json"), "--app", schema.TestApp}
	if d.KnownHubs != "" {
		arguments = append(arguments, "--known-hubs", d.KnownHubs)
	}
	return arguments
}

// withArguments appends arguments to a hook's command, which can be a line for a shell. A
// program without arguments is a script that takes none.
func withArguments(argv []string, arguments ...string) []string {
	argv = slices.Clone(argv)
	switch {
	case len(argv) == 1:
		return argv
	case argv[0] == "/bin/sh":
		for _, a := range arguments {
			argv[2] += " '" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		return argv
	default:
		return append(argv, arguments...)
	}
}

// probeEnv returns the environment of a probe. It excludes the variables of an agent in whose
// terminal the doctor may run, and a policy that they name.
func (d *doctor) probeEnv(config string) (env []string) {
	for _, name := range []string{"HOME", "USERPROFILE", "PATH", "SystemRoot", "TMPDIR", "XDG_STATE_HOME", "HOOKBACK_TOKEN", "SSL_CERT_FILE", "LocalAppData"} {
		if value := d.env(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return append(env, "HOOKBACK_URL="+d.HubAddress(), "XDG_CONFIG_HOME="+config, "AppData="+config)
}

// probeGate runs the entry with a made-up call, denies the call at the hub, and checks that
// the hook denies it to the agent.
func (d *doctor) probeGate(ctx context.Context, hub *doctorClient, agent string, e install.HookEntry) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	r, clean, err := d.prepareProbe(ctx, hub, agent, e, askAllPolicy)
	if clean != nil {
		defer clean()
	}
	if err != nil {
		return err
	}
	if err := r.cmd.Start(); err != nil {
		return err
	}
	exited := make(chan error, 1)
	go func() { exited <- r.cmd.Wait(); cancel() }()
	reason := "doctor probe " + r.session
	denyErr := hub.deny(ctx, r.ticket, reason)
	if denyErr == nil {
		<-ctx.Done()
	}
	cancel()
	var exit *exec.ExitError
	if err := <-exited; err != nil && !errors.As(err, &exit) {
		return err
	}
	if denyErr != nil {
		return fmt.Errorf("the hub received no question (the hook printed %.200q)", r.stdout.String()+r.stderr.String())
	}
	return r.checkDenial(agent, e, reason)
}

// checkDenial returns an error unless the hook's output is exactly the agent's denial. Only
// the text around the reason may differ.
func (r *probeRun) checkDenial(agent string, e install.HookEntry, reason string) error {
	info, _ := hook.Find(agent)
	c, err := info.Agent.Parse(hook.Input{Stdin: r.input, Event: flagValue(e.Args, "--event"), Env: func(string) string { return "" }, Dir: r.dir})
	if err != nil {
		return err
	}
	want := info.Agent.Render(&c, hook.Verdict{Effect: hook.Deny, Reason: reason})
	got := hook.Reply{Stdout: r.stdout.Bytes(), Stderr: r.stderr.Bytes(), Exit: r.cmd.ProcessState.ExitCode()}
	switch {
	case want.Exit != got.Exit:
		return fmt.Errorf("the hook exited with status %d, not %d, and printed %.300q", got.Exit, want.Exit, got.Stdout)
	case len(want.Stdout) == 0:
		if !bytes.Contains(got.Stderr, []byte(reason)) {
			return fmt.Errorf("the hook printed %.300q", got.Stderr)
		}
	default:
		if masked := maskReason(want.Stdout, reason); masked == "" || masked != maskReason(got.Stdout, reason) {
			return fmt.Errorf("the hook printed %.300q", got.Stdout)
		}
	}
	return nil
}

// maskReason returns JSON in one form, in which every string that contains reason is the same.
// It returns "" for a text that is no JSON.
func maskReason(text []byte, reason string) string {
	var value any
	if json.Unmarshal(text, &value) != nil {
		return ""
	}
	text, _ = json.Marshal(value)
	const characters = `(?:[^"\\]|\\.)*`
	return regexp.MustCompile(`"`+characters+regexp.QuoteMeta(reason)+characters+`"`).ReplaceAllString(string(text), "REASON")
}

// measureHook times runs of the entry that ask no one.
func (d *doctor) measureHook(
	ctx context.Context, hub *doctorClient, agent string, e install.HookEntry,
) (median, worst time.Duration, err error) {
	e.Argv = observeArgv(e)
	times := make([]time.Duration, max(d.runs, 1))
	for i := range times {
		if times[i], err = d.timeHook(ctx, hub, agent, e); err != nil {
			return 0, 0, err
		}
	}
	slices.Sort(times)
	return times[len(times)/2], times[len(times)-1], nil
}

// observeArgv returns the entry's command with --observe. Without it, an event that is a
// permission prompt of the agent would ask a person even without a policy.
func observeArgv(e install.HookEntry) []string {
	if e.Observes() {
		return e.Argv
	}
	return withArguments(e.Argv, "--observe")
}

func (d *doctor) timeHook(ctx context.Context, hub *doctorClient, agent string, e install.HookEntry) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	r, clean, err := d.prepareProbe(ctx, hub, agent, e, "")
	if clean != nil {
		defer clean()
	}
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := r.cmd.Run(); err != nil {
		return 0, fmt.Errorf("%w: %.200s", err, r.stderr.Bytes())
	}
	return time.Since(start), nil
}

// namesHub reports whether an address in settings is that of the hub.
func namesHub(address, hub string) bool {
	hubs, err := agentclient.ParseHubs(address)
	return err == nil && hubs[0] == hub
}
