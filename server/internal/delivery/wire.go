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
	"github.com/hookback/hookback/server/internal/store"
)

// maxReply bounds a message of the listener: an acknowledgement is far shorter.
const maxReply = 4096

// line is an open connection to a listener. A reader runs until it ends.
type line struct {
	ws   *websocket.Conn
	raw  net.Conn // under ws, for deadlines that ws has no say in
	host string

	answerID string          // acknowledgements of others are passed over
	acks     chan schema.Ack // the first one
	done     chan struct{}   // closed when nothing more can be read; then err is set
	err      error
}

// dial connects, shakes hands and has a version 2 listener prove itself. Without a
// line the outcome says why.
func (d *Dispatcher) dial(ctx context.Context, to target, q *store.Question) (*line, outcome) {
	ctx, cancel := context.WithTimeout(ctx, d.timing.dial)
	defer cancel()
	hands := &handshaker{targets: d.DialPolicy, to: to}
	client := &http.Client{
		Transport:     hands,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	challenge := rand.Text()
	header := http.Header{"User-Agent": {"Hookback"}}
	if q.ListenerKey != "" {
		header.Set(schema.ChallengeHeader, challenge)
	}
	ws, resp, err := websocket.Dial(ctx, q.URL, &websocket.DialOptions{HTTPClient: client, HTTPHeader: header})
	if err != nil {
		return nil, d.dialFailed(err, resp, to)
	}
	l := &line{
		ws: ws, raw: hands.conn, host: to.hostPort(), answerID: answerID(q),
		acks: make(chan schema.Ack, 1), done: make(chan struct{}),
	}
	ws.SetReadLimit(maxReply)
	go l.read()
	if q.ListenerKey != "" && !proves(resp, q.ListenerKey, challenge) {
		l.hangUp(0)
		return nil, outcome{state: schema.Refused, refusal: true, problem: "another program listens on this port (" + l.host + "); it was told nothing"}
	}
	return l, outcome{}
}

// answerID is that of the question's answer; empty while it has none.
func answerID(q *store.Question) string {
	if q.Delivery == nil {
		return ""
	}
	return q.Delivery.AnswerID
}

func proves(resp *http.Response, key, challenge string) bool {
	return hmac.Equal([]byte(resp.Header.Get(schema.ProofHeader)), []byte(schema.ListenerProof(key, challenge)))
}

// dialFailed says what went wrong without the library's words, which hold the URL.
func (d *Dispatcher) dialFailed(err error, resp *http.Response, to target) outcome {
	host := to.hostPort()
	o := outcome{state: schema.Unreachable, retry: true}
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	var timeout net.Error
	var op *net.OpError
	switch {
	case errors.Is(err, ErrBlocked):
		return outcome{state: schema.Blocked, problem: blockedText(err)}
	case resp != nil && slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone}, resp.StatusCode):
		return outcome{state: schema.Refused, refusal: true, problem: fmt.Sprintf("%s answered the handshake with HTTP %d", host, resp.StatusCode)}
	case resp != nil && resp.StatusCode == http.StatusSwitchingProtocols:
		o.problem = "what answers at " + host + " is no WebSocket listener"
	case resp != nil && resp.StatusCode/100 == 3:
		o.problem = fmt.Sprintf("%s answered with a redirect (HTTP %d), which is not followed", host, resp.StatusCode)
	case resp != nil:
		o.problem = fmt.Sprintf("%s answered the handshake with HTTP %d", host, resp.StatusCode)
	case errors.Is(err, syscall.ECONNREFUSED):
		o.problem = "connection refused at " + host
	case errors.As(err, &name):
		o.problem = "the name of " + host + " could not be looked up"
	case errors.As(err, &certificate):
		o.problem = "the certificate of " + host + " is not trusted"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		o.problem = fmt.Sprintf("no handshake with %s within %v", host, d.timing.dial)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		o.problem = "there is no way to " + host
	case errors.As(err, &op) && op.Op == "dial":
		o.problem = "no connection to " + host
	default:
		o.problem = host + " hung up during the handshake"
	}
	return o
}

// blockedText is the refusal alone: what wraps it holds the URL.
func blockedText(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && errors.Is(op.Err, ErrBlocked) {
		return op.Err.Error()
	}
	return ErrBlocked.Error()
}

