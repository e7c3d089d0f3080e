package tables

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Plain events wait for projections that are far behind, questions do not. The clock of the
// synctest bubble makes the delays exact.
func TestAppend_WaitsForSlowReaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &Tables{State: NewState(nil, 0)}
		delay := func() time.Duration {
			start := time.Now()
			s.awaitReaders(t.Context())
			return time.Since(start)
		}
		s.State.Projected.Grow(1, time.Now())
		s.State.Projected.Reach(1)
		s.State.Projected.Grow(2, time.Now())
		require.Zero(t, delay())
		<-time.After(tolerableLag + 500*time.Millisecond) // fake clock
		require.Equal(t, 100*time.Millisecond, delay())
		s.State.Projected.Reach(2)
		require.Zero(t, delay())
		s.State.Indexed.Reach(0)
		s.State.Indexed.Grow(1023, time.Now())
		<-time.After(time.Hour) // fake clock
		require.Equal(t, maxIngestDelay, delay())
	})
}
