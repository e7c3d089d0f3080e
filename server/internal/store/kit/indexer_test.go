package kit

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store/grams"
)

// The indexer yields a little to a growing log, and much to queued writes, unless it falls behind.
func TestIndexer_BacksOffUnderLoad(t *testing.T) {
	t.Parallel()
	queued := 0
	x := &Indexer{Head: &atomic.Int64{}, Queued: func() int { return queued }, Lag: &LagMeter{}}
	x.Head.Store(1)
	require.Zero(t, x.backoff(time.Second, 1))
	require.Equal(t, 2*time.Second, x.backoff(time.Second, 0))
	queued = 1
	require.Equal(t, 16*time.Second, x.backoff(time.Second, 1))
	x.Lag.Grow(10*grams.BlockSize, time.Now())
	require.Zero(t, x.backoff(time.Second, 0), "it must keep pace")
}
