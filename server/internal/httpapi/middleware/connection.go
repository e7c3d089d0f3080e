package middleware

import (
	"container/list"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/hookback/hookback/agentclient/socket"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/peer"
)

// lingerTime and lingerBytes limit how long a connection stays open after a response that
// was sent before the peer finished its request, so that the peer can read it.
const (
	lingerTime  = 2 * time.Second
	lingerBytes = 256 << 20
)

// acceptRetryDelay is the pause after the system refused to accept a connection.
const acceptRetryDelay = 100 * time.Millisecond

// Connections tracks the open connections of a server. Create it with NewConnections.
type Connections struct {
	idle idleConns
	mine peer.Accounts // accounts that may use a Unix socket
	log  *slog.Logger

	mu      sync.Mutex
	open    map[*Conn]struct{}
	changed feed.Wakeup // a response was sent, or a connection closed
	closing bool        // new connections are closed immediately
}

// NewConnections returns a set that keeps at most idle connections without a complete request. Only
// programs of the given accounts may use a Unix socket.
func NewConnections(idle int, mine peer.Accounts, log *slog.Logger) *Connections {
	return &Connections{idle: idleConns{limit: idle}, mine: mine, log: log, open: map[*Conn]struct{}{}, changed: feed.NewWakeup()}
}

// Listen returns a listener that wraps the connections of ln as *Conn. For a Unix socket, local is the
// hub's TCP address, which its connections report as their own; otherwise it is nil.
func (s *Connections) Listen(ln net.Listener, local net.Addr) net.Listener {
	return &listener{Listener: ln, set: s, local: local, closed: make(chan struct{})}
}

// Count returns the number of open connections.
func (s *Connections) Count() int { return s.count(func(*Conn) bool { return true }) }

// IdleCount returns the number of connections without a complete request.
func (s *Connections) IdleCount() int { return s.idle.count() }

// CloseUnused closes connections that have not sent a byte, and all future ones. Browsers open
// connections in advance, and the HTTP server would wait for their first request.
func (s *Connections) CloseUnused() {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.count(func(c *Conn) bool {
		c.mu.Lock()
		unused := !c.hasRead
		c.mu.Unlock()
		if unused {
			_ = c.Conn.Close()
		}
		return unused
	})
}

// WaitHandled blocks until no request is being handled and every started response has been sent. It
// returns the error of ctx if ctx ends first.
func (s *Connections) WaitHandled(ctx context.Context) error {
	return s.waitForNone(ctx, func(c *Conn) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.busy
	})
}

// CloseAll closes every open connection.
func (s *Connections) CloseAll() { s.count(func(c *Conn) bool { return c.Conn.Close() == nil }) }

// Wait blocks until no connection is open. It returns the error of ctx if ctx ends first.
func (s *Connections) Wait(ctx context.Context) error {
	return s.waitForNone(ctx, func(*Conn) bool { return true })
}

// waitForNone blocks until is reports false for all connections. It is not for concurrent use.
func (s *Connections) waitForNone(ctx context.Context, is func(*Conn) bool) error {
	for s.count(is) > 0 {
		select {
		case <-s.changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// count returns the number of open connections for which is reports true.
func (s *Connections) count(is func(*Conn) bool) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		if is(c) {
			n++
		}
	}
	return n
}

func (s *Connections) add(c *Conn) {
	s.mu.Lock()
	s.open[c] = struct{}{}
	if s.closing {
		_ = c.Conn.Close() // the server notices and closes c
	}
	s.mu.Unlock()
	s.idle.add(c)
}

func (s *Connections) remove(c *Conn) {
	s.mu.Lock()
	delete(s.open, c)
	s.mu.Unlock()
	s.changed.Wake()
}

// TrackRequest records on the connection that its request has arrived completely.
func TrackRequest(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		if cn, ok := ctx.Conn().(*Conn); ok {
			defer cn.handling()()
		}
		next(ctx)
	}
}

// listener wraps the connections it accepts as *Conn.
type listener struct {
	net.Listener
	set    *Connections
	local  net.Addr      // address of the connections of a Unix socket; nil for TCP
	once   sync.Once     // guards Close
	closed chan struct{} // closed by Close
}

// Close closes the listener. It is idempotent.
func (l *listener) Close() (err error) {
	l.once.Do(func() {
		close(l.closed)
		err = l.Listener.Close()
	})
	return err
}

