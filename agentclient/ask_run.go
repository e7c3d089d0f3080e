package agentclient

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hookback/hookback/agentclient/socket"
	"github.com/hookback/hookback/schema"
)

// askRun is one call of Ask. Its fields belong to the caller's goroutine.
type askRun struct {
	client       *Client
	pending      *pendingAsk
	event        schema.Event
	body         eventBody         // the encoded event
	digest       [sha256.Size]byte // sign.AskDigest of body
	timeout      time.Duration     // 0: none
	onWaiting    func(WaitStatus)
	onReattached func()

	posted  chan postResult // receives one value from the posting goroutine
	receipt eventReceipt    // set once a hub has stored the question
}

type postResult struct {
	eventReceipt
	err error
}

// run posts the question and returns once the question is resolved and every goroutine
// that run started has ended.
func (a *askRun) run(ctx context.Context) {
	// The POST outlives ctx for a moment: without its receipt, a question that the
	// hub has just stored can't be withdrawn.
	workCtx, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	retryCtx, stopRetry := context.WithCancel(workCtx)
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer stopWork()
	defer stopRetry()
	tasks.Go(func() {
		defer a.recoverPanic()
		receipt, err := a.client.postEvent(retryCtx, workCtx, a.body)
		a.posted <- postResult{receipt.withSecret(a.event.HumanInTheLoop.RequestSecret), err}
	})
	limit := newDeadlineTimer(a.timeout, a.client.timings.grace)
	defer limit.stop()
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
			limit.restart() // the hub's timeout starts when it stores the question
			tasks.Go(func() {
				defer a.recoverPanic()
				a.pull(workCtx)
			})
		case update := <-a.pending.deadlineUpdates:
			limit.extend(update)
		case <-limit.expired():
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

// recoverPanic turns a panic into an error of the question. The caller can't recover a
// panic of these goroutines, and coding agents treat the exit status of a panic as a
// denial.
func (a *askRun) recoverPanic() {
	if p := recover(); p != nil {
		d := Decision{Kind: a.pending.question.Type, Outcome: Unreachable, Source: NoHub}
		a.pending.resolve(d, fmt.Errorf("ask question: panic: %v", p))
	}
}

// markAccepted records that a hub has stored the question.
func (a *askRun) markAccepted(receipt eventReceipt) {
	a.receipt = receipt
	a.pending.setEventID(receipt.ID)
	if a.onWaiting == nil {
		return
	}
	status := WaitStatus{EventID: receipt.ID, PageURL: pageURL(receipt), Watching: receipt.Watching}
	status.Directive, status.Reachable = receipt.Directive, receipt.Reachable
	status.Settled = receipt.HumanInTheLoopStatus != nil && receipt.HumanInTheLoopStatus.IsSettled()
	if a.timeout > 0 {
		status.Deadline = time.Now().Add(a.timeout)
	}
	a.onWaiting(status)
}

// failPost resolves a question that no hub accepted.
func (a *askRun) failPost(err error) {
	if errors.Is(err, ErrUnreachable) {
		a.pending.resolve(a.pending.fallback.unreachableDecision(a.pending.question.Type, err))
		return
	}
	d := Decision{Kind: a.pending.question.Type, Outcome: Rejected, Source: NotAsked}
	a.pending.resolve(d, fmt.Errorf("the question was not asked: %w", err))
}

// timeOut resolves a question at the client's own deadline. If no hub has stored it,
// the outcome is not a timeout but an unreachable hub: no one could answer.
func (a *askRun) timeOut() {
	if a.receipt.ID == 0 {
		a.failPost(fmt.Errorf("%w: no attempt succeeded within %v", ErrUnreachable, a.timeout))
		return
	}
	d := Decision{Kind: a.pending.question.Type, Outcome: schema.Timeout}
	d.fillExplanation(a.pending.question)
	if a.pending.resolve(d, nil) {
		a.withdrawFromHub(schema.ReasonOwnDeadline)
	}
}

// abort resolves a question whose ctx ended. A POST in progress gets a moment to
// complete, because the withdrawal needs its receipt.
func (a *askRun) abort(cause error, reason string) {
	d := Decision{Kind: a.pending.question.Type, Outcome: schema.Withdrawn, Source: schema.ByAgent}
	if !a.pending.resolve(d, cause) {
		return // an answer won the race
	}
	if !a.withdrawFromHub(reason) {
		// Safe without the lock: the ask is settled, so no other goroutine writes it.
		a.pending.decision.Outcome = Unreachable
	}
}

const reasonInterrupted = "the agent was interrupted"

// cancelReason returns the cause of ctx, or a generic reason if it has none.
func cancelReason(ctx context.Context) string {
	if cause := context.Cause(ctx); cause.Error() != ctx.Err().Error() {
		return oneLine(cause.Error(), 200)
	}
	return reasonInterrupted
}

// withdrawFromHub withdraws the question if a hub has stored it. It reports whether the
// question is certainly no longer pending.
func (a *askRun) withdrawFromHub(reason string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), a.client.timings.withdrawTimeout)
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

// pageURL returns the address of the question's page, or "" if the hub's address is a
// socket, which a browser cannot open.
func pageURL(receipt eventReceipt) string {
	if strings.HasPrefix(receipt.hub, socket.Scheme+":") {
		return ""
	}
	return receipt.hub + "/inbox/" + receipt.ID.String()
}
