package stream

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"time"

	"github.com/gofiber/contrib/websocket"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// writeBatchBytes is the size at which a write is sent even if more frames wait.
	writeBatchBytes = 512 << 10
	// maxPooledBuffer is the largest buffer that is kept for another write.
	maxPooledBuffer = 1 << 20

	// burstFrames is the number of frames in one batch that shows that events arrive faster
	// than they are written. Then the writer pauses to coalesce more of them. A client that is
	// catching up with full batches is not delayed.
	burstFrames   = 8
	fullBatch     = 500
	coalesceDelay = 2 * time.Millisecond
)

// runWriter is the writer of the stream until a shard is or the stream has ended. rest is the part that
// a shard could not write.
func (st *stream) runWriter(rest []byte) {
	joined := false
	defer func() {
		if !joined {
			st.closeStream(closeReason{code: websocket.CloseInternalServerErr})
			close(st.done)
		}
	}()
	defer func() { middleware.LogPanic(st.Log, recover()) }()
	var err error
	if joined, err = st.writeLoop(rest); !joined {
		st.closeStream(st.closeReasonFor(err))
	}
}

// writeLoop writes the log to the peer until the stream joins its shard or ends. After it
// joined, the stream belongs to the shard.
func (st *stream) writeLoop(rest []byte) (joined bool, err error) {
	if err = st.write(rest); err == nil {
		err = st.sendFirst()
	}
	for err == nil {
		var frames []feed.Frame
		var more <-chan struct{}
		frames, more, err = st.Query.FramesAfter(st.ctx, st.seq)
		switch {
		case st.start.Version == 2 && (errors.Is(err, store.ErrLogRewound) || errors.Is(err, store.ErrPruned)):
			err = st.resync()
		case err != nil:
		case len(frames) > 0:
			err = st.sendFrames(frames)
		case st.shard == nil:
			err = st.waitForMore(more)
		default:
			if err = st.write(st.takePending(nil)); err == nil && st.shard.join(st) {
				return true, nil
			}
		}
		if err == nil {
			err = st.ctx.Err()
		}
	}
	return false, err
}

// closeReasonFor maps the error that ended writeLoop to a close reason.
func (st *stream) closeReasonFor(err error) closeReason {
	switch {
	case st.broken:
		return closeReason{}
	case st.stopping.Err() != nil:
		return closeReason{websocket.CloseServiceRestart, "restarting"}
	case st.signedOut.Load():
		return closeReason{schema.StreamSignedOut, "signed out"}
	case st.ctx.Err() != nil:
		return closeReason{}
	case errors.Is(err, store.ErrLogRewound), errors.Is(err, store.ErrPruned):
		// Version 1 has no resync message. After a reconnect it gets a new initial one.
		return closeReason{websocket.CloseTryAgainLater, "too far behind, reconnect"}
	default:
		st.Log.Error("stream failed", "err", err)
		return closeReason{websocket.CloseInternalServerErr, "internal error"}
	}
}

// sendFirst sends the opening message, once, and sets the seq after which the stream continues.
func (st *stream) sendFirst() error {
	if st.opened {
		return nil
	}
	st.opened, st.pingAt = true, time.Now().Add(st.PingInterval)
	if st.start.Version == 1 {
		seq, data, err := st.Query.InitialMessage(st.ctx)
		if err != nil {
			return err
		}
		st.seq = seq
		return st.writeMessage(schema.Initial, data)
	}
	if after := st.start.After; after > st.Query.Store.Head() {
		_, _ = st.Query.Store.After(st.ctx, after, 0) // the page comes from a hub that is ahead
	}
	hello := st.hello()
	data, err := json.Marshal(hello)
	if err != nil {
		return err
	}
	if err := st.writeMessage(schema.HelloFrame, data); err != nil {
		return err
	}
	switch {
	case st.start.isForeign(st.Server, hello):
		return st.resync()
	case st.start.After >= 0:
		st.seq = st.start.After
	default:
		st.seq = hello.Seq
	}
	return nil
}

// isForeign reports whether the client's history is not that of the hub.
func (c Cursor) isForeign(s *Server, hello schema.Hello) bool {
	return c.Hub != "" && c.Hub != hello.HubID || c.After > hello.Seq || c.Epoch != "" && !s.Query.Store.HasPosition(c.Epoch, c.After)
}

// hello returns the opening message: the hub, and the dashboard build that it serves.
func (s *Server) hello() schema.Hello {
	h := s.Query.Hello()
	h.Page = s.Page
	return h
}

