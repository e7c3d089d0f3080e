package sqlite

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

func TestPrune_RemovesByAge(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t), context.Background()
	old := func(n int) {
		for i := range n {
			d := newDraft("app", fmt.Sprint("old", i/100), "Stop", "")
			d.Transcript, d.IdempotencyKey = []byte(`[]`), fmt.Sprint("key", b.Head())
			b.append(t, d)
		}
	}
	old(300)
	open := b.append(t, newQuestionDraft("old question", time.Time{})).ID
	answeredID := b.append(t, newQuestionDraft("old question", time.Time{})).ID
	b.answer(t, answeredID)
	old(300)
	cut := clockStart.Add(time.Hour)
	b.clock.advance(2 * time.Hour)
	young := b.append(t, newDraft("app", "young", "PreToolUse", "")).ID

	done, err := b.Prune(ctx, store.RetentionPolicy{EventsBefore: cut, Batch: 50})
	require.NoError(t, err)
	require.Equal(t, store.PruneResult{Events: 600}, done)
	left, err := b.Find(ctx, store.Filter{})
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{open, answeredID, young}, eventIDs(left), "questions stay")
	stats, err := b.Stats(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 3, stats.Events)

	_, err = b.After(ctx, 100, 10)
	require.ErrorIs(t, err, store.ErrPruned)
	_, err = b.After(ctx, int64(young)-2, 10)
	require.ErrorIs(t, err, store.ErrPruned)
	rows, err := b.After(ctx, int64(young)-1, 10)
	require.NoError(t, err)
	require.Len(t, rows, 1)

	o, err := b.FilterOptions(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"young", "old question"}, o.SessionIDs, "names without events are gone")
	require.Equal(t, []string{"PermissionRequest", "PreToolUse"}, o.HookEventTypes)
	d := newDraft("app", "old1", "Stop", "")
	d.IdempotencyKey = "key0"
	r, err := b.Append(ctx, d)
	require.NoError(t, err)
	require.False(t, r.Replayed, "the key is removed with its event")
	found, err := b.Find(ctx, store.Filter{Session: "old1", Type: "Stop"})
	require.NoError(t, err)
	require.Len(t, found, 1)

	b.reopen(t)
	_, err = b.After(ctx, 100, 10)
	require.ErrorIs(t, err, store.ErrPruned, "also after a restart")
	done, err = b.Prune(ctx, store.RetentionPolicy{EventsBefore: cut})
	require.NoError(t, err)
	require.Zero(t, done)
}

func TestPrune_RemovesQuestionData(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t), context.Background()
	id := func() schema.EventID { return b.append(t, newQuestionDraft("s", time.Time{})).ID }
	pending, undelivered, settled, late := id(), id(), id(), id()
	b.answer(t, undelivered)
	b.setDelivery(t, settled, store.Delivery{AnswerID: "a", State: schema.Acked})
	b.clock.advance(2 * time.Hour)
	b.setDelivery(t, late, store.Delivery{AnswerID: "a", State: schema.Acked})
	plain := b.append(t, newDraft("app", "s", "Stop", "")).ID

	done, err := b.Prune(ctx, store.RetentionPolicy{QuestionsBefore: clockStart.Add(time.Hour)})
	require.NoError(t, err)
	require.Equal(t, store.PruneResult{Questions: 1, Changes: 1}, done)
	left, err := b.Find(ctx, store.Filter{})
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{pending, undelivered, late, plain}, eventIDs(left))
	_, err = b.Question(ctx, settled)
	require.ErrorIs(t, err, schema.ErrNotFound)
	_, err = b.After(ctx, 5, 10)
	require.ErrorIs(t, err, store.ErrPruned, "6 was the resolution of the pruned question")
	rows, err := b.After(ctx, 6, 10)
	require.NoError(t, err)
	require.Len(t, rows, 2)
}

func TestPrune_RemovesBySize(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t), context.Background()
	b.append(t, newQuestionDraft("s", time.Time{}))
	b.appendMany(t, 1000, func(int) *store.EventDraft {
		d := newDraft("app", "s", "Stop", "")
		d.Payload = fmt.Appendf(nil, `{"x":%q}`, strings.Repeat("x", 2000))
		return d
	})
	limit := int64(1 << 20)
	done, err := b.Prune(ctx, store.RetentionPolicy{MaxBytes: limit, Batch: 50})
	require.NoError(t, err)
	require.Greater(t, done.Events, int64(400))
	over, err := b.exceedsSize(ctx, limit)
	require.NoError(t, err)
	require.False(t, over)
	left, err := b.Find(ctx, store.Filter{Limit: 1000})
	require.NoError(t, err)
	require.EqualValues(t, 1, left[0].ID, "the question stays")
	require.Len(t, left, 1001-int(done.Events), "the newest stay")
	require.EqualValues(t, 1001, left[len(left)-1].ID)

	before := fileSize(b.file)
	b.appendMany(t, 200, func(int) *store.EventDraft { return newDraft("app", "s", "Stop", "") })
	require.NoError(t, b.Close())
	require.Equal(t, before, fileSize(b.file), "free pages are reused")
	b.open(t)
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
	d := newDraft("app", "s", "Stop", "")
	d.Payload = []byte(`{"secret":"correct-horse-battery-staple"}`)
	b.append(t, d)
	b.clock.advance(time.Hour)
	_, err := b.Prune(ctx, store.RetentionPolicy{EventsBefore: b.clock.now()})
	require.NoError(t, err)
	require.NoError(t, b.Close())
	raw, err := os.ReadFile(b.file)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "battery-staple")
}
