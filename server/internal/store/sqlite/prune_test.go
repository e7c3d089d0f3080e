package sqlite

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

func TestPrune_RemovesBySize(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t), context.Background()
	b.MustAppend(t, conformance.NewQuestionDraft("s", time.Time{}))
	b.AppendMany(t, 1000, func(int) *store.EventDraft {
		d := conformance.NewDraft("app", "s", "Stop", "")
		d.Payload = fmt.Appendf(nil, `{"x":%q}`, strings.Repeat("x", 2000))
		return d
	})
	limit := int64(1 << 20)
	done, err := b.Prune(ctx, store.RetentionPolicy{MaxBytes: limit, Batch: 50})
	require.NoError(t, err)
	require.Greater(t, done.Events, int64(400))
	var size int64
	require.NoError(t, b.do(t, func(w *tables.Work) (err error) {
		size, err = w.Size()
		return err
	}))
	require.LessOrEqual(t, size, limit)
	left, err := b.Find(ctx, store.Filter{Limit: 1000})
	require.NoError(t, err)
	require.EqualValues(t, 1, left[0].ID, "the question stays")
	require.Len(t, left, 1001-int(done.Events), "the newest stay")
	require.EqualValues(t, 1001, left[len(left)-1].ID)

	before := fileSize(b.file)
	b.AppendMany(t, 200, func(int) *store.EventDraft { return conformance.NewDraft("app", "s", "Stop", "") })
	require.NoError(t, b.Close())
	require.Equal(t, before, fileSize(b.file), "free pages are reused")
	b.Open(t)
	done, err = b.Prune(ctx, store.RetentionPolicy{MaxBytes: 1})
	require.NoError(t, err)
	require.Positive(t, done.Events)
	left, err = b.Find(ctx, store.Filter{Limit: 1000})
	require.NoError(t, err)
	require.Len(t, left, 1, "questions stay, however low the limit")
}

func TestPrune_OverwritesFreedPages(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t), context.Background()
	d := conformance.NewDraft("app", "s", "Stop", "")
	d.Payload = []byte(`{"secret":"correct-horse-battery-staple"}`)
	b.MustAppend(t, d)
	b.Clock.Advance(time.Hour)
	_, err := b.Prune(ctx, store.RetentionPolicy{EventsBefore: b.Clock.Now()})
	require.NoError(t, err)
	require.NoError(t, b.Close())
	raw, err := os.ReadFile(b.file)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "battery-staple")
}
