// Package stream serves the hub's log to clients over WebSockets, with heartbeat and
// disconnection of slow readers, and shares among them which requests are being viewed.
package stream

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gofiber/contrib/websocket"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/query"
)

const (
	// closeTimeout limits sending a close frame and waiting for its echo.
	closeTimeout = time.Second
	// maxQueuedControl limits the queued pongs of a peer that does not read.
	maxQueuedControl = 4 << 10
)

// Cursor is the position at which a client asked to start.
type Cursor struct {
	Version int    // 1 or 2
	After   int64  // sequence number of the last frame the client has; -1: start with the present
	Hub     string // the hubId that After belongs to; empty: any
	Epoch   string // of the hello before After was received; empty: any
}

// Config configures a Server. Every field is required except Page.
type Config struct {
	Hub          *hub.Hub
	Query        *query.Service
	Presence     *Presence          // new for each hub
	Page         string             // of the dashboard that the hub serves; empty: none
	PingInterval time.Duration      // between heartbeats; two without a reply end the stream
	WriteTimeout time.Duration      // for one write; a slower client is disconnected and resumes
	Open         prometheus.Gauge   // open streams
	Slow         prometheus.Counter // streams disconnected because the client read too slowly
	Log          *slog.Logger
}

// Server serves the hub's log to any number of clients.
type Server struct {
	Config
	stopping context.Context
	buffers  sync.Pool   // of *[]byte, for writes to streams
	shards   [2][]*shard // by version, minus 1

	openMu  sync.Mutex
	open    map[*stream]struct{} // streams of version 2
	freezes freezes
	polls   polls
}

// New returns a Server whose streams close with code 1012 (service restart) when stopping ends.
func New(stopping context.Context, cfg Config) *Server {
	s := &Server{Config: cfg, stopping: stopping, open: map[*stream]struct{}{}, polls: polls{process: rand.Text()}}
	for i := range s.shards {
		for range runtime.GOMAXPROCS(0) {
			s.shards[i] = append(s.shards[i], &shard{Server: s, version: i + 1, output: feed.NewWakeup()})
		}
	}
	go s.followNotices(stopping)
	if cfg.Hub != nil {
		go s.followFreezes()
	}
	return s
}

// Start serves a stream on a connection that was upgraded to a WebSocket, and returns. buffered is
// what the client sent after the handshake, and identity is that of the session or token.
func (s *Server) Start(conn *middleware.Conn, buffered []byte, from Cursor, identity auth.Identity) {
	st := &stream{Server: s, conn: conn, start: from, identity: identity, slot: noSlot, done: make(chan struct{})}
	if st.socket = nonBlocking(conn.Conn); st.socket != nil {
		st.shard = s.shardFor(from.Version)
	} else {
		st.wake = feed.NewWakeup()
	}
	if !identity.Agent { // an agent token may have a person's name
		st.person = identity.Name
	}
	st.ctx, st.cancel = context.WithCancel(s.stopping)
	st.reader = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(buffered), conn.Conn), 256)
	go st.run() // the server's Shutdown waits until conn is closed
}

// stream serves the hub's log to one client. Its reader is a goroutine that runs readLoop and
// never writes. Its writer is the only one to write to conn.Conn: a goroutine that runs
// writeLoop until the client has the whole log, then a shard. If the client does not take what
// the shard writes, or the stream ends, the writer is a goroutine again.
type stream struct {
	*Server
	conn     *middleware.Conn
	start    Cursor
	identity auth.Identity   // of the session or token that opened the stream
	person   string          // the signed-in person; empty: none
	ctx      context.Context // canceled when the peer disconnects or the server stops
	cancel   context.CancelFunc

	signedOut atomic.Bool // set by endSignedOut

	socket syscall.RawConn // nil: it cannot be written without blocking, and has no shard
	shard  *shard
	slot   int           // in shard.members, which guards it; noSlot: none
	queued bool          // in shard.queue, which guards it
	wake   feed.Wakeup   // without a shard: wakes the writer for output other than the log
	done   chan struct{} // closed when the writer has ended

	mu            sync.Mutex
	control       []byte  // encoded frames in reply to the peer: pongs, a close
	notices       []byte  // encoded messages that are not part of the log
	closing       bool    // the read deadline is final
	wantsPresence bool    // the client reports its view, so it receives presence messages
	lastPresence  *[]byte // the presence message sent last
	lastFreezes   *[]byte // the freeze message sent last
	silent        bool    // a close frame is queued, and no message may follow it

	reader        *bufio.Reader // owned by the reader, as are the next two
	message       []byte        // the message received so far
	nextMessageAt time.Time     // rate limit: when the next message is due, minus the burst

	// Owned by the writer.
	seq    int64     // of the last frame sent; set by a shard when the stream leaves it
	opened bool      // the opening message was sent
	pingAt time.Time // when the next ping is due
	broken bool      // a write failed and may have ended inside a frame
	closed bool      // closeStream was called
}

// shardFor returns the shard of a new stream: the first that is not full, because each event
// wakes every shard that has members, or else the one with the fewest streams.
func (s *Server) shardFor(version int) *shard {
	sh := slices.MinFunc(s.shards[version-1], func(a, b *shard) int {
		return cmp.Compare(max(a.streams.Load(), fullShard), max(b.streams.Load(), fullShard))
	})
	sh.streams.Add(1)
	return sh
}

