package tables

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store/grams"
)

// The indexer yields a little to a growing log, and much to queued writes, unless it falls behind.
func TestIndexer_BacksOffUnderLoad(t *testing.T) {
	t.Parallel()
	s, _ := newFake(1, nil)
	x := s.NewIndexer()
	require.Zero(t, x.backoff(time.Second, 1))
	require.Equal(t, 2*time.Second, x.backoff(time.Second, 0))
	require.NoError(t, s.Queue.Add(&Op{}))
	require.Equal(t, 16*time.Second, x.backoff(time.Second, 1))
	s.State.Indexed.Grow(10*grams.BlockSize, time.Now())
	require.Zero(t, x.backoff(time.Second, 0), "it must keep pace")
}
