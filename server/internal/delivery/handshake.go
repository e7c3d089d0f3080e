package delivery

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"math"
	"net"
	"net/http"
	"time"
)

// maxHandshake bounds the listener's handshake response, in bytes.
const maxHandshake = 16 << 10

// handshaker is an http.RoundTripper for one request on one connection. It has no proxy, pool,
// retries, compression or goroutines. Deadlines are set on the connection.
type handshaker struct {
	policy *DialPolicy
	target target
	conn   net.Conn // below TLS; set once connected
}

func (h *handshaker) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	conn, err := h.policy.connect(ctx, h.target)
	if err != nil {
		return nil, err
	}
	h.conn = conn
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	resp, err := h.exchange(conn, req)
	if !stop() && err == nil {
		err = ctx.Err() // the AfterFunc has set, or will set, a deadline in the past
	}
	if err != nil {
		_ = conn.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		_ = conn.Close()
		resp.Body = http.NoBody
	}
	return resp, nil
}

// upgradedBody is the read-write body that the WebSocket library requires of a 101 response.
type upgradedBody struct {
	io.Reader
	net.Conn
}

func (d upgradedBody) Read(p []byte) (int, error) { return d.Reader.Read(p) }

func (h *handshaker) exchange(conn net.Conn, req *http.Request) (*http.Response, error) {
	if h.target.tls {
		tlsConn := tls.Client(conn, &tls.Config{ServerName: h.target.host, MinVersion: tls.VersionTLS12})
		if err := tlsConn.HandshakeContext(req.Context()); err != nil {
			return nil, err
		}
		conn = tlsConn
	}
	if err := req.Write(conn); err != nil {
		return nil, err
	}
	limit := &io.LimitedReader{R: conn, N: maxHandshake}
	in := bufio.NewReader(limit)
	resp, err := http.ReadResponse(in, req)
	if err != nil {
		return nil, err
	}
	limit.N = math.MaxInt64
	resp.Body = upgradedBody{Reader: in, Conn: conn}
	return resp, nil
}
