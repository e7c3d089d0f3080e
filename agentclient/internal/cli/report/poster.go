// Package report sends the events of hooks to a hub in little time, and spools the events that
// no hub accepts.
package report

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/socket"
	"github.com/hookback/hookback/schema/control"
)

// Limits for sending an event. They are short because the agent waits for the hook.
const (
	loopbackConnectTimeout = 50 * time.Millisecond // for loopback addresses; others have SendTimeout
	SendTimeout            = 200 * time.Millisecond
	maxResponse            = 4 << 20 // bytes of a response that are read
)

// RejectionError means that the hub rejected the request. A retry would fail again.
type RejectionError struct{ status int }

func (r RejectionError) Error() string {
	return fmt.Sprintf("rejected by the hub (status %d)", r.status)
}

// Poster sends events with minimal latency. Unlike agentclient it opens one connection,
// starts no goroutine and never retries, which saves a third of the time. It tries hubs in
// order.
type Poster struct {
	Hubs    []string
	Options agentclient.Options              // select the token and the environment
	Logf    func(format string, args ...any) // reports a token that was not sent; may be nil
	// Accepts asks for an [control.EventReceipt] with these parts of a directive; empty: the
	// event as stored.
	Accepts string
	// Ticket marks the event as one of hookback doctor; empty: none.
	Ticket string
}

// Post sends the parts as one body and returns the response body. After an error other than
// RejectionError, the hub may or may not have stored the event.
func (c Poster) Post(deadline time.Time, path string, body net.Buffers) ([]byte, error) {
	err := errors.New("no time left")
	for _, hub := range c.Hubs {
		if time.Until(deadline) <= 0 {
			break
		}
		var response []byte
		if response, err = c.postTo(deadline, hub, path, body); err == nil {
			return response, nil
		}
		if errors.As(err, new(RejectionError)) || errors.As(err, new(*socket.UnsafeError)) {
			return nil, err
		}
		err = fmt.Errorf("%s: %w", hub, err)
	}
	return nil, err
}

func (c Poster) postTo(deadline time.Time, hub, path string, body net.Buffers) ([]byte, error) {
	u, err := url.Parse(hub)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	body = slices.Clone(body) // reading consumes the parts
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, socket.HTTPAddress(hub)+path, &body)
	if err != nil {
		return nil, err
	}
	for _, part := range body {
		req.ContentLength += int64(len(part))
	}
	req.Close = true
	req.Header.Set("Content-Type", "application/json")
	if c.Accepts != "" {
		req.Header.Set(control.PreferHeader, control.MinimalReturn)
		req.Header.Set(control.AcceptsHeader, c.Accepts)
	}
	if c.Ticket != "" {
		req.Header.Set(control.TestHeader, c.Ticket)
	}
	if token := c.tokenFor(hub); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if !c.isDirect(u) { // behind TLS or a proxy
		client := http.Client{
			Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		return readResponse(client.Do(req))
	}
	if u.Scheme == socket.Scheme {
		req.Host = "localhost"
	}
	conn, err := connect(deadline, u)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(deadline)
	if err := req.Write(conn); err != nil {
		return nil, err
	}
	return readResponse(http.ReadResponse(bufio.NewReader(conn), req))
}

// connect opens a connection to a hub without TLS: through its Unix socket if there is one.
func connect(deadline time.Time, u *url.URL) (net.Conn, error) {
	if u.Scheme == socket.Scheme {
		return socket.DialPath(context.Background(), u.Path)
	}
	port, dialer := cmp.Or(u.Port(), "80"), net.Dialer{Deadline: deadline}
	if socket.IsDirect(u) {
		conn, err := socket.Dial(context.Background(), port)
		if !errors.Is(err, socket.ErrNone) {
			return conn, err
		}
		dialer.Timeout = max(loopbackConnectTimeout, time.Until(deadline)/4)
	}
	return dialer.Dial("tcp", net.JoinHostPort(u.Hostname(), port))
}

// tokenFor returns the token for a hub, or "". If there is one that the hub may not receive,
// the request goes without it, and the hub reports that the token is missing.
func (c Poster) tokenFor(hub string) string {
	token, err := agentclient.TokenFor(c.Options, hub)
	if err != nil && c.Logf != nil {
		c.Logf("%v", err)
	}
	return token
}

// isDirect reports whether the hub is reached over plain HTTP without a proxy.
func (c Poster) isDirect(u *url.URL) bool {
	if u.Scheme == socket.Scheme {
		return true
	}
	if u.Scheme != "http" || u.User != nil {
		return false
	}
	return socket.IsDirect(u) || c.Options.Env("HTTP_PROXY") == "" && c.Options.Env("http_proxy") == ""
}

// readResponse returns the body of a success response. It returns RejectionError if the hub
// rejected the request, and another error for temporary failures and for servers that are
// not a hub.
func readResponse(response *http.Response, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	isJSON := media == "application/json" || strings.HasSuffix(media, "+json")
	switch code := response.StatusCode; {
	case code == http.StatusOK && isJSON:
		text, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
		if err != nil || !bytes.ContainsAny(text[:min(len(text), 1)], "{[") {
			return nil, cmp.Or(err, errors.New("the response is not from a hub"))
		}
		if r := response.Request; r.Header.Get(control.PreferHeader) != "" && response.Header.Get(control.AppliedHeader) == "" {
			// An older hub returns the stored event, whose members are its poster's.
			return []byte("{}"), nil
		}
		return text, nil
	case code >= 400 && code < 500 && isJSON && code != http.StatusTooManyRequests && code != http.StatusRequestTimeout:
		return nil, RejectionError{code}
	default:
		return nil, fmt.Errorf("unexpected response: status %d, content type %q", code, media)
	}
}
