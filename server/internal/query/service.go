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

	lists  Cache[listQuery, []byte]   // for a second
	frames Cache[int64, []feed.Frame] // by the seq that they follow
}

// New returns a service.
func New(cfg Config) *Service {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	s := &Service{Config: cfg}
	s.lists.Keep, s.lists.Max = sharedFor, maxShared
	s.frames.Keep, s.frames.Max = sharedFor, maxShared
	return s
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

// Cache holds the newest results of queries, so that pages that reconnect at the same time, after a
// restart or an outage, or that poll share the work and the memory. It is for queries whose result is
// the same for every caller that may read it, so their keys contain no identity. A new version of the
// data makes all results invalid.
type Cache[K comparable, V any] struct {
	Keep time.Duration // the longest time that a result is kept
	Max  int           // number of different results that are kept

	mu      sync.Mutex
	version int64 // of the data, when the results were requested
	results map[K]func() (V, error)
}

// Get returns the result for key. It calls read once for all callers that ask for this version,
// again after an error. They must not change the result.
func (c *Cache[K, V]) Get(version int64, key K, read func() (V, error)) (V, error) {
	result, err := c.reader(version, key, read)()
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.version == version {
			delete(c.results, key)
		}
	}
	return result, err
}

func (c *Cache[K, V]) reader(version int64, key K, read func() (V, error)) func() (V, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.results == nil || c.version != version {
		if c.results == nil {
			time.AfterFunc(c.Keep, c.clear)
		}
		c.version, c.results = version, map[K]func() (V, error){}
	}
	if found := c.results[key]; found != nil {
		return found
	}
	if len(c.results) < c.Max {
		read = sync.OnceValues(read)
		c.results[key] = read
	}
	return read
}

func (c *Cache[K, V]) clear() {
	c.mu.Lock()
	c.results = nil
	c.mu.Unlock()
}

// listQuery identifies a list of events.
type listQuery struct {
	filter store.Filter
	newest int // without a filter: the number of newest events
	form   Form
}
