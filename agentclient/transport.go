package agentclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
)

// What a failed request says of its address. Any other error is the hub's own no.
var (
	errNotListening = errors.New("nobody listens there") // now; the message is not stored
	errNotHub       = errors.New("it is no hub")         // or none that knows the path; not stored
	errRetry        = errors.New("try again")            // the message may be stored or not
)

// isUnstored reports a failure after which no hub can have the message.
func isUnstored(err error) bool { return errors.Is(err, errNotListening) || errors.Is(err, errNotHub) }

// isRejection reports a hub's no: trying again can't help.
func isRejection(err error) bool { return !isUnstored(err) && !errors.Is(err, errRetry) }

// eventReceipt is a hub's answer to a POST of an event, as far as the client reads it.
// A version 1 server gives an ID only.
type eventReceipt struct {
	hub string // the address that gave it

	ID                   schema.EventID `json:"id"`
	UID                  string         `json:"uid"`
	RequestSecret        string         `json:"requestSecret"`
	HumanInTheLoopStatus *schema.Status `json:"humanInTheLoopStatus"`
	Watching             *int           `json:"watching"`
}

// applyTo writes what the hub gave onto the event that was posted.
func (r eventReceipt) applyTo(e *schema.Event) {
	e.ID, e.UID, e.RequestSecret, e.HumanInTheLoopStatus, e.Watching = r.ID, r.UID, r.RequestSecret, r.HumanInTheLoopStatus, r.Watching
}

// postEvent stores e at the first hub that takes it. It tries again, with growing
// pauses, until retry ends; an attempt under way is only cut off by attempts.
// When nobody has listened anywhere for UnreachableAfter it gives up. A hub's no
// ends it at once.
func (c *Client) postEvent(retryCtx, attemptCtx context.Context, e *schema.Event) (eventReceipt, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return eventReceipt{}, fmt.Errorf("%w: it can't be written as JSON: %w", schema.ErrInvalid, err)
	}
	backoff, absentSince := newBackoff(), time.Now()
	for maybeStored, lastAttempt := false, false; ; {
		receipt, err := c.postToHubs(attemptCtx, body)
		if err == nil || attemptCtx.Err() != nil || isRejection(err) || lastAttempt {
			return receipt, callerError(err)
		}
		if !isUnstored(err) {
			maybeStored, absentSince = true, time.Now()
		}
		pause := backoff.next()
		if time.Since(absentSince)+pause > c.opts.UnreachableAfter {
			return eventReceipt{}, callerError(err)
		}
		if !sleep(retryCtx, pause) {
			if !maybeStored {
				return eventReceipt{}, callerError(err)
			}
			lastAttempt = true // once more, for the receipt: a question needs it to be withdrawn
		}
	}
}

// postToHubs tries every hub once. Its error is errRetry when any of them may
// have stored the event.
func (c *Client) postToHubs(ctx context.Context, body []byte) (eventReceipt, error) {
	var firstErr error
	for _, hub := range c.hubsInOrder() {
		receipt, err := c.postToHub(ctx, hub, body)
		switch {
		case err == nil:
			c.lastWorking.Store(int64(slices.Index(c.hubs, hub)))
			return receipt, nil
		case ctx.Err() != nil || isRejection(err):
			return eventReceipt{}, err
		case firstErr == nil || errors.Is(err, errRetry):
			firstErr = err
		}
	}
	return eventReceipt{}, firstErr
}

func (c *Client) postToHub(ctx context.Context, hub string, body []byte) (eventReceipt, error) {
	ctx, cancel := context.WithTimeout(ctx, c.pacing.postTimeout)
	defer cancel()
	reply, err := c.sendRequest(ctx, request{hub: hub, path: schema.PathEvents, body: body})
	if err != nil {
		return eventReceipt{}, err
	}
	receipt := eventReceipt{hub: hub}
	if err := json.Unmarshal(reply.body, &receipt); err != nil || receipt.ID <= 0 {
		return eventReceipt{}, fmt.Errorf("%w: %s answers POST %s, but not as a hub does", errNotHub, hub, schema.PathEvents)
	}
	return receipt, nil
}

// withdraw tells the hub that nobody waits for the answer any more. Without a
// secret (a version 1 server gives none) it must not: that would be a person's cancel.
func (c *Client) withdraw(ctx context.Context, receipt eventReceipt, reason string) error {
	if receipt.RequestSecret == "" {
		return fmt.Errorf("%w: this hub can't withdraw questions", schema.ErrNoRoute)
	}
	body, err := json.Marshal(schema.Cancel{Reason: reason, RequestSecret: receipt.RequestSecret})
	if err != nil {
		return err
	}
	_, err = c.sendRequest(ctx, request{hub: receipt.hub, path: schema.At(schema.PathCancel, receipt.ID), body: body})
	return err
}

