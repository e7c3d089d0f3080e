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
	spare     = 5 * time.Second        // what is left of the agent's limit when it gives up
	absentFor = 500 * time.Millisecond // a hub that restarts is back by then
	takeTime  = 5 * time.Second        // for the hub to take the question
	lateFor   = 500 * time.Millisecond // for the hub's own timeout to arrive
	flushTime = 5 * time.Second        // for what earlier hooks kept: nobody waits for that
)

// Why a hook takes its question back; the hub is told.
var (
	errGone    = errors.New("the agent is gone")
	errStopped = errors.New("the agent stopped waiting for this answer")
	errNobody  = errors.New("nobody had the page open, so the agent decides at its own prompt")
	errSlow    = errors.New("the hub took too long to take the question")
	errLate    = errors.New("the agent stopped waiting at its own deadline")
)

// askPerson puts the call to a person and waits. answered is false when the agent
// does not want to know any more.
func (h *hooking) askPerson(ctx context.Context, c *hook.Call, p plan) (v hook.Verdict, answered bool) {
	hubs, err := h.hubs()
	if err != nil {
		h.note("%v", err)
		h.keep(c.Event, err)
		return h.fallback(c, p, noHub, "Nobody could be asked: "+err.Error()+"."), true
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer onSignal(func() { cancel(errStopped) })()
	h.begun()
	defer onOrphaned(func() { cancel(errGone) })()
	client := agentclient.New(agentclient.Options{Hubs: hubs, Token: h.env("HOOKBACK_TOKEN"), UnreachableAfter: h.absentFor})
	w := waiting{taken: make(chan struct{}), flushed: make(chan struct{})}
	defer time.AfterFunc(time.Until(h.deadline(c))+lateFor, func() { cancel(errLate) }).Stop()
	defer time.AfterFunc(h.takeTime, func() {
		if !closed(w.taken) {
			cancel(errSlow)
		}
	}).Stop()
	r := h.question(c, p)
	r.OnWaiting = func(now agentclient.WaitStatus) {
		close(w.taken)
		if now.Watching != nil && *now.Watching == 0 && !c.HasPrompt {
			cancel(errNobody)
		}
		go w.flush(h, hubs)
	}
	d, err := client.Ask(ctx, r)
	// Before the program ends: the answer's acknowledgement must get out.
	_ = client.Close()
	if !closed(w.taken) {
		h.keep(c.Event, cmp.Or(err, errors.New("no hub answers")))
	} else {
		w.letFlush()
	}
	if err == nil {
		return h.verdictOf(c, p, d), true
	}
	return h.unasked(c, p, context.Cause(ctx), err)
}

// failedRun is what is said when nobody answered a question that stops the run then.
const failedRun = "Nobody answered in time, so nothing was approved. Without an answer this run must not go on: stop here, and say so."

// late is what is said when nobody answered in time.
func (h *hooking) late(c *hook.Call, p plan) hook.Verdict {
	if h.onTimeout == schema.FailRun {
		return hook.Verdict{Effect: hook.Deny, Reason: failedRun}
	}
	return h.fallback(c, p, noAnswer, "Nobody answered in time, so nothing was approved.")
}

// unasked is what is said when Ask gave an error: it was ended, or refused.
func (h *hooking) unasked(c *hook.Call, p plan, cause, err error) (v hook.Verdict, answered bool) {
	switch {
	case errors.Is(cause, errNobody):
		return h.fallback(c, p, nobody, h.unwatched()), true
	case errors.Is(cause, errSlow):
		return h.fallback(c, p, noHub, h.absent()), true
	case errors.Is(cause, errLate):
		return h.late(c, p), true
	case errors.Is(err, agentclient.ErrTimedOut):
		return h.late(c, p), true
	case cause == nil:
		h.note("the question was refused: %v", err)
		return h.fallback(c, p, refused, "Nobody could be asked: "+err.Error()+"."), true
	default:
		return v, false
	}
}

// waiting is a question under way.
type waiting struct {
	taken   chan struct{} // closed when a hub has the question
	flushed chan struct{} // closed when what earlier hooks kept is sent
}

func (w *waiting) flush(h *hooking, hubs []string) {
	defer close(w.flushed)
	defer func() {
		if p := recover(); p != nil {
			h.note("panic: %v\n%s", p, debug.Stack())
		}
	}()
	h.flush(courier{hubs, h.env}, time.Now().Add(flushTime))
}

// letFlush gives a flush that is under way a moment to end.
func (w *waiting) letFlush() {
	select {
	case <-w.flushed:
	case <-time.After(sendTime):
	}
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// onSignal calls f when the agent wants the hook to end.
func onSignal(f func()) (stop func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
			f()
		case <-done:
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}

// question is the request for the call.
func (h *hooking) question(c *hook.Call, p plan) agentclient.Request {
	ask := *c.Ask
	ask.Lifeline, ask.AlsoAsked = true, c.HasPrompt
	if p.ruling.Risk != "" {
		ask.Risk = p.ruling.Risk
	}
	if p.ruling.Reason != "" {
		var about schema.Context
		if ask.Context != nil {
			about = *ask.Context
		}
		about.Why = strings.TrimSpace(about.Why + "\n" + because("Asked", p.ruling))
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
func (h *hooking) deadline(c *hook.Call) time.Time {
	limit := h.limit
	if limit <= 0 {
		limit = c.Limit
	}
	if limit <= 0 {
		limit = time.Minute // the shortest that most agents give
	}
	own := max(limit-spare, limit/2)
	if c.Ask.Timeout != nil && *c.Ask.Timeout > 0 {
		own = min(own, c.Ask.TimeoutDuration())
	}
	return h.started.Add(own)
}
