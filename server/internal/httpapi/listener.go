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

// acceptPause is how long the hub waits before it tries again to take a connection
// that the system had no room for.
const acceptPause = 100 * time.Millisecond

// listener gives the server connections of type *conn.
type listener struct {
	net.Listener
	conns *conns
	log   *slog.Logger
	once  sync.Once     // closes it
	gone  chan struct{} // closed by Close
}

func (s *Server) listener(ln net.Listener) *listener {
	return &listener{Listener: ln, conns: &s.conns, log: s.Log, gone: make(chan struct{})}
}

// Close is idempotent.
func (l *listener) Close() (err error) {
	l.once.Do(func() {
		close(l.gone)
		err = l.Listener.Close()
	})
	return err
}

// Accept waits while the process may open no more files, or the system has no room
// for sockets: the HTTP server would take that for the end of the listener, and the
// hub would stop because too many connections are open.
func (l *listener) Accept() (net.Conn, error) {
	for told := false; ; told = true {
		nc, err := l.Listener.Accept()
		if err == nil {
			c := &conn{Conn: nc, conns: l.conns}
			l.conns.add(c)
			return c, nil
		}
		if !passing(err) {
			return nil, err
		}
		if !told {
			l.log.Warn("a connection could not be taken; new ones wait until others are closed", "err", err, "open", l.conns.count())
		}
		select {
		case <-time.After(acceptPause):
		case <-l.gone:
			return nil, net.ErrClosed
		}
	}
}

// passing reports whether another try may work, in the words of package net: it
// means EMFILE, ENFILE, ECONNABORTED and the like.
func passing(err error) bool {
	var temporary interface{ Temporary() bool }
	return errors.As(err, &temporary) && temporary.Temporary()
}

// conn is a connection that knows more than the HTTP server tells its handlers:
// when a response has left, and whether the peer is still there.
type conn struct {
	net.Conn
	conns *conns

	mu     sync.Mutex
	used   bool     // a byte was read
	linger bool     // Close lets the peer read what was written
	closed bool     // Close was called
	drain  bool     // Read gives nothing any more, so that readers show what they hold
	posted []func() // wait for the response under way to be written
	wrote  bool     // something was written since the last of posted came
	peeked []byte   // read ahead by watch
}

// onFlushed calls f when the response to the request being handled has been
// written, or the connection is over.
func (c *conn) onFlushed(f func()) {
	c.mu.Lock()
	c.posted, c.wrote = append(c.posted, f), false
	c.mu.Unlock()
}

// Read is called for the next request: the server has flushed its response by
// then, unless nothing was written at all because requests were pipelined.
func (c *conn) Read(p []byte) (int, error) {
	c.mu.Lock()
	if c.wrote {
		c.flushedLocked()
	}
	if len(c.peeked) > 0 && len(p) > 0 {
		n := copy(p, c.peeked)
		c.peeked = c.peeked[n:]
		c.mu.Unlock()
		return n, nil
	}
	if c.drain {
		c.mu.Unlock()
		return 0, io.EOF
	}
	c.mu.Unlock()
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.mu.Lock()
		c.used = true
		c.mu.Unlock()
	}
	return n, err
}

func (c *conn) flushedLocked() {
	for _, f := range c.posted {
		f()
	}
	c.posted = nil
}

func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.mu.Lock()
	c.wrote = true
	c.mu.Unlock()
	return n, err
}

// leftIn returns what r, a buffered reader of c, has read from it and not given
// away. From then on only c.Conn gives more.
func (c *conn) leftIn(r io.Reader) []byte {
	c.mu.Lock()
	c.drain = true
	c.mu.Unlock()
	b, _ := io.ReadAll(r) // until it asks c for more
	return b
}

// letRead makes Close wait a little for the peer to read what was written: closing
// a socket with unread input resets it, and the peer would never see the reason.
func (c *conn) letRead() {
	c.mu.Lock()
	c.linger = true
	c.mu.Unlock()
}

func (c *conn) Close() error {
	c.mu.Lock()
	c.flushedLocked()
	linger := c.linger && !c.closed
	c.closed = true
	c.mu.Unlock()
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && linger && half.CloseWrite() == nil { // TCP, or TLS over it
		_ = c.Conn.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
	}
	err := c.Conn.Close()
	c.conns.remove(c)
	return err
}

// watch returns a context that ends when the peer hangs up while its request is
// being handled. The handler calls stop before it returns.
func (c *conn) watch(ctx context.Context) (watched context.Context, stop func()) {
	watched, cancel := context.WithCancel(ctx)
	_ = c.Conn.SetReadDeadline(time.Time{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 1)
		n, err := c.Conn.Read(b)
		c.mu.Lock()
		c.peeked = append(c.peeked, b[:n]...)
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

// conns are the connections that are open.
type conns struct {
	mu   sync.Mutex
	open map[*conn]struct{}
	idle chan struct{} // closed when the last one is gone; nil: nobody waits
	last bool          // no new ones are wanted
}

func (s *conns) add(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[*conn]struct{}{}
	}
	s.open[c] = struct{}{}
	if s.last {
		_ = c.Conn.Close() // the server sees it end, and closes c
	}
}

func (s *conns) remove(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
	if len(s.open) == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
}

func (s *conns) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// wait returns when no connection is open, or with the error of ctx.
func (s *conns) wait(ctx context.Context) error {
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
func (s *conns) closeUnused() {
	s.mu.Lock()
	s.last = true
	s.mu.Unlock()
	s.each(func(c *conn) {
		c.mu.Lock()
		unused := !c.used
		c.mu.Unlock()
		if unused {
			_ = c.Conn.Close()
		}
	})
}

func (s *conns) closeAll() { s.each(func(c *conn) { _ = c.Conn.Close() }) }

func (s *conns) each(f func(*conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		f(c)
	}
}