// resync sends the message for an invalid cursor. The client reloads its snapshot and
// continues with the hub's present.
func (st *stream) resync() error {
	hello := st.hello()
	data, err := json.Marshal(hello)
	if err != nil {
		return err
	}
	st.seq = hello.Seq
	return st.writeMessage(schema.Resync, data)
}

// waitForMore blocks until there is something to send or the stream ends, and sends heartbeats
// and pending frames.
func (st *stream) waitForMore(more <-chan struct{}) error {
	ping := time.NewTimer(time.Until(st.pingAt))
	defer ping.Stop()
	select {
	case <-more:
		return nil
	case <-st.ctx.Done():
		return nil
	case <-st.wake:
		return st.write(st.takePending(nil))
	case <-ping.C:
		return st.write(st.appendDueHeartbeat(nil))
	}
}

// appendDueHeartbeat appends a heartbeat if one is due.
func (st *stream) appendDueHeartbeat(b []byte) []byte {
	now := time.Now()
	if now.Before(st.pingAt) {
		return b
	}
	st.pingAt = now.Add(st.PingInterval)
	return appendHeartbeat(b, st.start.Version, st.Query.Clock())
}

// coalesceFrames pauses during a burst, in which n frames were sent, so that more fit in one
// write.
func coalesceFrames(ctx context.Context, n int) {
	if n >= burstFrames && n < fullBatch {
		feed.Sleep(ctx, coalesceDelay)
	}
}

// sendFrames writes frames in few large writes, and for version 2 in as few messages.
func (st *stream) sendFrames(frames []feed.Frame) error {
	buf := st.getBuffer()
	defer st.putBuffer(buf)
	sent := len(frames)
	b := st.appendDueHeartbeat(st.takePending((*buf)[:0]))
	for len(frames) > 0 {
		n := batchLen(frames)
		b = encode(b, st.start.Version, frames[:n])
		*buf = b
		if err := st.write(b); err != nil {
			return err
		}
		st.seq = frames[n-1].Seq
		frames = frames[n:]
		b = b[:0]
	}
	coalesceFrames(st.ctx, sent)
	return nil
}

// batchLen returns how many of the frames, at least one, go into one write.
func batchLen(frames []feed.Frame) int {
	n, size := 0, 0
	for n < len(frames) && size < writeBatchBytes {
		size += len(frames[n].Data) + len(frames[n].End)
		n++
	}
	return n
}

// encode appends the frames in the encoding of the version.
func encode(b []byte, version int, frames []feed.Frame) []byte {
	if version == 2 {
		return appendFrames(b, frames)
	}
	for _, f := range frames {
		switch {
		case !f.Status:
			b = appendMessage(b, schema.EventFrame, f.Data)
		case f.End != nil:
			b = appendMessage(b, schema.EventFrame, f.End)
		}
	}
	return b
}

// writeMessage writes one message without copying data, which may be large.
func (st *stream) writeMessage(kind schema.FrameType, data []byte) error {
	envelope := appendMessage(nil, kind, nil)
	payload := envelope[2 : len(envelope)-1]
	head := append(appendHeader(nil, opText, len(payload)+len(data)+1), payload...)
	st.setWriteDeadline()
	pieces := net.Buffers{head, data, []byte("}")}
	_, err := pieces.WriteTo(st.conn.Conn)
	return st.checkWrite(err)
}

func (st *stream) write(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	st.setWriteDeadline()
	_, err := st.conn.Conn.Write(b)
	return st.checkWrite(err)
}

// setWriteDeadline sets the deadline of the next write. It is the only backpressure: a
// client that does not read in time is disconnected and resumes later. It never delays the
// log or other clients.
func (st *stream) setWriteDeadline() {
	_ = st.conn.Conn.SetWriteDeadline(time.Now().Add(st.WriteTimeout))
}

func (st *stream) checkWrite(err error) error {
	if err != nil {
		st.broken = true
		if ne, ok := err.(net.Error); ok && ne.Timeout() { //nolint:errorlint // as net returns it
			st.Slow.Inc()
		}
	}
	return err
}

func (s *Server) getBuffer() *[]byte {
	if b, ok := s.buffers.Get().(*[]byte); ok {
		return b
	}
	return new([]byte)
}

func (s *Server) putBuffer(b *[]byte) {
	if cap(*b) <= maxPooledBuffer {
		s.buffers.Put(b)
	}
}
