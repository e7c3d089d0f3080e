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

// stream returns the handler that upgrades GET /stream to a WebSocket.
func (s *Server) stream() fiber.Handler {
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
		c.Locals(cursorLocal, from)
		return upgrade(c)
	}
}

func parseCursor(c *fiber.Ctx) (stream.Cursor, error) {
	version, err := queryInt(c, "v", bounds{min: 1, max: 2, fallback: 1})
	if err != nil {
		return stream.Cursor{}, err
	}
	after, err := queryInt(c, "after", bounds{max: unbounded, fallback: -1})
	return stream.Cursor{Version: int(version), After: after, Hub: c.Query("hub"), Epoch: c.Query("epoch")}, err
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
