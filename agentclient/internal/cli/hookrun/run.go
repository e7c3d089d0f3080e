// Package hookrun is hookback hook: one run of a coding agent's hook.
package hookrun

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/cli/report"
	"github.com/hookback/hookback/schema"
)

const hookHelp = `hookback hook AGENT [flags] < input

Runs as the hook of a coding agent; hookback install adds it to the agent's settings.
It reads the agent's JSON from stdin and sends it to the hub as an event. If the agent
or the policy requires a decision, it asks a person and prints the answer in the format
of the agent.

It always exits 0 and writes nothing to stderr, because agents take any other status
for a denial. The exception: agents without another way to deny get exit status 2 for a
denial. Errors are logged to hook.log in the state directory (~/.local/state/hookback
on Linux). Events that no hub accepts are stored there, and a later hook sends them.

If no one can decide (no hub, no open dashboard, no answer in time), the agent's own
prompt decides. If the agent has no prompt, a call that the policy leaves to a person is
denied. --on-unreachable changes this.

If this account trusts a hub, an answer counts only if that hub signed it for exactly this
call. See hookback trust --help.
`

// hookRun is one run of hook: its command line and its environment.
type hookRun struct {
	agent         hook.AgentInfo
	event         string
	observe       bool
	limit         time.Duration
	app           string
	hubFlags      *cli.Flags // --hub, --known-hubs and --unsigned
	policy        string     // replaces the user's policy file
	onUnreachable string
	onTimeout     string
	explain       bool

	exit           func(status int) // ends the process; nil if the process is not the hook's own
	releaseSignals func()           // stops the signal handler of the input phase
	env            func(string) string
	workDir        string
	std            cli.Streams
	started        time.Time
	// connectTimeout limits how long every hub address may refuse connections, and
	// acceptTimeout how long a hub may take to accept a question.
	connectTimeout, acceptTimeout time.Duration
	log                           hookLog
	spool                         report.Spool

	pinned       bool // the account trusts a hub, so answers must be signed
	untrustedHub bool // a hub is pinned, but none of the addresses in use
}

// reportTimeout limits how long a hook that has printed its answer may report to the hub,
// because its agent may wait for the process to exit.
const reportTimeout = 2 * time.Second

// Values of --on-unreachable.
const (
	thenAllow = "allow"
	thenDeny  = "deny"
	thenAsk   = "ask"
)

func (h *hookRun) flags() *cli.Flags {
	f := h.selectHub()
	f.StringVar(&h.event, "event", "", "the event's `name`, for agents that do not send it on stdin")
	f.BoolVar(&h.observe, "observe", false, "report to the hub, decide nothing")
	f.DurationVar(&h.limit, "limit", 0, "how long the agent lets this hook run, a `duration` such as 3600s")
	_, policy := cli.AccountFiles(h.env)
	f.StringVar(&h.policy, "policy", policy, "the user's policy `file`; default: hookback.json in ~/.config/hookback")
	f.StringVar(&h.app, "app", "", "the project's `name`; default: the name of its folder")
	f.StringVar(&h.onUnreachable, "on-unreachable", "", "the `answer` if no one can decide: allow (only if there is no hub or no open dashboard), deny or ask")
	f.StringVar(&h.onTimeout, "on-timeout", "", "the `action` if no one answers in time: emit_timeout (follow --on-unreachable) or fail_run (deny, with a reason that instructs the agent to stop)")
	f.BoolVar(&h.explain, "explain", false, "print the event and the possible answers, and send nothing")
	return f
}

// Run runs the command inside a process with other tasks.
func Run(ctx context.Context, args []string, env func(string) string, std cli.Streams) int {
	return newHookRun(env, std).run(ctx, args)
}

// Process runs hook as the only task of the process. The process must exit quickly, so the
// garbage collector stays off until the heap is large. SIGPIPE is ignored, so the hook
// survives an agent that closes its end of the pipe.
func Process(args []string, env func(string) string, std cli.Streams, exit func(int)) int {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(64 << 20)
	signal.Ignore(syscall.SIGPIPE)
	h := newHookRun(env, std)
	h.exit = exit
	// A signal during the input phase: no question is pending and there is nothing to print.
	h.releaseSignals = onSignal(func() { exit(cli.ExitOK) })
	return h.run(context.Background(), args)
}

func newHookRun(env func(string) string, std cli.Streams) *hookRun {
	return &hookRun{
		env: env, std: std, started: time.Now(), releaseSignals: func() {}, connectTimeout: connectTimeout, acceptTimeout: acceptTimeout, log: hookLog{cli.HookLogFile(env)}, spool: report.NewSpool(env),
	}
}

