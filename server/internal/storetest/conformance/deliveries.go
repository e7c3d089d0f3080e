package conformance

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// SetDelivery answers a question and sets its delivery.
func (b *Harness) SetDelivery(t *testing.T, id schema.EventID, d store.Delivery) {
	t.Helper()
	q := b.MustQuestion(t, id)
	require.NoError(t, b.Apply(context.Background(), store.Change{Event: &q.Event, Version: q.Version, State: schema.Responded, Status: []byte(`{}`), Delivery: &d}))
}

func (s suite) TestLeaseDeliveries_LeasesOnce(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	leased, next, err := b.LeaseDeliveries(ctx, ClockStart, ClockStart.Add(time.Minute), 9)
	require.NoError(t, err)
	require.Empty(t, leased)
	require.True(t, next.IsZero())

	for i, due := range []time.Duration{2 * time.Second, time.Second, time.Hour} {
		id := b.MustAppend(t, NewQuestionDraft("s", time.Time{})).ID
		require.EqualValues(t, 2*i+1, id)
		b.SetDelivery(t, id, store.Delivery{State: schema.Queued, Due: ClockStart.Add(due)})
	}
	_, next, err = b.LeaseDeliveries(ctx, ClockStart, ClockStart.Add(time.Minute), 9)
	require.NoError(t, err)
	require.Equal(t, ClockStart.Add(time.Second), next.UTC())

	now := ClockStart.Add(5 * time.Second)
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

func (s suite) TestLeaseDeliveries_SkipsFinalStates(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	open := map[schema.EventID]bool{}
	for _, state := range []schema.DeliveryState{
		schema.NoDelivery, schema.Queued, schema.Sending, schema.Delivered, schema.Acked, schema.Pulled, schema.Fetched,
		schema.Unconfirmed, schema.Refused, schema.Unreachable, schema.TooLate, schema.Blocked,
	} {
		id := b.MustAppend(t, NewQuestionDraft("s", time.Time{})).ID
		b.SetDelivery(t, id, store.Delivery{State: state, Due: ClockStart})
		switch state {
		case schema.Queued, schema.Sending, schema.Unconfirmed, schema.Refused, schema.Unreachable:
			open[id] = true
		}
		never := b.MustAppend(t, NewQuestionDraft("s", time.Time{})).ID
		b.SetDelivery(t, never, store.Delivery{State: schema.Unreachable})
	}
	leased, _, err := b.LeaseDeliveries(ctx, ClockStart, ClockStart.Add(time.Minute), 99)
	require.NoError(t, err)
	require.Len(t, leased, len(open))
	for _, id := range leased {
		require.True(t, open[id])
	}
}

func (s suite) TestStats_UndeliveredAreAnswersOfPeople(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	for status, state := range map[string]schema.DeliveryState{
		`"responded","source":"human","outcome":"approve"`:             schema.Unreachable,
		`"responded","source":"quorum","outcome":"deny"`:               schema.Refused,
		`"responded","source":"human","reason":"\u0000"`:               schema.Unreachable,
		`"timeout","source":"timeout","reason":"\"source\":\"human\""`: schema.Unreachable,
		`"responded","source":"human","outcome":"deny"`:                schema.Acked,
		`"responded","source":"rule","outcome":"approve"`:              schema.Unreachable,
		`"timeout","source":"timeout","outcome":"__timeout__"`:         schema.Unreachable,
		`"error","source":"human","outcome":"__cancelled__"`:           schema.Unreachable,
	} {
		q := b.MustQuestion(t, b.MustAppend(t, NewQuestionDraft("s", time.Time{})).ID)
		text := []byte(`{"status":` + status + `}`)
		var decoded schema.Status
		require.NoError(t, json.Unmarshal(text, &decoded))
		require.NoError(t, b.Apply(ctx, store.Change{
			Event: &q.Event, Version: q.Version, State: decoded.Status, Status: text, Delivery: &store.Delivery{State: state},
		}))
	}
	stats, err := b.Stats(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 3, stats.Undelivered)
}

func (s suite) TestOpen_MakesLeasedDeliveriesDue(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	deliveries := []store.Delivery{
		{State: schema.Sending, Sent: true, Leased: ClockStart.Add(time.Hour)},
		{State: schema.Queued, Due: ClockStart, Leased: ClockStart.Add(time.Hour)},
		{State: schema.Unreachable, Due: ClockStart.Add(time.Hour)},
		{State: schema.Unreachable},
		{State: schema.Acked, Due: ClockStart},
	}
	for _, d := range deliveries {
		b.SetDelivery(t, b.MustAppend(t, NewQuestionDraft("s", time.Time{})).ID, d)
	}
	b.Reopen(t)
	leased, _, err := b.LeaseDeliveries(ctx, ClockStart, ClockStart.Add(time.Minute), 9)
	require.NoError(t, err)
	require.ElementsMatch(t, []schema.EventID{1, 3, 5}, leased)
	q := b.MustQuestion(t, 1)
	require.True(t, q.Delivery.Sent)
	require.Equal(t, schema.Sending, q.Delivery.State, "package delivery decides what to do with it")
}

func (s suite) TestDueQuestions_ReturnsPassedDeadlines(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	for _, deadline := range []time.Duration{3 * time.Second, 0, time.Second, time.Hour, 2 * time.Second} {
		at := ClockStart.Add(deadline)
		if deadline == 0 {
			at = time.Time{}
		}
		b.MustAppend(t, NewQuestionDraft("s", at))
	}
	due, next, err := b.DueQuestions(ctx, ClockStart.Add(3*time.Second), 2)
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{3, 5}, due)
	require.Equal(t, ClockStart.Add(time.Hour), next.UTC())
	b.Answer(t, 3)
	due, _, err = b.DueQuestions(ctx, ClockStart.Add(3*time.Second), 9)
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{5, 1}, due)
	due, next, err = b.DueQuestions(ctx, ClockStart.Add(2*time.Hour), 9)
	require.NoError(t, err)
	require.Len(t, due, 3)
	require.True(t, next.IsZero())
}

