package stream

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
)

const (
	// maxClientMessage is the maximum size of a client message. Longer ones are discarded.
	maxClientMessage = 1 << 10
	// Rate limit for messages of one client: a burst of messageBurst, then one per
	// messageInterval.
	messageBurst    = 8
	messageInterval = 50 * time.Millisecond
	// maxViewedRequests limits the requests in a presence message, which goes to every
	// client. The most viewed ones come first.
	maxViewedRequests = 100
	// Changes are debounced: a broadcast follows the previous one after broadcastDelay, or
	// after busyBroadcastDelay if the previous one was delayed too.
	broadcastDelay     = 100 * time.Millisecond
	busyBroadcastDelay = 200 * time.Millisecond
)

// Presence tracks which request each client shows and broadcasts it to all. The message is
// encoded once, so a change costs each client one write. It contains the full state rather
// than changes, so a slow client misses nothing. Signed-in people get it with the names of the
// viewers, other clients without.
// Its zero value is empty.
type Presence struct {
	message atomic.Pointer[[]byte] // the encoded WebSocket message; nil before the first broadcast
	named   atomic.Pointer[[]byte] // the same with names, for signed-in people

	mu            sync.Mutex
	viewing       map[*stream]schema.EventID // client → the request it shows, or 0
	lastBroadcast time.Time
	nextDelay     time.Duration // between the last broadcast and the next
	scheduled     bool          // a broadcast is pending

	focused map[*stream]time.Time // client of a signed-in person → when it last reported focus

	others     []SharedPresence // of the other hubs
	observer   func()           // nil: there are no other hubs
	focusTimer *time.Timer      // set with observer
}

// setFocus records whether a client's tab has the focus. Clients without a signed-in person
// are ignored.
func (p *Presence) setFocus(st *stream, focused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.focusChangedLocked()
	if !focused || st.person == "" {
		delete(p.focused, st)
		return
	}
	if p.focused == nil {
		p.focused = map[*stream]time.Time{}
	}
	p.focused[st] = time.Now()
}

// IsViewing reports whether a tab of that person has the focus, at any hub.
func (p *Presence) IsViewing(person string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for st, at := range p.focused {
		if st.person == person && time.Since(at) < schema.ViewingTimeout {
			return true
		}
	}
	return slices.ContainsFunc(p.others, func(o SharedPresence) bool { return slices.Contains(o.Focused, person) })
}

// setViewing records which request a client shows; id 0 means none.
func (p *Presence) setViewing(st *stream, id schema.EventID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now, ok := p.viewing[st]; ok && now == id {
		return
	}
	if p.viewing == nil {
		p.viewing = map[*stream]schema.EventID{}
	}
	p.viewing[st] = id
	p.changedLocked()
}

// remove drops a client.
func (p *Presence) remove(st *stream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.focused, st)
	if _, ok := p.viewing[st]; ok {
		delete(p.viewing, st)
		p.changedLocked()
	}
}

func (p *Presence) changedLocked() {
	if p.scheduled {
		return
	}
	p.scheduled = true
	wait := p.nextDelay - time.Since(p.lastBroadcast)
	if p.nextDelay = broadcastDelay; wait > 0 {
		p.nextDelay = busyBroadcastDelay
	}
	time.AfterFunc(wait, p.broadcast)
}

// broadcast encodes the current state and wakes the clients to send it.
func (p *Presence) broadcast() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.scheduled, p.lastBroadcast = false, time.Now()
	for names, message := range map[bool]*atomic.Pointer[[]byte]{false: &p.message, true: &p.named} {
		data, err := json.Marshal(p.messageLocked(names))
		if err != nil {
			return // cannot fail: the message contains only numbers and names
		}
		frame := appendMessage(nil, schema.PresenceFrame, data)
		message.Store(&frame)
	}
	for st := range p.viewing {
		st.wakeWriter()
	}
	if p.observer != nil {
		p.observer()
	}
}

// messageFor returns the latest message for a client; nil before the first broadcast.
func (p *Presence) messageFor(st *stream) *[]byte {
	if st.person != "" {
		return p.named.Load()
	}
	return p.message.Load()
}

