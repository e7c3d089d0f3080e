package hookrun

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/cli/report"
	"github.com/hookback/hookback/schema"
)

// askPerson asks a person about the call and blocks until the answer, the deadline or a
// signal. answered is false if the agent no longer waits for output.
func (h *hookRun) askPerson(ctx context.Context, c *hook.Call, hd hookDecision) (v hook.Verdict, answered bool) {
	o := h.selectHub().Options()
	o.UnreachableAfter = h.connectTimeout
	o.OnFirstContact = func(p agentclient.Pin) { h.logf("%s", cli.FirstContactText(p)) }
	client := agentclient.New(o)
	if trust, err := client.Trust(); err != nil {
		h.logf("%v", err)
		h.pinned = true
	} else {
		h.pinned = len(trust.Pins()) > 0 && !o.Unsigned
	}
	h.untrustedHub = !client.TrustsAddress()
	hubs, err := h.selectHub().Hubs()
	if err != nil {
		h.logf("%v", err)
		h.spoolEvent(c.Event, err)
		return h.fallbackVerdict(c, hd, noHub, "No one could be asked: "+err.Error()+"."), true
	}
	h.logRefusedToken(o, hubs)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer onSignal(func() { cancel(errInterrupted) })()
	h.releaseSignals()
	defer onParentExit(func() { cancel(errAgentExited) })()
	var accepted atomic.Bool // by a hub
	flushed := make(chan struct{})
	defer time.AfterFunc(time.Until(h.deadline(c))+hubTimeoutGrace, func() { cancel(errDeadline) }).Stop()
	defer time.AfterFunc(h.acceptTimeout, func() {
		if !accepted.Load() {
			cancel(errHubSlow)
		}
	}).Stop()
	r := h.buildRequest(c, hd)
	r.OnWaiting = func(status agentclient.WaitStatus) {
		accepted.Store(true)
		if status.Watching != nil && *status.Watching == 0 && !c.HasPrompt {
			cancel(errNoDashboard)
		}
		go func() {
			defer close(flushed)
			defer h.logPanic()
			h.flushSpool(h.poster(hubs), time.Now().Add(flushTimeout))
		}()
	}
	d, err := client.Ask(ctx, r)
	_ = client.Close() // waits until the acknowledgement of the answer is sent
	if !accepted.Load() {
		h.spoolEvent(c.Event, cmp.Or(err, errors.New("no hub answers")))
	} else {
		select {
		case <-flushed:
		case <-time.After(report.SendTimeout):
		}
	}
	if err == nil {
		return h.verdictFor(c, hd, d), true
	}
	return h.errorVerdict(c, hd, context.Cause(ctx), err)
}

// logRefusedToken logs the addresses that may not receive the token.
func (h *hookRun) logRefusedToken(o agentclient.Options, hubs []string) {
	for _, hub := range hubs {
		if _, err := agentclient.TokenFor(o, hub); err != nil {
			h.logf("%v", err)
		}
	}
}

// handlerDelay is how long a hook runs without a signal handler. Most agents write a short input
// and close stdin at the start of a hook, and installing the handler takes 0.2 ms.
const handlerDelay = 5 * time.Millisecond

// signalWatch is a signal handler that is installed after handlerDelay, or when install is called.
type signalWatch struct {
	timer  *time.Timer
	handle func()

	mu        sync.Mutex
	installed bool
	stopped   bool
	release   func() // of the installed handler
}

func watchSignals(handle func()) *signalWatch {
	w := &signalWatch{handle: handle, release: func() {}}
	w.timer = time.AfterFunc(handlerDelay, w.install)
	return w
}

func (w *signalWatch) install() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.installed && !w.stopped {
		w.installed, w.release = true, onSignal(w.handle)
	}
}

func (w *signalWatch) stop() {
	w.timer.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped {
		w.stopped = true
		w.release()
	}
}

// onSignal calls handle when the process receives SIGINT or SIGTERM.
func onSignal(handle func()) (stop func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
			handle()
		case <-done:
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}

// buildRequest returns the request for the call. It does not modify c.
func (h *hookRun) buildRequest(c *hook.Call, hd hookDecision) agentclient.Request {
	ask := *c.Ask
	ask.Lifeline, ask.AlsoAsked = true, c.HasPrompt
	if hd.policy.Risk != "" {
		ask.Risk = schema.Risk(hd.policy.Risk)
	}
	if hd.policy.Reason != "" {
		var questionContext schema.Context
		if ask.Context != nil {
			questionContext = *ask.Context
		}
		questionContext.Why = strings.TrimSpace(questionContext.Why + "\n" + policyReason("Approval required", hd.policy))
		ask.Context = &questionContext
	}
	if h.onTimeout == schema.FailRun {
		ask.OnTimeout = schema.FailRun
	}
	e := c.Event
	e.HumanInTheLoop, e.IdempotencyKey = &ask, randomKey()
	return agentclient.Request{Event: e, OnUnreachable: agentclient.Deny, Timeout: time.Until(h.deadline(c))}
}

// deadline returns when the hook stops waiting. It is before the agent kills the hook,
// because the agent discards the output of a killed hook.
func (h *hookRun) deadline(c *hook.Call) time.Time {
	limit := h.limit
	if limit <= 0 {
		limit = c.Limit
	}
	if limit <= 0 {
		limit = time.Minute // the shortest default of most agents
	}
	wait := max(limit-limitMargin, limit/2)
	if c.Ask.Timeout != nil && *c.Ask.Timeout > 0 {
		wait = min(wait, c.Ask.TimeoutDuration())
	}
	return h.started.Add(wait)
}
