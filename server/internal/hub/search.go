package hub

import (
	"context"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// searchTimeLimit is how long one search may look, so that a page can say how far it
// has come and a person can change their mind.
const searchTimeLimit = 40 * time.Millisecond

// maxWaitingSearches is how many may wait for their turn to search.
const maxWaitingSearches = 64

// searchSemaphore lets few at a time do what takes a whole processor, and the others wait.
type searchSemaphore struct {
	slots   chan struct{} // holds one for each that is at it
	waiting atomic.Int64
}

// newSearchSemaphore leaves half of the processors to agents and pages.
func newSearchSemaphore() *searchSemaphore {
	return &searchSemaphore{slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
}

func (t *searchSemaphore) acquire(ctx context.Context) error {
	defer t.waiting.Add(-1)
	if t.waiting.Add(1) > maxWaitingSearches {
		return &schema.HintError{Err: schema.ErrBusy, Hint: "Too many searches at once. Ask again in a moment."}
	}
	select {
	case t.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *searchSemaphore) release() { <-t.slots }

// Search is a schema.SearchResult in JSON: what matches q in a part of the log
// that is looked through in good time, within maxPageBytes.
func (h *Hub) Search(ctx context.Context, q store.Search) ([]byte, error) {
	if err := h.searches.acquire(ctx); err != nil {
		return nil, err
	}
	defer h.searches.release()
	q.Bytes, q.Within = maxPageBytes, searchTimeLimit
	found, err := h.Store.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	b := []byte(`{"events":[`)
	for i, e := range found.Events {
		if i > 0 {
			b = append(b, ',')
		}
		b = e.AppendJSON(b, schema.MaxListed)
	}
	b = append(b, `],"searchedTo":`...)
	b = strconv.AppendInt(b, int64(found.SearchedTo), 10)
	b = append(b, `,"complete":`...)
	return append(strconv.AppendBool(b, found.Complete), '}'), nil
}
