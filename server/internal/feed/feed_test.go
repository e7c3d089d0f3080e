package feed_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/server/internal/feed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func frame(seq int64) feed.Frame {
	return feed.Frame{Seq: seq, Data: fmt.Appendf(nil, `{"id":%d}`, seq)}
}

func seqs(frames []feed.Frame) []int64 {
	var out []int64
	for _, f := range frames {
		out = append(out, f.Seq)
	}
	return out
}

func TestAfter_ContinuesFromCursor(t *testing.T) {
	t.Parallel()
	f := feed.New(10, 4, 1<<20)

	frames, more, ok := f.After(10)
	require.True(t, ok)
	require.Empty(t, frames)
	require.Equal(t, int64(10), f.Head())

	f.Publish(frame(11), frame(12), frame(13))
	<-more
	frames, more, ok = f.After(11)
	require.True(t, ok)
	require.Equal(t, []int64{12, 13}, seqs(frames))
	<-more
	_, more, _ = f.After(13)
	select {
	case <-more:
		require.Fail(t, "there is nothing more yet")
	default:
	}

	f.Publish(frame(14), frame(15))
	<-more
	frames, _, ok = f.After(11)
	require.True(t, ok)
	require.Equal(t, []int64{12, 13, 14, 15}, seqs(frames))
	_, _, ok = f.After(10)
	require.False(t, ok, "11 has left a ring of four")
}

func TestAfter_ReaderAheadWaits(t *testing.T) {
	t.Parallel()
	f := feed.New(5, 4, 1<<20)
	frames, more, ok := f.After(7)
	require.True(t, ok)
	require.Empty(t, frames)
	f.Publish(frame(6))
	<-more
}

func TestFeed_LimitsBytes(t *testing.T) {
	t.Parallel()
	f := feed.New(0, 100, 1000)
	big := func(seq int64) feed.Frame {
		return feed.Frame{Seq: seq, Data: make([]byte, 200), End: make([]byte, 200)}
	}
	for seq := range int64(50) {
		f.Publish(big(seq + 1))
	}
	frames, _, ok := f.After(48)
	require.True(t, ok)
	require.Equal(t, []int64{49, 50}, seqs(frames))
	_, _, ok = f.After(47)
	require.False(t, ok)

	f.Publish(feed.Frame{Seq: 51, Data: make([]byte, 2000)})
	_, _, ok = f.After(50)
	require.False(t, ok, "a frame larger than the ring is only in the store")
	require.Equal(t, int64(51), f.Head())
}

func TestPublish_GapClearsRing(t *testing.T) {
	t.Parallel()
	f := feed.New(0, 8, 1<<20)
	f.Publish(frame(1), frame(2))
	f.Publish(frame(2), frame(5), frame(6))
	_, _, ok := f.After(2)
	require.False(t, ok)
	frames, _, ok := f.After(4)
	require.True(t, ok)
	require.Equal(t, []int64{5, 6}, seqs(frames))
}

func TestAfter_LimitsBatchSize(t *testing.T) {
	t.Parallel()
	f := feed.New(0, 2000, 1<<20)
	for seq := range int64(1500) {
		f.Publish(frame(seq + 1))
	}
	cursor, batches := int64(0), 0
	for cursor < 1500 {
		frames, more, ok := f.After(cursor)
		require.True(t, ok)
		for _, fr := range frames {
			cursor++
			require.Equal(t, cursor, fr.Seq)
		}
		batches++
		<-more // already closed, so a reader that waits here continues immediately
	}
	require.Equal(t, 3, batches)
}

// Under load, every reader gets every frame once and in order, or is referred to the
// store.
func TestFeed_FanOutLosesNothing(t *testing.T) {
	t.Parallel()
	const readers, publishers, each = 64, 4, 2000
	const last = publishers * each
	f := feed.New(0, 256, 1<<20)
	var log struct {
		sync.Mutex
		frames []feed.Frame // stands for the store: seq n at n-1
	}

	var wg sync.WaitGroup
	for range publishers {
		wg.Go(func() {
			for range each {
				log.Lock()
				fr := frame(int64(len(log.frames) + 1))
				log.frames = append(log.frames, fr)
				f.Publish(fr)
				log.Unlock()
			}
		})
	}
	for range readers {
		wg.Go(func() {
			cursor := int64(0)
			for cursor < last {
				frames, more, ok := f.After(cursor)
				if !ok {
					log.Lock()
					frames = log.frames[cursor:]
					log.Unlock()
				}
				if len(frames) == 0 {
					<-more
				}
				for _, fr := range frames {
					cursor++
					if fr.Seq != cursor || string(fr.Data) != string(frame(cursor).Data) {
						t.Errorf("frame %d has seq %d and data %s", cursor, fr.Seq, fr.Data)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}
