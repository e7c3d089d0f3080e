package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/contrib/websocket"
	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
)

const (
	// readLimit is the most a page may send at a time, though it has little to say.
	readLimit = 64 << 10
	// closeTimeout is how long a close frame and its echo may take.
	closeTimeout = time.Second
	// maxQueuedControl bounds the pongs that wait for a peer which does not read.
	maxQueuedControl = 4 << 10
)

// cursor is what a page asked /stream for.
type cursor struct {
	version int
	after   int64 // -1: from now on
	hub     string
}

// stream upgrades GET /stream to a WebSocket that follows the hub's log.
func (s *Server) stream() fiber.Handler {
	upgrade := websocket.New(s.startStream, websocket.Config{
		// Origins stays open: the door has decided, and a list here would refuse
		// clients that have no origin.
		// The library's own handler would send the panic's value to the page.
		RecoverHandler: func(ws *websocket.Conn) {
			if v := recover(); v != nil {
				s.logPanic(v)
				_ = ws.Close()
			}
		},
	})
	return func(c *fiber.Ctx) error {
		if !isUpgrade(c) {
			if isPageRequest(c) {
				return c.Next()
			}
			return fiber.ErrUpgradeRequired
		}
		if s.stopping.Err() != nil {
			return schema.ErrStopping
		}
		from, err := parseCursor(c)
		if err != nil {
			return err
		}
		c.Locals("cursor", from)
		return upgrade(c)
	}
}

func isUpgrade(c *fiber.Ctx) bool { return websocket.IsWebSocketUpgrade(c) }

func parseCursor(c *fiber.Ctx) (cursor, error) {
	version, err := queryInt(c, "v", bounds{min: 1, max: 2, fallback: 1})
	if err != nil {
		return cursor{}, err
	}
	after, err := queryInt(c, "after", bounds{max: unbounded, fallback: -1})
	return cursor{version: int(version), after: after, hub: c.Query("hub")}, err
}

// startStream starts a stream on a connection that was just upgraded and returns. The
// library's Conn goes back to its pool then and serves somebody else, and with it
// go the request's buffers, which are most of what a stream would hold on to.
func (s *Server) startStream(ws *websocket.Conn) {
	hijacked := ws.NetConn()
	cn, ok := hijacked.(interface{ UnsafeConn() net.Conn }).UnsafeConn().(*conn)
	if !ok {
		_ = hijacked.Close()
		return
	}
	start, _ := ws.Locals("cursor").(cursor)
	identity, _ := ws.Locals(identityLocal).(auth.Identity)
	buffered := cn.takeBuffered(hijacked)
	st := &stream{Server: s, conn: cn, start: start, identity: identity, wake: make(chan struct{}, 1)}
	if !identity.Agent { // whose token may have a person's name
		st.person = identity.Name
	}
	st.ctx, st.cancel = context.WithCancel(s.stopping)
	st.reader = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(buffered), cn.Conn), 256)
	go st.run() // Shutdown waits for cn to be closed
}

// stream is one page that follows the log. Two goroutines: run, which only listens,
// and the writer, which runs follow and alone writes to conn.Conn.
type stream struct {
	*Server
	conn     *conn
	start    cursor
	identity auth.Identity   // the sign-in or token that the stream came with
	person   string          // who is signed in to the page; empty: nobody
	ctx      context.Context // ends when the peer has gone or the server stops
	cancel   context.CancelFunc

	signedOut atomic.Bool // by signOut

	wake chan struct{} // told when there is something to write beside the log

	mu            sync.Mutex
	control       []byte  // whole frames that answer the peer: pongs, a close
	closing       bool    // the reader's deadline is the last one
	wantsPresence bool    // the page said what it shows: it is told of the others
	lastPresence  *[]byte // the presence that it was told last

	reader        *bufio.Reader // the reader's own, as are the next two
	message       []byte        // of the message that is coming in
	nextMessageAt time.Time     // when the page may say something again, give or take messageBurst

	broken bool // the writer's own: a write failed, what was sent may end within a frame
	closed bool // the writer's own: hangUp was called
}

