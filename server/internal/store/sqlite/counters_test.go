package sqlite

import (
	"context"
	"encoding/binary"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// The counters are exact after a restart, whenever they were written last.
func TestCounters_AreExactAfterReopen(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t), context.Background()
	requireSame := func() {
		before := b.writer.counters
		require.NoError(t, b.Close())
		b.Open(t)
		before.Deleted, before.Bytes = 0, 0 // which are not stored
		require.Equal(t, before, b.writer.counters)
		stats, err := b.Stats(ctx)
		require.NoError(t, err)
		require.Equal(t, before.Events, stats.Events)
	}
	event := func(int) *store.EventDraft { return conformance.NewDraft("app", "s", "Stop", "") }
	b.MustAppend(t, event(0)) // its names are new
	b.AppendMany(t, 10, event)
	require.Less(t, b.writer.stored.Head, b.writer.counters.Head, "the counters are not written with every event")
	requireSame()
	q := b.MustAppend(t, conformance.NewQuestionDraft("s", b.Clock.Now().Add(time.Hour)))
	b.Answer(t, q.ID) // the newest row of the log is a change
	requireSame()
	b.AppendMany(t, counterInterval, event)
	requireSame()
	b.Clock.Advance(time.Hour)
	b.AppendMany(t, 3, event)
	_, err := b.Prune(ctx, store.RetentionPolicy{EventsBefore: b.Clock.Now()})
	require.NoError(t, err)
	b.AppendMany(t, 2, event)
	requireSame()
	_, err = b.Prune(ctx, store.RetentionPolicy{EventsBefore: b.Clock.Now().Add(time.Hour)}) // the newest event, too
	require.NoError(t, err)
	requireSame()
}

// walPages returns the number of pages that f adds to the WAL.
func walPages(t *testing.T, b *testStore, f func()) int64 {
	t.Helper()
	size := func() int64 {
		wal, err := os.ReadFile(b.cfg.Path + "-wal")
		require.NoError(t, err)
		return (int64(len(wal)) - 32) / (24 + int64(binary.BigEndian.Uint32(wal[8:])))
	}
	before := size()
	f()
	return size() - before
}

// An event of 1.2 KB writes its row and the entries of two indexes. Every third needs a new
// page, which changes two more.
func TestAppend_WritesFewPages(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	payload := make([]byte, 1200)
	for i := range payload {
		payload[i] = 'a'
	}
	event := func() *store.EventDraft {
		d := conformance.NewDraft("app", "s", "Stop", "")
		d.Payload = append(append([]byte(`{"text":"`), payload...), `"}`...)
		return d
	}
	b.MustAppend(t, event())
	const n = 60
	pages := walPages(t, b, func() {
		for range n {
			b.MustAppend(t, event())
		}
	})
	require.LessOrEqual(t, pages, int64(n*4))
}

// A question and its answer write their rows, one entry each of the log's and the inbox's
// indexes, and new pages.
func TestQuestion_WritesFewPages(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	ask := func() *store.Event {
		return b.MustAppend(t, conformance.NewQuestionDraft("s", b.Clock.Now().Add(time.Hour)))
	}
	b.Answer(t, ask().ID)
	const n = 20
	pages := walPages(t, b, func() {
		for range n {
			b.Answer(t, ask().ID)
		}
	})
	require.LessOrEqual(t, pages, int64(n*16))
}