// Accept retries while the process is out of file descriptors or the system is out of
// socket memory. The HTTP server would treat such an error as the end of the listener, and
// the hub would stop because too many connections are open.
func (l *listener) Accept() (net.Conn, error) {
	for logged := false; ; logged = true {
		nc, err := l.Listener.Accept()
		if err == nil {
			c, ok := l.wrap(nc)
			if !ok {
				_ = nc.Close()
				continue
			}
			l.set.add(c)
			return c, nil
		}
		if !isTemporary(err) {
			return nil, err
		}
		if !logged {
			l.set.log.Warn("accept failed, new connections wait until others close", "open_connections", l.set.Count(), "err", err)
		}
		select {
		case <-time.After(acceptRetryDelay):
		case <-l.closed:
			return nil, net.ErrClosed
		}
	}
}

// wrap returns the connection with the kernel's data about its other end. ok is false
// if that account may not use the Unix socket.
func (l *listener) wrap(nc net.Conn) (c *Conn, ok bool) {
	c = &Conn{Conn: nc, conns: l.set, local: l.local}
	if l.local == nil {
		c.owner = sync.OnceValues(func() (uint32, bool) {
			return peer.Owner(AddrPortOf(nc.RemoteAddr()), AddrPortOf(nc.LocalAddr()))
		})
		return c, true
	}
	uid, pid, err := socket.Peer(nc)
	if err != nil || !l.set.mine.Contains(uid) {
		l.set.log.Debug("connection to the Unix socket refused", "uid", uid, "err", err)
		return nil, false
	}
	c.owner = func() (uint32, bool) { return uid, true }
	c.Process = peer.RefOf(pid)
	return c, true
}

// isTemporary reports whether the error is temporary by package net's definition: EMFILE,
// ENFILE, ECONNABORTED and similar.
func isTemporary(err error) bool {
	var temporary interface{ Temporary() bool }
	return errors.As(err, &temporary) && temporary.Temporary()
}

// Conn is a connection that tracks two things the HTTP server does not report to handlers:
// when a response has been sent, and whether the peer is still connected.
type Conn struct {
	net.Conn
	conns *Connections
	owner func() (uid uint32, ok bool) // of Owner, asked once

	idle *list.Element // in conns.idle, which guards it
	gone bool          // closed; guarded by conns.idle

	local net.Addr // set for a Unix socket: the hub's TCP address
	// Process is the program at the other end of a Unix socket.
	Process peer.ProcessRef
	// Opener keeps the program that opened the connection, once a request has asked for it.
	Opener peer.ConnectionCache

	mu            sync.Mutex
	hasRead       bool     // a byte was read
	linger        bool     // Close waits for the peer to read the response
	closed        bool     // Close was called
	draining      bool     // Read returns EOF, so that buffered readers yield the rest of their buffer
	afterResponse []func() // callbacks for when the current response has been sent
	hasWritten    bool     // Write was called since the last callback was added
	busy          bool     // a request is complete and its response is not sent
	inHandler     bool     // the request is being handled
	afterClose    []func() // callbacks for when the connection is closed; set for streams
	readAhead     []byte   // bytes that WatchDisconnect read ahead
}

// Owner returns the account of the program at the other end. ok is false if it is not known.
func (c *Conn) Owner() (uid uint32, ok bool) { return c.owner() }

// isSocket reports whether the connection came over the Unix socket, whose accounts were
// checked when it was accepted.
func (c *Conn) isSocket() bool { return c.local != nil }

// LocalAddr returns the hub's TCP address for a connection over the Unix socket, because
// host names and cookies contain its port.
func (c *Conn) LocalAddr() net.Addr {
	if c.isSocket() {
		return c.local
	}
	return c.Conn.LocalAddr()
}

// RemoteAddr returns a loopback address without a port for a connection over the Unix
// socket.
func (c *Conn) RemoteAddr() net.Addr {
	if c.isSocket() {
		return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}
	}
	return c.Conn.RemoteAddr()
}

// OnResponseSent calls f once the response to the current request has been written or the
// connection is closed.
func (c *Conn) OnResponseSent(f func()) {
	c.mu.Lock()
	c.afterResponse, c.hasWritten = append(c.afterResponse, f), false
	c.mu.Unlock()
}

// OnClosed calls f once the connection is closed. From then on it is not idle between requests.
func (c *Conn) OnClosed(f func()) {
	c.mu.Lock()
	c.afterClose = append(c.afterClose, f)
	c.mu.Unlock()
}

// handling records that a complete request is being handled until done is called.
func (c *Conn) handling() (done func()) {
	c.mu.Lock()
	c.busy, c.inHandler = true, true
	c.mu.Unlock()
	c.conns.idle.remove(c)
	return func() {
		c.mu.Lock()
		c.inHandler = false
		c.mu.Unlock()
	}
}

