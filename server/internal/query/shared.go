package query

import (
	"sync"
	"time"

	"github.com/hookback/hookback/server/internal/store"
)

const (
	// sharedFor is how long a result is shared while the log does not grow.
	sharedFor = time.Second
	// maxShared is the number of different results that are shared.
	maxShared = 8
)

// resultCache holds the results of queries of the last second, so that pages that reconnect at the same
// time, after a restart or an outage, share the work and the memory of their first requests. It is
// for queries whose result is the same for every caller that may read it, so their keys contain no
// identity. A new entry of the log makes all results invalid. Its zero value is empty.
type resultCache[K comparable, V any] struct {
	mu      sync.Mutex
	head    int64 // of the log, when the results were requested
	results map[K]func() (V, error)
}

// get returns the result for key. It calls read once for all callers that ask while the log has
// this head. They must not change the result.
func (s *resultCache[K, V]) get(head int64, key K, read func() (V, error)) (V, error) {
	return s.reader(head, key, read)()
}

func (s *resultCache[K, V]) reader(head int64, key K, read func() (V, error)) func() (V, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.results == nil || s.head != head {
		if s.results == nil {
			time.AfterFunc(sharedFor, s.clear)
		}
		s.head, s.results = head, map[K]func() (V, error){}
	}
	if found := s.results[key]; found != nil {
		return found
	}
	if len(s.results) < maxShared {
		read = sync.OnceValues(read)
		s.results[key] = read
	}
	return read
}

func (s *resultCache[K, V]) clear() {
	s.mu.Lock()
	s.results = nil
	s.mu.Unlock()
}

// listQuery identifies a list of events.
type listQuery struct {
	filter store.Filter
	newest int // without a filter: the number of newest events
	form   Form
}
