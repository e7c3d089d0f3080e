package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/schema"
)

// How a hook waits for a person.
const (
	limitMargin     = 5 * time.Second        // what is left of the agent's limit when it gives up
	connectTimeout  = 500 * time.Millisecond // a hub that restarts is back by then
	acceptTimeout   = 5 * time.Second        // for the hub to take the question
	hubTimeoutGrace = 500 * time.Millisecond // for the hub's own timeout to arrive
	flushTimeout    = 5 * time.Second        // for what earlier hooks kept: nobody waits for that
)

// Why a hook takes its question back; the hub is told.
var (
	errAgentExited = errors.New("the agent is gone")
	errInterrupted = errors.New("the agent stopped waiting for this answer")
	errNoDashboard = errors.New("nobody had the page open, so the agent decides at its own prompt")
	errHubSlow     = errors.New("the hub took too long to take the question")
	errDeadline    = errors.New("the agent stopped waiting at its own deadline")
)

// askPerson puts the call to a person and waits. answered is false when the agent
// does not want to know any more.
func (h *hookRun) askPerson(ctx context.Context, c *hook.Call, hd hookDecision) (v hook.Verdict, answered bool) {
	hubs, err := h.hubs()
	if err != nil {
		h.logf("%v", err)
		h.spoolEvent(c.Event, err)
		return h.fallbackVerdict(c, hd, noHub, "Nobody could be asked: "+err.Error()+"."), true
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer onSignal(func() { cancel(errInterrupted) })()
	h.releaseSignals()
	defer onParentExit(func() { cancel(errAgentExited) })()
	client := agentclient.New(agentclient.Options{Hubs: hubs, Token: h.env("HOOKBACK_TOKEN"), UnreachableAfter: h.connectTimeout})
	pending := pendingQuestion{accepted: make(chan struct{}), flushed: make(chan struct{})}
	defer time.AfterFunc(time.Until(h.deadline(c))+hubTimeoutGrace, func() { cancel(errDeadline) }).Stop()
	defer time.AfterFunc(h.acceptTimeout, func() {
		if !isClosed(pending.accepted) {
			cancel(errHubSlow)
		}
	}).Stop()
	r := h.buildRequest(c, hd)
	r.OnWaiting = func(now agentclient.WaitStatus) {
		close(pending.accepted)
		if now.Watching != nil && *now.Watching == 0 && !c.HasPrompt {
			cancel(errNoDashboard)
		}
		go pending.flushSpool(h, hubs)
	}
	d, err := client.Ask(ctx, r)
	// Before the program ends: the answer's acknowledgement must get out.
	_ = client.Close()
	if !isClosed(pending.accepted) {
		h.spoolEvent(c.Event, cmp.Or(err, errors.New("no hub answers")))
	} else {
		pending.awaitFlush()
	}
	if err == nil {
		return h.verdictFor(c, hd, d), true
	}
	return h.errorVerdict(c, hd, context.Cause(ctx), err)
}

// failRunReason is what is said when nobody answered a question that stops the run then.
const failRunReason = "Nobody answered in time, so nothing was approved. Without an answer this run must not go on: stop here, and say so."

// timeoutVerdict is what is said when nobody answered in time.
func (h *hookRun) timeoutVerdict(c *hook.Call, hd hookDecision) hook.Verdict {
	if h.onTimeout == schema.FailRun {
		return hook.Verdict{Effect: hook.Deny, Reason: failRunReason}
	}
	return h.fallbackVerdict(c, hd, noAnswer, "Nobody answered in time, so nothing was approved.")
}

// errorVerdict is what is said when Ask gave an error: it was ended, or refused.
func (h *hookRun) errorVerdict(c *hook.Call, hd hookDecision, cause, err error) (v hook.Verdict, answered bool) {
	switch {
	case errors.Is(cause, errNoDashboard):
		return h.fallbackVerdict(c, hd, noDashboard, h.noDashboardText()), true
	case errors.Is(cause, errHubSlow):
		return h.fallbackVerdict(c, hd, noHub, h.noHubText()), true
	case errors.Is(cause, errDeadline):
		return h.timeoutVerdict(c, hd), true
	case errors.Is(err, agentclient.ErrTimedOut):
		return h.timeoutVerdict(c, hd), true
	case cause == nil:
		h.logf("the question was refused: %v", err)
		return h.fallbackVerdict(c, hd, rejected, "Nobody could be asked: "+err.Error()+"."), true
	default:
		return v, false
	}
}

// pendingQuestion is a question under way.
type pendingQuestion struct {
	accepted chan struct{} // closed when a hub has the question
	flushed  chan struct{} // closed when what earlier hooks kept is sent
}

func (w *pendingQuestion) flushSpool(h *hookRun, hubs []string) {
	defer close(w.flushed)
	defer func() {
		if p := recover(); p != nil {
			h.logf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	h.flushSpool(rawPoster{hubs, h.env}, time.Now().Add(flushTimeout))
}

// awaitFlush gives a flush that is under way a moment to end.
func (w *pendingQuestion) awaitFlush() {
	select {
	case <-w.flushed:
	case <-time.After(sendTimeout):
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// onSignal calls f when the agent wants the hook to end.
func onSignal(onSignal func()) (stop func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
			onSignal()
		case <-done:
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}

// buildRequest is the request for the call.
func (h *hookRun) buildRequest(c *hook.Call, hd hookDecision) agentclient.Request {
	ask := *c.Ask
	ask.Lifeline, ask.AlsoAsked = true, c.HasPrompt
	if hd.policy.Risk != "" {
		ask.Risk = hd.policy.Risk
	}
	if hd.policy.Reason != "" {
		var about schema.Context
		if ask.Context != nil {
			about = *ask.Context
		}
		about.Why = strings.TrimSpace(about.Why + "\n" + policyReason("Asked", hd.policy))
		ask.Context = &about
	}
	if h.onTimeout == schema.FailRun {
		ask.OnTimeout = schema.FailRun
	}
	e := c.Event
	e.HumanInTheLoop = &ask
	return agentclient.Request{Event: e, OnUnreachable: agentclient.Deny, Timeout: time.Until(h.deadline(c))}
}

// deadline is when the hook gives up waiting: before the agent kills it, since what
// it prints then is thrown away.
func (h *hookRun) deadline(c *hook.Call) time.Time {
	limit := h.limit
	if limit <= 0 {
		limit = c.Limit
	}
	if limit <= 0 {
		limit = time.Minute // the shortest that most agents give
	}
	wait := max(limit-limitMargin, limit/2)
	if c.Ask.Timeout != nil && *c.Ask.Timeout > 0 {
		wait = min(wait, c.Ask.TimeoutDuration())
	}
	return h.started.Add(wait)
}