// Read is called for the next request. By then the server has flushed its response, unless
// pipelined requests delayed the flush and nothing was written.
func (c *Conn) Read(p []byte) (int, error) {
	if c.endResponse() {
		c.conns.idle.add(c)
		c.conns.changed.Wake()
	}
	c.mu.Lock()
	if len(c.readAhead) > 0 && len(p) > 0 {
		n := copy(p, c.readAhead)
		c.readAhead = c.readAhead[n:]
		c.mu.Unlock()
		return n, nil
	}
	if c.draining {
		c.mu.Unlock()
		return 0, io.EOF
	}
	c.mu.Unlock()
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.mu.Lock()
		c.hasRead = true
		c.mu.Unlock()
	}
	return n, err
}

// endResponse runs the callbacks of a written response, and reports whether the connection now waits
// for its next request.
func (c *Conn) endResponse() (idle bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hasWritten {
		c.responseSentLocked()
	}
	idle = c.busy && !c.inHandler && len(c.afterClose) == 0
	c.busy = c.busy && !idle
	return idle
}

func (c *Conn) responseSentLocked() {
	for _, f := range c.afterResponse {
		f()
	}
	c.afterResponse = nil
}

// Write writes to the peer and records that it did.
func (c *Conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.mu.Lock()
	c.hasWritten = true
	c.mu.Unlock()
	return n, err
}

// TakeBuffered returns the unread bytes of r, a buffered reader of c. All later bytes come
// from c.Conn only.
func (c *Conn) TakeBuffered(r io.Reader) []byte {
	c.mu.Lock()
	c.draining = true
	c.mu.Unlock()
	b, _ := io.ReadAll(r) // until r reads from c, which is draining
	return b
}

// LingerOnClose makes Close wait briefly for the peer to read the response. Closing a
// socket with unread input resets the connection, and the peer would lose the response.
func (c *Conn) LingerOnClose() {
	c.mu.Lock()
	c.linger = true
	c.mu.Unlock()
}

// Close closes the connection once the peer could read its response.
func (c *Conn) Close() error {
	c.mu.Lock()
	c.responseSentLocked()
	linger := c.linger && !c.closed
	c.closed = true
	afterClose := c.afterClose
	c.afterClose = nil
	c.mu.Unlock()
	c.conns.idle.forget(c)
	for _, f := range afterClose {
		f()
	}
	if closer, ok := c.Conn.(interface{ CloseWrite() error }); ok && linger && closer.CloseWrite() == nil { // TCP, or TLS over TCP
		_ = c.Conn.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
	}
	err := c.Conn.Close()
	c.conns.remove(c)
	return err
}

// WatchDisconnect returns a context that is canceled when the peer disconnects while its
// request is being handled. The handler must call stop before it returns.
//
// The end of the peer's data alone does not show that it is gone: it may have closed its sending side
// and still wait for the response (RFC 9112, 9.6). If that happens, halfClosed is called, and the
// context is canceled if it returns an error.
func (c *Conn) WatchDisconnect(
	ctx context.Context, halfClosed func(watched context.Context) error,
) (watched context.Context, stop func()) {
	watched, cancel := context.WithCancel(ctx)
	_ = c.Conn.SetReadDeadline(time.Time{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 1)
		n, err := c.Conn.Read(b)
		c.mu.Lock()
		c.readAhead = append(c.readAhead, b[:n]...)
		c.mu.Unlock()
		if errors.Is(err, io.EOF) {
			err = halfClosed(watched)
		}
		if err != nil {
			cancel()
		}
	}()
	return watched, func() {
		_ = c.Conn.SetReadDeadline(time.Unix(1, 0)) // unblocks the read; the server sets its own deadline before the next request
		cancel()
		<-done
	}
}

// ResetDelay is the time that a peer that is gone has to reset the connection after it was written to.
const ResetDelay = 250 * time.Millisecond

// ProbeHalfClosed is for WatchDisconnect before the response to r begins. It returns an error if the
// peer of a half-closed connection is gone, after ResetDelay. It sends interim responses, because
// such a peer resets the connection only when it receives data.
func (c *Conn) ProbeHalfClosed(r *fasthttp.Request) func(context.Context) error {
	if !r.Header.IsHTTP11() {
		return func(context.Context) error { return nil } // HTTP/1.0 has no interim responses
	}
	return c.probe
}

func (c *Conn) probe(ctx context.Context) error {
	const interim = "HTTP/1.1 100 Continue\r\n\r\n" // every client skips it (RFC 9110, 15.2)
	if _, err := c.Conn.Write([]byte(interim)); err != nil {
		return err
	}
	select {
	case <-time.After(ResetDelay):
		_, err := c.Conn.Write([]byte(interim))
		return err
	case <-ctx.Done():
		return nil
	}
}

// EndHalfClosed treats a half-closed connection as closed.
func EndHalfClosed(context.Context) error { return io.EOF }

// IsSocket reports whether the request came over the Unix socket.
func IsSocket(c *fiber.Ctx) bool {
	cn, ok := c.Context().Conn().(*Conn)
	return ok && cn.isSocket()
}
