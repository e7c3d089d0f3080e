package sessions

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/store"
)

// TestSearch_LimitsConcurrency: a semaphore limits concurrent searches, a canceled search
// takes no slot, and a search beyond the queue length is refused.
func TestSearch_LimitsConcurrency(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.post(plainEvent)
	parsed, err := filter.Parse("-x")
	require.NoError(t, err)
	search := func(ctx context.Context) error {
		_, err := h.Search(ctx, store.Search{Filter: parsed})
		return err
	}
	sessions := func(ctx context.Context) error {
		_, err := h.Sessions(ctx, store.SessionFilter{Text: "x", Limit: 1})
		return err
	}
	for range cap(h.searches.slots) {
		require.NoError(t, h.searches.acquire(t.Context()))
	}
	given, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, search(given), context.Canceled)
	require.ErrorIs(t, sessions(given), context.Canceled)
	_, err = h.Sessions(t.Context(), store.SessionFilter{Limit: 1})
	require.NoError(t, err, "a list without a text is not a search")

	var waiting sync.WaitGroup
	failed := make(chan error, maxWaitingSearches)
	for range maxWaitingSearches {
		waiting.Go(func() { failed <- search(t.Context()) })
	}
	require.Eventually(t, func() bool { return h.searches.waiting.Load() == maxWaitingSearches }, waitLimit, time.Millisecond)
	require.ErrorIs(t, search(t.Context()), schema.ErrBusy)
	require.ErrorIs(t, sessions(t.Context()), schema.ErrBusy)
	require.Len(t, h.searches.slots, cap(h.searches.slots))
	for range cap(h.searches.slots) {
		h.searches.release()
	}
	waiting.Wait()
	for range maxWaitingSearches {
		require.NoError(t, <-failed)
	}
	require.NoError(t, search(t.Context()))
	require.Empty(t, h.searches.slots, "every slot is released")
}
