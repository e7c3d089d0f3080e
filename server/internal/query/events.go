package query

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

// catchUpRows is the number of rows that a reader behind the ring buffer gets at a time.
const catchUpRows = 512

// Hello returns the message that opens every stream.
func (s *Service) Hello() schema.Hello {
	return schema.Hello{
		HubID: s.Store.HubID(), Seq: s.Store.Head(), Epoch: s.Store.Epoch(),
		ServerTime: schema.Millis(s.Clock().UnixMilli()), Version: s.Version,
	}
}

// Event returns one complete event with its transcript, as JSON.
func (s *Service) Event(ctx context.Context, id schema.EventID) ([]byte, error) {
	e, chat, err := s.Store.Event(ctx, id)
	if err != nil {
		return nil, err
	}
	return AppendEvent(nil, e, chat), nil
}

// EventApp returns the application of an event.
func (s *Service) EventApp(ctx context.Context, id schema.EventID) (string, error) {
	e, _, err := s.Store.Event(ctx, id)
	if err != nil {
		return "", err
	}
	return e.App, nil
}

// Recent returns the newest events as a JSON array, oldest first.
func (s *Service) Recent(ctx context.Context, limit int, form Form) ([]byte, error) {
	return s.list(ctx, listQuery{newest: limit, form: form})
}

// FindEvents returns the events that match f as a JSON array, oldest first. If a page
// exceeds MaxPageBytes, it is cut at the end away from its cursor.
func (s *Service) FindEvents(ctx context.Context, f store.Filter, form Form) ([]byte, error) {
	return s.list(ctx, listQuery{filter: f, form: form})
}

func (s *Service) list(ctx context.Context, q listQuery) ([]byte, error) {
	return s.lists.Get(s.Store.Head(), q, func() (list []byte, err error) {
		var events []*store.Event
		if q.newest > 0 {
			events, err = s.Store.Find(context.WithoutCancel(ctx), store.Filter{Limit: q.newest})
		} else {
			events, err = s.Store.Find(context.WithoutCancel(ctx), q.filter)
		}
		if err != nil {
			return nil, err
		}
		for i := range events {
			events[i] = q.form.of(events[i])
		}
		return encodeList(events, !q.filter.Oldest && q.filter.After == 0), nil
	})
}

// InitialMessage returns the data of a version 1 stream's first message: the newest events and
// every pending question, oldest first. The stream continues after seq.
//
// Dashboards that open while nothing happens share the same bytes. Only one message is
// built at a time, because building it takes several times its size in memory.
func (s *Service) InitialMessage(ctx context.Context) (seq int64, data []byte, err error) {
	s.initialMu.Lock()
	defer s.initialMu.Unlock()
	if m := s.initial.Load(); m != nil && m.seq == s.Store.Head() {
		return m.seq, m.data, nil
	}
	m, err := s.buildInitialMessage(ctx)
	if err != nil {
		return 0, nil, err
	}
	s.initial.Store(m)
	return m.seq, m.data, nil
}

// initialMessage is the cached first message of version 1 streams.
type initialMessage struct {
	seq  int64
	data []byte
}

func (s *Service) buildInitialMessage(ctx context.Context) (*initialMessage, error) {
	// Read the head first: rows committed after it arrive as frames and must not appear
	// twice.
	seq := s.Store.Head()
	recent, err := s.Store.Find(ctx, store.Filter{Limit: schema.RecentLimit})
	if err != nil {
		return nil, err
	}
	pending, err := s.Store.Pending(ctx)
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
	data, err := encodeInitial(events, pendingIDs)
	return &initialMessage{seq: seq, data: data}, err
}

// FramesAfter returns the frames after seq, from the ring buffer or, if that no longer
// reaches back, from the store. The channel more is closed when further frames exist.
// store.ErrLogRewound and store.ErrPruned mean that the reader's position is not part
// of this hub's log (any more).
func (s *Service) FramesAfter(ctx context.Context, seq int64) (frames []feed.Frame, more <-chan struct{}, err error) {
	// Compare with the store's head, not the feed's: a stream may have started with
	// rows that are committed but not published yet.
	if seq > s.Store.Head() {
		if _, err := s.Store.After(ctx, seq, 0); err != nil { // catches up with other hubs
			return nil, nil, err
		}
	}
	frames, more, ok := s.Feed.After(seq)
	if ok {
		return frames, more, nil
	}
	frames, err = s.frames.Get(s.Store.Head(), seq, func() ([]feed.Frame, error) {
		rows, err := s.Store.After(context.WithoutCancel(ctx), seq, catchUpRows)
		return EncodeFrames(rows), err
	})
	return frames, closedChan, err
}

// closedChan signals that more frames can be read immediately.
var closedChan = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// EncodeFrames encodes rows of the log as the frames of streams.
func EncodeFrames(rows []store.LogRow) []feed.Frame {
	frames := make([]feed.Frame, len(rows))
	for i, row := range rows {
		frames[i] = encodeFrame(row)
	}
	return frames
}

