package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/contrib/websocket"
	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
)

const (
	// readLimit is the maximum size of a client message. Clients have little to send.
	readLimit = 64 << 10
	// closeTimeout limits sending a close frame and waiting for its echo.
	closeTimeout = time.Second
	// maxQueuedControl limits the queued pongs of a peer that does not read.
	maxQueuedControl = 4 << 10
)

// cursor is the position at which a client asked to start.
type cursor struct {
	version int
	after   int64 // sequence number of the last frame the client has; -1: start with the present
	hub     string
}

// stream returns the handler that upgrades GET /stream to a WebSocket.
func (s *Server) stream() fiber.Handler {
	upgrade := websocket.New(s.startStream, websocket.Config{
		// Origins is not set: guardOrigin has checked the origin, and a list here would
		// reject clients that send none.
		// The library's default handler would send the panic value to the client.
		RecoverHandler: func(ws *websocket.Conn) {
			if v := recover(); v != nil {
				middleware.LogPanic(s.Log, v)
				_ = ws.Close()
			}
		},
	})
	return func(c *fiber.Ctx) error {
		if !middleware.IsUpgrade(c) {
			if middleware.IsPageRequest(c) {
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

func parseCursor(c *fiber.Ctx) (cursor, error) {
	version, err := queryInt(c, "v", bounds{min: 1, max: 2, fallback: 1})
	if err != nil {
		return cursor{}, err
	}
	after, err := queryInt(c, "after", bounds{max: unbounded, fallback: -1})
	return cursor{version: int(version), after: after, hub: c.Query("hub")}, err
}

// startStream starts a stream on an upgraded connection and returns. The library's Conn
// then goes back to its pool for another client, and so do the request's buffers, which are
// most of the memory a stream would hold.
func (s *Server) startStream(ws *websocket.Conn) {
	hijacked := ws.NetConn()
	cn, ok := hijacked.(interface{ UnsafeConn() net.Conn }).UnsafeConn().(*middleware.Conn)
	if !ok {
		_ = hijacked.Close()
		return
	}
	start, _ := ws.Locals("cursor").(cursor)
	identity, _ := ws.Locals(identityLocal).(auth.Identity)
	buffered := cn.TakeBuffered(hijacked)
	st := &stream{Server: s, conn: cn, start: start, identity: identity, wake: make(chan struct{}, 1)}
	if !identity.Agent { // an agent token may have a person's name
		st.person = identity.Name
	}
	st.ctx, st.cancel = context.WithCancel(s.stopping)
	st.reader = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(buffered), cn.Conn), 256)
	go st.run() // Shutdown waits until cn is closed
}

// stream serves the hub's log to one client. It has two goroutines: the reader, which runs
// readLoop and never writes, and the writer, which runs writeLoop and is the only one to
// write to conn.Conn.
type stream struct {
	*Server
	conn     *middleware.Conn
	start    cursor
	identity auth.Identity   // of the session or token that opened the stream
	person   string          // the signed-in person; empty: none
	ctx      context.Context // canceled when the peer disconnects or the server stops
	cancel   context.CancelFunc

	signedOut atomic.Bool // set by endSignedOut

	wake chan struct{} // signals output other than the log; capacity 1

	mu            sync.Mutex
	control       []byte  // encoded frames in reply to the peer: pongs, a close
	closing       bool    // the read deadline is final
	wantsPresence bool    // the client reports its view, so it receives presence messages
	lastPresence  *[]byte // the presence message sent last

	reader        *bufio.Reader // owned by the reader, as are the next two
	message       []byte        // the message received so far
	nextMessageAt time.Time     // rate limit: when the next message is due, minus the burst

	broken bool // owned by the writer: a write failed and may have ended inside a frame
	closed bool // owned by the writer: closeStream was called
}

// run serves the stream and returns when both goroutines have ended.
func (st *stream) run() {
	st.Metrics.streams.Inc()
	defer st.Metrics.streams.Dec()
	defer func() { _ = st.conn.Close() }()
	defer st.cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { middleware.LogPanic(st.Log, recover()) }()
		defer st.closeStream(closeReason{code: websocket.CloseInternalServerErr})
		defer st.Hub.AddViewer()()
		defer st.Hub.People.OnRevoked(st.identity, st.endSignedOut)()
		st.closeStream(st.writeLoop())
	}()
	st.readLoop()
	st.Presence.remove(st)
	st.cancel()
	<-done
}

// signOutGrace is when a signed-out stream is closed if the peer does not read the close
// frame.
const signOutGrace = 900 * time.Millisecond

// endSignedOut ends the stream because its credentials were revoked.
func (st *stream) endSignedOut() {
	st.signedOut.Store(true)
	st.cancel()
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
	st.wantsPresence = false
	st.mu.Unlock()
	st.queueControl(frame)
}

// extendReadDeadline implements liveness: a peer is disconnected if it sends nothing for
// two heartbeat intervals plus the write timeout.
func (st *stream) extendReadDeadline() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.closing {
		_ = st.conn.SetReadDeadline(time.Now().Add(2*st.PingInterval + st.StreamWriteTimeout))
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

// wakeWriter does a non-blocking send on wake.
func (st *stream) wakeWriter() {
	select {
	case st.wake <- struct{}{}:
	default:
	}
}

// takePending appends the pending output that is not part of the log: a new presence
// message and control frames.
func (st *stream) takePending(b []byte) []byte {
	st.mu.Lock()
	defer st.mu.Unlock()
	if latest := st.Presence.message.Load(); st.wantsPresence && latest != st.lastPresence {
		b, st.lastPresence = append(b, *latest...), latest
	}
	b = append(b, st.control...)
	st.control = st.control[:0]
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
