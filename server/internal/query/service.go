// Package query reads events, the start of streams, the inbox, the ledger and receipts, and encodes the
// rows of the store. It also converts votes and approvals of other forms to responses, and computes the
// starts of days for statistics. It changes nothing.
package query

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

// Config holds the dependencies of a Service. Store and Feed are required.
type Config struct {
	Store interface {
		store.Log
		store.Questions
		store.Rules
		store.History
		store.Ledger
	}
	Feed    *feed.Feed
	People  *auth.Service // nil: every caller may answer
	Version string        // program version, reported by Hello
	Clock   func() time.Time
}

// Service answers queries. Its methods are safe for concurrent use.
type Service struct {
	Config
	initialMu sync.Mutex                     // held while an initial message is built
	initial   atomic.Pointer[initialMessage] // the last one

	lists  resultCache[listQuery, []byte]
	frames resultCache[int64, []feed.Frame] // by the seq that they follow
}

// New returns a service.
func New(cfg Config) *Service {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	return &Service{Config: cfg}
}

func invalidField(field, format string, args ...any) error {
	return &schema.FieldError{Field: field, Detail: fmt.Sprintf(format, args...)}
}

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