func encodeFrame(row store.LogRow) feed.Frame {
	e := row.Event
	f := feed.Frame{Seq: row.Seq, ID: int64(e.ID), Kinds: row.Kinds, Foreign: row.Foreign, Status: row.Change}
	if !row.Change {
		size := 256 + len(e.Envelope) + min(len(e.Payload), schema.MaxListed) + len(e.Question) + len(e.Status)
		f.Data = e.AppendJSON(make([]byte, 0, size), schema.MaxListed)
		return f
	}
	f.Data = append(f.Data, `{"id":`...)
	f.Data = append(f.Data, e.ID.String()...)
	f.Data = append(f.Data, `,"humanInTheLoopStatus":`...)
	f.Data = append(f.Data, e.Status...)
	f.Data = append(f.Data, '}')
	if row.Ends {
		f.End = e.AppendJSON(nil, schema.MaxListed)
	}
	return f
}

// AppendEvent appends a complete event as JSON, with its transcript unless chat is nil.
func AppendEvent(dst []byte, e *store.Event, chat []byte) []byte {
	dst = e.AppendJSON(dst, -1)
	if chat == nil {
		return dst
	}
	dst = append(dst[:len(dst)-1], `,"chat":`...)
	return append(append(dst, chat...), '}')
}

// MaxPageBytes limits the size of a list or an initial message.
const MaxPageBytes = 4 << 20

// encodeList encodes events as a JSON array of at most MaxPageBytes.
func encodeList(events []*store.Event, dropOldest bool) []byte {
	return encodeUpTo(MaxPageBytes, events, nil, dropOldest)
}

// encodeUpTo encodes events as a JSON array. Beyond limit bytes it omits events, from
// the old end or the new one. Events in keep are never omitted, but lose their payload
// if necessary.
func encodeUpTo(limit int, events []*store.Event, keep map[schema.EventID]bool, dropOldest bool) []byte {
	encoded := make([][]byte, len(events))
	size := 2
	for i, e := range events {
		encoded[i] = e.AppendJSON(nil, schema.MaxListed)
		size += len(encoded[i]) + 1
	}
	for n := range events {
		if size <= limit {
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

const (
	// maxInitialBytes limits the data of a version 1 initial message, so that the message is below
	// MaxPageBytes.
	maxInitialBytes = MaxPageBytes - 1<<10
	// maxShortText and maxShortChoices limit the question and the choices of a shortened question.
	maxShortText    = 1 << 10
	maxShortChoices = 4 << 10
	shortMark       = " … [shortened]"
)

// encodeInitial encodes the events of an initial message, oldest first, as a JSON array of at most
// maxInitialBytes. It omits the oldest events that are not pending and the payloads of the oldest that
// are. If that is not enough, it shortens the oldest pending questions, and after that it omits
// the newest: an agent that asks thousands of questions cannot displace those before it.
func encodeInitial(events []*store.Event, pending map[schema.EventID]bool) ([]byte, error) {
	data := encodeUpTo(maxInitialBytes, events, pending, true)
	excess := len(data) - maxInitialBytes
	if excess <= 0 {
		return data, nil
	}
	events = slices.DeleteFunc(events, func(e *store.Event) bool { return !pending[e.ID] })
	for i, e := range events {
		if excess <= 0 {
			break
		}
		short, err := shortened(e)
		if err != nil {
			return nil, err
		}
		if saved := len(e.AppendJSON(nil, 0)) - len(short.AppendJSON(nil, 0)); saved > 0 {
			events[i], excess = short, excess-saved
		}
	}
	for n := len(events); excess > 0 && n > 0; n = len(events) {
		excess -= len(events[n-1].AppendJSON(nil, 0)) + len(",")
		events = events[:n-1]
	}
	return encodeUpTo(maxInitialBytes, events, pending, true), nil
}

// shortened returns an event with the members that a version 1 page needs to show and answer its
// question. Choices that are too long are omitted, because only a complete choice is an answer.
func shortened(e *store.Event) (*store.Event, error) {
	var q schema.HumanInTheLoop
	var st schema.Status
	err := q.UnmarshalJSON(e.Question)
	if err == nil {
		err = json.Unmarshal(e.Status, &st)
	}
	if err != nil {
		return nil, fmt.Errorf("read stored question %d: %w", e.ID, err)
	}
	short := *e
	short.Payload, short.PayloadBytes = nil, max(len(e.Payload), e.PayloadBytes)
	asked := schema.HumanInTheLoop{Question: shortText(q.Question), Type: q.Type, Timeout: q.Timeout, RequiresResponse: q.RequiresResponse, Risk: q.Risk}
	if size := len(strings.Join(q.Choices, "")); size <= maxShortChoices {
		asked.Choices, asked.AllowOther = q.Choices, q.AllowOther
	}
	if q.ToolCall != nil {
		asked.ToolCall = &schema.ToolCall{Name: q.ToolCall.Name}
	}
	if short.Question, err = json.Marshal(asked); err != nil {
		return nil, err
	}
	if short.Status, err = json.Marshal(schema.Status{
		Status: st.Status, ExpiresAt: st.ExpiresAt, Revision: st.Revision, RequiredApprovals: st.RequiredApprovals,
		Risk: st.Risk, Class: st.Class,
	}); err != nil {
		return nil, err
	}
	members, err := json.Marshal(struct {
		App       string `json:"source_app"`
		Session   string `json:"session_id"`
		Type      string `json:"hook_event_type"`
		Truncated bool   `json:"questionTruncated"`
	}{e.App, e.Session, e.Type, true})
	short.Envelope = members[1 : len(members)-1]
	return &short, err
}

// shortText returns a text of at most maxShortText bytes that shows that something is missing.
func shortText(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxShortText-len(shortMark))], "") + shortMark
}
