package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/schema"
)

const hookHelp = `hookback hook AGENT [flags] < input

What a coding agent runs as its hook (hookback install writes it into the agent's
settings). It reads what the agent says on stdin, sends it to the hub as an event
and, where the agent or the policy wants a decision, asks a person and prints the
answer as this agent takes it.

It exits 0 and writes nothing to stderr, whatever happens: for agents any other
status means no. Only agents that have no other word for no get exit status 2, when
the answer is no. What went wrong stands in hook.log in the state directory
(~/.local/state/hookback on Linux). Events that no hub takes are kept there and sent
by a later hook.

When nobody can decide (no hub, nobody at its page, no answer in time), the agent's
own prompt decides; what the policy says a person must decide is refused where the
agent has no prompt to fall back on. --on-unreachable says it otherwise.
`

// hookRun is one run of hook: its command line, and where it runs.
type hookRun struct {
	agent         hook.AgentInfo
	event         string
	observe       bool
	limit         time.Duration
	hub, app      string
	onUnreachable string
	onTimeout     string
	explain       bool

	exit           func(status int) // ends the process; nil where it is not the hook's alone
	releaseSignals func()           // from here on a signal is taken by whoever decides
	env            func(string) string
	workDir        string
	std            streams
	started        time.Time
	// connectTimeout is how long nobody may listen at the hub's addresses, and acceptTimeout how
	// long a hub may take to take a question.
	connectTimeout, acceptTimeout time.Duration
	log                           hookLog
	spool                         spool
}

// reportTimeout is how long a hook that has answered may take to tell the hub: its agent may
// wait for its end.
const reportTimeout = 2 * time.Second

// The words of --on-unreachable.
const (
	thenAllow = "allow"
	thenDeny  = "deny"
	thenAsk   = "ask"
)

func (h *hookRun) flags() *flags {
	f := &flags{FlagSet: flag.NewFlagSet("hook", flag.ContinueOnError), help: hookHelp}
	f.SetOutput(io.Discard)
	f.StringVar(&h.event, "event", "", "the event's `name`, for agents that don't say it on stdin")
	f.BoolVar(&h.observe, "observe", false, "tell the hub, decide nothing")
	f.DurationVar(&h.limit, "limit", 0, "how long the agent lets this hook run, a `duration` such as 3600s")
	f.StringVar(&h.hub, "hub", "", "the hub's `address`, or several with commas (HOOKBACK_URL)")
	f.StringVar(&h.app, "app", "", "the project's `name`; default: the name of its folder")
	f.StringVar(&h.onUnreachable, "on-unreachable", "", "the `answer` when nobody can decide: allow (only without a hub, or with nobody at its page), deny or ask")
	f.StringVar(&h.onTimeout, "on-timeout", "", "what no answer in time `means`: emit_timeout (as --on-unreachable says) or fail_run (no, with a reason that tells the agent to stop)")
	f.BoolVar(&h.explain, "explain", false, "say what it would send and answer, and send nothing")
	return f
}

// runHook is the verb hook.
func runHook(ctx context.Context, args []string, env func(string) string, std streams) int {
	return newHookRun(env, std).run(ctx, args)
}

// hookProcess is runHook in a process that does nothing else. It must be quick to
// end, so it collects no garbage before there is a lot, and it outlives an agent
// that closes its end of the pipe.
func hookProcess(args []string, env func(string) string, std streams, exit func(int)) int {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(64 << 20)
	signal.Ignore(syscall.SIGPIPE)
	h := newHookRun(env, std)
	h.exit = exit
	// A signal while the input is read: there is nobody to tell, and nothing to say.
	h.releaseSignals = onSignal(func() { exit(exitOK) })
	return h.run(context.Background(), args)
}

func newHookRun(env func(string) string, std streams) *hookRun {
	return &hookRun{
		env: env, std: std, started: time.Now(), releaseSignals: func() {}, connectTimeout: connectTimeout, acceptTimeout: acceptTimeout, log: newHookLog(env), spool: newSpool(env),
	}
}

