package agentclient

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptrace"
	"slices"
	"strconv"
	"time"

	"github.com/hookback/hookback/agentclient/internal/transport"
	"github.com/hookback/hookback/schema"
)

// pull fetches the answer with HTTP long polls. It is needed if the hub can't dial the
// listener, for example from a container, over SSH, or after the hub moved. It starts
// immediately if the hub won't dial, otherwise after pullDelay, because a push is much
// faster. It ends with ctx, with the answer, or when none of the addresses has the
// question; then only a push can deliver.
func (a *askRun) pull(ctx context.Context) {
	if !a.pullsImmediately() && !transport.Sleep(ctx, a.client.timings.pullDelay) {
		return
	}
	hubs := slices.DeleteFunc(a.client.hubsInOrder(), func(hub string) bool { return hub == a.receipt.hub })
	hubs = slices.Insert(hubs, 0, a.receipt.hub)
	pauses := transport.NewBackoff()
	for poll := a.client.timings.pollTimeout; len(hubs) > 0; {
		started := time.Now()
		ended, err := a.pullOnce(ctx, hubs[0], poll)
		if err == nil && poll == 0 {
			poll = a.client.timings.pollTimeout
			if a.onReattached != nil {
				a.onReattached()
			}
		}
		switch {
		case ended || ctx.Err() != nil:
			return
		case err == nil && time.Since(started) > a.client.timings.pollTimeout/2:
			pauses = transport.NewBackoff() // a full long poll: continue without a pause
			continue
		case errors.Is(err, transport.ErrNotListening) || errors.Is(err, transport.ErrRetry):
			hubs = append(hubs[1:], hubs[0]) // down or restarting: try the next address
			poll = 0                         // the first success is noticed without a long poll
		case err != nil:
			hubs = hubs[1:] // without this question, or without this route
			continue
		}
		if !transport.Sleep(ctx, pauses.Next()) {
			return
		}
	}
}

// pullsImmediately reports whether no push can come, or the answer already exists
// because the POST repeated an earlier one.
func (a *askRun) pullsImmediately() bool {
	if a.event.HumanInTheLoop.ResponseWebSocketURL == "" {
		return true
	}
	s := a.receipt.HumanInTheLoopStatus
	return s != nil && (s.IsSettled() || s.Delivery != nil && s.Delivery.State == schema.Blocked)
}

// pullOnce makes one poll, which the hub holds open for that time, and reports whether the question
// is resolved. false without an error means that there is no answer yet. A poll that loses its
// connection fails, so that the restart of a hub is noticed even if no connection was refused.
func (a *askRun) pullOnce(ctx context.Context, hub string, poll time.Duration) (ended bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, poll+a.client.timings.postTimeout)
	defer cancel()
	connections := 0
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		if connections++; connections > 1 { // net/http repeats a GET by itself
			cancel()
		}
	}})
	wait := strconv.FormatFloat(poll.Seconds(), 'f', -1, 64)
	res, err := a.client.sendRequest(ctx, transport.Request{
		Hub: hub, Path: schema.At(schema.PathResponse, a.receipt.ID) + "?wait=" + wait, Secret: a.receipt.RequestSecret,
	})
	switch {
	case errors.Is(err, schema.ErrExpired):
		a.finish(err)
		return true, nil
	case err != nil:
		return false, err
	case res.Body == nil:
		a.pending.handleDeadlineHeader(res.Deadline)
		return false, nil
	}
	m, err := a.pending.open(ctx, res.Body)
	result := a.pending.applyMessage(m, err)
	select {
	case <-a.pending.done:
		a.reportRejection(ctx, hub, result)
		return true, nil
	default:
		return false, fmt.Errorf("%w: %s has a different event with this id", schema.ErrNotFound, hub)
	}
}

// reportRejection informs the hub if the answer that it gave was rejected. Otherwise people would see
// it as delivered.
func (a *askRun) reportRejection(ctx context.Context, hub, result string) {
	if result != schema.AckMismatch && result != schema.AckUntrusted {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.client.timings.withdrawTimeout)
	defer cancel()
	_, _ = a.client.sendRequest(ctx, transport.Request{
		Hub: hub, Path: schema.At(schema.PathResponse, a.receipt.ID) + "?rejected=" + result, Secret: a.receipt.RequestSecret,
	})
}

// finish resolves a question that ended at the hub without an answer.
func (a *askRun) finish(err error) {
	d := Decision{Kind: a.pending.question.Type, Outcome: schema.Withdrawn, Source: schema.ByAgent}
	var statusErr *schema.StatusError
	if errors.As(err, &statusErr) && schema.IsReservedName(string(statusErr.Status.Outcome)) {
		d.Outcome, d.Source, d.Reason = statusErr.Status.Outcome, statusErr.Status.Source, statusErr.Status.Reason
	}
	d.fillExplanation(a.pending.question)
	a.pending.resolve(d, nil)
}