// presenceOf returns the state of the clients of this hub, with up to maxSharedNames names.
func presenceOf(viewing map[*stream]schema.EventID) schema.Presence {
	screens, people := map[schema.EventID]int{}, map[schema.EventID][]string{}
	for st, id := range viewing {
		if id != 0 {
			screens[id]++
		}
		if id != 0 && st.person != "" {
			people[id] = append(people[id], st.person)
		}
	}
	list := make([]schema.ViewedRequest, 0, len(screens))
	for id, n := range maps.All(screens) {
		slices.Sort(people[id])
		named := slices.Compact(people[id]) // a person may have several tabs
		list = append(list, schema.ViewedRequest{ID: id, Screens: n, People: named[:min(len(named), maxSharedNames)]})
	}
	return schema.Presence{Screens: len(viewing), Looking: mostViewed(list)}
}

// mostViewed sorts the requests and returns the first maxViewedRequests.
func mostViewed(list []schema.ViewedRequest) []schema.ViewedRequest {
	slices.SortFunc(list, func(a, b schema.ViewedRequest) int {
		return cmp.Or(cmp.Compare(b.Screens, a.Screens), cmp.Compare(b.ID, a.ID))
	})
	return list[:min(len(list), maxViewedRequests)]
}

// maxSharedNames is the number of people that hubs report to each other for one request.
const maxSharedNames = 20

// SharedPresence is a hub's report about its pages to the others of the same database.
type SharedPresence struct {
	schema.Presence          // with up to maxSharedNames names
	Focused         []string `json:"focused,omitempty"` // people whose tab has the focus
}

// Observe sets the function that is called after Share may have changed. It must be quick. Call Observe
// before the first stream.
func (p *Presence) Observe(changed func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.observer = changed
	p.focusTimer = time.AfterFunc(schema.ViewingTimeout, changed)
}

// Share returns the presence that the other hubs need; nil: nothing.
func (p *Presence) Share() json.RawMessage {
	p.mu.Lock()
	defer p.mu.Unlock()
	shared := SharedPresence{Presence: presenceOf(p.viewing)}
	for st, at := range p.focused {
		if time.Since(at) < schema.ViewingTimeout {
			shared.Focused = append(shared.Focused, st.person)
		}
	}
	slices.Sort(shared.Focused)
	shared.Focused = slices.Compact(shared.Focused)
	if shared.Screens == 0 {
		return nil
	}
	data, err := json.Marshal(shared)
	if err != nil {
		return nil // cannot fail: only numbers and names
	}
	return data
}