// hubsInOrder lists the addresses, the one that answered last first.
func (c *Client) hubsInOrder() []string {
	first := int(c.lastWorking.Load())
	return slices.Concat(c.hubs[first:], c.hubs[:first])
}

// request is one HTTP request to one hub: a POST when it has a body.
type request struct {
	hub, path string
	body      []byte
	secret    string
	maxBytes  int64 // bytes of the answer that are read; 0: twice a message's
}

// response is a hub's 200 with a JSON body, or its 204.
type response struct {
	body     []byte // nil: 204
	deadline string // the header of a 204
}

// sendRequest makes one request. Its error wraps errNotListening or errRetry where another
// try can help, and is the hub's own (one of schema's) where it can't.
func (c *Client) sendRequest(ctx context.Context, r request) (response, error) {
	method, body := http.MethodGet, io.Reader(nil)
	if r.body != nil {
		method, body = http.MethodPost, bytes.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(ctx, method, r.hub+r.path, body)
	if err != nil {
		return response{}, fmt.Errorf("%w: %w", schema.ErrInvalid, err)
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.opts.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.opts.Token)
	}
	if r.secret != "" {
		req.Header.Set(schema.SecretHeader, r.secret)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return response{}, classifyTransportError(r.hub, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, cmp.Or(r.maxBytes, 2*schema.MaxBody)))
	if err != nil {
		return response{}, classifyTransportError(r.hub, err)
	}
	return classifyResponse(r.hub, res, text)
}

// classifyTransportError says whether a request that got no whole answer can have arrived.
func classifyTransportError(hub string, err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "dial" {
		return fmt.Errorf("%w: nothing listens at %s (%w)", errNotListening, hub, op.Err)
	}
	return fmt.Errorf("%w: %s does not answer (%w)", errRetry, hub, err)
}

// classifyResponse tells a hub's answer from an error of its own and from what other
// programs say. The reference server of version 1 answers every path it doesn't
// know with 200 and plain text.
func classifyResponse(hub string, res *http.Response, text []byte) (response, error) {
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	isJSON := media == "application/json" || strings.HasSuffix(media, "+json")
	switch code := res.StatusCode; {
	case code == http.StatusNoContent:
		return response{deadline: res.Header.Get(schema.ExpiresHeader)}, nil
	case code >= 200 && code < 300 && isJSON:
		return response{body: text}, nil
	case code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= 500:
		return response{}, fmt.Errorf("%w: %s has trouble (%w)", errRetry, hub, problemError(res, text))
	case code >= 400 && isJSON:
		return response{}, problemError(res, text)
	default:
		return response{}, fmt.Errorf("%w: %s answers %s with %d and %s: it seems to be something else than a hub",
			errNotHub, hub, res.Request.URL.Path, code, media)
	}
}

// problemError is the error that a hub described. Version 1 servers only know "error".
func problemError(res *http.Response, text []byte) error {
	var p schema.Problem
	if json.Unmarshal(text, &p) != nil {
		p = schema.Problem{}
	}
	p.Status = res.StatusCode
	if p.Detail == "" {
		p.Detail = p.Error
	}
	return p.Err()
}

// callerError is what a caller sees of a failure: ErrUnreachable, or the hub's no.
func callerError(err error) error {
	if err == nil || isRejection(err) {
		return err
	}
	return &unreachableError{err}
}

// unreachableError tells what happened at the address without the words that
// only mark the kind of failure.
type unreachableError struct{ err error }

func (e *unreachableError) Error() string {
	text := e.err.Error()
	for _, mark := range []error{errNotListening, errNotHub, errRetry} {
		text = strings.TrimPrefix(text, mark.Error()+": ")
	}
	return ErrUnreachable.Error() + ": " + text
}

// Is makes it an ErrUnreachable; Unwrap keeps the cause, such as schema.ErrFull.
func (e *unreachableError) Is(target error) bool { return target == ErrUnreachable }

func (e *unreachableError) Unwrap() error { return e.err }

// backoff gives pauses that double from one to the next.
type backoff struct{ pause time.Duration }

func newBackoff() backoff { return backoff{50 * time.Millisecond} }

// next is at most 2 s, and up to a fifth shorter or longer than its turn, so that
// agents don't all come back at once.
func (b *backoff) next() time.Duration {
	d := b.pause
	b.pause = min(2*b.pause, 2*time.Second)
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}
