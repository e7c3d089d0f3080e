// Package hookrun is hookback hook: one run of a coding agent's hook.
package hookrun

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/internal/account"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/project"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// reportTimeout limits how long a hook that has printed its answer may report to the hub,
// because its agent may wait for the process to exit.
const reportTimeout = 2 * time.Second

// Run runs the command inside a process with other tasks.
func Run(ctx context.Context, args []string, env func(string) string, std cli.Streams) int {
	return newHookRun(env, std).run(ctx, args)
}

// Process runs hook as the only task of the process. SIGPIPE is ignored, so the hook survives an
// agent that closes its end of the pipe.
//
// The process must exit quickly. The signal handler is therefore installed only if the input takes
// time, and the garbage collector, which a small input does not start, is turned off for a large
// one until the heap is large.
func Process(args []string, env func(string) string, std cli.Streams, exit func(int)) int {
	signal.Ignore(syscall.SIGPIPE)
	h := newHookRun(env, std)
	h.exit = exit
	// A signal during the input phase: no question is pending and there is nothing to print.
	watch := watchSignals(func() { exit(cli.ExitOK) })
	h.releaseSignals = watch.stop
	h.std.In = &inputReader{std.In, sync.OnceFunc(func() {
		watch.install()
		debug.SetGCPercent(-1)
		debug.SetMemoryLimit(64 << 20)
	})}
	return h.run(context.Background(), args)
}

// inputReader calls large if the input is longer than one read.
type inputReader struct {
	io.Reader
	large func()
}

func (r *inputReader) Read(p []byte) (n int, err error) {
	if n, err = r.Reader.Read(p); n == len(p) {
		r.large()
	}
	return n, err
}

// run parses args, reads the call and handles it. Any error, panics included, is logged,
// and the agent gets no output.
func (h *hookRun) run(ctx context.Context, args []string) (status int) {
	defer h.logPanic()
	f := h.flags()
	if helpShown, err := h.parse(f, args); helpShown {
		return cli.ExitOK
	} else if err != nil {
		return h.exitNoOpinion(err)
	}
	if h.isDuplicate() {
		return cli.ExitOK
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

// readCall parses stdin. truncated reports whether the call is not known completely, because
// the input was too long and its long strings were cut, or because parts can't be read.
func (h *hookRun) readCall() (c *hook.Call, truncated bool, err error) {
	text, truncated, err := readInput(h.std.In, defaultStdinTimeouts)
	if err != nil {
		return h.unreadableCall(err)
	}
	in := hook.Input{Stdin: text, Event: h.event, Env: h.env, Dir: h.workDir, IsInteractive: isInteractive, MainDir: project.Main, Plan: h.readPlan}.Parsed()
	if err := h.identifyCaller(in); err != nil {
		return nil, false, err
	}
	call, err := h.agent.Agent.Parse(in)
	if err != nil {
		return h.unreadableCall(fmt.Errorf("parse input: %w", err))
	}
	if call.UnknownEvent != "" {
		h.logf("%s sent an unknown event %q with a tool call; it is treated as a call that is about to run. Update Hookback", h.agent.Title, call.UnknownEvent)
	}
	h.readReviewer(&call)
	call.Truncated = truncated
	return h.complete(&call), truncated || call.Unreadable, nil
}

// unreadableCall returns a call of which only the event is known, from the command line. It
// returns cause if the event decides nothing or there is no policy to follow.
func (h *hookRun) unreadableCall(cause error) (c *hook.Call, truncated bool, err error) {
	if h.event == "" {
		return nil, false, cause
	}
	call, err := h.agent.Agent.Parse(hook.Input{Stdin: []byte("{}"), Event: h.event, Env: h.env, Dir: h.workDir, IsInteractive: isInteractive, MainDir: project.Main})
	if err != nil || call.Point == hook.Observe || !h.mayHavePolicy(&call) {
		return nil, false, cause
	}
	h.logf("%v", cause)
	call.Unreadable, call.Event.PayloadSanitized, call.Event.Error = true, true, oneLine(cause.Error())
	return h.complete(&call), true, nil
}

// complete sets the members of the call's event that the adapter does not know.
func (h *hookRun) complete(call *hook.Call) *hook.Call {
	e := &call.Event
	e.SourceApp = cmp.Or(h.app, e.SourceApp, h.agent.Name)
	e.Agent = cmp.Or(e.Agent, h.agent.Name)
	if e.Timestamp == 0 {
		e.Timestamp = schema.Millis(h.started.UnixMilli())
	}
	e.OSUser = account.Name()
	h.addGateFacts(e)
	e.IdempotencyKey = idempotencyKey(e)
	return call
}

// handle decides the call, prints the answer and reports the event to the hub.
func (h *hookRun) handle(ctx context.Context, c *hook.Call, truncated bool) (status int) {
	if appeal := h.refusedCall(c); appeal != nil {
		_, finish := h.send(c)
		finish()
		c = appeal
	}
	hd := h.decide(c, truncated)
	hd.recordVerdict(&c.Event)
	if !hd.ask {
		return h.answer(c, hd.verdict)
	}
	if c.AsksLater {
		return h.writeReply(h.agent.Agent.Render(c, h.askLater(c, hd)))
	}
	verdict, answered := h.askPerson(ctx, c, hd)
	if !answered {
		return cli.ExitOK // interrupted: the agent discards any output
	}
	return h.writeReply(h.agent.Agent.Render(c, verdict))
}

// answer sends the event, prints the verdict and ends the report. An agent that takes nothing of
// the hub's directive gets the verdict first: it counts even if the agent kills the hook during
// the report.
func (h *hookRun) answer(c *hook.Call, v hook.Verdict) (status int) {
	h.releaseSignals() // first: a handler that is stopped restores the default action
	if h.exit != nil {
		signal.Ignore(os.Interrupt, syscall.SIGTERM) // the hook exits soon anyway
	}
	c.Event.Reason = cmp.Or(c.Event.Reason, oneLine(v.Reason))
	printFirst := h.accepts(c) == control.Accepts{}
	if printFirst {
		status = h.writeReply(h.agent.Agent.Render(c, v))
	}
	if h.exit != nil && printFirst { // even if a disk does not respond
		defer time.AfterFunc(reportTimeout, func() { h.exit(status) }).Stop()
	}
	h.readUsage(c)
	directive, finish := h.send(c)
	if !printFirst {
		status = h.writeReply(h.agent.Agent.Render(c, h.applyDirective(c, directive, v)))
		if h.exit != nil {
			defer time.AfterFunc(reportTimeout, func() { h.exit(status) }).Stop()
		}
	}
	finish()
	h.reportCleared(c)
	h.reportPolicy(c)
	return status
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
