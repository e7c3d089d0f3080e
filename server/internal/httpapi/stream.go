package httpapi

import (
	"net"

	"github.com/gofiber/contrib/websocket"
	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
	"github.com/hookback/hookback/server/internal/httpapi/stream"
)

// cursorLocal is the key of the stream.Cursor of a handshake.
const cursorLocal = "cursor"

// stream returns the handler that upgrades GET /stream to a WebSocket, or answers a poll.
func (s *Server) stream() func(*request) error {
	upgrade := websocket.New(s.startStream, websocket.Config{
		// Origins is not set: OriginGuard.Check has checked the origin, and a list here would
		// reject clients that send none.
		// The library's default handler would send the panic value to the client.
		RecoverHandler: func(ws *websocket.Conn) {
			if v := recover(); v != nil {
				middleware.LogPanic(s.Log, v)
				_ = ws.Close()
			}
		},
	})
	return func(r *request) error {
		if !middleware.IsUpgrade(r.Ctx) {
			if middleware.IsPageRequest(r.Ctx) {
				return r.Next()
			}
			if !isPoll(r.Ctx) {
				return fiber.ErrUpgradeRequired
			}
			_, ctx, end := s.longPoll(r)
			defer end()
			return r.reply(s.streams.Poll(ctx, cursorOf(r), r.Query("poll")))
		}
		if s.stopping.Err() != nil {
			return schema.ErrStopping
		}
		r.Locals(cursorLocal, cursorOf(r))
		return upgrade(r.Ctx)
	}
}

// isPoll reports whether a request of /stream asks for its frames without a WebSocket.
func isPoll(c *fiber.Ctx) bool { return c.Query("poll") != "" && c.Query("v") == "2" }

func cursorOf(r *request) stream.Cursor {
	return stream.Cursor{Version: int(r.number("v")), After: r.number("after"), Hub: r.Query("hub"), Epoch: r.Query("epoch")}
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
	start, _ := ws.Locals(cursorLocal).(stream.Cursor)
	identity, _ := ws.Locals(identityLocal).(auth.Identity)
	s.streams.Start(cn, cn.TakeBuffered(hijacked), start, identity)
}
