package httpapi

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"
)

// lingerTime and lingerBytes bound how long a connection is kept open so that its
// peer can read why its request was refused before it is done sending it.
const (
	lingerTime  = 2 * time.Second
	lingerBytes = 256 << 20
)

// acceptRetryDelay is how long the hub waits before it tries again to take a connection
// that the system had no room for.
const acceptRetryDelay = 100 * time.Millisecond

// listener gives the server connections of type *conn.
type listener struct {
	net.Listener
	conns  *connSet
	log    *slog.Logger
	once   sync.Once     // closes it
	closed chan struct{} // closed by Close
}

func (s *Server) newListener(ln net.Listener) *listener {
	return &listener{Listener: ln, conns: &s.conns, log: s.Log, closed: make(chan struct{})}
}

// Close is idempotent.
func (l *listener) Close() (err error) {
	l.once.Do(func() {
		close(l.closed)
		err = l.Listener.Close()
	})
	return err
}

// Accept waits while the process may open no more files, or the system has no room
// for sockets: the HTTP server would take that for the end of the listener, and the
// hub would stop because too many connections are open.
func (l *listener) Accept() (net.Conn, error) {
	for logged := false; ; logged = true {
		nc, err := l.Listener.Accept()
		if err == nil {
			c := &conn{Conn: nc, conns: l.conns}
			l.conns.add(c)
			return c, nil
		}
		if !isTemporary(err) {
			return nil, err
		}
		if !logged {
			l.log.Warn("a connection could not be taken; new ones wait until others are closed", "err", err, "open", l.conns.count())
		}
		select {
		case <-time.After(acceptRetryDelay):
		case <-l.closed:
			return nil, net.ErrClosed
		}
	}
}

// isTemporary reports whether another try may work, in the words of package net: it
// means EMFILE, ENFILE, ECONNABORTED and the like.
func isTemporary(err error) bool {
	var temporary interface{ Temporary() bool }
	return errors.As(err, &temporary) && temporary.Temporary()
}

// conn is a connection that knows more than the HTTP server tells its handlers:
// when a response has left, and whether the peer is still there.
type conn struct {
	net.Conn
	conns *connSet

	mu            sync.Mutex
	hasRead       bool     // a byte was read
	linger        bool     // Close lets the peer read what was written
	closed        bool     // Close was called
	draining      bool     // Read gives nothing any more, so that readers show what they hold
	afterResponse []func() // wait for the response under way to be written
	hasWritten    bool     // something was written since the last of posted came
	readAhead     []byte   // read ahead by watch
}

// onResponseSent calls f when the response to the request being handled has been
// written, or the connection is over.
func (c *conn) onResponseSent(f func()) {
	c.mu.Lock()
	c.afterResponse, c.hasWritten = append(c.afterResponse, f), false
	c.mu.Unlock()
}

// Read is called for the next request: the server has flushed its response by
// then, unless nothing was written at all because requests were pipelined.
func (c *conn) Read(p []byte) (int, error) {
	c.mu.Lock()
	if c.hasWritten {
		c.responseSentLocked()
	}
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

func (c *conn) responseSentLocked() {
	for _, f := range c.afterResponse {
		f()
	}
	c.afterResponse = nil
}

func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.mu.Lock()
	c.hasWritten = true
	c.mu.Unlock()
	return n, err
}

// takeBuffered returns what r, a buffered reader of c, has read from it and not given
// away. From then on only c.Conn gives more.
func (c *conn) takeBuffered(r io.Reader) []byte {
	c.mu.Lock()
	c.draining = true
	c.mu.Unlock()
	b, _ := io.ReadAll(r) // until it asks c for more
	return b
}

// lingerOnClose makes Close wait a little for the peer to read what was written: closing
// a socket with unread input resets it, and the peer would never see the reason.
func (c *conn) lingerOnClose() {
	c.mu.Lock()
	c.linger = true
	c.mu.Unlock()
}

func (c *conn) Close() error {
	c.mu.Lock()
	c.responseSentLocked()
	linger := c.linger && !c.closed
	c.closed = true
	c.mu.Unlock()
	if closer, ok := c.Conn.(interface{ CloseWrite() error }); ok && linger && closer.CloseWrite() == nil { // TCP, or TLS over it
		_ = c.Conn.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
	}
	err := c.Conn.Close()
	c.conns.remove(c)
	return err
}

// watchDisconnect returns a context that ends when the peer hangs up while its request is
// being handled. The handler calls stop before it returns.
func (c *conn) watchDisconnect(ctx context.Context) (watched context.Context, stop func()) {
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
		if err != nil {
			cancel()
		}
	}()
	return watched, func() {
		_ = c.Conn.SetReadDeadline(time.Unix(1, 0)) // the server sets its own before it reads on
		<-done
		cancel()
	}
}

// connSet are the connections that are open.
type connSet struct {
	mu      sync.Mutex
	open    map[*conn]struct{}
	idle    chan struct{} // closed when the last one is gone; nil: nobody waits
	closing bool          // no new ones are wanted
}

func (s *connSet) add(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[*conn]struct{}{}
	}
	s.open[c] = struct{}{}
	if s.closing {
		_ = c.Conn.Close() // the server sees it end, and closes c
	}
}

func (s *connSet) remove(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
	if len(s.open) == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
}

func (s *connSet) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// wait returns when no connection is open, or with the error of ctx.
func (s *connSet) wait(ctx context.Context) error {
	s.mu.Lock()
	if len(s.open) == 0 {
		s.mu.Unlock()
		return nil
	}
	if s.idle == nil {
		s.idle = make(chan struct{})
	}
	idle := s.idle
	s.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// closeUnused closes the connections that a browser opened in advance and never
// used, and all that are still to come; the HTTP server would wait for their first
// request.
func (s *connSet) closeUnused() {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.each(func(c *conn) {
		c.mu.Lock()
		unused := !c.hasRead
		c.mu.Unlock()
		if unused {
			_ = c.Conn.Close()
		}
	})
}

func (s *connSet) closeAll() { s.each(func(c *conn) { _ = c.Conn.Close() }) }

func (s *connSet) each(f func(*conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		f(c)
	}
}
