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
	// goodbye is how long a close frame and its echo may take.
	goodbye = time.Second
	// maxControl bounds the pongs that wait for a peer which does not read.
	maxControl = 4 << 10
)

// cursor is what a page asked /stream for.
type cursor struct {
	version int
	after   int64 // -1: from now on
	hub     string
}

// stream upgrades GET /stream to a WebSocket that follows the hub's log.
func (s *Server) stream() fiber.Handler {
	upgrade := websocket.New(s.takeOver, websocket.Config{
		// Origins stays open: the door has decided, and a list here would refuse
		// clients that have no origin.
		// The library's own handler would send the panic's value to the page.
		RecoverHandler: func(ws *websocket.Conn) {
			if v := recover(); v != nil {
				s.recovered(v)
				_ = ws.Close()
			}
		},
	})
	return func(c *fiber.Ctx) error {
		if !upgrading(c) {
			if wantsPage(c) {
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

func upgrading(c *fiber.Ctx) bool { return websocket.IsWebSocketUpgrade(c) }

func parseCursor(c *fiber.Ctx) (cursor, error) {
	version, err := number(c, "v", span{low: 1, high: 2, otherwise: 1})
	if err != nil {
		return cursor{}, err
	}
	after, err := number(c, "after", span{high: farAway, otherwise: -1})
	return cursor{version: int(version), after: after, hub: c.Query("hub")}, err
}

// takeOver starts a stream on a connection that was just upgraded and returns. The
// library's Conn goes back to its pool then and serves somebody else, and with it
// go the request's buffers, which are most of what a stream would hold on to.
func (s *Server) takeOver(ws *websocket.Conn) {
	hijacked := ws.NetConn()
	cn, ok := hijacked.(interface{ UnsafeConn() net.Conn }).UnsafeConn().(*conn)
	if !ok {
		_ = hijacked.Close()
		return
	}
	from, _ := ws.Locals("cursor").(cursor)
	who, _ := ws.Locals(whoLocal).(auth.Identity)
	early := cn.leftIn(hijacked)
	st := &stream{Server: s, conn: cn, from: from, who: who, wake: make(chan struct{}, 1)}
	if !who.Agent { // whose token may have a person's name
		st.person = who.Name
	}
	st.ctx, st.cancel = context.WithCancel(s.stopping)
	st.in = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(early), cn.Conn), 256)
	go st.run() // Shutdown waits for cn to be closed
}

// stream is one page that follows the log. Two goroutines: run, which only listens,
// and the writer, which runs follow and alone writes to conn.Conn.
type stream struct {
	*Server
	conn   *conn
	from   cursor
	who    auth.Identity   // the sign-in or token that the stream came with
	person string          // who is signed in to the page; empty: nobody
	ctx    context.Context // ends when the peer has gone or the server stops
	cancel context.CancelFunc

	signedOut atomic.Bool // by signOut

	wake chan struct{} // told when there is something to write beside the log

	mu      sync.Mutex
	control []byte  // whole frames that answer the peer: pongs, a close
	ending  bool    // the reader's deadline is the last one
	looks   bool    // the page said what it shows: it is told of the others
	shown   *[]byte // the presence that it was told last

	in      *bufio.Reader // the reader's own, as are the next two
	said    []byte        // of the message that is coming in
	sayNext time.Time     // when the page may say something again, give or take maxAtOnce

	broken bool // the writer's own: a write failed, what was sent may end within a frame
	over   bool // the writer's own: hangUp was called
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
		defer func() { st.recovered(recover()) }()
		defer st.hangUp(farewell{code: websocket.CloseInternalServerErr})
		defer st.Hub.AddViewer()()
		defer st.Hub.People.OnRevoked(st.who, st.signOut)()
		st.hangUp(st.follow())
	}()
	st.listen()
	st.presence.leave(st)
	st.cancel()
	<-done
}

// cutOff is when a stream is closed whose peer does not read that it was signed out.
const cutOff = 900 * time.Millisecond

// signOut ends the stream: whoever opened it may not see more.
func (st *stream) signOut() {
	st.signedOut.Store(true)
	st.cancel()
	time.AfterFunc(cutOff, func() { _ = st.conn.Conn.Close() })
}

// recovered reports a panic, which costs its own stream only.
func (s *Server) recovered(v any) {
	if v != nil {
		s.Log.Error("a stream panicked", "stack", string(debug.Stack()))
	}
}

// listen hears the peer out until it leaves or breaks a rule. Its pings and its
// close are answered.
func (st *stream) listen() {
	message := 0
	for {
		st.alive()
		in, err := readIncoming(st.in)
		switch {
		case errors.Is(err, errProtocol):
			st.refuse(websocket.CloseProtocolError)
			return
		case err != nil:
			return
		case in.op == opPing:
			st.queue(append(appendHeader(nil, opPong, len(in.control)), in.control...))
			continue // control frames may come between a message's
		case in.op == opClose:
			st.lastWord(append(appendHeader(nil, opClose, len(in.control)), in.control...))
			return
		case in.op == opPong:
			continue
		case in.op != opContinuation:
			message = 0
		}
		if message += in.size; message > readLimit {
			st.refuse(websocket.CloseMessageTooBig)
			return
		}
		if !st.hear(in, message) {
			return
		}
	}
}

// refuse ends the stream of a peer that breaks a rule, and may be in the middle of
// saying more.
func (st *stream) refuse(code uint16) {
	st.conn.letRead()
	st.lastWord(appendClose(nil, code, ""))
}

// lastWord queues a close, behind which nothing may come.
func (st *stream) lastWord(frame []byte) {
	st.mu.Lock()
	st.looks = false
	st.mu.Unlock()
	st.queue(frame)
}

// alive puts off the moment when a silent peer counts as gone.
func (st *stream) alive() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.ending {
		_ = st.conn.SetReadDeadline(time.Now().Add(2*st.PingInterval + st.StreamWriteTimeout))
	}
}

// queue takes a control frame for the writer.
func (st *stream) queue(frame []byte) {
	st.mu.Lock()
	if len(st.control)+len(frame) <= maxControl {
		st.control = append(st.control, frame...)
	}
	st.mu.Unlock()
	st.poke()
}

// poke wakes the writer.
func (st *stream) poke() {
	select {
	case st.wake <- struct{}{}:
	default:
	}
}

// takeAside appends what waits beside the log: who else is looking, and control
// frames.
func (st *stream) takeAside(b []byte) []byte {
	st.mu.Lock()
	defer st.mu.Unlock()
	if now := st.presence.message.Load(); st.looks && now != st.shown {
		b, st.shown = append(b, *now...), now
	}
	b = append(b, st.control...)
	st.control = st.control[:0]
	return b
}

// farewell is how a stream ends. Without a code only what the library had to say
// is sent: the peer closed, or is gone.
type farewell struct {
	code   uint16
	reason string
}

// hangUp says goodbye, once, and gives the reader little time to hear the echo.
func (st *stream) hangUp(f farewell) {
	if st.over {
		return
	}
	st.over = true
	b := st.takeAside(nil)
	if f.code != 0 {
		b = appendClose(b, f.code, f.reason)
	}
	wait := time.Duration(0)
	if len(b) > 0 && !st.broken {
		wait = goodbye
		_ = st.conn.Conn.SetWriteDeadline(time.Now().Add(goodbye))
		_, _ = st.conn.Conn.Write(b) // whoever does not get it sees the connection end
	}
	st.mu.Lock()
	st.ending = true
	_ = st.conn.SetReadDeadline(time.Now().Add(wait))
	st.mu.Unlock()
}
