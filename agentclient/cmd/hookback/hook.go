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

// hooking is one run of hook: its command line, and where it runs.
type hooking struct {
	agent         hook.AgentInfo
	event         string
	observe       bool
	limit         time.Duration
	hub, app      string
	onUnreachable string
	onTimeout     string
	explain       bool

	exit    func(status int) // ends the process; nil where it is not the hook's alone
	begun   func()           // from here on a signal is taken by whoever decides
	env     func(string) string
	dir     string
	std     streams
	started time.Time
	// absentFor is how long nobody may listen at the hub's addresses, and takeTime how
	// long a hub may take to take a question.
	absentFor, takeTime time.Duration
	journal             journal
	spool               spool
}

// lastFor is how long a hook that has answered may take to tell the hub: its agent may
// wait for its end.
const lastFor = 2 * time.Second

// The words of --on-unreachable.
const (
	thenAllow = "allow"
	thenDeny  = "deny"
	thenAsk   = "ask"
)

func (h *hooking) flags() *flags {
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
	return newHooking(env, std).run(ctx, args)
}

// hookProcess is runHook in a process that does nothing else. It must be quick to
// end, so it collects no garbage before there is a lot, and it outlives an agent
// that closes its end of the pipe.
func hookProcess(args []string, env func(string) string, std streams, exit func(int)) int {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(64 << 20)
	signal.Ignore(syscall.SIGPIPE)
	h := newHooking(env, std)
	h.exit = exit
	// A signal while the input is read: there is nobody to tell, and nothing to say.
	h.begun = onSignal(func() { exit(exitYes) })
	return h.run(context.Background(), args)
}

func newHooking(env func(string) string, std streams) *hooking {
	return &hooking{
		env: env, std: std, started: time.Now(), begun: func() {}, absentFor: absentFor, takeTime: takeTime, journal: newJournal(env), spool: newSpool(env),
	}
}

// run does it all. Whatever happens inside, the agent gets an answer that it
// understands, or silence.
func (h *hooking) run(ctx context.Context, args []string) (status int) {
	defer func() {
		if p := recover(); p != nil {
			h.note("panic: %v\n%s", p, debug.Stack())
		}
	}()
	f := h.flags()
	if helped, err := h.parse(f, args); helped {
		return exitYes
	} else if err != nil {
		return h.pass(err)
	}
	c, shortened, err := h.read()
	if err != nil {
		return h.pass(err)
	}
	if h.explain {
		h.explainCall(c, shortened)
		return exitYes
	}
	return h.serve(ctx, c, shortened)
}

// pass is the end of what can't be understood: the agent goes on as without a hook,
// and the local log knows why.
func (h *hooking) pass(err error) (status int) {
	if h.explain {
		fmt.Fprintf(h.std.out, "%v\nIt would print nothing, exit 0 and note this in hook.log: the agent does what it would do without a hook.\n", err)
		return exitYes
	}
	h.note("%v", err)
	return exitYes
}

// parse reads the command line. helped: it asked for help, and got it.
func (h *hooking) parse(f *flags, args []string) (helped bool, err error) {
	for len(args) > 0 {
		if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
			f.usage(h.std.out)
			return true, nil
		} else if err != nil {
			return false, err
		}
		if args = f.Args(); len(args) > 0 {
			f.words, args = append(f.words, args[0]), args[1:]
		}
	}
	if len(f.words) != 1 {
		return false, fmt.Errorf("hook takes the name of one agent, not %q", f.words)
	}
	var known bool
	if h.agent, known = hook.Find(f.words[0]); !known {
		return false, fmt.Errorf("there is no agent %q", f.words[0])
	}
	switch h.onUnreachable {
	case "", thenAllow, thenDeny, thenAsk:
	default:
		return false, fmt.Errorf("--on-unreachable %q: it must be allow, deny or ask", h.onUnreachable)
	}
	if !slices.Contains([]string{"", schema.EmitTimeout, schema.FailRun}, h.onTimeout) {
		return false, fmt.Errorf("--on-timeout %q: it must be emit_timeout or fail_run", h.onTimeout)
	}
	h.dir, err = os.Getwd()
	if err != nil {
		h.dir = "" // deleted meanwhile: agents say where they work
	}
	return false, nil
}

// note writes a line into the local log.
func (h *hooking) note(format string, args ...any) {
	h.journal.note("hook %s: %s", cmp.Or(h.agent.Name, "?"), fmt.Sprintf(format, args...))
}

// read makes a call of stdin. shortened: it is too long, and its long strings are cut.
func (h *hooking) read() (c *hook.Call, shortened bool, err error) {
	text, shortened, err := readInput(h.std.in)
	if err != nil {
		return nil, false, err
	}
	in := hook.Input{Stdin: text, Event: h.event, Env: h.env, Dir: h.dir, Attended: attended}.Parsed()
	if err := h.recognise(in); err != nil {
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
		e.Timestamp = millis(h.started)
	}
	e.IdempotencyKey = keyOf(e)
	return &call, shortened, nil
}

// serve decides, answers and tells the hub.
func (h *hooking) serve(ctx context.Context, c *hook.Call, shortened bool) (status int) {
	plan := h.plan(c, shortened)
	if !plan.ask {
		// The answer comes first: it counts even if the agent loses its patience.
		if h.exit != nil {
			signal.Ignore(os.Interrupt, syscall.SIGTERM) // it ends by itself, and soon
		}
		h.begun()
		status = h.reply(h.agent.Agent.Render(c, plan.verdict))
		c.Event.Reason = cmp.Or(c.Event.Reason, oneLine(plan.verdict.Reason))
		if h.exit != nil { // whatever holds it up, a disk that doesn't answer
			defer time.AfterFunc(lastFor, func() { h.exit(status) }).Stop()
		}
		h.tell(c)
		return status
	}
	verdict, answered := h.askPerson(ctx, c, plan)
	if !answered {
		return exitYes // interrupted: whatever is said now is thrown away
	}
	return h.reply(h.agent.Agent.Render(c, verdict))
}

// reply prints, in one write, and gives the exit status.
func (h *hooking) reply(r hook.Reply) (status int) {
	if len(r.Stdout) > 0 {
		_, _ = h.std.out.Write(r.Stdout) // the agent may be gone
	}
	if r.Exit != 0 && len(r.Stderr) > 0 {
		_, _ = h.std.err.Write(r.Stderr)
	}
	return r.Exit
}

// hubs are the hub's addresses.
func (h *hooking) hubs() ([]string, error) {
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
