package delivery

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"syscall"
	"time"

	"github.com/coder/websocket"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/store"
)

// maxReplyBytes bounds a message from the listener. An acknowledgement is far shorter.
const maxReplyBytes = 4096

// listenerConn is an open connection to a listener. readLoop runs until it ends.
type listenerConn struct {
	ws   *websocket.Conn
	raw  net.Conn // below ws, for deadlines that ws does not control
	host string

	answerID string          // acknowledgements of other answers are ignored
	hub      string          // Config.Address
	acks     chan schema.Ack // the first acknowledgement
	done     chan struct{}   // closed when reading has ended; err is set before
	err      error
}

// dial connects, performs the handshake and verifies the proof of a listener with a key. If the
// connection is nil, the result gives the reason.
func (d *Dispatcher) dial(ctx context.Context, to target, q *store.Question) (*listenerConn, attemptResult) {
	ctx, cancel := context.WithTimeout(ctx, d.timeouts.dial)
	defer cancel()
	handshake := &handshaker{policy: d.DialPolicy, target: to}
	client := &http.Client{
		Transport:     handshake,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	challenge := rand.Text()
	header := http.Header{"User-Agent": {"Hookback"}}
	if q.ListenerKey != "" {
		header.Set(schema.ChallengeHeader, challenge)
	}
	ws, resp, err := websocket.Dial(ctx, q.URL, &websocket.DialOptions{HTTPClient: client, HTTPHeader: header})
	if err != nil {
		return nil, d.dialFailure(err, resp, to)
	}
	conn := &listenerConn{
		ws: ws, raw: handshake.conn, host: to.hostPort(), hub: d.Address, answerID: answerID(q),
		acks: make(chan schema.Ack, 1), done: make(chan struct{}),
	}
	ws.SetReadLimit(maxReplyBytes)
	go conn.readLoop()
	if q.ListenerKey != "" && !hasValidProof(resp, q.ListenerKey, challenge) {
		conn.close(0)
		return nil, attemptResult{state: schema.Refused, retry: true, problem: "another program listens on this port (" + conn.host + "); nothing was sent to it"}
	}
	return conn, attemptResult{}
}

// answerID returns the id of the question's answer, or "" before it has one.
func answerID(q *store.Question) string {
	if q.Delivery == nil {
		return ""
	}
	return q.Delivery.AnswerID
}

func hasValidProof(resp *http.Response, key, challenge string) bool {
	return hmac.Equal([]byte(resp.Header.Get(schema.ProofHeader)), []byte(schema.ListenerProof(key, challenge)))
}

// dialFailure describes a failed dial. It does not use the library's error text, which contains
// the URL.
func (d *Dispatcher) dialFailure(err error, resp *http.Response, to target) attemptResult {
	host := to.hostPort()
	result := attemptResult{state: schema.Unreachable, retry: true}
	var dnsErr *net.DNSError
	var certErr *tls.CertificateVerificationError
	var netErr net.Error
	var opErr *net.OpError
	switch {
	case errors.Is(err, ErrBlocked):
		return attemptResult{state: schema.Blocked, problem: blockedReason(err)}
	case resp != nil && slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone}, resp.StatusCode):
		return attemptResult{state: schema.Refused, retry: true, problem: fmt.Sprintf("%s answered the handshake with HTTP %d", host, resp.StatusCode)}
	case resp != nil && resp.StatusCode == http.StatusSwitchingProtocols:
		result.problem = "the server at " + host + " is not a WebSocket listener"
	case resp != nil && resp.StatusCode/100 == 3:
		result.problem = fmt.Sprintf("%s answered with a redirect (HTTP %d), which is not followed", host, resp.StatusCode)
	case resp != nil:
		result.problem = fmt.Sprintf("%s answered the handshake with HTTP %d", host, resp.StatusCode)
	case errors.Is(err, syscall.ECONNREFUSED):
		result.problem = "connection refused at " + host
	case errors.As(err, &dnsErr):
		result.problem = "the host name of " + host + " could not be resolved"
	case errors.As(err, &certErr):
		result.problem = "the certificate of " + host + " is not trusted"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		result.problem = fmt.Sprintf("no handshake with %s within %v", host, d.timeouts.dial)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		result.problem = "no route to " + host
	case errors.As(err, &opErr) && opErr.Op == "dial":
		result.problem = "no connection to " + host
	default:
		result.problem = host + " closed the connection during the handshake"
	}
	return result
}

// blockedReason returns the policy's own error text. The errors that wrap it contain the URL.
func blockedReason(err error) string {
	var opErr *net.OpError
	if errors.As(err, &opErr) && errors.Is(opErr.Err, ErrBlocked) {
		return opErr.Err.Error()
	}
	return ErrBlocked.Error()
}

// readLoop reads from the listener until the connection ends.
func (c *listenerConn) readLoop() {
	defer close(c.done)
	for {
		kind, b, err := c.ws.Read(context.Background())
		if err != nil {
			c.err = err
			return
		}
		var ack schema.Ack
		if kind != websocket.MessageText || json.Unmarshal(b, &ack) != nil || ack.Type != schema.AckType || ack.AnswerID != c.answerID {
			continue
		}
		select {
		case c.acks <- ack:
		default:
		}
	}
}

