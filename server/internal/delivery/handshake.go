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

// maxHandshake bounds the listener's answer to the handshake.
const maxHandshake = 16 << 10

// handshaker is an http.RoundTripper for one request on one connection. It has
// nothing that a transport for many has: no proxy, no pool, no retry, no
// compression, no goroutines. Deadlines are the connection's own.
type handshaker struct {
	targets *DialPolicy
	to      target
	conn    net.Conn // below TLS; set once connected
}

func (h *handshaker) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	conn, err := h.targets.connect(ctx, h.to)
	if err != nil {
		return nil, err
	}
	h.conn = conn
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	resp, err := h.exchange(conn, req)
	if !stop() && err == nil {
		err = ctx.Err() // the deadline is set in the past by now, or will be
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

// duplex is what the WebSocket library wants the body of a 101 to be.
type duplex struct {
	io.Reader
	net.Conn
}

func (d duplex) Read(p []byte) (int, error) { return d.Reader.Read(p) }

func (h *handshaker) exchange(conn net.Conn, req *http.Request) (*http.Response, error) {
	if h.to.tls {
		over := tls.Client(conn, &tls.Config{ServerName: h.to.host, MinVersion: tls.VersionTLS12})
		if err := over.HandshakeContext(req.Context()); err != nil {
			return nil, err
		}
		conn = over
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
	resp.Body = duplex{Reader: in, Conn: conn}
	return resp, nil
}