// read takes in what the listener sends until the connection ends.
func (l *line) read() {
	defer close(l.done)
	for {
		kind, b, err := l.ws.Read(context.Background())
		if err != nil {
			l.err = err
			return
		}
		var ack schema.Ack
		if kind != websocket.MessageText || json.Unmarshal(b, &ack) != nil || ack.Type != schema.AckType || ack.AnswerID != l.answerID {
			continue
		}
		select {
		case l.acks <- ack:
		default:
		}
	}
}

// gone says how the connection ended, if it has.
func (l *line) gone() (reason string, ended bool) {
	select {
	case <-l.done:
		return l.ending(), true
	default:
		return "", false
	}
}

// ending describes l.err; l.done is closed.
func (l *line) ending() string {
	var timeout net.Error
	switch code := websocket.CloseStatus(l.err); {
	case code >= 0:
		return fmt.Sprintf("%s closed the connection with code %d", l.host, code)
	case errors.As(l.err, &timeout) && timeout.Timeout():
		return l.host + " fell silent"
	case errors.Is(l.err, websocket.ErrMessageTooBig):
		return l.host + " sent more than an acknowledgement"
	default:
		return l.host + " hung up without closing the connection"
	}
}

// hangUp ends the connection, politely if the listener takes part within patience.
func (l *line) hangUp(patience time.Duration) {
	if patience > 0 {
		_ = l.raw.SetDeadline(time.Now().Add(patience))
		_ = l.ws.Close(websocket.StatusNormalClosure, "")
	}
	_ = l.ws.CloseNow()
	_ = l.raw.Close()
	<-l.done
}

// tell sends a version 1 listener its answer, once, and watches how it ends the
// connection: that is all the evidence there is.
func (l *line) tell(frame []byte, t timing) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), t.write)
	defer cancel()
	if err := l.ws.Write(ctx, websocket.MessageText, frame); err != nil {
		return outcome{state: schema.Unconfirmed, problem: "the connection to " + l.host + " broke while the answer was sent; the agent may have it or not"}
	}
	silence := time.NewTimer(t.silence)
	defer silence.Stop()
	confirmed := "close"
	select {
	case <-l.done:
	case <-silence.C:
		// It kept the line open. If its library takes part in a close handshake it
		// has read the frame.
		confirmed = "write"
		l.hangUp(t.goodbye)
	}
	switch websocket.CloseStatus(l.err) {
	case websocket.StatusNormalClosure, websocket.StatusGoingAway, websocket.StatusNoStatusRcvd:
		return outcome{state: schema.Delivered, confirmed: confirmed}
	default:
		return outcome{state: schema.Unconfirmed, problem: "the answer was sent, but " + l.ending() + "; the agent may have it or not"}
	}
}

// deliver sends a version 2 listener its answer and waits for the acknowledgement.
// An error means that ctx ended first.
func (l *line) deliver(ctx context.Context, frame []byte, t timing) (outcome, error) {
	retry := outcome{state: schema.Unconfirmed, retry: true}
	writing, cancel := context.WithTimeout(ctx, t.write)
	defer cancel()
	if err := l.ws.Write(writing, websocket.MessageText, frame); err != nil {
		retry.problem = "the connection to " + l.host + " broke while the answer was sent"
		return retry, ctx.Err()
	}
	patience := time.NewTimer(t.ack)
	defer patience.Stop()
	select {
	case ack := <-l.acks:
		return acknowledged(ack, l.host), nil
	case <-ctx.Done():
		return outcome{}, ctx.Err()
	case <-patience.C:
		retry.problem = fmt.Sprintf("%s did not acknowledge the answer within %v", l.host, t.ack)
		return retry, nil
	case <-l.done:
	}
	select { // it may have acknowledged and closed at once
	case ack := <-l.acks:
		return acknowledged(ack, l.host), nil
	default:
		retry.problem = "the answer was sent, but " + l.ending() + " and did not acknowledge it"
		return retry, ctx.Err() // an end of ctx while it is written also ends the connection
	}
}

func acknowledged(ack schema.Ack, host string) outcome {
	switch ack.Result {
	case "", schema.AckAccepted, schema.AckDuplicate:
		return outcome{state: schema.Acked}
	case schema.AckTooLate:
		return outcome{state: schema.TooLate, problem: "the agent had stopped waiting"}
	default:
		return outcome{state: schema.Refused, problem: "the agent at " + host + " says that this answer is not for it"}
	}
}
