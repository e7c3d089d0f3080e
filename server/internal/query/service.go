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