func (s suite) TestDueQuestions_ListsUndoWindowsFirst(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	hold := func(id schema.EventID, h *store.UndoWindow) {
		q := b.MustQuestion(t, id)
		require.NoError(t, b.Apply(ctx, store.Change{Event: &q.Event, Version: q.Version, State: schema.Pending, Status: q.Status, UndoWindow: h}))
	}
	for range 3 {
		b.MustAppend(t, NewQuestionDraft("s", ClockStart.Add(time.Minute)))
	}
	for id, after := range map[schema.EventID]time.Duration{1: 5 * time.Second, 2: 3 * time.Second, 3: 4 * time.Second} {
		hold(id, &store.UndoWindow{Answer: []byte(`{"permission":true}`), Until: ClockStart.Add(after)})
	}
	_, next, err := b.DueQuestions(ctx, ClockStart, 9)
	require.NoError(t, err)
	require.Equal(t, ClockStart.Add(3*time.Second), next.UTC())
	first := b.MustQuestion(t, 1).UndoWindow
	require.JSONEq(t, `{"permission":true}`, string(first.Answer))
	require.Equal(t, ClockStart.Add(5*time.Second), first.Until.UTC())

	hold(3, nil)
	require.NotNil(t, b.MustQuestion(t, 3).UndoWindow, "nil leaves it unchanged")
	hold(3, &store.UndoWindow{})
	require.Nil(t, b.MustQuestion(t, 3).UndoWindow)
	due, next, err := b.DueQuestions(ctx, ClockStart.Add(5*time.Second), 9)
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{2, 1}, due)
	require.Equal(t, ClockStart.Add(time.Minute), next.UTC(), "the deadlines come next")
	b.Answer(t, 2)
	due, _, err = b.DueQuestions(ctx, ClockStart.Add(time.Minute), 9)
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{1, 1, 3}, due, "undo windows first")
}

func (s suite) TestLeaseDeliveries_SkipsHandled(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	d := NewQuestionDraft("s", time.Time{})
	d.IdempotencyKey = "k"
	id := b.MustAppend(t, d).ID
	b.SetDelivery(t, id, store.Delivery{State: schema.Unreachable, Due: ClockStart, Handled: ClockStart.Add(time.Second)})
	require.Equal(t, ClockStart.Add(time.Second), b.MustQuestion(t, id).Delivery.Handled.UTC())
	leased, next, err := b.LeaseDeliveries(ctx, ClockStart.Add(time.Hour), ClockStart.Add(2*time.Hour), 9)
	require.NoError(t, err)
	require.Empty(t, leased)
	require.True(t, next.IsZero())
	again := NewQuestionDraft("s", time.Time{})
	again.IdempotencyKey = "k"
	b.MustAppend(t, again)
	require.True(t, b.MustQuestion(t, id).Delivery.Handled.IsZero(), "the agent asks again, so it still waits for the answer")
	leased, _, err = b.LeaseDeliveries(ctx, ClockStart.Add(time.Hour), ClockStart.Add(2*time.Hour), 9)
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{id}, leased)
}

func (s suite) TestPendingOf_ReturnsQuestionsOfSession(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	for _, session := range []string{"a", "b", "a", "a"} {
		b.MustAppend(t, NewQuestionDraft(session, time.Time{}))
	}
	b.Answer(t, 3)
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
	require.Equal(t, []schema.EventID{1, 2, 4}, EventIDs(pending))
}

func (s suite) TestListeners_ReturnsPendingVersion2(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	for _, change := range []func(*store.NewQuestion){
		func(*store.NewQuestion) {},
		func(a *store.NewQuestion) { a.URL = "" },
		func(a *store.NewQuestion) { a.Protocol = 1 },
		func(a *store.NewQuestion) { a.URL = "ws://127.0.0.1:10/other" },
		func(*store.NewQuestion) {},
		func(*store.NewQuestion) {},
	} {
		d := NewQuestionDraft("s", time.Time{})
		change(d.NewQuestion)
		b.MustAppend(t, d)
	}
	b.Answer(t, 5)
	status := []byte(`{"status":"pending","revision":1}`)
	place := store.Place{Owner: b.Self()}
	first := store.Listener{ID: 1, URL: "ws://127.0.0.1:9/secret", Status: status, Place: place}
	rest := []store.Listener{{ID: 4, URL: "ws://127.0.0.1:10/other", Status: status, Place: place}, {ID: 6, URL: first.URL, Status: status, Place: place}}
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

func (s suite) TestOrphans_ReturnsQuestionsOfHubsThatAreGone(t *testing.T) {
	b := s.open(t)
	ctx := t.Context()
	for _, of := range []store.Lifeline{store.ByRequest, store.ByRetry, store.ByRequest, store.ByRequest} {
		d := NewQuestionDraft("s", time.Time{})
		d.NewQuestion.Lifeline = of
		b.MustAppend(t, d)
	}
	b.Answer(t, 4)
	require.Equal(t, b.Self(), b.MustQuestion(t, 1).Owner)
	got, err := b.Orphans(ctx, store.ByRequest, []string{"another", b.Self()})
	require.NoError(t, err)
	require.Empty(t, got)
	got, err = b.Orphans(ctx, store.ByRequest, []string{"another"})
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{1, 3}, got)
	got, err = b.Orphans(ctx, store.ByRetry, nil)
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{2}, got)
}
