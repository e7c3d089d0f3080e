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

	"github.com/hookback/hookback/agentclient/socket"
	"github.com/hookback/hookback/schema"
)

// Kinds of failed requests. Any other error is a rejection by the hub.
var (
	errNotListening = errors.New("no server is listening") // the message is not stored
	errNotHub       = errors.New("not a hub")              // another server, or one without this route; the message is not stored
	errRetry        = errors.New("try again")              // the message may be stored or not
)

// isUnstored reports whether no hub can have stored the message after err.
func isUnstored(err error) bool { return errors.Is(err, errNotListening) || errors.Is(err, errNotHub) }

// isRejection reports whether err is a hub's rejection, so that a retry can't help.
func isRejection(err error) bool { return !isUnstored(err) && !errors.Is(err, errRetry) }

// eventReceipt holds the fields that the client reads from the reply to a posted
// event. A version 1 server only sends an ID.
type eventReceipt struct {
	hub string // address of the hub that replied

	ID                   schema.EventID `json:"id"`
	UID                  string         `json:"uid"`
	RequestSecret        string         `json:"requestSecret"`
	HumanInTheLoopStatus *schema.Status `json:"humanInTheLoopStatus"`
	Watching             *int           `json:"watching"`
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
	json []byte
	asks bool // the event has a question
}

// postEvent stores an event at the first hub that accepts it. It retries with exponential
// backoff until retryCtx ends; only attemptCtx cuts off an attempt in progress. It
// gives up if all hubs have refused connections for UnreachableAfter, and
// immediately if a hub rejects the event.
func (c *Client) postEvent(retryCtx, attemptCtx context.Context, body eventBody) (eventReceipt, error) {
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
			lastAttempt = true // try once more for the receipt, without which the question can't be withdrawn
		}
	}
}

// postToHubs tries every hub once. The error is errRetry if any of them may have
// stored the event.
func (c *Client) postToHubs(ctx context.Context, body eventBody) (eventReceipt, error) {
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

func (c *Client) postToHub(ctx context.Context, hub string, body eventBody) (eventReceipt, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timings.postTimeout)
	defer cancel()
	if body.asks {
		if err := c.firstContact(ctx, hub); err != nil {
			return eventReceipt{}, err
		}
	}
	reply, err := c.sendRequest(ctx, request{hub: hub, path: schema.PathEvents, body: body.json})
	if err != nil {
		return eventReceipt{}, err
	}
	receipt := eventReceipt{hub: hub}
	if err := json.Unmarshal(reply.body, &receipt); err != nil || receipt.ID <= 0 {
		return eventReceipt{}, fmt.Errorf("%w: the reply of %s to POST %s is not that of a hub", errNotHub, hub, schema.PathEvents)
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
	_, err = c.sendRequest(ctx, request{hub: receipt.hub, path: schema.At(schema.PathCancel, receipt.ID), body: body})
	return err
}

// hubsInOrder returns the addresses, starting with the one that answered last.
func (c *Client) hubsInOrder() []string {
	first := int(c.lastWorking.Load())
	return slices.Concat(c.hubs[first:], c.hubs[:first])
}

// request describes one HTTP request to one hub. With a body it is a POST, else a GET.
type request struct {
	hub, path string
	body      []byte
	secret    string
	anonymous bool  // without the token
	maxBytes  int64 // limit of the response body; 0 means twice schema.MaxBody
}

// response is a hub's 2xx reply: JSON, or 204 without a body.
type response struct {
	body     []byte // nil for 204
	deadline string // schema.ExpiresHeader of a 204
}

// sendRequest makes one request. The error wraps errNotListening, errNotHub or
// errRetry, or is the hub's own rejection (one of schema's errors).
func (c *Client) sendRequest(ctx context.Context, r request) (response, error) {
	method, body := http.MethodGet, io.Reader(nil)
	if r.body != nil {
		method, body = http.MethodPost, bytes.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(ctx, method, socket.HTTPAddress(r.hub)+r.path, body)
	if err != nil {
		return response{}, fmt.Errorf("%w: %w", schema.ErrInvalid, err)
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	var refused error
	if !r.anonymous {
		var token string
		if token, refused = c.credential.forHub(r.hub, c.loadTrust); token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
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
	reply, err := classifyResponse(r.hub, res, text)
	if refused != nil && (res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden) {
		err = fmt.Errorf("%w (%w)", err, refused)
	}
	return reply, err
}

// classifyTransportError distinguishes a failed connection, after which the request
// can't have arrived, from a response that is missing or incomplete.
func classifyTransportError(hub string, err error) error {
	if unsafe := (*socket.UnsafeError)(nil); errors.As(err, &unsafe) {
		return unsafe // final like a rejection, so that it counts as no hub in no setting
	}
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "dial" {
		return fmt.Errorf("%w: nothing listens at %s (%w)", errNotListening, hub, op.Err)
	}
	return fmt.Errorf("%w: %s did not respond (%w)", errRetry, hub, err)
}

// classifyResponse distinguishes a hub's reply from its errors and from replies of
// other servers. The reference server of version 1 answers every unknown path with
// 200 and plain text.
func classifyResponse(hub string, res *http.Response, text []byte) (response, error) {
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	isJSON := media == "application/json" || strings.HasSuffix(media, "+json")
	switch code := res.StatusCode; {
	case code == http.StatusNoContent:
		return response{deadline: res.Header.Get(schema.ExpiresHeader)}, nil
	case code >= 200 && code < 300 && isJSON:
		return response{body: text}, nil
	case code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= 500:
		return response{}, fmt.Errorf("%w: %s reported an error (%w)", errRetry, hub, problemError(res, text))
	case code >= 400 && isJSON:
		return response{}, problemError(res, text)
	default:
		return response{}, fmt.Errorf("%w: %s answered %s with status %d and content type %q; it does not seem to be a hub",
			errNotHub, hub, res.Request.URL.Path, code, media)
	}
}

// problemError decodes the error in a hub's response. Version 1 servers only set
// its "error" member.
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

// callerError converts err for the caller: to ErrUnreachable, unless it is a hub's
// rejection.
func callerError(err error) error {
	if err == nil || isRejection(err) {
		return err
	}
	return &unreachableError{err}
}

// unreachableError is an ErrUnreachable with its cause. Its text omits the prefixes
// that only mark the kind of failure.
type unreachableError struct{ err error }

func (e *unreachableError) Error() string {
	text := e.err.Error()
	for _, mark := range []error{errNotListening, errNotHub, errRetry} {
		text = strings.TrimPrefix(text, mark.Error()+": ")
	}
	return ErrUnreachable.Error() + ": " + text
}

// Is matches ErrUnreachable. Unwrap exposes the cause, such as schema.ErrFull.
func (e *unreachableError) Is(target error) bool { return target == ErrUnreachable }

func (e *unreachableError) Unwrap() error { return e.err }

// backoff produces pauses that double each time.
type backoff struct{ pause time.Duration }

func newBackoff() backoff { return backoff{50 * time.Millisecond} }

// next returns the next pause, at most 2 s plus jitter. The jitter of ±20% keeps
// agents from reconnecting at the same moment.
func (b *backoff) next() time.Duration {
	d := b.pause
	b.pause = min(2*b.pause, 2*time.Second)
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}
