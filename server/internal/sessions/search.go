package sessions

import (
	"context"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/store"
)

// searchTimeLimit limits one search run, so that the dashboard can show progress and a
// person can change the query.
const searchTimeLimit = 40 * time.Millisecond

// maxWaitingSearches limits the searches that wait for the semaphore.
const maxWaitingSearches = 64

// searchSemaphore limits concurrent searches, which each use a whole processor. Further
// searches wait.
type searchSemaphore struct {
	slots   chan struct{} // holds one element per running search
	waiting atomic.Int64
}

// newSearchSemaphore allows searches on half of the processors and leaves the rest to
// agents and dashboards.
func newSearchSemaphore() *searchSemaphore {
	return &searchSemaphore{slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
}

func (s *searchSemaphore) acquire(ctx context.Context) error {
	defer s.waiting.Add(-1)
	if s.waiting.Add(1) > maxWaitingSearches {
		return &schema.HintError{Err: schema.ErrBusy, Hint: "Too many concurrent searches. Try again in a moment."}
	}
	select {
	case s.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *searchSemaphore) release() { <-s.slots }

// Search returns a history.SearchResult as JSON: the events that match q in the part of
// the log read within searchTimeLimit and query.MaxPageBytes.
func (s *Service) Search(ctx context.Context, q store.Search) ([]byte, error) {
	if err := s.searches.acquire(ctx); err != nil {
		return nil, err
	}
	defer s.searches.release()
	q.MaxBytes, q.Timeout = query.MaxPageBytes, searchTimeLimit
	result, err := s.Store.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	b := []byte(`{"events":[`)
	for i, e := range result.Events {
		if i > 0 {
			b = append(b, ',')
		}
		b = e.AppendJSON(b, schema.MaxListed)
	}
	b = append(b, `],"searchedTo":`...)
	b = strconv.AppendInt(b, int64(result.SearchedTo), 10)
	b = append(b, `,"complete":`...)
	return append(strconv.AppendBool(b, result.Complete), '}'), nil
}