// run is the stream from its first byte to its last.
func (st *stream) run() {
	st.Metrics.streams.Inc()
	defer st.Metrics.streams.Dec()
	defer func() { _ = st.conn.Close() }()
	defer st.cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { st.logPanic(recover()) }()
		defer st.closeStream(closeReason{code: websocket.CloseInternalServerErr})
		defer st.Hub.AddViewer()()
		defer st.Hub.People.OnRevoked(st.identity, st.endSignedOut)()
		st.closeStream(st.writeLoop())
	}()
	st.readLoop()
	st.presence.remove(st)
	st.cancel()
	<-done
}

// signOutGrace is when a stream is closed whose peer does not read that it was signed out.
const signOutGrace = 900 * time.Millisecond

// endSignedOut ends the stream: whoever opened it may not see more.
func (st *stream) endSignedOut() {
	st.signedOut.Store(true)
	st.cancel()
	time.AfterFunc(signOutGrace, func() { _ = st.conn.Conn.Close() })
}

// logPanic reports a panic, which costs its own stream only.
func (s *Server) logPanic(v any) {
	if v != nil {
		s.Log.Error("a stream panicked", "stack", string(debug.Stack()))
	}
}

// readLoop hears the peer out until it leaves or breaks a rule. Its pings and its
// close are answered.
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
			continue // control frames may come between a message's
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

// rejectPeer ends the stream of a peer that breaks a rule, and may be in the middle of
// saying more.
func (st *stream) rejectPeer(code uint16) {
	st.conn.lingerOnClose()
	st.queueClose(appendClose(nil, code, ""))
}

// queueClose queues a close, behind which nothing may come.
func (st *stream) queueClose(frame []byte) {
	st.mu.Lock()
	st.wantsPresence = false
	st.mu.Unlock()
	st.queueControl(frame)
}

// extendReadDeadline puts off the moment when a silent peer counts as gone.
func (st *stream) extendReadDeadline() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.closing {
		_ = st.conn.SetReadDeadline(time.Now().Add(2*st.PingInterval + st.StreamWriteTimeout))
	}
}

// queueControl takes a control frame for the writer.
func (st *stream) queueControl(frame []byte) {
	st.mu.Lock()
	if len(st.control)+len(frame) <= maxQueuedControl {
		st.control = append(st.control, frame...)
	}
	st.mu.Unlock()
	st.wakeWriter()
}

// wakeWriter wakes the writer.
func (st *stream) wakeWriter() {
	select {
	case st.wake <- struct{}{}:
	default:
	}
}

// takePending appends what waits beside the log: who else is looking, and control
// frames.
func (st *stream) takePending(b []byte) []byte {
	st.mu.Lock()
	defer st.mu.Unlock()
	if latest := st.presence.message.Load(); st.wantsPresence && latest != st.lastPresence {
		b, st.lastPresence = append(b, *latest...), latest
	}
	b = append(b, st.control...)
	st.control = st.control[:0]
	return b
}

// closeReason is how a stream ends. Without a code only what the library had to say
// is sent: the peer closed, or is gone.
type closeReason struct {
	code   uint16
	reason string
}

// closeStream says goodbye, once, and gives the reader little time to hear the echo.
func (st *stream) closeStream(reason closeReason) {
	if st.closed {
		return
	}
	st.closed = true
	b := st.takePending(nil)
	if reason.code != 0 {
		b = appendClose(b, reason.code, reason.reason)
	}
	wait := time.Duration(0)
	if len(b) > 0 && !st.broken {
		wait = closeTimeout
		_ = st.conn.Conn.SetWriteDeadline(time.Now().Add(closeTimeout))
		_, _ = st.conn.Conn.Write(b) // whoever does not get it sees the connection end
	}
	st.mu.Lock()
	st.closing = true
	_ = st.conn.SetReadDeadline(time.Now().Add(wait))
	st.mu.Unlock()
}