// run parses args, reads the call and handles it. Any error, panics included, is logged,
// and the agent gets no output.
func (h *hookRun) run(ctx context.Context, args []string) (status int) {
	defer func() {
		if p := recover(); p != nil {
			h.logf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	f := h.flags()
	if helpShown, err := h.parse(f, args); helpShown {
		return cli.ExitOK
	} else if err != nil {
		return h.exitNoOpinion(err)
	}
	c, truncated, err := h.readCall()
	if err != nil {
		return h.exitNoOpinion(err)
	}
	if h.explain {
		h.explainCall(c, truncated)
		return cli.ExitOK
	}
	return h.handle(ctx, c, truncated)
}

// exitNoOpinion logs err and returns exit status 0 without output: the agent continues as
// without a hook.
func (h *hookRun) exitNoOpinion(err error) (status int) {
	if h.explain {
		fmt.Fprintf(h.std.Out, "%v\nThe hook would print nothing, exit 0 and log this to hook.log. The agent would behave as without a hook.\n", err)
		return cli.ExitOK
	}
	h.logf("%v", err)
	return cli.ExitOK
}

// parse parses the command line. helpShown reports whether it printed the help instead.
func (h *hookRun) parse(f *cli.Flags, args []string) (helpShown bool, err error) {
	if helpShown, err := f.ParseOrHelp(args, h.std.Out); helpShown || err != nil {
		return helpShown, err
	}
	if len(f.Positional) != 1 {
		return false, fmt.Errorf("hook takes one agent name, not %q", f.Positional)
	}
	var known bool
	if h.agent, known = hook.Find(f.Positional[0]); !known {
		return false, fmt.Errorf("unknown agent %q", f.Positional[0])
	}
	switch h.onUnreachable {
	case "", thenAllow, thenDeny, thenAsk:
	default:
		return false, fmt.Errorf("--on-unreachable %q: must be allow, deny or ask", h.onUnreachable)
	}
	if !slices.Contains([]string{"", schema.EmitTimeout, schema.FailRun}, h.onTimeout) {
		return false, fmt.Errorf("--on-timeout %q: must be emit_timeout or fail_run", h.onTimeout)
	}
	h.workDir, err = os.Getwd()
	if err != nil {
		h.workDir = "" // the directory was deleted; agents send theirs
	}
	return false, nil
}

// logf writes an entry to the hook log.
func (h *hookRun) logf(format string, args ...any) {
	h.log.printf("hook %s: %s", cmp.Or(h.agent.Name, "?"), fmt.Sprintf(format, args...))
}

// readCall parses stdin. truncated reports whether the input was too long and its long
// strings were cut.
func (h *hookRun) readCall() (c *hook.Call, truncated bool, err error) {
	text, truncated, err := readInput(h.std.In)
	if err != nil {
		return nil, false, err
	}
	in := hook.Input{Stdin: text, Event: h.event, Env: h.env, Dir: h.workDir, IsInteractive: isInteractive}.Parsed()
	if err := h.identifyCaller(in); err != nil {
		return nil, false, err
	}
	call, err := h.agent.Agent.Parse(in)
	if err != nil {
		return nil, false, fmt.Errorf("parse input: %w", err)
	}
	e := &call.Event
	e.SourceApp = cmp.Or(h.app, e.SourceApp, h.agent.Name)
	e.Agent = cmp.Or(e.Agent, h.agent.Name)
	if e.Timestamp == 0 {
		e.Timestamp = toMillis(h.started)
	}
	e.IdempotencyKey = idempotencyKey(e)
	return &call, truncated, nil
}

// handle decides the call, prints the answer and reports the event to the hub.
func (h *hookRun) handle(ctx context.Context, c *hook.Call, truncated bool) (status int) {
	hd := h.decide(c, truncated)
	if !hd.ask {
		// Print first: the answer counts even if the agent kills the hook during the report.
		if h.exit != nil {
			signal.Ignore(os.Interrupt, syscall.SIGTERM) // the hook exits soon anyway
		}
		h.releaseSignals()
		status = h.writeReply(h.agent.Agent.Render(c, hd.verdict))
		c.Event.Reason = cmp.Or(c.Event.Reason, oneLine(hd.verdict.Reason))
		if h.exit != nil { // even if a disk does not respond
			defer time.AfterFunc(reportTimeout, func() { h.exit(status) }).Stop()
		}
		h.report(c)
		return status
	}
	verdict, answered := h.askPerson(ctx, c, hd)
	if !answered {
		return cli.ExitOK // interrupted: the agent discards any output
	}
	return h.writeReply(h.agent.Agent.Render(c, verdict))
}

// writeReply prints r, stdout in a single write, and returns its exit status.
func (h *hookRun) writeReply(r hook.Reply) (status int) {
	if len(r.Stdout) > 0 {
		_, _ = h.std.Out.Write(r.Stdout) // the agent may have exited
	}
	if r.Exit != 0 && len(r.Stderr) > 0 {
		_, _ = h.std.Err.Write(r.Stderr)
	}
	return r.Exit
}

// selectHub returns the flags that select the hub, with their defaults before parse.
func (h *hookRun) selectHub() *cli.Flags {
	if h.hubFlags == nil {
		h.hubFlags = cli.NewBareFlags("hook", hookHelp)
		h.hubFlags.AddHubFlags(h.env)
		h.hubFlags.AddUnsignedFlag()
	}
	return h.hubFlags
}

// poster returns a poster of events to these hubs.
func (h *hookRun) poster(hubs []string) report.Poster {
	return report.Poster{Hubs: hubs, Options: h.selectHub().Options(), Logf: h.logf}
}

// oneLine returns text on one line of at most 1,000 characters.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 1000 {
		text = string(r[:1000]) + "…"
	}
	return text
}
