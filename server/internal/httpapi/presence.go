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
	// maxSaid is the most a page may say at a time; what is longer is not heard.
	maxSaid = 1 << 10
	// A page may say this many things at once, and then one in each sayEvery.
	maxAtOnce = 8
	sayEvery  = 50 * time.Millisecond
	// maxLooked bounds the requests that a presence names, those that most look at
	// first: it goes to every page.
	maxLooked = 100
	// Changes come together for quick after the last time the pages were told, for
	// steady when they had to wait then already.
	quick  = 100 * time.Millisecond
	steady = 200 * time.Millisecond
)

// presence knows what the pages show. It is made into one message for all of them,
// so that a change costs each page a write and nothing else. It tells how things
// are, not what changed: a page that was busy meanwhile misses nothing.
type presence struct {
	message atomic.Pointer[[]byte] // a WebSocket message, as it goes out; nil at first

	mu      sync.Mutex
	looking map[*stream]schema.EventID // :: page → the request it shows, or 0
	told    time.Time
	pause   time.Duration // until they are told again
	due     bool          // they are going to be

	focused map[*stream]time.Time // :: page of a person → when it last said that it is looked at
}

// attend notes whether a page is being looked at.
func (p *presence) attend(st *stream, focused bool) {
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

// look notes what a page shows.
func (p *presence) look(st *stream, id schema.EventID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now, ok := p.looking[st]; ok && now == id {
		return
	}
	if p.looking == nil {
		p.looking = map[*stream]schema.EventID{}
	}
	p.looking[st] = id
	p.changedLocked()
}

// leave forgets a page.
func (p *presence) leave(st *stream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.focused, st)
	if _, ok := p.looking[st]; ok {
		delete(p.looking, st)
		p.changedLocked()
	}
}

func (p *presence) changedLocked() {
	if p.due {
		return
	}
	p.due = true
	wait := p.pause - time.Since(p.told)
	if p.pause = quick; wait > 0 {
		p.pause = steady
	}
	time.AfterFunc(wait, p.tell)
}

// tell wakes the pages to take the new message.
func (p *presence) tell() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.due, p.told = false, time.Now()
	data, err := json.Marshal(seen(p.looking))
	if err != nil {
		return // numbers can't fail
	}
	message := appendMessage(nil, schema.PresenceFrame, data)
	p.message.Store(&message)
	for st := range p.looking {
		st.poke()
	}
}

func seen(looking map[*stream]schema.EventID) schema.Presence {
	screens := map[schema.EventID]int{}
	for _, id := range looking {
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
	return schema.Presence{Screens: len(looking), Looking: list[:min(len(list), maxLooked)]}
}

// hear takes in a piece of a message, whose size so far is given with it. false:
// the page is gone.
func (st *stream) hear(in incoming, size int) bool {
	if in.op != opContinuation {
		st.said = st.said[:0]
	}
	if st.from.version == 1 || size > maxSaid {
		_, err := st.in.Discard(in.size)
		return err == nil
	}
	for range in.size {
		b, err := st.in.ReadByte()
		if err != nil {
			return false
		}
		st.said = append(st.said, b)
	}
	in.unmask(st.said[len(st.said)-in.size:])
	return !in.final || st.heard(bytes.TrimSpace(st.said))
}

// heard is told what a page shows. Anything else it says is of no interest. One
// that says too much is listened to slowly: so its last word counts.
func (st *stream) heard(said []byte) bool {
	now := time.Now()
	if st.sayNext.Before(now) {
		st.sayNext = now
	}
	st.sayNext = st.sayNext.Add(sayEvery)
	if early := st.sayNext.Sub(now) - maxAtOnce*sayEvery; early > 0 && !st.pass(early) {
		return false
	}
	var l schema.ViewingMessage
	if json.Unmarshal(said, &l) != nil || l.Type != schema.ViewingMessageType || l.ID < 0 || int64(l.ID) > st.Hub.Hello().Seq {
		return true
	}
	st.mu.Lock()
	if !st.looks { // what was told before does not know of this page
		st.looks, st.shown = true, st.presence.message.Load()
	}
	st.mu.Unlock()
	st.presence.look(st, l.ID)
	st.presence.attend(st, l.Focused)
	return true
}

// pass lets time pass; false: the stream is over.
func (st *stream) pass(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-st.ctx.Done():
		return false
	}
}
