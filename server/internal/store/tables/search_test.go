package tables

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store"
)

// A filter crafted to be slow is interrupted within the first batch of events.
func TestSearch_StopsAfterMaxOvertime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // whose clock does not advance
		run := &SearchRun{Search: store.Search{Timeout: time.Millisecond}, deadline: time.Now().Add(-maxOvertime - time.Nanosecond)}
		require.False(t, run.isOverTime(), "every call makes progress")
		run.examined = 1
		require.True(t, run.isOverTime())
		run.deadline = time.Now().Add(-maxOvertime)
		require.False(t, run.isOverTime())
		run.examined = firstBatch
		require.True(t, run.isOverTime())
	})
}
