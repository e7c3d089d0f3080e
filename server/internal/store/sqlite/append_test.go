package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

func TestAppend_NumbersDenselyAndPublishesInOrder(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	const writers, each = 32, 25
	var wg sync.WaitGroup
	errs := make(chan error, writers*each*2)
	for i := range writers {
		wg.Go(func() {
			for n := range each {
				d := newDraft("app", fmt.Sprint(i), "PreToolUse", "Bash")
				if n%5 == 0 {
					d = newQuestionDraft(fmt.Sprint(i), time.Time{})
				}
				r, err := b.Append(context.Background(), d)
				errs <- err
				if err != nil || d.NewQuestion == nil {
					continue
				}
				q, err := b.Question(context.Background(), r.Event.ID)
				if err == nil {
					err = b.Apply(context.Background(), answerChange(q))
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
	rows := b.publishedRows()
	require.Len(t, rows, writers*each*6/5)
	for i, row := range rows {
		require.EqualValues(t, i+1, row.Seq)
	}
	require.EqualValues(t, len(rows), b.Head())
	requireDense(t, b.engine)
}

func TestEvent_ReturnsWhatWasAppended(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	d := newDraft("app", "s", "PreToolUse", "")
	d.ReceivedAt, d.Transcript = clockStart.Add(time.Second), []byte(`[{"role":"user"}]`)
	e := b.append(t, d)
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

func TestQuestion_ReturnsWhatWasAppended(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	d := newQuestionDraft("s", clockStart.Add(5*time.Minute))
	id := b.append(t, d).ID
	b.reopen(t)
	q := b.question(t, id)
	q.Deadline = q.Deadline.UTC()
	require.Equal(t, *d.NewQuestion, q.NewQuestion)
	require.Equal(t, schema.Pending, q.State)
	require.EqualValues(t, 1, q.Version)
	require.Nil(t, q.Answer)
	require.Nil(t, q.Delivery)
	require.JSONEq(t, string(d.Question), string(q.Question))
	require.Equal(t, "app", q.App)
}

func TestReceivedAt_IgnoresSmallClockSteps(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	at := func(when time.Time) time.Time {
		d := newDraft("app", "s", "Stop", "")
		d.ReceivedAt = when
		return b.append(t, d).ReceivedAt.UTC()
	}
	require.Equal(t, clockStart.Add(time.Minute), at(clockStart.Add(time.Minute)))
	require.Equal(t, clockStart.Add(time.Minute), at(clockStart), "small clock step back")
	require.Equal(t, clockStart.Add(-48*time.Hour), at(clockStart.Add(-48*time.Hour)), "clock that was wrong by more than an hour")
}

func TestIdempotencyKey_ReturnsFirstEvent(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	var wg sync.WaitGroup
	receipts := make([]store.Receipt, 5)
	errs := make([]error, 5)
	for i := range receipts {
		wg.Go(func() {
			d := newQuestionDraft("s", time.Time{})
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
	require.Len(t, b.publishedRows(), 1)

	b.answer(t, 1)
	d := newQuestionDraft("s", time.Time{})
	d.IdempotencyKey, d.NewQuestion.URL = "retry me", "ws://127.0.0.1:7/new"
	r, err := b.Append(context.Background(), d)
	require.NoError(t, err)
	require.True(t, r.Replayed)
	require.Contains(t, string(r.Event.Status), "responded")
	require.Equal(t, "ws://127.0.0.1:7/new", b.question(t, 1).URL)
}

// A repeated question may have a new callback address. Its answer becomes due there,
// unless the agent has it or may have it.
func TestIdempotencyKey_MakesUndeliveredAnswerDue(t *testing.T) {
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
		"pulled":                 {store.Delivery{State: schema.Pulled}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTestStore(t)
			d := newQuestionDraft("s", time.Time{})
			d.IdempotencyKey = "k"
			change := answerChange(b.question(t, b.append(t, d).ID))
			change.Delivery = &c.delivery
			require.NoError(t, b.Apply(context.Background(), change))
			leased, _, err := b.LeaseDeliveries(context.Background(), clockStart, clockStart.Add(time.Minute), 9)
			require.NoError(t, err)
			require.Empty(t, leased, "nothing is open before the repeated request")

			b.clock.advance(time.Hour)
			_, err = b.Append(context.Background(), d)
			require.NoError(t, err)
			leased, _, err = b.LeaseDeliveries(context.Background(), b.clock.now(), b.clock.now().Add(time.Minute), 9)
			require.NoError(t, err)
			require.Equal(t, c.due, len(leased) == 1)
			if c.due {
				require.True(t, b.question(t, 1).Delivery.Until.After(b.clock.now()), "there is time for retries")
			}
		})
	}
}

// newBlockedStore returns a store whose writer blocks in its first publication.
func newBlockedStore(t *testing.T) (b *testStore, release func()) {
	t.Helper()
	reached, free := make(chan struct{}), make(chan struct{})
	var first sync.Once
	b = newTestStore(t, func(c *Config) {
		publish := c.Publish
		c.Publish = func(rows []store.LogRow) {
			first.Do(func() { close(reached); <-free })
			publish(rows)
		}
	})
	release = sync.OnceFunc(func() { close(free) })
	t.Cleanup(release)
	go func() { _, _ = b.Append(context.Background(), newDraft("app", "held", "Stop", "")) }()
	<-reached
	return b, release
}

// enqueue queues ops behind a blocked writer, so that they share a transaction.
func (b *testStore) enqueue(t *testing.T, ops ...*op) {
	t.Helper()
	for _, o := range ops {
		o.done = make(chan struct{})
		require.NoError(t, b.writer.enqueue(o))
	}
}

func newAppendOp(d *store.EventDraft) *op {
	return &op{essential: d.NewQuestion != nil, needsSavepoint: d.NewQuestion != nil, run: func(t *tx) error {
		_, err := t.append(d, [16]byte{1})
		return err
	}}
}

func TestWriteQueue_RejectsWhenFull(t *testing.T) {
	t.Parallel()
	b, release := newBlockedStore(t)
	for range queueLimit {
		b.enqueue(t, &op{run: func(*tx) error { return nil }})
	}
	_, err := b.Append(context.Background(), newDraft("app", "s", "Stop", ""))
	require.ErrorIs(t, err, schema.ErrBusy)
	release()
	require.NoError(t, b.Close())
}

func TestAppend_StoresNothingIfCanceledInQueue(t *testing.T) {
	t.Parallel()
	b, release := newBlockedStore(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := b.Append(ctx, newDraft("app", "given up", "Stop", ""))
	require.ErrorIs(t, err, context.Canceled)
	release()
	require.EqualValues(t, 2, b.append(t, newDraft("app", "s", "Stop", "")).ID)
	require.Len(t, b.publishedRows(), 2)
}

func TestGroupCommit_IsolatesFailedWrite(t *testing.T) {
	t.Parallel()
	b, release := newBlockedStore(t)
	broken := errors.New("broken")
	half := &op{needsSavepoint: true, run: func(t *tx) error {
		if _, err := t.append(newQuestionDraft("half", time.Time{}), [16]byte{1}); err != nil {
			return err
		}
		return broken
	}}
	twice := &op{run: func(t *tx) error { // a number that is taken already
		t.counters.head--
		_, err := t.append(newDraft("app", "new name", "Stop", ""), [16]byte{1})
		return err
	}}
	one, two := newAppendOp(newDraft("app", "one", "Stop", "")), newAppendOp(newQuestionDraft("half", time.Time{}))
	b.enqueue(t, one, half, twice, two)
	release()
	for _, o := range []*op{one, half, twice, two} {
		<-o.done
	}
	require.NoError(t, one.err)
	require.ErrorIs(t, half.err, broken)
	require.ErrorContains(t, twice.err, "constraint")
	require.NoError(t, two.err)
	require.Len(t, b.publishedRows(), 3)
	requireDense(t, b.engine)
	found, err := b.Find(context.Background(), store.Filter{Session: "half"})
	require.NoError(t, err)
	require.Len(t, found, 1)
	b.append(t, newDraft("app", "new name", "Stop", ""))
	found, err = b.Find(context.Background(), store.Filter{Session: "new name"})
	require.NoError(t, err)
	require.Len(t, found, 1)
}

func TestGroupCommit_StoresNothingOnFailure(t *testing.T) {
	t.Parallel()
	var commits []store.Commit
	var mu sync.Mutex
	b, release := newBlockedStore(t)
	b.writer.committed = func(c store.Commit) { mu.Lock(); commits = append(commits, c); mu.Unlock() }
	broken := errors.New("the disk is gone")
	one, two := newAppendOp(newDraft("app", "lost", "Stop", "")), newAppendOp(newQuestionDraft("lost", time.Time{}))
	b.enqueue(t, one, two, &op{run: func(*tx) error { return fatalError{broken} }})
	release()
	<-one.done
	<-two.done
	require.ErrorIs(t, one.err, broken)
	require.ErrorIs(t, two.err, broken)
	require.EqualValues(t, 2, b.append(t, newDraft("app", "lost", "Stop", "")).ID, "the failed group used no numbers")
	require.Len(t, b.publishedRows(), 2)
	require.EqualValues(t, 2, b.Head())
	found, err := b.Find(context.Background(), store.Filter{Session: "lost"})
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.NoError(t, b.Close())
	require.ErrorIs(t, commits[1].Err, broken)
	require.Equal(t, 3, commits[1].Ops)
}

func TestStore_RefusesWritesAfterClose(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	require.NoError(t, b.Close())
	require.NoError(t, b.Close())
	_, err := b.Append(context.Background(), newDraft("app", "s", "Stop", ""))
	require.ErrorIs(t, err, schema.ErrStopping)
}
