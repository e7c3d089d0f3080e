package sqlite

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

func (b *testStore) setDelivery(t *testing.T, id schema.EventID, d store.Delivery) {
	t.Helper()
	q := b.question(t, id)
	require.NoError(t, b.Apply(context.Background(), store.Change{Event: &q.Event, Version: q.Version, State: schema.Responded, Status: []byte(`{}`), Delivery: &d}))
}

func TestLeaseDeliveries_LeasesOnce(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t), context.Background()
	leased, next, err := b.LeaseDeliveries(ctx, clockStart, clockStart.Add(time.Minute), 9)
	require.NoError(t, err)
	require.Empty(t, leased)
	require.True(t, next.IsZero())

	for i, due := range []time.Duration{2 * time.Second, time.Second, time.Hour} {
		id := b.append(t, newQuestionDraft("s", time.Time{})).ID
		require.EqualValues(t, 2*i+1, id)
		b.setDelivery(t, id, store.Delivery{State: schema.Queued, Due: clockStart.Add(due)})
	}
	_, next, err = b.LeaseDeliveries(ctx, clockStart, clockStart.Add(time.Minute), 9)
	require.NoError(t, err)
	require.Equal(t, clockStart.Add(time.Second), next.UTC())

	now := clockStart.Add(5 * time.Second)
	leased, next, err = b.LeaseDeliveries(ctx, now, now.Add(time.Minute), 9)
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{3, 1}, leased, "longest due first")
	require.Equal(t, now.Add(time.Minute), next.UTC(), "when the leases end")
	leased, _, err = b.LeaseDeliveries(ctx, now, now.Add(time.Minute), 9)
	require.NoError(t, err)
	require.Empty(t, leased)
	leased, _, err = b.LeaseDeliveries(ctx, now.Add(time.Minute), now.Add(2*time.Minute), 1)
	require.NoError(t, err)
	require.Len(t, leased, 1, "the lease has expired")
}

func TestLeaseDeliveries_SkipsFinalStates(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t), context.Background()
	open := map[schema.EventID]bool{}
	for _, state := range []schema.DeliveryState{
		schema.NoDelivery, schema.Queued, schema.Sending, schema.Delivered, schema.Acked, schema.Pulled,
		schema.Unconfirmed, schema.Refused, schema.Unreachable, schema.TooLate, schema.Blocked,
	} {
		id := b.append(t, newQuestionDraft("s", time.Time{})).ID
		b.setDelivery(t, id, store.Delivery{State: state, Due: clockStart})
		switch state {
		case schema.Queued, schema.Sending, schema.Unconfirmed, schema.Refused, schema.Unreachable:
			open[id] = true
		}
		never := b.append(t, newQuestionDraft("s", time.Time{})).ID
		b.setDelivery(t, never, store.Delivery{State: schema.Unreachable})
	}
	leased, _, err := b.LeaseDeliveries(ctx, clockStart, clockStart.Add(time.Minute), 99)
	require.NoError(t, err)
	require.Len(t, leased, len(open))
	for _, id := range leased {
		require.True(t, open[id])
	}
}

func TestOpen_MakesLeasedDeliveriesDue(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t), context.Background()
	deliveries := []store.Delivery{
		{State: schema.Sending, Sent: true, Leased: clockStart.Add(time.Hour)},
		{State: schema.Queued, Due: clockStart, Leased: clockStart.Add(time.Hour)},
		{State: schema.Unreachable, Due: clockStart.Add(time.Hour)},
		{State: schema.Unreachable},
		{State: schema.Acked, Due: clockStart},
	}
	for _, d := range deliveries {
		b.setDelivery(t, b.append(t, newQuestionDraft("s", time.Time{})).ID, d)
	}
	b.reopen(t)
	leased, _, err := b.LeaseDeliveries(ctx, clockStart, clockStart.Add(time.Minute), 9)
	require.NoError(t, err)
	require.ElementsMatch(t, []schema.EventID{1, 3, 5}, leased)
	q := b.question(t, 1)
	require.True(t, q.Delivery.Sent)
	require.Equal(t, schema.Sending, q.Delivery.State, "package delivery decides what to do with it")
}

func TestDueQuestions_ReturnsPassedDeadlines(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t), context.Background()
	for _, deadline := range []time.Duration{3 * time.Second, 0, time.Second, time.Hour, 2 * time.Second} {
		at := clockStart.Add(deadline)
		if deadline == 0 {
			at = time.Time{}
		}
		b.append(t, newQuestionDraft("s", at))
	}
	due, next, err := b.DueQuestions(ctx, clockStart.Add(3*time.Second), 2)
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{3, 5}, due)
	require.Equal(t, clockStart.Add(time.Hour), next.UTC())
	b.answer(t, 3)
	due, _, err = b.DueQuestions(ctx, clockStart.Add(3*time.Second), 9)
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{5, 1}, due)
	due, next, err = b.DueQuestions(ctx, clockStart.Add(2*time.Hour), 9)
	require.NoError(t, err)
	require.Len(t, due, 3)
	require.True(t, next.IsZero())
}

