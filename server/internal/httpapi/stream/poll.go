package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

// positionFormat is the format of a position: facts, notes and process.
const positionFormat = "%d.%d.%s"

// polls is the state of all clients that read the log by polls. Its zero value is not usable.
type polls struct {
	process string // in positions: those of another process count facts that this one does not have

	mu    sync.Mutex
	until time.Time   // the pages that poll count as one viewer until then
	timer *time.Timer // runs until then; nil: no page polls
}

// Poll returns the next frames for a client without a WebSocket as a message of version 2. It blocks until there
// are any, for one heartbeat interval, or until ctx ends. If ctx ends with the cause schema.ErrSignIn, it returns that
// and no frames. The last frame is a heartbeat with the position for the next poll. Any other position starts again,
// with a hello. Such a client reports no view and has no presence.
func (s *Server) Poll(ctx context.Context, from Cursor, position string) ([]byte, error) {
	s.Open.Inc()
	defer s.Open.Dec()
	s.viewByPolls()
	p := &poll{Server: s, start: from}
	if err := p.open(ctx, position); err != nil {
		return nil, err
	}
	timeout := time.NewTimer(s.PingInterval)
	defer timeout.Stop()
	for {
		newFact, more, err := p.collect(ctx)
		if err != nil {
			return nil, err
		}
		if revoked := context.Cause(ctx); errors.Is(revoked, schema.ErrSignIn) {
			return nil, revoked // checked after the log was read: these frames may be later
		}
		if p.message != nil || ctx.Err() != nil {
			return p.end()
		}
		select {
		case <-newFact:
		case <-more:
		case <-ctx.Done():
		case <-timeout.C:
			return p.end()
		}
	}
}

// viewByPolls counts the pages that poll as a viewer, until two heartbeat intervals have passed without a poll.
func (s *Server) viewByPolls() {
	s.polls.mu.Lock()
	defer s.polls.mu.Unlock()
	s.polls.until = time.Now().Add(2 * s.PingInterval)
	if s.polls.timer != nil {
		return
	}
	remove := s.Hub.Viewers.Add()
	s.polls.timer = time.AfterFunc(2*s.PingInterval, func() {
		s.polls.mu.Lock()
		defer s.polls.mu.Unlock()
		if left := time.Until(s.polls.until); left > 0 && s.stopping.Err() == nil {
			s.polls.timer.Reset(left)
			return
		}
		s.polls.timer = nil
		remove()
	})
}

// poll is the response to one request.
type poll struct {
	*Server
	start   Cursor
	seq     int64
	facts   feed.Position
	message []byte // without its end
}

// open sets the position. A client that has none of this process gets a hello, and the state that a stream starts with.
func (p *poll) open(ctx context.Context, position string) error {
	p.seq = p.start.After
	var process string
	_, err := fmt.Sscanf(position, positionFormat, &p.facts.Facts, &p.facts.Notes, &process)
	if err == nil && process == p.polls.process && p.seq >= 0 {
		return nil
	}
	_, p.facts, _ = p.Hub.Feed.Since(feed.Position{}, 0) // before the state is read
	if p.seq > p.Query.Store.Head() {
		_, _ = p.Query.Store.After(ctx, p.seq, 0) // the page comes from a hub that is ahead
	}
	hello := p.hello()
	if err := p.append(schema.HelloFrame, hello); err != nil {
		return err
	}
	if p.start.isForeign(p.Server, hello) {
		return p.resync()
	}
	if p.seq < 0 {
		p.seq = hello.Seq
	}
	if active := p.Hub.Store.ActiveFreezes(); len(active) > 0 {
		return p.append(schema.FreezeFrame, active)
	}
	return nil
}

// resync appends the frame for an invalid cursor, with the present as the new position.
func (p *poll) resync() error {
	hello := p.hello()
	p.seq = hello.Seq
	_, p.facts, _ = p.Hub.Feed.Since(feed.Position{}, 0)
	return p.append(schema.Resync, hello)
}

// collect appends the frames after the position. The channels are closed when there may be more.
func (p *poll) collect(ctx context.Context) (newFact, more <-chan struct{}, err error) {
	batch, end, newFact := p.Hub.Feed.Since(p.facts, noticeKinds|feed.Frozen)
	if batch.Rescan { // too slow: the page must read the present
		return nil, nil, p.resync()
	}
	p.facts = end
	for _, fact := range batch.Facts {
		kind, data := noticeFrames[fact.Kinds], fact.Note
		if fact.Kinds == feed.Frozen {
			kind, data = schema.FreezeFrame, append([]control.Freeze{}, p.Hub.Store.ActiveFreezes()...)
		}
		if err := p.append(kind, data); err != nil {
			return nil, nil, err
		}
	}
	frames, more, err := p.Query.FramesAfter(ctx, p.seq)
	if errors.Is(err, store.ErrLogRewound) || errors.Is(err, store.ErrPruned) {
		return nil, nil, p.resync()
	}
	for _, frame := range frames {
		p.message = appendFrame(p.separate(), frame)
		p.seq = frame.Seq
	}
	return newFact, more, err
}

// append appends a frame that is not part of the log.
func (p *poll) append(kind schema.FrameType, data any) error {
	encoded, err := json.Marshal(data)
	if err != nil {
		return err
	}
	frame, err := json.Marshal(schema.Frame{Type: kind, Data: encoded})
	p.message = append(p.separate(), frame...)
	return err
}

// separate returns the message, ready for another frame.
func (p *poll) separate() []byte {
	if p.message == nil {
		return []byte{'['}
	}
	return append(p.message, ',')
}

// end returns the whole message.
func (p *poll) end() ([]byte, error) {
	next := fmt.Sprintf(positionFormat, p.facts.Facts, p.facts.Notes, p.polls.process)
	err := p.append(schema.HeartbeatFrame, schema.Heartbeat{ServerTime: schema.Millis(p.Query.Clock().UnixMilli()), Poll: next})
	return append(p.message, ']'), err
}
