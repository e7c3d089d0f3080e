package tables

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// itemCounts counts the items of each session that wait for an event that accepts them. Every event of
// another session skips the lookup. It has the state of the last commit.
type itemCounts struct {
	total atomic.Int64 // of all sessions
	mu    sync.RWMutex
	count map[store.SessionKey]int64
}

// has reports whether items of the session wait.
func (o *itemCounts) has(app, session string) bool {
	if o.total.Load() == 0 {
		return false
	}
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.count[store.SessionKey{App: app, Session: session}] > 0
}

// all returns the counts of the sessions that have any.
func (o *itemCounts) all() map[store.SessionKey]int64 {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return maps.Clone(o.count)
}

// add adds n, which may be negative, to the count of a session.
func (o *itemCounts) add(key store.SessionKey, n int64) {
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

// load replaces the counts.
func (o *itemCounts) load(count map[store.SessionKey]int64) {
	var total int64
	for _, n := range count {
		total += n
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count = count
	o.total.Store(total)
}

// openGrants holds the grants that have not expired, whether used or not: the repeat of an event
// gets the grant that the event used. It has the state of the last commit.
type openGrants struct {
	itemCounts

	mu   sync.Mutex
	rows map[schema.EventID]openGrant // by appeal
}

// openGrant is a grant that has not expired.
type openGrant struct {
	Session   store.SessionKey
	ExpiresAt int64
}

// put adds a grant.
func (o *openGrants) put(question schema.EventID, g openGrant) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.rows == nil {
		o.rows = map[schema.EventID]openGrant{}
	}
	o.rows[question] = g
	o.add(g.Session, 1)
}

// load replaces the grants.
func (o *openGrants) load(rows map[schema.EventID]openGrant) {
	count := map[store.SessionKey]int64{}
	for _, g := range rows {
		count[g.Session]++
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rows = rows
	o.itemCounts.load(count)
}

// remove removes a grant.
func (o *openGrants) remove(question schema.EventID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if g, ok := o.rows[question]; ok {
		delete(o.rows, question)
		o.add(g.Session, -1)
	}
}

// due returns the grants that have expired, and when the next one expires; zero: never.
func (o *openGrants) due(now time.Time) (due []schema.EventID, next time.Time) {
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
