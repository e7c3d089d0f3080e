package postgres

import (
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// A client that went on from another hub may be ahead of this one.
func TestAfter_KnowsRowsOfOtherHub(t *testing.T) {
	t.Parallel()
	a, b := newHubs(t)
	for range 20 {
		a.MustAppend(t, conformance.NewDraft("app", "s", "Stop", ""))
		rows, err := b.After(t.Context(), a.Head(), 10)
		require.NoError(t, err)
		require.Empty(t, rows)
		require.Equal(t, a.Head(), b.Head())
	}
	_, err := b.After(t.Context(), a.Head()+1, 10)
	require.ErrorIs(t, err, store.ErrLogRewound)
}

// If the rows of other hubs can't be read before a commit, they are published before its rows later.
func TestHubs_PublishAfterFailedRead(t *testing.T) {
	t.Parallel()
	a, b := newHubs(t)
	a.MustAppend(t, conformance.NewDraft("app", "s", "Stop", ""))
	awaitRows(t, b, 1)
	rename := func(from, to string) {
		_, err := a.readers.pool.Exec(t.Context(), `ALTER TABLE `+from+` RENAME TO `+to)
		require.NoError(t, err)
	}
	rename("chats", "away")
	id := a.MustAppend(t, conformance.NewQuestionDraft("s", time.Time{})).ID
	b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", ""))
	rename("away", "chats")
	awaitRows(t, b, 3)
	rows := b.Published()
	require.Equal(t, id, rows[1].Event.ID)
	require.True(t, rows[1].Foreign)
	require.False(t, rows[2].Foreign)
}

// The observer is told the changes in their order.
func TestFollower_ReportsChangesInOrder(t *testing.T) {
	t.Parallel()
	var reported atomic.Bool
	f := follower{store: &engine{log: slog.New(slog.DiscardHandler)}, changed: func(isCurrent bool) {
		runtime.Gosched()
		reported.Store(isCurrent)
	}}
	for range 20_000 {
		var wg sync.WaitGroup
		wg.Go(func() { f.setCurrent(false) })
		wg.Go(func() { f.setCurrent(true) })
		wg.Wait()
		require.Equal(t, f.isCurrent, reported.Load())
	}
}
