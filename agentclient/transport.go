package agentclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hookback/hookback/agentclient/internal/transport"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// eventReceipt holds the fields that the client reads from the reply to a posted
// event. A version 1 server only sends an ID.
type eventReceipt struct {
	hub string // address of the hub that replied

	ID                   schema.EventID     `json:"id"`
	UID                  string             `json:"uid"`
	RequestSecret        string             `json:"requestSecret"`
	HumanInTheLoopStatus *schema.Status     `json:"humanInTheLoopStatus"`
	Watching             *int               `json:"watching"`
	Reachable            int                `json:"reachable"`
	Directive            *control.Directive `json:"directive"`
}

// withSecret returns the receipt with the request secret that the client chose, unless the
// hub made its own, as earlier versions do. A version 1 server, which sends no UID, has none.
func (r eventReceipt) withSecret(chosen string) eventReceipt {
	if r.UID != "" {
		r.RequestSecret = cmp.Or(r.RequestSecret, chosen)
	}
	return r
}

// applyTo copies the receipt's fields to the event that was posted.
func (r eventReceipt) applyTo(e *schema.Event) {
	e.ID, e.UID, e.RequestSecret, e.HumanInTheLoopStatus, e.Watching = r.ID, r.UID, r.RequestSecret, r.HumanInTheLoopStatus, r.Watching
}

// eventBody is an encoded event. Every attempt sends the same bytes, because the hub
// recognizes a repeat by them.
type eventBody struct {
	json    []byte
	asks    bool   // the event has a question
	accepts string // Request.Accepts
}

// postEvent stores an event at the first hub that accepts it. It retries with exponential
// backoff until retryCtx ends; only attemptCtx cuts off an attempt in progress. It
// gives up if all hubs have refused connections for UnreachableAfter, and
// immediately if a hub rejects the event.
func (c *Client) postEvent(retryCtx, attemptCtx context.Context, body eventBody) (eventReceipt, error) {
	backoff, absentSince := transport.NewBackoff(), time.Now()
	for maybeStored, lastAttempt := false, false; ; {
		receipt, err := c.postToHubs(attemptCtx, body)
		if err == nil || attemptCtx.Err() != nil || transport.IsRejection(err) || lastAttempt {
			return receipt, callerError(err)
		}
		if !transport.IsUnstored(err) {
			maybeStored, absentSince = true, time.Now()
		}
		pause := backoff.Next()
		if time.Since(absentSince)+pause > c.opts.UnreachableAfter {
			return eventReceipt{}, callerError(err)
		}
		if !transport.Sleep(retryCtx, pause) {
			if !maybeStored {
				return eventReceipt{}, callerError(err)
			}
			lastAttempt = true // try once more for the receipt, without which the question can't be withdrawn
		}
	}
}

// postToHubs tries every hub once. The error is transport.ErrRetry if any of them may have
// stored the event.
func (c *Client) postToHubs(ctx context.Context, body eventBody) (eventReceipt, error) {
	var firstErr error
	for _, hub := range c.hubsInOrder() {
		receipt, err := c.postToHub(ctx, hub, body)
		switch {
		case err == nil:
			c.lastWorking.Store(int64(slices.Index(c.hubs, hub)))
			return receipt, nil
		case ctx.Err() != nil || transport.IsRejection(err):
			return eventReceipt{}, err
		case firstErr == nil || errors.Is(err, transport.ErrRetry):
			firstErr = err
		}
	}
	return eventReceipt{}, firstErr
}

func (c *Client) postToHub(ctx context.Context, hub string, body eventBody) (eventReceipt, error) {
	// The hub reads, redacts and assesses a large body within one second per MiB.
	ctx, cancel := context.WithTimeout(ctx, c.timings.postTimeout+time.Duration(len(body.json)>>20)*time.Second)
	defer cancel()
	if body.asks {
		if err := c.firstContact(ctx, hub); err != nil {
			return eventReceipt{}, err
		}
	}
	reply, err := c.sendRequest(ctx, transport.Request{
		Hub: hub, Path: schema.PathEvents, Body: body.json, Accepts: body.accepts,
		Ticket: c.opts.getenv(control.TicketVariable),
	})
	if err != nil {
		return eventReceipt{}, err
	}
	receipt := eventReceipt{hub: hub}
	if err := json.Unmarshal(reply.Body, &receipt); err != nil || receipt.ID <= 0 {
		return eventReceipt{}, transport.Errorf(transport.ErrNotHub, "the reply of %s to POST %s is not that of a hub", hub, schema.PathEvents)
	}
	return receipt, nil
}

// withdraw cancels the question at the hub. It requires the request secret: without
// one (a version 1 server issues none) the hub would record a person's cancel.
func (c *Client) withdraw(ctx context.Context, receipt eventReceipt, reason string) error {
	if receipt.RequestSecret == "" {
		return fmt.Errorf("%w: this hub does not support withdrawing questions", schema.ErrNoRoute)
	}
	body, err := json.Marshal(schema.Cancel{Reason: reason, RequestSecret: receipt.RequestSecret})
	if err != nil {
		return err
	}
	_, err = c.sendRequest(ctx, transport.Request{Hub: receipt.hub, Path: schema.At(schema.PathCancel, receipt.ID), Body: body})
	return err
}

// hubsInOrder returns the addresses, starting with the one that answered last.
func (c *Client) hubsInOrder() []string {
	first := int(c.lastWorking.Load())
	return slices.Concat(c.hubs[first:], c.hubs[:first])
}

// sendRequest makes one request with the client's token; see transport.Do.
func (c *Client) sendRequest(ctx context.Context, r transport.Request) (transport.Response, error) {
	var token string
	var refused error
	if !r.Anonymous {
		token, refused = c.credential.forHub(r.Hub, c.loadTrust)
	}
	return transport.Do(ctx, c.http, r, token, refused)
}

// callerError converts err for the caller: to ErrUnreachable, unless it is a hub's
// rejection.
func callerError(err error) error {
	if err == nil || transport.IsRejection(err) {
		return err
	}
	return &unreachableError{err}
}

// unreachableError is an ErrUnreachable with its cause.
type unreachableError struct{ err error }

func (e *unreachableError) Error() string { return ErrUnreachable.Error() + ": " + e.err.Error() }

// Is matches ErrUnreachable. Unwrap exposes the cause, such as schema.ErrFull.
func (e *unreachableError) Is(target error) bool { return target == ErrUnreachable }

func (e *unreachableError) Unwrap() error { return e.err }
