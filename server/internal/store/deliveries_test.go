package store

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

func (b *bench) deliver(t *testing.T, id schema.EventID, d Delivery) {
	t.Helper()
	q := b.question(t, id)
	require.NoError(t, b.Apply(context.Background(), Change{Event: &q.Event, Version: q.Version, State: schema.Responded, Status: []byte(`{}`), Delivery: &d}))
}

func TestDeliveriesAreLeasedOnce(t *testing.T) {
	t.Parallel()
	b, ctx := setup(t), context.Background()
	leased, next, err := b.LeaseDeliveries(ctx, began, began.Add(time.Minute), 9)
	require.NoError(t, err)
	require.Empty(t, leased)
	require.True(t, next.IsZero())

	for i, due := range []time.Duration{2 * time.Second, time.Second, time.Hour} {
		id := b.append(t, question("s", time.Time{})).ID
		require.EqualValues(t, 2*i+1, id)
		b.deliver(t, id, Delivery{State: schema.Queued, Due: began.Add(due)})
	}
	_, next, err = b.LeaseDeliveries(ctx, began, began.Add(time.Minute), 9)
	require.NoError(t, err)
	require.Equal(t, began.Add(time.Second), next.UTC())

	now := began.Add(5 * time.Second)
	leased, next, err = b.LeaseDeliveries(ctx, now, now.Add(time.Minute), 9)
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{3, 1}, leased, "the longest due first")
	require.Equal(t, now.Add(time.Minute), next.UTC(), "when the leases end")
	leased, _, err = b.LeaseDeliveries(ctx, now, now.Add(time.Minute), 9)
	require.NoError(t, err)
	require.Empty(t, leased)
	leased, _, err = b.LeaseDeliveries(ctx, now.Add(time.Minute), now.Add(2*time.Minute), 1)
	require.NoError(t, err)
	require.Len(t, leased, 1, "the lessee did not come back")
}

func TestFinalDeliveriesAreNotLeased(t *testing.T) {
	t.Parallel()
	b, ctx := setup(t), context.Background()
	open := map[schema.EventID]bool{}
	for _, state := range []schema.DeliveryState{
		schema.NoDelivery, schema.Queued, schema.Sending, schema.Delivered, schema.Acked, schema.Pulled,
		schema.Unconfirmed, schema.Refused, schema.Unreachable, schema.TooLate, schema.Blocked,
	} {
		id := b.append(t, question("s", time.Time{})).ID
		b.deliver(t, id, Delivery{State: state, Due: began})
		switch state {
		case schema.Queued, schema.Sending, schema.Unconfirmed, schema.Refused, schema.Unreachable:
			open[id] = true
		}
		never := b.append(t, question("s", time.Time{})).ID
		b.deliver(t, never, Delivery{State: schema.Unreachable})
	}
	leased, _, err := b.LeaseDeliveries(ctx, began, began.Add(time.Minute), 99)
	require.NoError(t, err)
	require.Len(t, leased, len(open))
	for _, id := range leased {
		require.True(t, open[id])
	}
}

func TestRestartMakesWhatWasUnderWayDue(t *testing.T) {
	t.Parallel()
	b, ctx := setup(t), context.Background()
	deliveries := []Delivery{
		{State: schema.Sending, Sent: true, Leased: began.Add(time.Hour)},
		{State: schema.Queued, Due: began, Leased: began.Add(time.Hour)},
		{State: schema.Unreachable, Due: began.Add(time.Hour)},
		{State: schema.Unreachable},
		{State: schema.Acked, Due: began},
	}
	for _, d := range deliveries {
		b.deliver(t, b.append(t, question("s", time.Time{})).ID, d)
	}
	b.reopen(t)
	leased, _, err := b.LeaseDeliveries(ctx, began, began.Add(time.Minute), 9)
	require.NoError(t, err)
	require.ElementsMatch(t, []schema.EventID{1, 3, 5}, leased)
	q := b.question(t, 1)
	require.True(t, q.Delivery.Sent)
	require.Equal(t, schema.Sending, q.Delivery.State, "what to make of it is the callback's to say")
}

func TestDeadlines(t *testing.T) {
	t.Parallel()
	b, ctx := setup(t), context.Background()
	for _, deadline := range []time.Duration{3 * time.Second, 0, time.Second, time.Hour, 2 * time.Second} {
		at := began.Add(deadline)
		if deadline == 0 {
			at = time.Time{}
		}
		b.append(t, question("s", at))
	}
	due, next, err := b.DueQuestions(ctx, began.Add(3*time.Second), 2)
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{3, 5}, due)
	require.Equal(t, began.Add(time.Hour), next.UTC())
	b.answer(t, 3)
	due, _, err = b.DueQuestions(ctx, began.Add(3*time.Second), 9)
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{5, 1}, due)
	due, next, err = b.DueQuestions(ctx, began.Add(2*time.Hour), 9)
	require.NoError(t, err)
	require.Len(t, due, 3)
	require.True(t, next.IsZero())
}

