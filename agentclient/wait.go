package agentclient

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hookback/hookback/schema"
)

// ask is one call of Ask. Its fields belong to the caller's goroutine.
type ask struct {
	client  *Client
	waiter  *waiter
	event   schema.Event
	timeout time.Duration // 0: never
	waiting func(WaitStatus)

	posted chan posted // gets one value, from the goroutine that posts
	got    receipt     // the hub's, once it has the question
}

type posted struct {
	receipt
	err error
}

// wait posts the question and returns when its waiter is settled. Nothing that it
// started runs on.
func (a *ask) wait(ctx context.Context) {
	// The POST outlives ctx for a moment: without its receipt a question that was
	// just asked can't be withdrawn.
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	retry, stopRetry := context.WithCancel(work)
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer stopWork()
	defer stopRetry()
	tasks.Go(func() {
		defer a.contain()
		got, err := a.client.post(retry, work, &a.event)
		a.posted <- posted{got, err}
	})
	deadline := newDeadline(a.timeout, a.client.pace.grace)
	defer deadline.stop()
	for {
		select {
		case <-a.waiter.done:
			return
		case p := <-a.posted:
			if p.err != nil {
				a.notPosted(p.err)
				return
			}
			a.accepted(p.receipt)
			deadline.restart() // the hub counts from the moment it has the question
			tasks.Go(func() {
				defer a.contain()
				a.pull(work)
			})
		case l := <-a.waiter.moved:
			deadline.move(l)
		case <-deadline.expired():
			a.expire()
			return
		case <-ctx.Done():
			stopRetry()
			a.quit(ctx.Err(), reasonOf(ctx))
			return
		case <-a.client.ctx.Done():
			stopRetry()
			a.quit(ErrClosed, interrupted)
			return
		}
	}
}

// contain makes a panic an error of the question: the caller can't recover what a
// goroutine of ours does, and to a coding agent the exit status of a panic is a no.
func (a *ask) contain() {
	if p := recover(); p != nil {
		d := Decision{Kind: a.waiter.question.Type, Outcome: Unreachable, Source: NoHub}
		a.waiter.settle(d, fmt.Errorf("asking failed: panic: %v", p))
	}
}

// accepted notes that a hub has the question.
func (a *ask) accepted(got receipt) {
	a.got = got
	a.waiter.posted(got.ID)
	if a.waiting == nil {
		return
	}
	now := WaitStatus{EventID: got.ID, Page: got.hub + "/inbox/" + got.ID.String(), Watching: got.Watching}
	if a.timeout > 0 {
		now.Until = time.Now().Add(a.timeout)
	}
	a.waiting(now)
}

// notPosted ends a question that no hub took.
func (a *ask) notPosted(err error) {
	if errors.Is(err, ErrUnreachable) {
		a.waiter.settle(a.waiter.fallback.of(a.waiter.question).unreachable(a.waiter.question.Type, err))
		return
	}
	d := Decision{Kind: a.waiter.question.Type, Outcome: Rejected, Source: NotAsked}
	a.waiter.settle(d, fmt.Errorf("the question was not asked: %w", err))
}

// expire ends a question that nobody answered in time. Where no hub had it until
// now, nobody could.
func (a *ask) expire() {
	if a.got.ID == 0 {
		a.notPosted(fmt.Errorf("%w: it answered none of the attempts in %v", ErrUnreachable, a.timeout))
		return
	}
	d := Decision{Kind: a.waiter.question.Type, Outcome: schema.Timeout}
	d.explain(a.waiter.question)
	if a.waiter.settle(d, nil) {
		a.tellHub("the agent stopped waiting at its own deadline")
	}
}

// quit ends a question that the agent does not want answered any more. A hub that
// is about to take it gets the moment to do so, for its receipt.
func (a *ask) quit(cause error, reason string) {
	d := Decision{Kind: a.waiter.question.Type, Outcome: schema.Withdrawn, Source: schema.ByAgent}
	if !a.waiter.settle(d, cause) {
		return // an answer was faster
	}
	if !a.tellHub(reason) {
		a.waiter.decision.Outcome = Unreachable // settled: nobody else writes it
	}
}

const interrupted = "the agent was interrupted"

// reasonOf says why ctx ended, as far as whoever ended it said.
func reasonOf(ctx context.Context) string {
	if cause := context.Cause(ctx); cause.Error() != ctx.Err().Error() {
		return oneLine(cause.Error(), 200)
	}
	return interrupted
}

// tellHub withdraws the question where a hub has it, and reports whether nobody
// is asked any more.
func (a *ask) tellHub(reason string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), a.client.pace.withdraw)
	defer cancel()
	if a.got.ID == 0 {
		select {
		case p := <-a.posted:
			if p.err != nil {
				return true
			}
			a.got = p.receipt
		case <-ctx.Done():
			return false
		}
	}
	err := a.client.withdraw(ctx, a.got, reason)
	return err == nil || errors.Is(err, schema.ErrDecided) || errors.Is(err, schema.ErrExpired)
}