// closed reports whether the connection has ended, and the reason.
func (c *listenerConn) closed() (reason string, ended bool) {
	select {
	case <-c.done:
		return c.describeClose(), true
	default:
		return "", false
	}
}

// describeClose describes c.err. c.done must be closed.
func (c *listenerConn) describeClose() string {
	var netErr net.Error
	switch code := websocket.CloseStatus(c.err); {
	case code >= 0:
		return fmt.Sprintf("%s closed the connection with code %d", c.host, code)
	case errors.As(c.err, &netErr) && netErr.Timeout():
		return c.host + " timed out"
	case errors.Is(c.err, websocket.ErrMessageTooBig):
		return c.host + " sent a message larger than an acknowledgement"
	default:
		return c.host + " disconnected without a close frame"
	}
}

// close ends the connection. With a positive timeout it first attempts the close handshake.
func (c *listenerConn) close(timeout time.Duration) {
	if timeout > 0 {
		_ = c.raw.SetDeadline(time.Now().Add(timeout))
		_ = c.ws.Close(websocket.StatusNormalClosure, "")
	}
	_ = c.ws.CloseNow()
	_ = c.raw.Close()
	<-c.done
}

// sendV1 sends the answer to a version 1 listener, once, and calls written before it waits. The only
// evidence of receipt is how the listener ends the connection.
func (c *listenerConn) sendV1(frame []byte, t timeouts, written func()) attemptResult {
	ctx, cancel := context.WithTimeout(context.Background(), t.write)
	defer cancel()
	if err := c.ws.Write(ctx, websocket.MessageText, frame); err != nil {
		return attemptResult{state: schema.Unconfirmed, problem: "the connection to " + c.host + " broke while the answer was sent; the agent may or may not have received it"}
	}
	written()
	idle := time.NewTimer(t.idle)
	defer idle.Stop()
	confirmedBy := "close"
	select {
	case <-c.done:
	case <-idle.C:
		// The listener kept the connection open. If its library completes a close handshake, it
		// has read the frame.
		confirmedBy = "write"
		c.close(t.close)
	}
	switch websocket.CloseStatus(c.err) {
	case websocket.StatusNormalClosure, websocket.StatusGoingAway, websocket.StatusNoStatusRcvd:
		return attemptResult{state: schema.Delivered, confirmedBy: confirmedBy}
	default:
		return attemptResult{state: schema.Unconfirmed, problem: "the answer was sent, but " + c.describeClose() + "; the agent may or may not have received it"}
	}
}

// sendV2 sends the answer to a version 2 listener, calls written and waits for the acknowledgement.
// It returns an error only if ctx ends first.
func (c *listenerConn) sendV2(ctx context.Context, frame []byte, t timeouts, written func()) (attemptResult, error) {
	result := attemptResult{state: schema.Unconfirmed, retry: true}
	writeCtx, cancel := context.WithTimeout(ctx, t.write)
	defer cancel()
	if err := c.ws.Write(writeCtx, websocket.MessageText, frame); err != nil {
		result.problem = "the connection to " + c.host + " broke while the answer was sent"
		return result, ctx.Err()
	}
	written()
	timer := time.NewTimer(t.ack)
	defer timer.Stop()
	select {
	case ack := <-c.acks:
		return c.resultOf(ack), nil
	case <-ctx.Done():
		return attemptResult{}, ctx.Err()
	case <-timer.C:
		result.problem = fmt.Sprintf("%s did not acknowledge the answer within %v", c.host, t.ack)
		return result, nil
	case <-c.done:
	}
	select { // it may have acknowledged and closed immediately
	case ack := <-c.acks:
		return c.resultOf(ack), nil
	default:
		result.problem = "the answer was sent, but " + c.describeClose() + " and did not acknowledge it"
		return result, ctx.Err() // ctx ending during the write also ends the connection
	}
}

func (c *listenerConn) resultOf(ack schema.Ack) attemptResult {
	switch ack.Result {
	case "", schema.AckAccepted, schema.AckDuplicate:
		return attemptResult{state: schema.Acked}
	case schema.AckTooLate:
		return attemptResult{state: schema.TooLate, problem: "the agent had stopped waiting"}
	default:
		return attemptResult{state: schema.Refused, problem: "the agent at " + c.host + " " + question.Rejection(ack.Result, c.hub)}
	}
}

// maxHandshake bounds the listener's handshake response, in bytes.
const maxHandshake = 16 << 10

// handshaker is an http.RoundTripper for one request on one connection, which the dial policy
// checks. It uses no proxy, HTTP/2, pool or compression.
type handshaker struct {
	policy *DialPolicy
	target target
	conn   net.Conn // below TLS; set once connected
}

func (h *handshaker) RoundTrip(req *http.Request) (*http.Response, error) {
	transport := &http.Transport{
		// The transport's own context outlives the request, for other requests to use the connection.
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			conn, err := h.policy.connect(req.Context(), h.target)
			h.conn = conn
			return conn, err
		},
		TLSClientConfig:        &tls.Config{ServerName: h.target.host, MinVersion: tls.VersionTLS12},
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHandshake,
	}
	resp, err := transport.RoundTrip(req)
	if err == nil && resp.StatusCode != http.StatusSwitchingProtocols {
		_ = resp.Body.Close() // a refusal's text is not used, and a slow one would hold the worker
		resp.Body = http.NoBody
	}
	return resp, err
}
