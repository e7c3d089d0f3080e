package conformance

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

func (s suite) TestAppend_NumbersDenselyAndPublishesInOrder(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	const writers, each = 32, 25
	var wg sync.WaitGroup
	errs := make(chan error, writers*each*2)
	for i := range writers {
		wg.Go(func() {
			for n := range each {
				d := NewDraft("app", fmt.Sprint(i), "PreToolUse", "Bash")
				if n%5 == 0 {
					d = NewQuestionDraft(fmt.Sprint(i), time.Time{})
				}
				r, err := b.Append(context.Background(), d)
				errs <- err
				if err != nil || d.NewQuestion == nil {
					continue
				}
				q, err := b.Question(context.Background(), r.Event.ID)
				if err == nil {
					err = b.Apply(context.Background(), AnswerChange(q))
				}
				errs <- err
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	rows := b.Published()
	require.Len(t, rows, writers*each*6/5)
	for i, row := range rows {
		require.EqualValues(t, i+1, row.Seq)
	}
	require.EqualValues(t, len(rows), b.Head())
	RequireDense(t, b.Store)
}

func (s suite) TestEvent_ReturnsWhatWasAppended(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	d := NewDraft("app", "s", "PreToolUse", "")
	d.ReceivedAt, d.Transcript = ClockStart.Add(time.Second), []byte(`[{"role":"user"}]`)
	e := b.MustAppend(t, d)
	require.EqualValues(t, 1, e.ID)

	got, chat, err := b.Event(context.Background(), e.ID)
	require.NoError(t, err)
	require.Equal(t, d.Transcript, chat)
	want := d.Event
	want.ID, got.ReceivedAt, want.ReceivedAt = 1, got.ReceivedAt.UTC(), want.ReceivedAt.UTC()
	require.Equal(t, &want, got)

	_, err = b.Question(context.Background(), e.ID)
	require.ErrorIs(t, err, schema.ErrNoQuestion)
	_, err = b.Question(context.Background(), 99)
	require.ErrorIs(t, err, schema.ErrNotFound)
	_, _, err = b.Event(context.Background(), 99)
	require.ErrorIs(t, err, schema.ErrNotFound)
}

func (s suite) TestQuestion_ReturnsWhatWasAppended(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	d := NewQuestionDraft("s", ClockStart.Add(5*time.Minute))
	id := b.MustAppend(t, d).ID
	b.Reopen(t)
	q := b.MustQuestion(t, id)
	q.Deadline = q.Deadline.UTC()
	require.Equal(t, *d.NewQuestion, q.NewQuestion)
	require.Equal(t, schema.Pending, q.State)
	require.EqualValues(t, 1, q.Version)
	require.Nil(t, q.Answer)
	require.Nil(t, q.Delivery)
	require.JSONEq(t, string(d.Question), string(q.Question))
	require.Equal(t, "app", q.App)
}

func (s suite) TestReceivedAt_IgnoresSmallClockSteps(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	at := func(when time.Time) time.Time {
		d := NewDraft("app", "s", "Stop", "")
		d.ReceivedAt = when
		return b.MustAppend(t, d).ReceivedAt.UTC()
	}
	require.Equal(t, ClockStart.Add(time.Minute), at(ClockStart.Add(time.Minute)))
	require.Equal(t, ClockStart.Add(time.Minute), at(ClockStart), "small clock step back")
	require.Equal(t, ClockStart.Add(-48*time.Hour), at(ClockStart.Add(-48*time.Hour)), "clock that was wrong by more than an hour")
}

func (s suite) TestIdempotencyKey_ReturnsFirstEvent(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	var wg sync.WaitGroup
	receipts := make([]store.Receipt, 5)
	errs := make([]error, 5)
	for i := range receipts {
		wg.Go(func() {
			d := NewQuestionDraft("s", time.Time{})
			d.IdempotencyKey = "retry me"
			d.NewQuestion.URL = fmt.Sprintf("ws://127.0.0.1:%d/", 1000+i)
			receipts[i], errs[i] = b.Append(context.Background(), d)
		})
	}
	wg.Wait()
	first := 0
	for i, r := range receipts {
		require.NoError(t, errs[i])
		require.EqualValues(t, 1, r.Event.ID)
		if !r.Replayed {
			first++
		}
	}
	require.Equal(t, 1, first)
	require.Len(t, b.Published(), 1)

	b.Answer(t, 1)
	d := NewQuestionDraft("s", time.Time{})
	d.IdempotencyKey, d.NewQuestion.URL = "retry me", "ws://127.0.0.1:7/new"
	r, err := b.Append(context.Background(), d)
	require.NoError(t, err)
	require.True(t, r.Replayed)
	require.Contains(t, string(r.Event.Status), "responded")
	require.Equal(t, "ws://127.0.0.1:7/new", b.MustQuestion(t, 1).URL)
}

// A repeated question may have a new callback address. Its answer becomes due there,
// unless the agent has it or may have it.
func (s suite) TestIdempotencyKey_MakesUndeliveredAnswerDue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		delivery store.Delivery
		due      bool
	}{
		"unreachable":            {store.Delivery{State: schema.Unreachable}, true},
		"never called back":      {store.Delivery{State: schema.NoDelivery}, true},
		"sent to version 1":      {store.Delivery{State: schema.Unconfirmed, Sent: true}, false},
		"acknowledged":           {store.Delivery{State: schema.Acked}, false},
		"delivered to version 1": {store.Delivery{State: schema.Delivered, Sent: true}, false},
		"fetched, not verified":  {store.Delivery{State: schema.Fetched}, true},
		"pulled":                 {store.Delivery{State: schema.Pulled}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := s.open(t)
			d := NewQuestionDraft("s", time.Time{})
			d.IdempotencyKey = "k"
			change := AnswerChange(b.MustQuestion(t, b.MustAppend(t, d).ID))
			change.Delivery = &c.delivery
			require.NoError(t, b.Apply(context.Background(), change))
			leased, _, err := b.LeaseDeliveries(context.Background(), ClockStart, ClockStart.Add(time.Minute), 9)
			require.NoError(t, err)
			require.Empty(t, leased, "nothing is open before the repeated request")

			b.Clock.Advance(time.Hour)
			_, err = b.Append(context.Background(), d)
			require.NoError(t, err)
			leased, _, err = b.LeaseDeliveries(context.Background(), b.Clock.Now(), b.Clock.Now().Add(time.Minute), 9)
			require.NoError(t, err)
			require.Equal(t, c.due, len(leased) == 1)
			if c.due {
				require.True(t, b.MustQuestion(t, 1).Delivery.Until.After(b.Clock.Now()), "there is time for retries")
			}
		})
	}
}

func (s suite) TestAppend_StoresNothingIfCanceledInQueue(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	release := b.Block(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := b.Append(ctx, NewDraft("app", "given up", "Stop", ""))
	require.ErrorIs(t, err, context.Canceled)
	release()
	require.EqualValues(t, 2, b.MustAppend(t, NewDraft("app", "s", "Stop", "")).ID)
	require.Len(t, b.Published(), 2)
}

func (s suite) TestStore_RefusesWritesAfterClose(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	require.NoError(t, b.Close())
	require.NoError(t, b.Close())
	_, err := b.Append(context.Background(), NewDraft("app", "s", "Stop", ""))
	require.ErrorIs(t, err, schema.ErrStopping)
}
