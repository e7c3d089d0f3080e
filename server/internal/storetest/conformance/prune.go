package conformance

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

func (s suite) TestPrune_RemovesByAge(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	old := func(n int) {
		head := int(b.Head())
		b.AppendMany(t, n, func(i int) *store.EventDraft {
			d := NewDraft("app", fmt.Sprint("old", i/100), "Stop", "")
			d.Transcript, d.IdempotencyKey = []byte(`[]`), fmt.Sprint("key", head+i)
			return d
		})
	}
	old(300)
	open := b.MustAppend(t, NewQuestionDraft("old question", time.Time{})).ID
	answeredID := b.MustAppend(t, NewQuestionDraft("old question", time.Time{})).ID
	b.Answer(t, answeredID)
	old(300)
	cut := ClockStart.Add(time.Hour)
	b.Clock.Advance(2 * time.Hour)
	young := b.MustAppend(t, NewDraft("app", "young", "PreToolUse", "")).ID

	done, err := b.Prune(ctx, store.RetentionPolicy{EventsBefore: cut, Batch: 50})
	require.NoError(t, err)
	require.Equal(t, store.PruneResult{Events: 600}, done)
	left, err := b.Find(ctx, store.Filter{})
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{open, answeredID, young}, EventIDs(left), "questions stay")
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
	d := NewDraft("app", "old1", "Stop", "")
	d.IdempotencyKey = "key0"
	r, err := b.Append(ctx, d)
	require.NoError(t, err)
	require.False(t, r.Replayed, "the key is removed with its event")
	found, err := b.Find(ctx, store.Filter{Session: "old1", Type: "Stop"})
	require.NoError(t, err)
	require.Len(t, found, 1)

	b.Reopen(t)
	_, err = b.After(ctx, 100, 10)
	require.ErrorIs(t, err, store.ErrPruned, "also after a restart")
	done, err = b.Prune(ctx, store.RetentionPolicy{EventsBefore: cut})
	require.NoError(t, err)
	require.Zero(t, done)
}

func (s suite) TestPrune_RemovesQuestionData(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	id := func() schema.EventID { return b.MustAppend(t, NewQuestionDraft("s", time.Time{})).ID }
	pending, undelivered, settled, late := id(), id(), id(), id()
	b.Answer(t, undelivered)
	b.SetDelivery(t, settled, store.Delivery{AnswerID: "a", State: schema.Acked})
	b.Clock.Advance(2 * time.Hour)
	b.SetDelivery(t, late, store.Delivery{AnswerID: "a", State: schema.Acked})
	plain := b.MustAppend(t, NewDraft("app", "s", "Stop", "")).ID

	done, err := b.Prune(ctx, store.RetentionPolicy{QuestionsBefore: ClockStart.Add(time.Hour)})
	require.NoError(t, err)
	require.Equal(t, store.PruneResult{Questions: 1, Changes: 1}, done)
	left, err := b.Find(ctx, store.Filter{})
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{pending, undelivered, late, plain}, EventIDs(left))
	_, err = b.Question(ctx, settled)
	require.ErrorIs(t, err, schema.ErrNotFound)
	_, err = b.After(ctx, 5, 10)
	require.ErrorIs(t, err, store.ErrPruned, "6 was the resolution of the pruned question")
	rows, err := b.After(ctx, 6, 10)
	require.NoError(t, err)
	require.Len(t, rows, 2)
}

// newTestDraft returns a question or a plain event of a test request.
func newTestDraft(isQuestion bool) *store.EventDraft {
	d := NewDraft(schema.TestApp, "test", "PostToolUse", "")
	if isQuestion {
		d = NewQuestionDraft("test", time.Time{})
	}
	d.App = schema.TestApp
	return d
}

func (s suite) TestPrune_RemovesTestRequests(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	keep := b.MustAppend(t, NewDraft("app", "s", "Stop", "")).ID
	for range 3 {
		settled := b.MustAppend(t, newTestDraft(true)).ID
		b.SetDelivery(t, settled, store.Delivery{AnswerID: "a", State: schema.Acked})
		b.MustAppend(t, newTestDraft(false))
	}
	other := b.MustAppend(t, NewQuestionDraft("s", time.Time{})).ID
	b.SetDelivery(t, other, store.Delivery{AnswerID: "a", State: schema.Acked})
	pending := b.MustAppend(t, newTestDraft(true)).ID
	b.Clock.Advance(2 * time.Hour)
	young := b.MustAppend(t, newTestDraft(false)).ID

	for _, want := range []store.PruneResult{{Events: 3, Questions: 3, Changes: 3}, {}} {
		done, err := b.Prune(ctx, store.RetentionPolicy{TestsBefore: ClockStart.Add(time.Hour), Batch: 1})
		require.NoError(t, err)
		require.Equal(t, want, done)
	}
	left, err := b.Find(ctx, store.Filter{})
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{keep, other, pending, young}, EventIDs(left))
	b.Reopen(t)
	left, err = b.Find(ctx, store.Filter{App: schema.TestApp})
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{pending, young}, EventIDs(left))
}
