package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/schema"
)

const (
	// maxClientMessage is the most a page may say at a time; what is longer is not heard.
	maxClientMessage = 1 << 10
	// A page may say this many things at once, and then one in each messageInterval.
	messageBurst    = 8
	messageInterval = 50 * time.Millisecond
	// maxViewedRequests bounds the requests that a presence names, those that most look at
	// first: it goes to every page.
	maxViewedRequests = 100
	// Changes come together for quick after the last time the pages were told, for
	// steady when they had to wait then already.
	broadcastDelay     = 100 * time.Millisecond
	busyBroadcastDelay = 200 * time.Millisecond
)

// presence knows what the pages show. It is made into one message for all of them,
// so that a change costs each page a write and nothing else. It tells how things
// are, not what changed: a page that was busy meanwhile misses nothing.
type presence struct {
	message atomic.Pointer[[]byte] // a WebSocket message, as it goes out; nil at first

	mu            sync.Mutex
	viewing       map[*stream]schema.EventID // :: page → the request it shows, or 0
	lastBroadcast time.Time
	nextDelay     time.Duration // until they are told again
	scheduled     bool          // they are going to be

	focused map[*stream]time.Time // :: page of a person → when it last said that it is looked at
}

// setFocus notes whether a page is being looked at.
func (p *presence) setFocus(st *stream, focused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !focused || st.person == "" {
		delete(p.focused, st)
		return
	}
	if p.focused == nil {
		p.focused = map[*stream]time.Time{}
	}
	p.focused[st] = time.Now()
}

// ViewerCount reports whether a page that a person signed in to is being looked at.
func (s *Server) ViewerCount(person string) bool {
	p := &s.presence
	p.mu.Lock()
	defer p.mu.Unlock()
	for st, at := range p.focused {
		if st.person == person && time.Since(at) < schema.ViewingTimeout {
			return true
		}
	}
	return false
}

// setViewing notes what a page shows.
func (p *presence) setViewing(st *stream, id schema.EventID) {
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

// remove forgets a page.
func (p *presence) remove(st *stream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.focused, st)
	if _, ok := p.viewing[st]; ok {
		delete(p.viewing, st)
		p.changedLocked()
	}
}

func (p *presence) changedLocked() {
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

// broadcast wakes the pages to take the new message.
func (p *presence) broadcast() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.scheduled, p.lastBroadcast = false, time.Now()
	data, err := json.Marshal(presenceOf(p.viewing))
	if err != nil {
		return // numbers can't fail
	}
	message := appendMessage(nil, schema.PresenceFrame, data)
	p.message.Store(&message)
	for st := range p.viewing {
		st.wakeWriter()
	}
}

func presenceOf(viewing map[*stream]schema.EventID) schema.Presence {
	screens := map[schema.EventID]int{}
	for _, id := range viewing {
		if id != 0 {
			screens[id]++
		}
	}
	list := make([]schema.ViewedRequest, 0, len(screens))
	for id, n := range maps.All(screens) {
		list = append(list, schema.ViewedRequest{ID: id, Screens: n})
	}
	slices.SortFunc(list, func(a, b schema.ViewedRequest) int {
		return cmp.Or(cmp.Compare(b.Screens, a.Screens), cmp.Compare(b.ID, a.ID))
	})
	return schema.Presence{Screens: len(viewing), Looking: list[:min(len(list), maxViewedRequests)]}
}

// readMessage takes in a piece of a message, whose size so far is given with it. false:
// the page is gone.
func (st *stream) readMessage(in clientFrame, size int) bool {
	if in.op != opContinuation {
		st.message = st.message[:0]
	}
	if st.start.version == 1 || size > maxClientMessage {
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

// handleMessage is told what a page shows. Anything else it says is of no interest. One
// that says too much is listened to slowly: so its last word counts.
func (st *stream) handleMessage(message []byte) bool {
	now := time.Now()
	if st.nextMessageAt.Before(now) {
		st.nextMessageAt = now
	}
	st.nextMessageAt = st.nextMessageAt.Add(messageInterval)
	if delay := st.nextMessageAt.Sub(now) - messageBurst*messageInterval; delay > 0 && !st.wait(delay) {
		return false
	}
	var viewing schema.ViewingMessage
	if json.Unmarshal(message, &viewing) != nil || viewing.Type != schema.ViewingMessageType || viewing.ID < 0 || int64(viewing.ID) > st.Hub.Hello().Seq {
		return true
	}
	st.mu.Lock()
	if !st.wantsPresence { // what was told before does not know of this page
		st.wantsPresence, st.lastPresence = true, st.presence.message.Load()
	}
	st.mu.Unlock()
	st.presence.setViewing(st, viewing.ID)
	st.presence.setFocus(st, viewing.Focused)
	return true
}

// wait lets time pass; false: the stream is over.
func (st *stream) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-st.ctx.Done():
		return false
	}
}
