package agentclient

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hookback/hookback/schema"
)

// askRun is one call of Ask. Its fields belong to the caller's goroutine.
type askRun struct {
	client    *Client
	pending   *pendingAsk
	event     schema.Event
	timeout   time.Duration // 0: never
	onWaiting func(WaitStatus)

	posted  chan postResult // gets one value, from the goroutine that posts
	receipt eventReceipt    // the hub's, once it has the question
}

type postResult struct {
	eventReceipt
	err error
}

// run posts the question and returns when its waiter is settled. Nothing that it
// started runs on.
func (a *askRun) run(ctx context.Context) {
	// The POST outlives ctx for a moment: without its receipt a question that was
	// just asked can't be withdrawn.
	workCtx, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	retryCtx, stopRetry := context.WithCancel(workCtx)
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer stopWork()
	defer stopRetry()
	tasks.Go(func() {
		defer a.recoverPanic()
		receipt, err := a.client.postEvent(retryCtx, workCtx, &a.event)
		a.posted <- postResult{receipt, err}
	})
	deadline := newDeadline(a.timeout, a.client.pacing.grace)
	defer deadline.stop()
	for {
		select {
		case <-a.pending.done:
			return
		case p := <-a.posted:
			if p.err != nil {
				a.failPost(p.err)
				return
			}
			a.markAccepted(p.eventReceipt)
			deadline.restart() // the hub counts from the moment it has the question
			tasks.Go(func() {
				defer a.recoverPanic()
				a.pull(workCtx)
			})
		case update := <-a.pending.deadlineUpdates:
			deadline.extend(update)
		case <-deadline.expired():
			a.timeOut()
			return
		case <-ctx.Done():
			stopRetry()
			a.abort(ctx.Err(), cancelReason(ctx))
			return
		case <-a.client.ctx.Done():
			stopRetry()
			a.abort(ErrClosed, reasonInterrupted)
			return
		}
	}
}

// recoverPanic makes a panic an error of the question: the caller can't recover what a
// goroutine of ours does, and to a coding agent the exit status of a panic is a no.
func (a *askRun) recoverPanic() {
	if p := recover(); p != nil {
		d := Decision{Kind: a.pending.question.Type, Outcome: Unreachable, Source: NoHub}
		a.pending.resolve(d, fmt.Errorf("asking failed: panic: %v", p))
	}
}

// markAccepted notes that a hub has the question.
func (a *askRun) markAccepted(receipt eventReceipt) {
	a.receipt = receipt
	a.pending.setEventID(receipt.ID)
	if a.onWaiting == nil {
		return
	}
	status := WaitStatus{EventID: receipt.ID, Page: receipt.hub + "/inbox/" + receipt.ID.String(), Watching: receipt.Watching}
	if a.timeout > 0 {
		status.Until = time.Now().Add(a.timeout)
	}
	a.onWaiting(status)
}

// failPost ends a question that no hub took.
func (a *askRun) failPost(err error) {
	if errors.Is(err, ErrUnreachable) {
		a.pending.resolve(a.pending.fallback.effectiveFor(a.pending.question).unreachableDecision(a.pending.question.Type, err))
		return
	}
	d := Decision{Kind: a.pending.question.Type, Outcome: Rejected, Source: NotAsked}
	a.pending.resolve(d, fmt.Errorf("the question was not asked: %w", err))
}

// timeOut ends a question that nobody answered in time. Where no hub had it until
// now, nobody could.
func (a *askRun) timeOut() {
	if a.receipt.ID == 0 {
		a.failPost(fmt.Errorf("%w: it answered none of the attempts in %v", ErrUnreachable, a.timeout))
		return
	}
	d := Decision{Kind: a.pending.question.Type, Outcome: schema.Timeout}
	d.fillExplanation(a.pending.question)
	if a.pending.resolve(d, nil) {
		a.withdrawFromHub("the agent stopped waiting at its own deadline")
	}
}

// abort ends a question that the agent does not want answered any more. A hub that
// is about to take it gets the moment to do so, for its receipt.
func (a *askRun) abort(cause error, reason string) {
	d := Decision{Kind: a.pending.question.Type, Outcome: schema.Withdrawn, Source: schema.ByAgent}
	if !a.pending.resolve(d, cause) {
		return // an answer was faster
	}
	if !a.withdrawFromHub(reason) {
		a.pending.decision.Outcome = Unreachable // settled: nobody else writes it
	}
}

const reasonInterrupted = "the agent was interrupted"

// cancelReason says why ctx ended, as far as whoever ended it said.
func cancelReason(ctx context.Context) string {
	if cause := context.Cause(ctx); cause.Error() != ctx.Err().Error() {
		return oneLine(cause.Error(), 200)
	}
	return reasonInterrupted
}

// withdrawFromHub withdraws the question where a hub has it, and reports whether nobody
// is asked any more.
func (a *askRun) withdrawFromHub(reason string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), a.client.pacing.withdrawTimeout)
	defer cancel()
	if a.receipt.ID == 0 {
		select {
		case p := <-a.posted:
			if p.err != nil {
				return true
			}
			a.receipt = p.eventReceipt
		case <-ctx.Done():
			return false
		}
	}
	err := a.client.withdraw(ctx, a.receipt, reason)
	return err == nil || errors.Is(err, schema.ErrDecided) || errors.Is(err, schema.ErrExpired)
}