// run serves the stream and returns when reader and writer have ended.
func (st *stream) run() {
	st.Open.Inc()
	defer st.Open.Dec()
	defer func() { _ = st.conn.Close() }()
	defer st.Hub.Viewers.Add()()
	defer st.addOpen(st)()
	go st.runWriter(nil)
	stopWatching := st.Hub.People.OnRevoked(st.identity, st.endSignedOut)
	st.readLoop()
	stopWatching()
	st.Presence.remove(st)
	st.end()
	<-st.done
	if st.shard != nil {
		st.shard.streams.Add(-1)
	}
}

// end ends the stream. If a shard is the writer, a goroutine becomes it and closes the stream.
func (st *stream) end() {
	st.cancel()
	if st.shard != nil && st.shard.remove(st) {
		go st.runWriter(nil)
	}
}

// signOutGrace is when a signed-out stream is closed if the peer does not read the close
// frame.
const signOutGrace = 900 * time.Millisecond

// endSignedOut ends the stream because its credentials were revoked.
func (st *stream) endSignedOut() {
	st.signedOut.Store(true)
	st.end()
	time.AfterFunc(signOutGrace, func() { _ = st.conn.Conn.Close() })
}

// readLoop reads client frames until the peer disconnects or violates the protocol. It
// answers pings and close frames.
func (st *stream) readLoop() {
	messageSize := 0
	for {
		st.extendReadDeadline()
		frame, err := readClientFrame(st.reader)
		switch {
		case errors.Is(err, errProtocol):
			st.rejectPeer(websocket.CloseProtocolError)
			return
		case err != nil:
			return
		case frame.op == opPing:
			st.queueControl(append(appendHeader(nil, opPong, len(frame.control)), frame.control...))
			continue // control frames may come between the frames of a message
		case frame.op == opClose:
			st.queueClose(append(appendHeader(nil, opClose, len(frame.control)), frame.control...))
			return
		case frame.op == opPong:
			continue
		case frame.op != opContinuation:
			messageSize = 0
		}
		if messageSize += frame.size; messageSize > readLimit {
			st.rejectPeer(websocket.CloseMessageTooBig)
			return
		}
		if !st.readMessage(frame, messageSize) {
			return
		}
	}
}

// rejectPeer closes the stream of a peer that violates the protocol and may still be
// sending.
func (st *stream) rejectPeer(code uint16) {
	st.conn.LingerOnClose()
	st.queueClose(appendClose(nil, code, ""))
}

// queueClose queues a close frame. No presence message may follow it.
func (st *stream) queueClose(frame []byte) {
	st.mu.Lock()
	st.wantsPresence, st.silent, st.notices = false, true, nil
	st.mu.Unlock()
	st.queueControl(frame)
}

// extendReadDeadline implements liveness: a peer is disconnected if it sends nothing for
// two heartbeat intervals plus the write timeout.
func (st *stream) extendReadDeadline() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.closing {
		_ = st.conn.SetReadDeadline(time.Now().Add(2*st.PingInterval + st.WriteTimeout))
	}
}

// queueControl queues a control frame for the writer. It drops the frame if the peer is not
// reading.
func (st *stream) queueControl(frame []byte) {
	st.mu.Lock()
	if len(st.control)+len(frame) <= maxQueuedControl {
		st.control = append(st.control, frame...)
	}
	st.mu.Unlock()
	st.wakeWriter()
}

// wakeWriter makes the writer send the pending output.
func (st *stream) wakeWriter() {
	if st.shard != nil {
		st.shard.enqueue(st)
	} else {
		st.wake.Wake()
	}
}

// hasPending reports whether takePending would return something.
func (st *stream) hasPending() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return len(st.control) > 0 || len(st.notices) > 0 || st.wantsPresence && st.Presence.messageFor(st) != st.lastPresence ||
		st.wantsFreezes() && st.freezes.message.Load() != st.lastFreezes
}

// wantsFreezes reports whether the client receives the active freezes.
func (st *stream) wantsFreezes() bool { return st.start.Version == 2 && !st.silent }

// takePending appends the pending output that is not part of the log: a new presence
// message, the active freezes and control frames.
func (st *stream) takePending(b []byte) []byte {
	st.mu.Lock()
	defer st.mu.Unlock()
	if latest := st.Presence.messageFor(st); st.wantsPresence && latest != st.lastPresence {
		b, st.lastPresence = append(b, *latest...), latest
	}
	if latest := st.freezes.message.Load(); st.wantsFreezes() && latest != st.lastFreezes {
		b, st.lastFreezes = append(b, *latest...), latest
	}
	b = append(append(b, st.notices...), st.control...)
	st.notices, st.control = nil, st.control[:0]
	return b
}

// closeReason is how a stream ends. Without a code, only queued control frames are sent:
// the peer has closed or disconnected.
type closeReason struct {
	code uint16
	text string
}

// closeStream sends the close frame, once, and leaves the reader closeTimeout for the echo.
func (st *stream) closeStream(reason closeReason) {
	if st.closed {
		return
	}
	st.closed = true
	b := st.takePending(nil)
	if reason.code != 0 {
		b = appendClose(b, reason.code, reason.text)
	}
	wait := time.Duration(0)
	if len(b) > 0 && !st.broken {
		wait = closeTimeout
		_ = st.conn.Conn.SetWriteDeadline(time.Now().Add(closeTimeout))
		_, _ = st.conn.Conn.Write(b) // if the write fails, the peer sees the connection end
	}
	st.mu.Lock()
	st.closing = true
	_ = st.conn.SetReadDeadline(time.Now().Add(wait))
	st.mu.Unlock()
}
