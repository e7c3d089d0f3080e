package feed_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/feed"
)

const waitLimit = time.Minute // limit for conditions that will become true

var errStop = errors.New("stop")

func changed(seq, id int64, kinds feed.Kinds) feed.Frame {
	return feed.Frame{Seq: seq, ID: id, Kinds: kinds, Status: true, Data: []byte(`{}`)}
}

// follow starts a follower that sends its batches, until the test ends.
func follow(t *testing.T, f *feed.Feed, kinds feed.Kinds) <-chan feed.Batch {
	t.Helper()
	batches := make(chan feed.Batch)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- f.Follow(ctx, kinds, func(b *feed.Batch) error {
			own := *b
			own.Facts = append([]feed.Fact(nil), b.Facts...)
			select {
			case batches <- own:
			case <-ctx.Done():
			}
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
	return batches
}

func next(t *testing.T, batches <-chan feed.Batch) feed.Batch {
	t.Helper()
	select {
	case b := <-batches:
		return b
	case <-time.After(waitLimit):
		require.FailNow(t, "the follower is not called")
		return feed.Batch{}
	}
}

func TestFollow_StartsWithRescanAndAllFacts(t *testing.T) {
	t.Parallel()
	f := feed.New(10, 4, 1<<20)
	f.Publish(changed(11, 3, feed.Changed|feed.Undo))
	batches := follow(t, f, feed.Undo|feed.Accounts)
	require.Equal(t, feed.Batch{Rescan: true, Facts: []feed.Fact{{Kinds: feed.Changed | feed.Undo, ID: 3}}}, next(t, batches))
	f.PublishFact(feed.Fact{Kinds: feed.Accounts, Note: "ada"})
	b := next(t, batches)
	require.Equal(t, feed.Batch{Facts: []feed.Fact{{Kinds: feed.Accounts, Note: "ada"}}}, b)
	require.True(t, b.Has(feed.Accounts))
	require.False(t, b.Has(feed.Undo))
}

func TestFollow_IgnoresOtherKinds(t *testing.T) {
	t.Parallel()
	f := feed.New(0, 4, 1<<20)
	batches := follow(t, f, feed.Deadline)
	next(t, batches)
	f.Publish(frame(1), changed(2, 1, feed.Changed))
	f.Publish(changed(2, 1, feed.Deadline)) // published already
	f.Publish(changed(3, 1, feed.Changed|feed.Deadline))
	require.Equal(t, []feed.Fact{{Kinds: feed.Changed | feed.Deadline, ID: 1}}, next(t, batches).Facts)
}

func TestFollow_EntriesWakeWithoutFacts(t *testing.T) {
	t.Parallel()
	f := feed.New(0, 4, 1<<20)
	batches := follow(t, f, feed.Entry)
	next(t, batches)
	for seq := range int64(3) {
		f.Publish(frame(seq + 1))
		require.Empty(t, next(t, batches).Facts)
	}
}

// A follower that is slower than the ring of facts is asked to rescan, and gets the newest facts.
func TestFollow_SlowFollowerRescans(t *testing.T) {
	t.Parallel()
	const facts = 20_000
	f := feed.New(0, 4, 1<<20)
	calls := 0
	err := f.Follow(t.Context(), feed.NewQuestion, func(b *feed.Batch) error {
		switch calls++; calls {
		case 1:
			for seq := range int64(facts) {
				f.Publish(changed(seq+1, seq+1, feed.NewQuestion))
			}
			return nil
		case 2:
			require.True(t, b.Rescan)
			require.EqualValues(t, facts, b.Facts[len(b.Facts)-1].ID)
			f.Publish(changed(facts+1, 7, feed.NewQuestion))
			return nil
		default:
			require.False(t, b.Rescan)
			require.Equal(t, []feed.Fact{{Kinds: feed.NewQuestion, ID: 7}}, b.Facts)
			return errStop
		}
	})
	require.ErrorIs(t, err, errStop)
}

// The store can't replace a fact with a note, so other facts do not displace it.
func TestFollow_OverflowKeepsNotes(t *testing.T) {
	t.Parallel()
	f := feed.New(0, 4, 1<<20)
	calls := 0
	err := f.Follow(t.Context(), feed.NewQuestion|feed.Accounts, func(b *feed.Batch) error {
		if calls++; calls == 1 {
			f.PublishFact(feed.Fact{Kinds: feed.Accounts, Note: "ada"})
			for range 20_000 {
				f.PublishFact(feed.Fact{Kinds: feed.NewQuestion})
			}
			return nil
		}
		require.True(t, b.Rescan)
		require.Equal(t, feed.Fact{Kinds: feed.Accounts, Note: "ada"}, b.Facts[len(b.Facts)-1])
		return errStop
	})
	require.ErrorIs(t, err, errStop)
}

func TestFollow_CallsAgainAtTimer(t *testing.T) {
	t.Parallel()
	f := feed.New(0, 4, 1<<20)
	ticks := make(chan time.Time, 3)
	calls := 0
	err := f.Follow(t.Context(), feed.NewQuestion, func(b *feed.Batch) error {
		require.Nil(t, b.Timer, "a timer is for one call")
		require.Equal(t, calls == 0, b.Rescan)
		require.Empty(t, b.Facts)
		if calls++; calls == 4 {
			return errStop
		}
		b.Timer = ticks
		ticks <- time.Time{}
		return nil
	})
	require.ErrorIs(t, err, errStop)
	require.Equal(t, 4, calls)
}

// A fact of another kind must not drop the timer.
func TestFollow_KeepsTimer(t *testing.T) {
	t.Parallel()
	f := feed.New(0, 4, 1<<20)
	ticks, armed := make(chan time.Time), make(chan struct{}, 1)
	calls := 0
	ended := make(chan error, 1)
	go func() {
		ended <- f.Follow(t.Context(), feed.NewQuestion, func(b *feed.Batch) error {
			if calls++; calls == 2 {
				return errStop
			}
			b.Timer = ticks
			armed <- struct{}{}
			return nil
		})
	}()
	<-armed
	f.PublishFact(feed.Fact{Kinds: feed.Accounts})
	ticks <- time.Time{}
	require.ErrorIs(t, <-ended, errStop)
}

// A timer that fires together with a fact is reported, so that a follower may keep its timer
// when it gets facts only.
func TestFollow_ReportsTimerWithFacts(t *testing.T) {
	t.Parallel()
	const rounds = 500
	f := feed.New(0, 4, 1<<20)
	ticks, fired := make(chan time.Time), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- f.Follow(ctx, feed.NewQuestion, func(b *feed.Batch) error {
			b.Timer = ticks
			if b.Fired {
				fired <- struct{}{}
			}
			return nil
		})
	}()
	for range rounds {
		ticks <- time.Time{}
		f.PublishFact(feed.Fact{Kinds: feed.NewQuestion})
		<-fired
	}
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

// Under load, every follower gets every fact of its kinds once and in order.
func TestFollow_LosesNothing(t *testing.T) {
	t.Parallel()
	const publishers, each, followers = 4, 1000, 16
	f := feed.New(0, 16, 1<<20)
	var mu sync.Mutex
	seq := int64(0)
	var wg sync.WaitGroup
	for range publishers {
		wg.Go(func() {
			for range each {
				mu.Lock()
				seq++
				f.Publish(changed(seq, seq, feed.Changed))
				mu.Unlock()
			}
		})
	}
	for range followers {
		wg.Go(func() {
			last := int64(0)
			err := f.Follow(context.Background(), feed.Changed, func(b *feed.Batch) error {
				for _, fact := range b.Facts {
					if last++; fact.ID != last {
						t.Errorf("fact %d has the id %d", last, fact.ID)
						return errStop
					}
				}
				if last == publishers*each {
					return errStop
				}
				return nil
			})
			if !errors.Is(err, errStop) {
				t.Errorf("Follow ended with %v", err)
			}
		})
	}
	wg.Wait()
}

func TestWakeup_CountsAsOne(t *testing.T) {
	t.Parallel()
	a := feed.NewWakeup()
	a.Wake()
	a.Wake()
	require.True(t, a.Wait(t.Context(), waitLimit))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.False(t, a.Wait(ctx, waitLimit))
	require.True(t, feed.Sleep(t.Context(), time.Nanosecond))
	require.False(t, feed.Sleep(ctx, waitLimit))
	require.False(t, feed.Sleep(ctx, 0))
	feed.Wakeup(nil).Wake()
}
