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
func (a *askRun) pull(ctx context.Context) {
	if !a.pullsImmediately() && !sleep(ctx, a.client.pacing.pullDelay) {
		return
	}
	hubs := slices.DeleteFunc(a.client.hubsInOrder(), func(hub string) bool { return hub == a.receipt.hub })
	hubs = slices.Insert(hubs, 0, a.receipt.hub)
	pauses := newBackoff()
	for len(hubs) > 0 {
		started := time.Now()
		ended, err := a.pullOnce(ctx, hubs[0])
		switch {
		case ended || ctx.Err() != nil:
			return
		case err == nil && time.Since(started) > a.client.pacing.pollTimeout/2:
			pauses = newBackoff() // held open as asked: go on without a pause
			continue
		case errors.Is(err, errNotListening) || errors.Is(err, errRetry):
			hubs = append(hubs[1:], hubs[0]) // down for now, or restarting
		case err != nil:
			hubs = hubs[1:] // doesn't know the question, or pulling
			continue
		}
		if !sleep(ctx, pauses.next()) {
			return
		}
	}
}

// pullsImmediately reports whether no push can come, or the answer is there already
// (the POST repeated an older one).
func (a *askRun) pullsImmediately() bool {
	if a.event.HumanInTheLoop.ResponseWebSocketURL == "" {
		return true
	}
	s := a.receipt.HumanInTheLoopStatus
	return s != nil && (s.Settled() || s.Delivery != nil && s.Delivery.State == schema.Blocked)
}

// pullOnce asks one hub for the answer, and reports whether the question has its
// end. No error and no end: there is no answer yet.
func (a *askRun) pullOnce(ctx context.Context, hub string) (ended bool, err error) {
	poll := a.client.pacing.pollTimeout
	ctx, cancel := context.WithTimeout(ctx, poll+a.client.pacing.postTimeout)
	defer cancel()
	wait := strconv.FormatFloat(poll.Seconds(), 'f', -1, 64)
	res, err := a.client.sendRequest(ctx, request{
		hub: hub, path: schema.At(schema.PathResponse, a.receipt.ID) + "?wait=" + wait, secret: a.receipt.RequestSecret,
	})
	switch {
	case errors.Is(err, schema.ErrExpired):
		a.finish(err)
		return true, nil
	case err != nil:
		return false, err
	case res.body == nil:
		a.pending.handleDeadlineHeader(res.deadline)
		return false, nil
	}
	m, err := readMessage(res.body)
	a.pending.handleMessage(m, err)
	select {
	case <-a.pending.done:
		return true, nil
	default:
		return false, fmt.Errorf("%w: %s has another one under this number", schema.ErrNotFound, hub)
	}
}

// finish ends a question for which the hub has no answer and never will.
func (a *askRun) finish(err error) {
	d := Decision{Kind: a.pending.question.Type, Outcome: schema.Withdrawn, Source: schema.ByAgent}
	var statusErr *schema.StatusError
	if errors.As(err, &statusErr) && schema.IsReservedName(string(statusErr.Status.Outcome)) {
		d.Outcome, d.Source, d.Reason = statusErr.Status.Outcome, statusErr.Status.Source, statusErr.Status.Reason
	}
	d.fillExplanation(a.pending.question)
	a.pending.resolve(d, nil)
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
