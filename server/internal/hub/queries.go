package hub

import (
	"context"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// maxPageBytes limits the size of a list or an initial message.
	maxPageBytes = 4 << 20
	// catchUpRows is the number of rows that a reader behind the ring buffer gets at a
	// time.
	catchUpRows = 512
)

// Event returns one complete event with its transcript, as JSON.
func (h *Hub) Event(ctx context.Context, id schema.EventID) ([]byte, error) {
	e, chat, err := h.Store.Event(ctx, id)
	if err != nil {
		return nil, err
	}
	return appendFullEvent(nil, e, chat), nil
}

// EventApp returns the application of an event.
func (h *Hub) EventApp(ctx context.Context, id schema.EventID) (string, error) {
	e, _, err := h.Store.Event(ctx, id)
	if err != nil {
		return "", err
	}
	return e.App, nil
}

// Recent returns the newest events as a JSON array, oldest first.
func (h *Hub) Recent(ctx context.Context, limit int) ([]byte, error) {
	events, err := h.Store.Recent(ctx, limit)
	if err != nil {
		return nil, err
	}
	return encodeList(events, nil, true), nil
}

// FindEvents returns the events that match f as a JSON array, oldest first. If a page
// exceeds maxPageBytes, it is cut at the end away from its cursor.
func (h *Hub) FindEvents(ctx context.Context, f store.Filter) ([]byte, error) {
	events, err := h.Store.Find(ctx, f)
	if err != nil {
		return nil, err
	}
	return encodeList(events, nil, !f.Oldest && f.After == 0), nil
}

// FilterOptions returns the values that a filter can offer.
func (h *Hub) FilterOptions(ctx context.Context) (schema.FilterOptions, error) {
	return h.Store.FilterOptions(ctx)
}

// InitialMessage returns the data of a version 1 stream's first message: the newest events and
// every pending question, oldest first. The stream continues after seq.
//
// Dashboards that open while nothing happens share the same bytes. Only one message is
// built at a time, because building it takes several times its size in memory.
func (h *Hub) InitialMessage(ctx context.Context) (seq int64, data []byte, err error) {
	h.initialMu.Lock()
	defer h.initialMu.Unlock()
	if s := h.initial.Load(); s != nil && s.seq == h.Store.Head() {
		return s.seq, s.data, nil
	}
	s, err := h.buildInitialMessage(ctx)
	if err != nil {
		return 0, nil, err
	}
	h.initial.Store(s)
	return s.seq, s.data, nil
}

// initialMessage is the cached first message of version 1 streams.
type initialMessage struct {
	seq  int64
	data []byte
}

func (h *Hub) buildInitialMessage(ctx context.Context) (*initialMessage, error) {
	// Read the head first: rows committed after it arrive as frames and must not appear
	// twice.
	seq := h.Store.Head()
	recent, err := h.Store.Recent(ctx, schema.RecentLimit)
	if err != nil {
		return nil, err
	}
	pending, err := h.Store.Pending(ctx)
	if err != nil {
		return nil, err
	}
	pendingIDs := map[schema.EventID]bool{}
	for _, e := range pending {
		pendingIDs[e.ID] = true
	}
	events := slices.DeleteFunc(recent, func(e *store.Event) bool { return pendingIDs[e.ID] })
	if limit := max(0, schema.RecentLimit-len(pending)); len(events) > limit {
		events = events[len(events)-limit:]
	}
	events = append(events, pending...)
	events = slices.DeleteFunc(events, func(e *store.Event) bool { return int64(e.ID) > seq })
	slices.SortFunc(events, func(a, b *store.Event) int { return int(a.ID - b.ID) })
	return &initialMessage{seq: seq, data: encodeList(events, pendingIDs, true)}, nil
}

// encodeList encodes events as a JSON array. Beyond maxPageBytes it omits events, from
// the old end or the new one. Events in keep are never omitted, but lose their payload
// if necessary.
func encodeList(events []*store.Event, keep map[schema.EventID]bool, dropOldest bool) []byte {
	encoded := make([][]byte, len(events))
	size := 2
	for i, e := range events {
		encoded[i] = e.AppendJSON(nil, schema.MaxListed)
		size += len(encoded[i]) + 1
	}
	for n := range events {
		if size <= maxPageBytes {
			break
		}
		i := n
		if !dropOldest {
			i = len(events) - 1 - n
		}
		size -= len(encoded[i]) + 1
		encoded[i] = nil
		if keep[events[i].ID] {
			encoded[i] = events[i].AppendJSON(nil, 0)
			size += len(encoded[i]) + 1
		}
	}
	dst := make([]byte, 0, size)
	dst = append(dst, '[')
	for _, b := range encoded {
		if b == nil {
			continue
		}
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(dst, b...)
	}
	return append(dst, ']')
}

// FramesAfter returns the frames after seq, from the ring buffer or, if that no longer
// reaches back, from the store. The channel more is closed when further frames exist.
// store.ErrLogRewound and store.ErrPruned mean that the reader's position is not part
// of this hub's log (any more).
func (h *Hub) FramesAfter(ctx context.Context, seq int64) (frames []feed.Frame, more <-chan struct{}, err error) {
	// Compare with the store's head, not the feed's: a stream may have started with
	// rows that are committed but not published yet.
	if seq > h.Store.Head() {
		return nil, nil, store.ErrLogRewound
	}
	frames, more, ok := h.Feed.After(seq)
	if ok {
		return frames, more, nil
	}
	rows, err := h.Store.After(ctx, seq, catchUpRows)
	if err != nil {
		return nil, nil, err
	}
	return h.encodeFrames(rows), closedChan, nil
}

// closedChan signals that more frames can be read immediately.
var closedChan = func() chan struct{} { c := make(chan struct{}); close(c); return c }()
