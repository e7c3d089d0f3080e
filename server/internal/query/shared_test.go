package query

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCache_ReadsOncePerHead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := Cache[string, int64]{Keep: sharedFor, Max: maxShared}
		var reads atomic.Int64
		read := func() (int64, error) { return reads.Add(1), nil }
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				n, err := s.Get(1, "a", read)
				require.NoError(t, err)
				require.Equal(t, int64(1), n)
			})
		}
		wg.Wait()
		n, err := s.Get(2, "a", read)
		require.NoError(t, err)
		require.Equal(t, int64(2), n, "the log has grown")
		n, err = s.Get(2, "b", read)
		require.NoError(t, err)
		require.Equal(t, int64(3), n, "another query")
		_, err = s.Get(2, "fails", func() (int64, error) { return 0, errors.New("no") })
		require.EqualError(t, err, "no")
		n, err = s.Get(2, "fails", read)
		require.NoError(t, err)
		require.Equal(t, int64(4), n, "an error is not kept")
		for n := range 2 * maxShared {
			_, err := s.Get(2, string(rune('c'+n)), read)
			require.NoError(t, err)
		}
		s.mu.Lock()
		require.Len(t, s.results, maxShared)
		s.mu.Unlock()
	})
}

func TestCache_ForgetsAfterOneSecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := Cache[string, int64]{Keep: sharedFor, Max: maxShared}
		reads := int64(0)
		for want := range int64(3) {
			for range 2 {
				n, err := s.Get(1, "a", func() (int64, error) { reads++; return reads, nil })
				require.NoError(t, err)
				require.Equal(t, want+1, n)
			}
			<-time.After(sharedFor + time.Millisecond) // fake clock
			s.mu.Lock()
			require.Nil(t, s.results, "holds no memory")
			s.mu.Unlock()
		}
	})
}
