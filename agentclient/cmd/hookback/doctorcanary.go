package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/install"
)

// canaries are calls that are never made: for each agent the event at which it is
// told no, and what it would write to its hook. SESSION and DIR are filled in.
var canaries = map[string]struct{ event, input string }{
	"claude-code": {"PermissionRequest", `{"session_id":"SESSION","cwd":"DIR","permission_mode":"default","hook_event_name":"PermissionRequest",
		"tool_name":"Bash","tool_input":{"command":"echo hookback-doctor","description":"Hookback denies this itself"}}`},
	"codex": {"PreToolUse", `{"session_id":"SESSION","turn_id":"1","cwd":"DIR","hook_event_name":"PreToolUse","model":"canary",
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
	"opencode": {"hookback.js", `{"type":"permission.asked","directory":"DIR","properties":{"id":"per_canary","sessionID":"SESSION","permission":"bash",
		"patterns":["echo hookback-doctor"],"metadata":{"command":"echo hookback-doctor"},"always":[]}}`},
	"kiro": {"preToolUse", `{"hook_event_name":"preToolUse","cwd":"DIR","session_id":"SESSION","tool_name":"execute_bash",
		"tool_input":{"command":"echo hookback-doctor"}}`},
}

// askAll is a policy by which a person decides everything: the canary's.
const askAll = `{"rules": [{"tool": "*", "then": "ask", "reason": "hookback doctor tries the gate"}]}` + "\n"

// How long a canary may take, and what is slow for a hook.
const (
	canaryTime = 20 * time.Second
	slowHook   = 100 * time.Millisecond
)

// doctorSession is a session that nobody else has.
func doctorSession() string { return "doctor-" + strings.ToLower(rand.Text()[:12]) }

// examineHooks runs an agent's hooks as it would.
func (d *doctor) examineHooks(ctx context.Context, hub *clinic, at install.InstalledHooks) {
	canary, known := canaries[at.Agent]
	i := slices.IndexFunc(at.Entries, func(e install.Entry) bool { return e.Event == canary.event })
	if !known || i < 0 {
		return
	}
	entry := at.Entries[i]
	if address := flagOf(entry.Args, "--hub"); address != "" && "http://"+strings.TrimPrefix(address, "http://") != hub.url {
		d.look(at.Agent, "hookback doctor --hub "+address, "its hooks use another hub, %s", address)
		return
	}
	if !entry.Observes() {
		began := time.Now()
		if err := d.gate(ctx, hub, at.Agent, entry); err != nil {
			d.wrong(at.Agent, "look at "+tilde(d.machine.Home, newJournal(d.env).file), "the gate does not hold: %v", err)
		} else {
			d.well(at.Agent, "the gate holds: a made-up call was denied, in %d ms", time.Since(began).Milliseconds())
		}
	}
	median, worst, err := d.pace(ctx, at.Agent, entry)
	switch text := fmt.Sprintf("a hook takes %d ms (median of %d; the slowest %d ms)", median.Milliseconds(), d.runs, worst.Milliseconds()); {
	case err != nil:
		d.wrong(at.Agent, "run it by hand: "+strings.Join(entry.Argv, " "), "a hook fails: %v", err)
	case median > slowHook:
		d.look(at.Agent, "each call of a tool waits that long; look what else the machine does", "%s", text)
	default:
		d.well(at.Agent, "%s", text)
	}
}

func flagOf(args []string, name string) string {
	if i := slices.Index(args, name); i >= 0 && i+1 < len(args) {
		return args[i+1]
	}
	return ""
}

// run is a hook that is run with a canary.
type canaryRun struct {
	session, dir string
	input        []byte
	cmd          *exec.Cmd
	out, err     bytes.Buffer
}

// prepare makes the run of an entry in a directory of its own, with the policy.
func (d *doctor) prepare(ctx context.Context, agent string, e install.Entry, policy string) (r *canaryRun, clean func(), err error) {
	parent, err := os.MkdirTemp("", "hookback-")
	if err != nil {
		return nil, nil, err
	}
	clean = func() { _ = os.RemoveAll(parent) }
	r = &canaryRun{session: doctorSession(), dir: filepath.Join(parent, doctorApp)}
	if err = os.Mkdir(r.dir, 0o700); err == nil && policy != "" {
		err = os.WriteFile(filepath.Join(r.dir, "hookback.json"), []byte(policy), 0o600)
	}
	dir, _ := json.Marshal(r.dir)
	r.input = []byte(strings.NewReplacer("SESSION", r.session, `"DIR"`, string(dir)).Replace(canaries[agent].input))
	r.cmd = exec.CommandContext(ctx, e.Argv[0], e.Argv[1:]...) //nolint:gosec // it is our own hook, as the settings have it
	r.cmd.Dir, r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = r.dir, bytes.NewReader(r.input), &r.out, &r.err
	r.cmd.Env = d.hookEnv(parent)
	r.cmd.WaitDelay = time.Second
	return r, clean, err
}

// hookEnv is the environment of a canary: the user's policy is out of it, and so is
// the agent in whose terminal the doctor runs.
func (d *doctor) hookEnv(config string) (env []string) {
	for _, name := range []string{"HOME", "USERPROFILE", "PATH", "SystemRoot", "TMPDIR", "XDG_STATE_HOME", "HOOKBACK_TOKEN", "SSL_CERT_FILE", "LocalAppData"} {
		if value := d.env(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return append(env, "HOOKBACK_URL="+d.hub, "XDG_CONFIG_HOME="+config, "AppData="+config)
}

// gate runs the entry with a call, denies it, and looks whether the agent is told.
func (d *doctor) gate(ctx context.Context, hub *clinic, agent string, e install.Entry) error {
	ctx, cancel := context.WithTimeout(ctx, canaryTime)
	defer cancel()
	r, clean, err := d.prepare(ctx, agent, e, askAll)
	if err != nil {
		return err
	}
	defer clean()
	defer hub.tidy(r.session)
	if err := r.cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- r.cmd.Wait(); cancel() }()
	reason := "canary " + r.session
	denied := hub.deny(ctx, r.session, reason)
	if denied == nil {
		<-ctx.Done()
	}
	cancel()
	var exit *exec.ExitError
	if err := <-ended; err != nil && !errors.As(err, &exit) {
		return err
	}
	if denied != nil {
		return fmt.Errorf("no question came to the hub (the hook said %.200q)", r.out.String()+r.err.String())
	}
	return r.toldNo(agent, e, reason)
}

// toldNo is an error unless the run's answer is the agent's no with the reason, to
// the byte but for what stands around the reason.
func (r *canaryRun) toldNo(agent string, e install.Entry, reason string) error {
	named, _ := hook.Find(agent)
	c, err := named.Agent.Parse(hook.Input{Stdin: r.input, Event: flagOf(e.Args, "--event"), Env: func(string) string { return "" }, Dir: r.dir})
	if err != nil {
		return err
	}
	want := named.Agent.Render(&c, hook.Verdict{Effect: hook.Deny, Reason: reason})
	got := hook.Reply{Stdout: r.out.Bytes(), Stderr: r.err.Bytes(), Exit: r.cmd.ProcessState.ExitCode()}
	switch {
	case want.Exit != got.Exit:
		return fmt.Errorf("the hook ended with status %d, not %d, and said %.300q", got.Exit, want.Exit, got.Stdout)
	case len(want.Stdout) == 0:
		if !bytes.Contains(got.Stderr, []byte(reason)) {
			return fmt.Errorf("the hook said %.300q", got.Stderr)
		}
	default:
		var a, b any
		if json.Unmarshal(want.Stdout, &a) != nil || json.Unmarshal(got.Stdout, &b) != nil || !alike(a, b, reason) {
			return fmt.Errorf("the hook said %.300q", got.Stdout)
		}
	}
	return nil
}

// alike compares JSON; where want has the reason, got may have more text around it.
func alike(want, got any, reason string) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for name := range w {
			if there, ok := g[name]; !ok || !alike(w[name], there, reason) {
				return false
			}
		}
		return true
	case string:
		g, ok := got.(string)
		return ok && (g == w || strings.Contains(w, reason) && strings.Contains(g, reason))
	default:
		a, _ := json.Marshal(want)
		b, _ := json.Marshal(got)
		return bytes.Equal(a, b)
	}
}

// pace runs the entry several times with a call that nobody is asked about.
func (d *doctor) pace(ctx context.Context, agent string, e install.Entry) (median, worst time.Duration, err error) {
	e.Argv = withoutAsking(e)
	times := make([]time.Duration, max(d.runs, 1))
	for i := range times {
		if times[i], err = d.timed(ctx, agent, e); err != nil {
			return 0, 0, err
		}
	}
	slices.Sort(times)
	return times[len(times)/2], times[len(times)-1], nil
}

// withoutAsking is the entry's process, told to observe only: at a prompt of the
// agent's own a person would be asked without any policy.
func withoutAsking(e install.Entry) []string {
	argv := slices.Clone(e.Argv)
	if e.Observes() || len(argv) == 1 {
		return argv
	}
	if argv[0] == "/bin/sh" {
		argv[2] += " --observe"
		return argv
	}
	return append(argv, "--observe")
}

func (d *doctor) timed(ctx context.Context, agent string, e install.Entry) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, canaryTime)
	defer cancel()
	r, clean, err := d.prepare(ctx, agent, e, "")
	if err != nil {
		return 0, err
	}
	defer clean()
	began := time.Now()
	if err := r.cmd.Run(); err != nil {
		return 0, fmt.Errorf("%w: %.200s", err, r.err.Bytes())
	}
	return time.Since(began), nil
}