func TestDueQuestions_ListsUndoWindowsFirst(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t), context.Background()
	hold := func(id schema.EventID, h *store.UndoWindow) {
		q := b.question(t, id)
		require.NoError(t, b.Apply(ctx, store.Change{Event: &q.Event, Version: q.Version, State: schema.Pending, Status: q.Status, UndoWindow: h}))
	}
	for range 3 {
		b.append(t, newQuestionDraft("s", clockStart.Add(time.Minute)))
	}
	for id, after := range map[schema.EventID]time.Duration{1: 5 * time.Second, 2: 3 * time.Second, 3: 4 * time.Second} {
		hold(id, &store.UndoWindow{Answer: []byte(`{"permission":true}`), Until: clockStart.Add(after)})
	}
	_, next, err := b.DueQuestions(ctx, clockStart, 9)
	require.NoError(t, err)
	require.Equal(t, clockStart.Add(3*time.Second), next.UTC())
	first := b.question(t, 1).UndoWindow
	require.JSONEq(t, `{"permission":true}`, string(first.Answer))
	require.Equal(t, clockStart.Add(5*time.Second), first.Until.UTC())

	hold(3, nil)
	require.NotNil(t, b.question(t, 3).UndoWindow, "nil leaves it unchanged")
	hold(3, &store.UndoWindow{})
	require.Nil(t, b.question(t, 3).UndoWindow)
	due, next, err := b.DueQuestions(ctx, clockStart.Add(5*time.Second), 9)
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{2, 1}, due)
	require.Equal(t, clockStart.Add(time.Minute), next.UTC(), "the deadlines come next")
	b.answer(t, 2)
	due, _, err = b.DueQuestions(ctx, clockStart.Add(time.Minute), 9)
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{1, 1, 3}, due, "undo windows first")
}

func TestLeaseDeliveries_SkipsHandled(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t), context.Background()
	d := newQuestionDraft("s", time.Time{})
	d.IdempotencyKey = "k"
	id := b.append(t, d).ID
	b.setDelivery(t, id, store.Delivery{State: schema.Unreachable, Due: clockStart, Handled: clockStart.Add(time.Second)})
	require.Equal(t, clockStart.Add(time.Second), b.question(t, id).Delivery.Handled.UTC())
	leased, next, err := b.LeaseDeliveries(ctx, clockStart.Add(time.Hour), clockStart.Add(2*time.Hour), 9)
	require.NoError(t, err)
	require.Empty(t, leased)
	require.True(t, next.IsZero())
	again := newQuestionDraft("s", time.Time{})
	again.IdempotencyKey = "k"
	b.append(t, again)
	require.True(t, b.question(t, id).Delivery.Handled.IsZero(), "the agent asks again, so it still waits for the answer")
	leased, _, err = b.LeaseDeliveries(ctx, clockStart.Add(time.Hour), clockStart.Add(2*time.Hour), 9)
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{id}, leased)
}

func TestPendingOf_ReturnsQuestionsOfSession(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t), context.Background()
	for _, session := range []string{"a", "b", "a", "a"} {
		b.append(t, newQuestionDraft(session, time.Time{}))
	}
	b.answer(t, 3)
	got, err := b.PendingInSession(ctx, "app", "a")
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{1, 4}, got)
	for _, none := range [][2]string{{"app", "c"}, {"other", "a"}} {
		got, err = b.PendingInSession(ctx, none[0], none[1])
		require.NoError(t, err)
		require.Empty(t, got)
	}
	pending, err := b.Pending(ctx)
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{1, 2, 4}, eventIDs(pending))
}

func TestListeners_ReturnsPendingVersion2(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t), context.Background()
	for _, change := range []func(*store.NewQuestion){
		func(*store.NewQuestion) {},
		func(a *store.NewQuestion) { a.URL = "" },
		func(a *store.NewQuestion) { a.Protocol = 1 },
		func(a *store.NewQuestion) { a.URL = "ws://127.0.0.1:10/other" },
		func(*store.NewQuestion) {},
		func(*store.NewQuestion) {},
	} {
		d := newQuestionDraft("s", time.Time{})
		change(d.NewQuestion)
		b.append(t, d)
	}
	b.answer(t, 5)
	status := []byte(`{"status":"pending","revision":1}`)
	first := store.Listener{ID: 1, URL: "ws://127.0.0.1:9/secret", Status: status}
	rest := []store.Listener{{ID: 4, URL: "ws://127.0.0.1:10/other", Status: status}, {ID: 6, URL: first.URL, Status: status}}
	got, err := b.Listeners(ctx, 0, 9)
	require.NoError(t, err)
	require.Equal(t, append([]store.Listener{first}, rest...), got)
	got, err = b.Listeners(ctx, 1, 1)
	require.NoError(t, err)
	require.Equal(t, rest[:1], got)
	got, err = b.Listeners(ctx, 6, 9)
	require.NoError(t, err)
	require.Empty(t, got)
}
