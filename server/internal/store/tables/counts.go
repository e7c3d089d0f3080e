package tables

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

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

// snapshot is a list in memory, as of the last commit. Only the writer's goroutine changes it.
type snapshot[T any] struct{ list atomic.Pointer[[]T] }

func (s *snapshot[T]) all() []T {
	if list := s.list.Load(); list != nil {
		return *list
	}
	return nil
}

func (s *snapshot[T]) set(list []T) { s.list.Store(&list) }

func (s *snapshot[T]) add(v T) { s.set(append(slices.Clone(s.all()), v)) }

func (s *snapshot[T]) remove(isRemoved func(T) bool) {
	s.set(slices.DeleteFunc(slices.Clone(s.all()), isRemoved))
}
