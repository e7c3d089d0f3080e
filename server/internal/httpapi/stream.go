package httpapi

import (
	"context"
	"net"
	"runtime/debug"
	"sync"
	"time"

	fastws "github.com/fasthttp/websocket"
	"github.com/gofiber/contrib/websocket"
	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
)

const (
	// readLimit is the most a page may say at a time; it has nothing to say.
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
	upgrade := websocket.New(s.serveStream, websocket.Config{
		// Origins stays open: the door has decided, and a list here would refuse
		// clients that have no origin.
		RecoverHandler: s.recoverStream,
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
	version, err := number(c, "v", 1, 1, 2)
	if err != nil {
		return cursor{}, err
	}
	after, err := number(c, "after", -1, 0, farAway)
	return cursor{version: int(version), after: after, hub: c.Query("hub")}, err
}

// recoverStream ends a stream whose handler panicked. The library's own would send
// the panic's value to the page.
func (s *Server) recoverStream(*websocket.Conn) {
	if recover() != nil {
		s.Log.Error("a stream panicked", "stack", string(debug.Stack()))
	}
}

// serveStream runs one stream from upgrade to end. The library pools its Conn: it
// must not be touched after this returns, so everything else has ended by then.
func (s *Server) serveStream(ws *websocket.Conn) {
	hijacked, ok := ws.NetConn().(interface{ UnsafeConn() net.Conn })
	if !ok {
		return
	}
	// Unwrapped: the wrapper would make a system call of every piece of a write.
	cn, ok := hijacked.UnsafeConn().(*conn)
	if !ok {
		return
	}
	from, _ := ws.Locals("cursor").(cursor)
	st := &stream{Server: s, conn: cn, from: from, wake: make(chan struct{}, 1)}
	st.ctx, st.cancel = context.WithCancel(s.stopping)
	defer st.cancel()
	cn.own(st.queue)
	s.Metrics.streams.Inc()
	defer s.Metrics.streams.Dec()

	done := make(chan struct{})
	go func() {
		defer close(done)
		defer s.recoverStream(nil)
		defer st.hangUp(farewell{code: websocket.CloseInternalServerErr})
		st.hangUp(st.follow())
	}()
	st.read(ws.Conn)
	st.cancel()
	<-done
}

// stream is one page that follows the log. Two goroutines: read, which only
// listens, and the writer, which runs follow and alone writes to conn.Conn.
type stream struct {
	*Server
	conn   *conn
	from   cursor
	ctx    context.Context // ends when the peer has gone or the server stops
	cancel context.CancelFunc
	wake   chan struct{} // told when control has something

	mu      sync.Mutex
	control []byte // whole frames the library wants to send: pongs, the echo of a close
	ending  bool   // the reader's deadline is the last one

	broken bool // the writer's own: a write failed, what was sent may end within a frame
	over   bool // the writer's own: hangUp was called
}

// read listens until the peer leaves or breaks a rule; the library answers pings,
// closes and offences through queue.
func (st *stream) read(ws *fastws.Conn) {
	ws.SetReadLimit(readLimit)
	ws.SetPongHandler(func(string) error { st.alive(); return nil })
	st.alive()
	for {
		if _, _, err := ws.NextReader(); err != nil {
			return
		}
		st.alive()
	}
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
	select {
	case st.wake <- struct{}{}:
	default:
	}
}

// takeControl appends the control frames that wait.
func (st *stream) takeControl(b []byte) []byte {
	st.mu.Lock()
	defer st.mu.Unlock()
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
	b := st.takeControl(nil)
	if f.code != 0 {
		b = appendClose(b, f.code, f.reason)
	}
	wait := time.Duration(0)
	if len(b) > 0 && !st.broken {
		wait = goodbye
		_ = st.conn.Conn.SetWriteDeadline(time.Now().Add(goodbye))
		_, _ = st.conn.Conn.Write(b) // whoever does not get it sees the connection end
		if f.code == 0 {
			st.conn.letRead() // it may be in the middle of too long a message
		}
	}
	st.mu.Lock()
	st.ending = true
	_ = st.conn.SetReadDeadline(time.Now().Add(wait))
	st.mu.Unlock()
}
