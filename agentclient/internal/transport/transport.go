// Package transport makes HTTP requests to hubs and classifies their failures.
package transport

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
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient/socket"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// Kinds of failed requests. Any other error is a rejection by the hub.
var (
	ErrNotListening = errors.New("no server is listening") // the message is not stored
	ErrNotHub       = errors.New("not a hub")              // another server, or one without this route; the message is not stored
	ErrRetry        = errors.New("try again")              // the message may be stored or not
)

// IsUnstored reports whether no hub can have stored the message after err.
func IsUnstored(err error) bool { return errors.Is(err, ErrNotListening) || errors.Is(err, ErrNotHub) }

// IsRejection reports whether err is a hub's rejection, so that a retry can't help.
func IsRejection(err error) bool { return !IsUnstored(err) && !errors.Is(err, ErrRetry) }

// kindError is an error of one of these kinds. Its text does not name the kind.
type kindError struct {
	kind error
	error
}

func (e kindError) Unwrap() []error { return []error{e.kind, e.error} }

// Errorf formats an error of a kind.
func Errorf(kind error, format string, args ...any) error {
	return kindError{kind, fmt.Errorf(format, args...)}
}

// Request describes one HTTP request to one hub.
type Request struct {
	Method    string // empty: POST with a body, else GET
	Hub, Path string
	Body      []byte
	Secret    string
	Anonymous bool   // without the token
	Accepts   string // control.AcceptsHeader; empty: none
	Ticket    string // control.TestHeader; empty: none
	MaxBytes  int64  // limit of the response body; 0 means twice schema.MaxBody
}

// Response is a hub's 2xx reply: JSON, or 204 without a body.
type Response struct {
	Body     []byte // nil for 204
	Deadline string // schema.ExpiresHeader of a 204
}

// Do makes one request with a token. The error wraps ErrNotListening, ErrNotHub or
// ErrRetry, or is the hub's own rejection (one of schema's errors). refused is the reason
// why there is no token; it explains a rejection.
func Do(ctx context.Context, client *http.Client, r Request, token string, refused error) (Response, error) {
	method, body := http.MethodGet, io.Reader(nil)
	if r.Body != nil {
		method, body = http.MethodPost, bytes.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, cmp.Or(r.Method, method), socket.HTTPAddress(r.Hub)+r.Path, body)
	if err != nil {
		return Response{}, fmt.Errorf("%w: %w", schema.ErrInvalid, err)
	}
	if r.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if r.Accepts != "" {
		req.Header.Set(control.PreferHeader, control.MinimalReturn)
		req.Header.Set(control.AcceptsHeader, r.Accepts)
	}
	if r.Ticket != "" {
		req.Header.Set(control.TestHeader, r.Ticket)
	}
	if r.Secret != "" {
		req.Header.Set(schema.SecretHeader, r.Secret)
	}
	res, err := client.Do(req)
	if err != nil {
		return Response{}, classifyTransportError(r.Hub, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, cmp.Or(r.MaxBytes, 2*schema.MaxBody)))
	if err != nil {
		return Response{}, classifyTransportError(r.Hub, err)
	}
	reply, err := classifyResponse(r.Hub, res, text)
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
		return Errorf(ErrNotListening, "nothing listens at %s (%w)", hub, op.Err)
	}
	return Errorf(ErrRetry, "%s did not respond (%w)", hub, err)
}

// classifyResponse distinguishes a hub's reply from its errors and from replies of
// other servers. The reference server of version 1 answers every unknown path with
// 200 and plain text.
func classifyResponse(hub string, res *http.Response, text []byte) (Response, error) {
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	isJSON := media == "application/json" || strings.HasSuffix(media, "+json")
	switch code := res.StatusCode; {
	case code == http.StatusNoContent:
		return Response{Deadline: res.Header.Get(schema.ExpiresHeader)}, nil
	case code >= 200 && code < 300 && isJSON:
		return Response{Body: text}, nil
	case code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= 500:
		return Response{}, Errorf(ErrRetry, "%s reported an error (%w)", hub, problemError(res, text))
	case code >= 400 && isJSON:
		return Response{}, problemError(res, text)
	default:
		return Response{}, Errorf(ErrNotHub, "%s answered %s with status %d and content type %q, which no hub of this version does",
			hub, res.Request.URL.Path, code, media)
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

// Backoff produces pauses that double each time.
type Backoff struct{ pause time.Duration }

// NewBackoff returns a backoff that begins with 50 ms.
func NewBackoff() Backoff { return Backoff{50 * time.Millisecond} }

// Next returns the next pause, at most 2 s plus jitter. The jitter of ±20% keeps
// agents from reconnecting at the same moment.
func (b *Backoff) Next() time.Duration {
	d := b.pause
	b.pause = min(2*b.pause, 2*time.Second)
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}