func TestHoldsAreDueBeforeDeadlines(t *testing.T) {
	t.Parallel()
	b, ctx := setup(t), context.Background()
	hold := func(id schema.EventID, h *UndoWindow) {
		q := b.question(t, id)
		require.NoError(t, b.Apply(ctx, Change{Event: &q.Event, Version: q.Version, State: schema.Pending, Status: q.Status, UndoWindow: h}))
	}
	for range 3 {
		b.append(t, question("s", began.Add(time.Minute)))
	}
	for id, after := range map[schema.EventID]time.Duration{1: 5 * time.Second, 2: 3 * time.Second, 3: 4 * time.Second} {
		hold(id, &UndoWindow{Answer: []byte(`{"permission":true}`), Until: began.Add(after)})
	}
	_, next, err := b.DueQuestions(ctx, began, 9)
	require.NoError(t, err)
	require.Equal(t, began.Add(3*time.Second), next.UTC())
	first := b.question(t, 1).UndoWindow
	require.JSONEq(t, `{"permission":true}`, string(first.Answer))
	require.Equal(t, began.Add(5*time.Second), first.Until.UTC())

	hold(3, nil)
	require.NotNil(t, b.question(t, 3).UndoWindow, "a change that does not speak of it leaves it")
	hold(3, &UndoWindow{})
	require.Nil(t, b.question(t, 3).UndoWindow)
	due, next, err := b.DueQuestions(ctx, began.Add(5*time.Second), 9)
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{2, 1}, due)
	require.Equal(t, began.Add(time.Minute), next.UTC(), "and then the deadlines")
	b.answer(t, 2)
	due, _, err = b.DueQuestions(ctx, began.Add(time.Minute), 9)
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{1, 1, 3}, due, "holds first")
}

func TestHandledDeliveriesRest(t *testing.T) {
	t.Parallel()
	b, ctx := setup(t), context.Background()
	d := question("s", time.Time{})
	d.Key = "k"
	id := b.append(t, d).ID
	b.deliver(t, id, Delivery{State: schema.Unreachable, Due: began, Handled: began.Add(time.Second)})
	require.Equal(t, began.Add(time.Second), b.question(t, id).Delivery.Handled.UTC())
	leased, next, err := b.LeaseDeliveries(ctx, began.Add(time.Hour), began.Add(2*time.Hour), 9)
	require.NoError(t, err)
	require.Empty(t, leased)
	require.True(t, next.IsZero())
	again := question("s", time.Time{})
	again.Key = "k"
	b.append(t, again)
	require.True(t, b.question(t, id).Delivery.Handled.IsZero(), "the agent asks again: it wants its answer")
	leased, _, err = b.LeaseDeliveries(ctx, began.Add(time.Hour), began.Add(2*time.Hour), 9)
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{id}, leased)
}

func TestPendingOfASession(t *testing.T) {
	t.Parallel()
	b, ctx := setup(t), context.Background()
	for _, session := range []string{"a", "b", "a", "a"} {
		b.append(t, question(session, time.Time{}))
	}
	b.answer(t, 3)
	got, err := b.PendingOf(ctx, "app", "a")
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{1, 4}, got)
	for _, none := range [][2]string{{"app", "c"}, {"other", "a"}} {
		got, err = b.PendingOf(ctx, none[0], none[1])
		require.NoError(t, err)
		require.Empty(t, got)
	}
	pending, err := b.Pending(ctx)
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{1, 2, 4}, ids(pending))
}

func TestListenersOfPendingQuestions(t *testing.T) {
	t.Parallel()
	b, ctx := setup(t), context.Background()
	for _, change := range []func(*NewQuestion){
		func(*NewQuestion) {},
		func(a *NewQuestion) { a.URL = "" },
		func(a *NewQuestion) { a.Protocol = 1 },
		func(a *NewQuestion) { a.URL = "ws://127.0.0.1:10/other" },
		func(*NewQuestion) {},
		func(*NewQuestion) {},
	} {
		d := question("s", time.Time{})
		change(d.NewQuestion)
		b.append(t, d)
	}
	b.answer(t, 5)
	status := []byte(`{"status":"pending","revision":1}`)
	first := Listener{ID: 1, URL: "ws://127.0.0.1:9/secret", Status: status}
	rest := []Listener{{ID: 4, URL: "ws://127.0.0.1:10/other", Status: status}, {ID: 6, URL: first.URL, Status: status}}
	got, err := b.Listeners(ctx, 0, 9)
	require.NoError(t, err)
	require.Equal(t, append([]Listener{first}, rest...), got)
	got, err = b.Listeners(ctx, 1, 1)
	require.NoError(t, err)
	require.Equal(t, rest[:1], got)
	got, err = b.Listeners(ctx, 6, 9)
	require.NoError(t, err)
	require.Empty(t, got)
}
