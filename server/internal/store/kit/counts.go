package kit

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// ItemCounts counts the items of each session that wait for an event that accepts them. Every event of
// another session skips the lookup. It has the state of the last commit.
type ItemCounts struct {
	total atomic.Int64 // of all sessions
	mu    sync.RWMutex
	count map[store.SessionKey]int64
}

// Has reports whether items of the session wait.
func (o *ItemCounts) Has(app, session string) bool {
	if o.total.Load() == 0 {
		return false
	}
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.count[store.SessionKey{App: app, Session: session}] > 0
}

// All returns the counts of the sessions that have any.
func (o *ItemCounts) All() map[store.SessionKey]int64 {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return maps.Clone(o.count)
}

// Add adds n, which may be negative, to the count of a session.
func (o *ItemCounts) Add(key store.SessionKey, n int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.count == nil {
		o.count = map[store.SessionKey]int64{}
	}
	o.total.Add(n)
	if o.count[key] += n; o.count[key] <= 0 {
		delete(o.count, key)
	}
}

// Load replaces the counts.
func (o *ItemCounts) Load(count map[store.SessionKey]int64) {
	var total int64
	for _, n := range count {
		total += n
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count = count
	o.total.Store(total)
}

// OpenGrants holds the grants that have not expired, whether used or not: the repeat of an event
// gets the grant that the event used. It has the state of the last commit.
type OpenGrants struct {
	ItemCounts

	mu   sync.Mutex
	rows map[schema.EventID]OpenGrant // by appeal
}

// OpenGrant is a grant that has not expired.
type OpenGrant struct {
	Session   store.SessionKey
	ExpiresAt int64
}

// Put adds a grant.
func (o *OpenGrants) Put(question schema.EventID, g OpenGrant) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.rows == nil {
		o.rows = map[schema.EventID]OpenGrant{}
	}
	o.rows[question] = g
	o.Add(g.Session, 1)
}

// Load replaces the grants.
func (o *OpenGrants) Load(rows map[schema.EventID]OpenGrant) {
	count := map[store.SessionKey]int64{}
	for _, g := range rows {
		count[g.Session]++
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rows = rows
	o.ItemCounts.Load(count)
}

// Remove removes a grant.
func (o *OpenGrants) Remove(question schema.EventID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if g, ok := o.rows[question]; ok {
		delete(o.rows, question)
		o.Add(g.Session, -1)
	}
}

// Due returns the grants that have expired, and when the next one expires; zero: never.
func (o *OpenGrants) Due(now time.Time) (due []schema.EventID, next time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var nextMillis int64
	for question, g := range o.rows {
		if g.ExpiresAt <= Millis(now) {
			due = append(due, question)
		} else if nextMillis == 0 || g.ExpiresAt < nextMillis {
			nextMillis = g.ExpiresAt
		}
	}
	slices.Sort(due)
	return due, Time(nextMillis)
}
