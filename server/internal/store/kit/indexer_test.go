package kit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store/grams"
)

// busyStorage is the storage of a log that others write to.
type busyStorage struct {
	IndexStorage
	head   int64
	queued int
}

func (s *busyStorage) Head() int64 { return s.head }

func (s *busyStorage) Queued() int { return s.queued }

// The indexer yields a little to a growing log, and much to queued writes, unless it falls behind.
func TestIndexer_BacksOffUnderLoad(t *testing.T) {
	t.Parallel()
	s := &busyStorage{head: 1}
	x := &Indexer{Storage: s, Lag: &LagMeter{}}
	require.Zero(t, x.backoff(time.Second, 1))
	require.Equal(t, 2*time.Second, x.backoff(time.Second, 0))
	s.queued = 1
	require.Equal(t, 16*time.Second, x.backoff(time.Second, 1))
	x.Lag.Grow(10*grams.BlockSize, time.Now())
	require.Zero(t, x.backoff(time.Second, 0), "it must keep pace")
}
