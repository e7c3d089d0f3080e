package hub

import (
	"context"
	"sync"

	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

// frozenState is the state of a session since it was frozen.
type frozenState int

const (
	sessionStopped      frozenState = 1 + iota // its hook got the freeze, or its turn ended
	sessionUncontrolled                        // it started a call although it is frozen
)

// freezeProgress records the sessions that reported something while they are frozen. After a
// restart of the hub it is empty, and fills with their next events.
type freezeProgress struct {
	mu        sync.Mutex
	states    map[store.SessionKey]frozenState
	unchecked map[store.SessionKey]int // calls that ran because their hook could not reach the hub
}

// maxFrozenSessions limits the map; the counts don't go beyond it.
const maxFrozenSessions = 10_000

func (p *freezeProgress) set(key store.SessionKey, state frozenState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.states == nil {
		p.states = map[store.SessionKey]frozenState{}
	}
	if _, known := p.states[key]; known || len(p.states) < maxFrozenSessions {
		p.states[key] = state
	}
}

func (p *freezeProgress) addUnchecked(key store.SessionKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unchecked == nil {
		p.unchecked = map[store.SessionKey]int{}
	}
	if p.unchecked[key] > 0 || len(p.unchecked) < maxFrozenSessions {
		p.unchecked[key]++
	}
}

// drop removes the sessions that no active freeze stops.
func (p *freezeProgress) drop(s store.Freezes) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key := range p.states {
		if s.FreezeOf(key.App, key.Session) == nil {
			delete(p.states, key)
		}
	}
	for key := range p.unchecked {
		if s.FreezeOf(key.App, key.Session) == nil {
			delete(p.unchecked, key)
		}
	}
}

// followedState is this hub's last report of the state that other hubs change.
type followedState struct {
	mu       sync.Mutex
	freezes  []control.Freeze
	messages map[store.SessionKey]int64
}

// messageWaiter is the hook that waits for messages to an idle session.
type messageWaiter struct {
	name    string // chosen by the hook
	changed feed.Wakeup
	ended   bool // by a prompt, the end of the session or another waiter; guarded by Hub.mu
}

// Reach counts the notifications that reach people.
type Reach interface {
	// Reachable returns how many notifications of a new question would be delivered now.
	Reachable(ctx context.Context) int
}
