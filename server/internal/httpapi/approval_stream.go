package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
	"github.com/hookback/hookback/server/internal/store"
)

// approvalRequired and approvalResolved are the data of the events with these names in GET /api/approvals/stream.
type (
	approvalRequired struct {
		ApprovalID string          `json:"approvalId"`
		ToolName   string          `json:"toolName"`
		Input      json.RawMessage `json:"input"`
		Message    string          `json:"message"`
	}
	approvalResolved struct {
		ApprovalID string         `json:"approvalId"`
		Approved   bool           `json:"approved"`
		Outcome    schema.Outcome `json:"outcome"`
		Reason     string         `json:"reason,omitempty"`
	}
)

// streamApprovals handles GET /api/approvals/stream: the pending permissions and their ends as server-sent events. The id
// of an event is its position in the log.
func (s *Server) streamApprovals(r *request) error {
	cn, ok := r.Ctx.Context().Conn().(*middleware.Conn)
	if !ok {
		return fiber.ErrInternalServerError
	}
	if s.stopping.Err() != nil {
		return schema.ErrStopping
	}
	a := &approvalStream{Server: s, conn: cn, seq: -1}
	if last, err := strconv.ParseInt(r.Get("Last-Event-ID"), 10, 64); err == nil {
		a.seq = last
	}
	ctx, cancel := context.WithCancel(s.stopping)
	cn.OnResponseSent(s.Hub.People.OnRevoked(r.by.Identity, cancel))
	r.Set(fiber.HeaderContentType, "text/event-stream")
	r.Set(fiber.HeaderCacheControl, "no-store")
	r.Set("X-Accel-Buffering", "no") // nginx would hold the events back
	r.Ctx.Context().SetBodyStreamWriter(func(out *bufio.Writer) {
		defer func() { middleware.LogPanic(s.Log, recover()) }()
		defer cancel()
		defer s.Hub.Viewers.Add()()
		ctx, stop := cn.WatchDisconnect(ctx, func(context.Context) error { return io.EOF })
		defer stop()
		a.out = out
		if err := a.run(ctx); ctx.Err() == nil {
			s.Log.Warn("stream of approvals ended", "err", err)
		}
	})
	return nil
}

// approvalStream is the response to one request.
type approvalStream struct {
	*Server
	conn *middleware.Conn
	out  *bufio.Writer
	text bytes.Buffer // not written yet
	seq  int64        // of the last entry of the log that was read; negative: none
	sent map[schema.EventID]bool
}

// run writes events until ctx ends or a write fails. It checks ctx after it has read the log, so that revoked access gets
// nothing that was stored later.
func (a *approvalStream) run(ctx context.Context) error {
	for {
		more, err := a.collect(ctx)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		_ = a.conn.SetWriteDeadline(time.Now().Add(a.PingInterval + a.StreamWriteTimeout))
		_, _ = a.text.WriteTo(a.out)
		if err := a.out.Flush(); err != nil {
			return err
		}
		heartbeat := time.NewTimer(a.PingInterval)
		select {
		case <-more:
		case <-heartbeat.C:
		case <-ctx.Done():
		}
		heartbeat.Stop()
	}
}

// collect appends the events after the position, and the position itself: the next request resumes behind entries of the
// log that are no events here. It serves as the heartbeat, too. The channel is closed when there is more.
func (a *approvalStream) collect(ctx context.Context) (<-chan struct{}, error) {
	if a.seq < 0 {
		if err := a.start(ctx); err != nil {
			return nil, err
		}
	}
	frames, more, err := a.Query.FramesAfter(ctx, a.seq)
	if errors.Is(err, store.ErrLogRewound) || errors.Is(err, store.ErrPruned) {
		a.seq = -1
		return a.collect(ctx)
	}
	for _, frame := range frames {
		if err := a.append(ctx, &frame); err != nil {
			return nil, err
		}
		a.seq = frame.Seq
	}
	fmt.Fprintf(&a.text, "id: %d\n\n", a.seq)
	return more, err
}

// start appends all pending permissions, at the present position.
func (a *approvalStream) start(ctx context.Context) error {
	a.seq, a.sent = a.Query.Store.Head(), map[schema.EventID]bool{}
	pending, err := a.Query.Approvals(ctx)
	if err != nil {
		return err
	}
	for i := range pending {
		id, err := strconv.ParseInt(pending[i].ID, 10, 64)
		if err != nil {
			return err
		}
		a.sent[schema.EventID(id)] = true
		a.event("approval-required", approvalRequired{pending[i].ID, pending[i].ToolName, pending[i].Arguments, pending[i].Message})
	}
	return nil
}

// append appends the event of a frame of the log, if it is about an approval.
func (a *approvalStream) append(ctx context.Context, frame *feed.Frame) error {
	id := schema.EventID(frame.ID)
	switch {
	case !frame.Status && frame.Kinds&feed.NewQuestion != 0 && !a.sent[id]:
		approval, err := a.Query.Approval(ctx, id)
		if errors.Is(err, schema.ErrNoQuestion) || errors.Is(err, schema.ErrDecided) || errors.Is(err, schema.ErrExpired) {
			return nil // another kind of question, or it has ended
		}
		if err != nil {
			return err
		}
		a.event("approval-required", approvalRequired{approval.ID, approval.ToolName, approval.Arguments, approval.Message})
	case frame.Status && frame.End != nil:
		var e schema.Event
		if err := json.Unmarshal(frame.End, &e); err != nil {
			return err
		}
		if st := e.HumanInTheLoopStatus; e.HumanInTheLoop.Type == schema.Permission {
			a.event("approval-resolved", approvalResolved{id.String(), st.Outcome == schema.Approve, st.Outcome, st.Reason})
		}
	}
	return nil
}

func (a *approvalStream) event(name string, data any) {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err) // unreachable: arguments are stored as valid JSON
	}
	fmt.Fprintf(&a.text, "event: %s\ndata: %s\n\n", name, text)
}
