package agentclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/hookback/hookback/schema"
)

// pull fetches the answer over HTTP, for where the hub can't dial the listener:
// in a container, over SSH, after the hub moved. It starts at once when the hub
// says that it won't dial, otherwise after a moment, of which a push takes a
// fraction. It ends with ctx, with the answer, or when none of the addresses
// knows the question; then only a push can help.
func (a *ask) pull(ctx context.Context) {
	if !a.pullAtOnce() && !sleep(ctx, a.client.pace.pullAfter) {
		return
	}
	hubs := slices.DeleteFunc(a.client.hubsInOrder(), func(hub string) bool { return hub == a.got.hub })
	hubs = slices.Insert(hubs, 0, a.got.hub)
	retry := newBackoff()
	for len(hubs) > 0 {
		begun := time.Now()
		ended, err := a.pullOnce(ctx, hubs[0])
		switch {
		case ended || ctx.Err() != nil:
			return
		case err == nil && time.Since(begun) > a.client.pace.poll/2:
			retry = newBackoff() // held open as asked: go on without a pause
			continue
		case errors.Is(err, errAbsent) || errors.Is(err, errRetry):
			hubs = append(hubs[1:], hubs[0]) // down for now, or restarting
		case err != nil:
			hubs = hubs[1:] // doesn't know the question, or pulling
			continue
		}
		if !sleep(ctx, retry.next()) {
			return
		}
	}
}

// pullAtOnce reports whether no push can come, or the answer is there already
// (the POST repeated an older one).
func (a *ask) pullAtOnce() bool {
	if a.event.HumanInTheLoop.ResponseWebSocketURL == "" {
		return true
	}
	s := a.got.HumanInTheLoopStatus
	return s != nil && (s.Settled() || s.Delivery != nil && s.Delivery.State == schema.Blocked)
}

// pullOnce asks one hub for the answer, and reports whether the question has its
// end. No error and no end: there is no answer yet.
func (a *ask) pullOnce(ctx context.Context, hub string) (ended bool, err error) {
	poll := a.client.pace.poll
	ctx, cancel := context.WithTimeout(ctx, poll+a.client.pace.attempt)
	defer cancel()
	wait := strconv.FormatFloat(poll.Seconds(), 'f', -1, 64)
	answer, err := a.client.call(ctx, request{
		hub: hub, path: schema.At(schema.PathResponse, a.got.ID) + "?wait=" + wait, secret: a.got.RequestSecret,
	})
	switch {
	case errors.Is(err, schema.ErrExpired):
		a.over(err)
		return true, nil
	case err != nil:
		return false, err
	case answer.body == nil:
		a.waiter.expires(answer.expires)
		return false, nil
	}
	m, err := readMessage(answer.body)
	a.waiter.offer(m, err)
	select {
	case <-a.waiter.done:
		return true, nil
	default:
		return false, fmt.Errorf("%w: %s has another one under this number", schema.ErrNotFound, hub)
	}
}

// over ends a question for which the hub has no answer and never will.
func (a *ask) over(err error) {
	d := Decision{Kind: a.waiter.question.Type, Outcome: schema.Withdrawn, Source: schema.ByAgent}
	var now *schema.StatusError
	if errors.As(err, &now) && schema.IsReservedName(string(now.Status.Outcome)) {
		d.Outcome, d.Source, d.Reason = now.Status.Outcome, now.Status.Source, now.Status.Reason
	}
	d.explain(a.waiter.question)
	a.waiter.settle(d, nil)
}

// sleep waits for d and reports whether ctx lasted that long.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
