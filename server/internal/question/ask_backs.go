package question

import (
	"sync"
	"time"

	"github.com/hookback/hookback/schema"
)

// AskBackKey identifies a call of a session.
type AskBackKey struct{ App, Session, Call string }

// AskBacks holds the newest questions that were answered with askBack. It is only a hint: the
// question itself is read before a new one follows it.
type AskBacks struct {
	mu     sync.Mutex
	recent map[AskBackKey]schema.EventID
}

// maxAskBacks limits the map. Beyond it, an arbitrary entry is dropped.
const maxAskBacks = 1000

// Put records the newest such question of a call.
func (a *AskBacks) Put(key AskBackKey, id schema.EventID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.recent == nil {
		a.recent = map[AskBackKey]schema.EventID{}
	}
	for other := range a.recent {
		if len(a.recent) < maxAskBacks {
			break
		}
		delete(a.recent, other)
	}
	a.recent[key] = id
}

// Get returns the newest such question of a call, or 0.
func (a *AskBacks) Get(key AskBackKey) schema.EventID {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.recent[key]
}

// IsEmpty reports whether there is none of any call.
func (a *AskBacks) IsEmpty() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.recent) == 0
}

// IsRecentAskBack reports whether a question was answered with askBack a short time before now.
func IsRecentAskBack(st *schema.Status, now time.Time) bool {
	return st.Response != nil && st.Response.AskBack != "" && int64(st.RespondedAt) >= now.Add(-schema.AskBackWindow).UnixMilli()
}
