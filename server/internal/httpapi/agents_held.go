package httpapi

import (
	"bufio"
	"context"
	"errors"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
	"github.com/hookback/hookback/server/internal/hub"
)

// A held response stays open until a person has answered the question in its request. Spaces, which JSON allows
// before a value, serve as its heartbeat: they keep the connection alive and detect a program that disconnected.

// response is a response that waits for the answer to a stored question.
type response struct {
	conn   *middleware.Conn
	id     schema.EventID
	secret string        // of the question
	limit  time.Duration // of the wait; 0: until the question has ended
	waiter waiter
}

// waiter is a request that waits for the answer to its question.
type waiter interface {
	// render returns the response for an answer. err is the reason why there is none.
	render(answer []byte, err error) []byte
	// end is called if there is no answer. It returns the response, or nil to close the connection
	// without one.
	end(ctx context.Context) []byte
}

// startWaiting moves the request to a waiting place.
func (s *Server) startWaiting(r *request) bool {
	return s.places.StartWaiting(r.Ctx, func() string { return s.programOf(r.Ctx) })
}

// respond streams the response. cancel ends the wait.
func (s *Server) respond(c *request, r response) (cancel func()) {
	ctx, cancel := context.WithCancel(s.stopping)
	c.Response().Header.SetContentType(fiber.MIMEApplicationJSON)
	c.Ctx.Context().SetBodyStreamWriter(func(out *bufio.Writer) {
		defer func() { middleware.LogPanic(s.Log, recover()) }()
		defer cancel()
		open, halfClosed := context.WithCancel(ctx)
		ctx, stop := r.conn.WatchDisconnect(ctx, func(context.Context) error { halfClosed(); return nil })
		defer stop()
		defer context.AfterFunc(ctx, halfClosed)()
		_, _ = out.Write(s.wait(ctx, open, out, r))
	})
	return cancel
}

// wait writes the heartbeat until the question has ended, and returns the rest of the response. open
// ends before ctx if the program closes its sending side. Then probes show whether it is gone: the
// connection is reset after the first one, the second one fails, and the third one returns that error.
func (s *Server) wait(ctx, open context.Context, out *bufio.Writer, r response) []byte {
	probes := 3
	for deadline := time.Now().Add(r.limit); r.limit <= 0 || time.Now().Before(deadline); {
		// The server's write timeout covers the whole response. Each heartbeat gets a separate
		// deadline.
		_ = r.conn.SetWriteDeadline(time.Now().Add(s.HookHeartbeat + s.StreamWriteTimeout))
		_ = out.WriteByte(' ')
		if out.Flush() != nil || ctx.Err() != nil {
			break
		}
		pause := s.HookHeartbeat
		round := open
		if open.Err() != nil {
			round = ctx
			if probes--; probes > 0 {
				pause = min(pause, middleware.ResetDelay)
			}
		}
		answer, err := s.Hub.Pull(round, r.id, hub.PullOptions{Wait: pause, Secret: r.secret})
		if answer != nil {
			return r.waiter.render(answer, nil)
		}
		if errors.Is(err, schema.ErrExpired) {
			return r.waiter.render(nil, err)
		}
		if err != nil {
			s.Log.Error("answer of a waiting request not read", "event", r.id, "err", err)
			break
		}
	}
	rest := r.waiter.end(ctx)
	if rest == nil {
		_ = r.conn.Conn.Close() // without the end of the body, so that the program sees an error
	}
	return rest
}

// abandon ends a question whose program no longer waits.
func (s *Server) abandon(ctx context.Context, id schema.EventID, reason string) {
	if err := s.Hub.Abandon(context.WithoutCancel(ctx), id, "", reason); err != nil {
		s.Log.Error("question of a waiting request not abandoned", "event", id, "err", err)
	}
}