// SetOthers replaces what other hubs share.
func (p *Presence) SetOthers(all []json.RawMessage) {
	others := make([]SharedPresence, 0, len(all))
	for _, data := range all {
		var shared SharedPresence
		if json.Unmarshal(data, &shared) == nil && len(data) > 0 {
			others = append(others, shared)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(others)+len(p.others) > 0 && !reflect.DeepEqual(p.others, others) {
		p.others = others
		p.changedLocked()
	}
}

// focusChangedLocked notifies the observer now, and when the focus is no longer valid.
func (p *Presence) focusChangedLocked() {
	if p.observer != nil {
		p.focusTimer.Reset(schema.ViewingTimeout)
		p.observer()
	}
}

// messageLocked returns the presence on all hubs. names: with the names of the viewers.
func (p *Presence) messageLocked(names bool) schema.Presence {
	sum := presenceOf(p.viewing)
	requests := map[schema.EventID]*schema.ViewedRequest{}
	for i := range sum.Looking {
		requests[sum.Looking[i].ID] = &sum.Looking[i]
	}
	for i := range p.others {
		sum.Screens += p.others[i].Screens
		for _, r := range p.others[i].Looking {
			if known := requests[r.ID]; known != nil {
				known.Screens += r.Screens
				known.People = append(known.People, r.People...)
			} else {
				r.People = slices.Clone(r.People)
				requests[r.ID] = &r
			}
		}
	}
	list := make([]schema.ViewedRequest, 0, len(requests))
	for _, r := range requests {
		slices.Sort(r.People)
		r.People = slices.Compact(r.People) // a person may have several tabs
		if r.People = r.People[:min(len(r.People), schema.MaxNamedViewers)]; !names {
			r.People = nil
		}
		list = append(list, *r)
	}
	return schema.Presence{Screens: sum.Screens, Looking: mostViewed(list)}
}

// readMessage reads one frame of a message; size is the message's size so far. It reports
// whether the client is still connected.
func (st *stream) readMessage(in clientFrame, size int) bool {
	if in.op != opContinuation {
		st.message = st.message[:0]
	}
	if st.start.Version == 1 || size > maxClientMessage {
		_, err := st.reader.Discard(in.size)
		return err == nil
	}
	for range in.size {
		b, err := st.reader.ReadByte()
		if err != nil {
			return false
		}
		st.message = append(st.message, b)
	}
	in.unmask(st.message[len(st.message)-in.size:])
	return !in.final || st.handleMessage(bytes.TrimSpace(st.message))
}

// handleMessage handles a message about what the client shows and ignores all others. A
// client that exceeds the rate limit is throttled rather than cut off, so its last message
// counts. It reports whether the stream continues.
func (st *stream) handleMessage(message []byte) bool {
	now := time.Now()
	if st.nextMessageAt.Before(now) {
		st.nextMessageAt = now
	}
	st.nextMessageAt = st.nextMessageAt.Add(messageInterval)
	if delay := st.nextMessageAt.Sub(now) - messageBurst*messageInterval; delay > 0 && !feed.Sleep(st.ctx, delay) {
		return false
	}
	var viewing schema.ViewingMessage
	if json.Unmarshal(message, &viewing) != nil || viewing.Type != schema.ViewingMessageType ||
		viewing.ID < 0 || int64(viewing.ID) > st.Query.Hello().Seq {
		return true
	}
	st.mu.Lock()
	if !st.wantsPresence { // earlier broadcasts do not include this client
		st.wantsPresence, st.lastPresence = true, st.Presence.messageFor(st)
	}
	st.mu.Unlock()
	st.Presence.setViewing(st, viewing.ID)
	st.Hub.Opened(viewing.ID)
	st.Presence.setFocus(st, viewing.Focused)
	return true
}

// maxQueuedNotices limits the queued notices of a peer that does not read, in bytes. Such a peer
// is disconnected soon, and reads the present when it returns.
const maxQueuedNotices = 64 << 10

// noticeFrames are the frames that are not part of the log, by the kind of their fact. The note
// of the fact is the frame's data.
var noticeFrames = map[feed.Kinds]schema.FrameType{
	feed.Messages: schema.MessageFrame, feed.Ratings: schema.RiskFrame,
	feed.Alerts: schema.AlertFrame, feed.Allowances: schema.AllowanceFrame,
}

const noticeKinds = feed.Messages | feed.Ratings | feed.Alerts | feed.Allowances

// followNotices sends the facts of noticeFrames to every stream of version 2 until ctx ends.
func (s *Server) followNotices(ctx context.Context) {
	defer func() { middleware.LogPanic(s.Log, recover()) }()
	_ = s.Hub.Feed.Follow(ctx, noticeKinds, func(batch *feed.Batch) error {
		var frames []byte
		for _, fact := range batch.Facts {
			data, err := json.Marshal(fact.Note)
			if err != nil {
				return err
			}
			frames = appendMessage(frames, noticeFrames[fact.Kinds], data)
		}
		if len(frames) > 0 {
			s.sendNotice(frames)
		}
		return nil
	})
}

// sendNotice sends encoded messages to every stream of version 2.
func (s *Server) sendNotice(frames []byte) {
	s.openMu.Lock()
	defer s.openMu.Unlock()
	for st := range s.open {
		st.mu.Lock()
		if !st.closing && len(st.notices)+len(frames) <= maxQueuedNotices {
			st.notices = append(st.notices, frames...)
		}
		st.mu.Unlock()
		st.wakeWriter()
	}
}

// addOpen adds a stream of version 2 to the recipients of notices.
func (s *Server) addOpen(st *stream) (remove func()) {
	if st.start.Version != 2 {
		return func() {}
	}
	s.openMu.Lock()
	defer s.openMu.Unlock()
	s.open[st] = struct{}{}
	return func() {
		s.openMu.Lock()
		defer s.openMu.Unlock()
		delete(s.open, st)
	}
}

// freezes sends the active freezes to all version 2 clients. Like a presence message, the message
// holds the full state, so a slow client misses nothing. Its zero value is empty.
type freezes struct {
	message atomic.Pointer[[]byte] // the encoded WebSocket message; nil: there has been no freeze
}

// followFreezes keeps the message up to date until the server stops.
func (s *Server) followFreezes() {
	_ = s.Hub.Feed.Follow(s.stopping, feed.Frozen, func(*feed.Batch) error {
		active := s.Hub.Store.ActiveFreezes()
		if len(active) == 0 && s.freezes.message.Load() == nil {
			return nil
		}
		data, err := json.Marshal(active)
		if len(active) == 0 {
			data = []byte("[]")
		}
		if err != nil {
			return err // cannot fail: the message contains only numbers and text
		}
		message := appendMessage(nil, schema.FreezeFrame, data)
		s.freezes.message.Store(&message)
		s.openMu.Lock()
		defer s.openMu.Unlock()
		for st := range s.open {
			st.wakeWriter()
		}
		return nil
	})
}
