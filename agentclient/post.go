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
	errAbsent  = errors.New("nobody listens there") // now; the message is not stored
	errForeign = errors.New("it is no hub")         // or none that knows the path; not stored
	errRetry   = errors.New("try again")            // the message may be stored or not
)

// notStored reports a failure after which no hub can have the message.
func notStored(err error) bool { return errors.Is(err, errAbsent) || errors.Is(err, errForeign) }

// refused reports a hub's no: trying again can't help.
func refused(err error) bool { return !notStored(err) && !errors.Is(err, errRetry) }

// receipt is a hub's answer to a POST of an event, as far as the client reads it.
// A version 1 server gives an ID only.
type receipt struct {
	hub string // the address that gave it

	ID                   schema.EventID `json:"id"`
	UID                  string         `json:"uid"`
	RequestSecret        string         `json:"requestSecret"`
	HumanInTheLoopStatus *schema.Status `json:"humanInTheLoopStatus"`
	Watching             *int           `json:"watching"`
}

// stamp writes what the hub gave onto the event that was posted.
func (r receipt) stamp(e *schema.Event) {
	e.ID, e.UID, e.RequestSecret, e.HumanInTheLoopStatus, e.Watching = r.ID, r.UID, r.RequestSecret, r.HumanInTheLoopStatus, r.Watching
}

// post stores e at the first hub that takes it. It tries again, with growing
// pauses, until retry ends; an attempt under way is only cut off by attempts.
// When nobody has listened anywhere for UnreachableAfter it gives up. A hub's no
// ends it at once.
func (c *Client) post(retry, attempts context.Context, e *schema.Event) (receipt, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return receipt{}, fmt.Errorf("%w: it can't be written as JSON: %w", schema.ErrInvalid, err)
	}
	pauses, absentSince := newBackoff(), time.Now()
	for maybeStored, last := false, false; ; {
		got, err := c.postRound(attempts, body)
		if err == nil || attempts.Err() != nil || refused(err) || last {
			return got, outward(err)
		}
		if !notStored(err) {
			maybeStored, absentSince = true, time.Now()
		}
		pause := pauses.next()
		if time.Since(absentSince)+pause > c.opts.UnreachableAfter {
			return receipt{}, outward(err)
		}
		if !sleep(retry, pause) {
			if !maybeStored {
				return receipt{}, outward(err)
			}
			last = true // once more, for the receipt: a question needs it to be withdrawn
		}
	}
}

// postRound tries every hub once. Its error is errRetry when any of them may
// have stored the event.
func (c *Client) postRound(ctx context.Context, body []byte) (receipt, error) {
	var failed error
	for _, hub := range c.hubsInOrder() {
		got, err := c.postOnce(ctx, hub, body)
		switch {
		case err == nil:
			c.lead.Store(int64(slices.Index(c.hubs, hub)))
			return got, nil
		case ctx.Err() != nil || refused(err):
			return receipt{}, err
		case failed == nil || errors.Is(err, errRetry):
			failed = err
		}
	}
	return receipt{}, failed
}

func (c *Client) postOnce(ctx context.Context, hub string, body []byte) (receipt, error) {
	ctx, cancel := context.WithTimeout(ctx, c.pace.attempt)
	defer cancel()
	answer, err := c.call(ctx, request{hub: hub, path: schema.PathEvents, body: body})
	if err != nil {
		return receipt{}, err
	}
	got := receipt{hub: hub}
	if err := json.Unmarshal(answer.body, &got); err != nil || got.ID <= 0 {
		return receipt{}, fmt.Errorf("%w: %s answers POST %s, but not as a hub does", errForeign, hub, schema.PathEvents)
	}
	return got, nil
}

// withdraw tells the hub that nobody waits for the answer any more. Without a
// secret (a version 1 server gives none) it must not: that would be a person's cancel.
func (c *Client) withdraw(ctx context.Context, got receipt, reason string) error {
	if got.RequestSecret == "" {
		return fmt.Errorf("%w: this hub can't withdraw questions", schema.ErrNoRoute)
	}
	body, err := json.Marshal(schema.Cancel{Reason: reason, RequestSecret: got.RequestSecret})
	if err != nil {
		return err
	}
	_, err = c.call(ctx, request{hub: got.hub, path: schema.At(schema.PathCancel, got.ID), body: body})
	return err
}

// hubsInOrder lists the addresses, the one that answered last first.
func (c *Client) hubsInOrder() []string {
	lead := int(c.lead.Load())
	return slices.Concat(c.hubs[lead:], c.hubs[:lead])
}

// request is one HTTP request to one hub: a POST when it has a body.
type request struct {
	hub, path string
	body      []byte
	secret    string
	most      int64 // bytes of the answer that are read; 0: twice a message's
}

// reply is a hub's 200 with a JSON body, or its 204.
type reply struct {
	body    []byte // nil: 204
	expires string // the header of a 204
}

// call makes one request. Its error wraps errAbsent or errRetry where another
// try can help, and is the hub's own (one of schema's) where it can't.
func (c *Client) call(ctx context.Context, r request) (reply, error) {
	method, body := http.MethodGet, io.Reader(nil)
	if r.body != nil {
		method, body = http.MethodPost, bytes.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(ctx, method, r.hub+r.path, body)
	if err != nil {
		return reply{}, fmt.Errorf("%w: %w", schema.ErrInvalid, err)
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
		return reply{}, unanswered(r.hub, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, cmp.Or(r.most, 2*schema.MaxBody)))
	if err != nil {
		return reply{}, unanswered(r.hub, err)
	}
	return judge(r.hub, res, text)
}

// unanswered says whether a request that got no whole answer can have arrived.
func unanswered(hub string, err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "dial" {
		return fmt.Errorf("%w: nothing listens at %s (%w)", errAbsent, hub, op.Err)
	}
	return fmt.Errorf("%w: %s does not answer (%w)", errRetry, hub, err)
}

// judge tells a hub's answer from an error of its own and from what other
// programs say. The reference server of version 1 answers every path it doesn't
// know with 200 and plain text.
func judge(hub string, res *http.Response, text []byte) (reply, error) {
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	isJSON := media == "application/json" || strings.HasSuffix(media, "+json")
	switch code := res.StatusCode; {
	case code == http.StatusNoContent:
		return reply{expires: res.Header.Get(schema.ExpiresHeader)}, nil
	case code >= 200 && code < 300 && isJSON:
		return reply{body: text}, nil
	case code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= 500:
		return reply{}, fmt.Errorf("%w: %s has trouble (%w)", errRetry, hub, problem(res, text))
	case code >= 400 && isJSON:
		return reply{}, problem(res, text)
	default:
		return reply{}, fmt.Errorf("%w: %s answers %s with %d and %s: it seems to be something else than a hub",
			errForeign, hub, res.Request.URL.Path, code, media)
	}
}

// problem is the error that a hub described. Version 1 servers only know "error".
func problem(res *http.Response, text []byte) error {
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

// outward is what a caller sees of a failure: ErrUnreachable, or the hub's no.
func outward(err error) error {
	if err == nil || refused(err) {
		return err
	}
	return &unreachableError{err}
}

// unreachableError tells what happened at the address without the words that
// only mark the kind of failure.
type unreachableError struct{ err error }

func (e *unreachableError) Error() string {
	text := e.err.Error()
	for _, mark := range []error{errAbsent, errForeign, errRetry} {
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