// run does it all. Whatever happens inside, the agent gets an answer that it
// understands, or silence.
func (h *hookRun) run(ctx context.Context, args []string) (status int) {
	defer func() {
		if p := recover(); p != nil {
			h.logf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	f := h.flags()
	if helped, err := h.parse(f, args); helped {
		return exitOK
	} else if err != nil {
		return h.exitNoOpinion(err)
	}
	c, truncated, err := h.readCall()
	if err != nil {
		return h.exitNoOpinion(err)
	}
	if h.explain {
		h.explainCall(c, truncated)
		return exitOK
	}
	return h.handle(ctx, c, truncated)
}

// exitNoOpinion is the end of what can't be understood: the agent goes on as without a hook,
// and the local log knows why.
func (h *hookRun) exitNoOpinion(err error) (status int) {
	if h.explain {
		fmt.Fprintf(h.std.out, "%v\nIt would print nothing, exit 0 and note this in hook.log: the agent does what it would do without a hook.\n", err)
		return exitOK
	}
	h.logf("%v", err)
	return exitOK
}

// parse reads the command line. helped: it asked for help, and got it.
func (h *hookRun) parse(f *flags, args []string) (helpShown bool, err error) {
	for len(args) > 0 {
		if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
			f.usage(h.std.out)
			return true, nil
		} else if err != nil {
			return false, err
		}
		if args = f.Args(); len(args) > 0 {
			f.positional, args = append(f.positional, args[0]), args[1:]
		}
	}
	if len(f.positional) != 1 {
		return false, fmt.Errorf("hook takes the name of one agent, not %q", f.positional)
	}
	var known bool
	if h.agent, known = hook.Find(f.positional[0]); !known {
		return false, fmt.Errorf("there is no agent %q", f.positional[0])
	}
	switch h.onUnreachable {
	case "", thenAllow, thenDeny, thenAsk:
	default:
		return false, fmt.Errorf("--on-unreachable %q: it must be allow, deny or ask", h.onUnreachable)
	}
	if !slices.Contains([]string{"", schema.EmitTimeout, schema.FailRun}, h.onTimeout) {
		return false, fmt.Errorf("--on-timeout %q: it must be emit_timeout or fail_run", h.onTimeout)
	}
	h.workDir, err = os.Getwd()
	if err != nil {
		h.workDir = "" // deleted meanwhile: agents say where they work
	}
	return false, nil
}

// logf writes a line into the local log.
func (h *hookRun) logf(format string, args ...any) {
	h.log.printf("hook %s: %s", cmp.Or(h.agent.Name, "?"), fmt.Sprintf(format, args...))
}

// readCall makes a call of stdin. shortened: it is too long, and its long strings are cut.
func (h *hookRun) readCall() (c *hook.Call, truncated bool, err error) {
	text, truncated, err := readInput(h.std.in)
	if err != nil {
		return nil, false, err
	}
	in := hook.Input{Stdin: text, Event: h.event, Env: h.env, Dir: h.workDir, Attended: isInteractive}.Parsed()
	if err := h.identifyCaller(in); err != nil {
		return nil, false, err
	}
	call, err := h.agent.Agent.Parse(in)
	if err != nil {
		return nil, false, fmt.Errorf("its input can't be read: %w", err)
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

// handle decides, answers and tells the hub.
func (h *hookRun) handle(ctx context.Context, c *hook.Call, truncated bool) (status int) {
	hd := h.decide(c, truncated)
	if !hd.ask {
		// The answer comes first: it counts even if the agent loses its patience.
		if h.exit != nil {
			signal.Ignore(os.Interrupt, syscall.SIGTERM) // it ends by itself, and soon
		}
		h.releaseSignals()
		status = h.writeReply(h.agent.Agent.Render(c, hd.verdict))
		c.Event.Reason = cmp.Or(c.Event.Reason, oneLine(hd.verdict.Reason))
		if h.exit != nil { // whatever holds it up, a disk that doesn't answer
			defer time.AfterFunc(reportTimeout, func() { h.exit(status) }).Stop()
		}
		h.report(c)
		return status
	}
	verdict, answered := h.askPerson(ctx, c, hd)
	if !answered {
		return exitOK // interrupted: whatever is said now is thrown away
	}
	return h.writeReply(h.agent.Agent.Render(c, verdict))
}

// writeReply prints, in one write, and gives the exit status.
func (h *hookRun) writeReply(r hook.Reply) (status int) {
	if len(r.Stdout) > 0 {
		_, _ = h.std.out.Write(r.Stdout) // the agent may be gone
	}
	if r.Exit != 0 && len(r.Stderr) > 0 {
		_, _ = h.std.err.Write(r.Stderr)
	}
	return r.Exit
}

// hubs are the hub's addresses.
func (h *hookRun) hubs() ([]string, error) {
	return agentclient.Hubs(cmp.Or(h.hub, h.env("HOOKBACK_URL")))
}

// oneLine is a text for a column of the hub's: at most 1,000 characters.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 1000 {
		text = string(r[:1000]) + "…"
	}
	return text
}
