package bustest_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/server/internal/bus"
	"github.com/hookback/hookback/server/internal/bus/bustest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rungBus has received commits.
type rungBus struct {
	bus.Bus
	rings chan int64
}

func (b rungBus) Rings() <-chan int64 { return b.rings }
func (b rungBus) Close() error        { return nil }

func TestLossy_LosesRepeatsAndReorders(t *testing.T) {
	t.Parallel()
	const rings, end = 10_000, int64(1) << 40
	inner := rungBus{rings: make(chan int64, 2*rings)}
	for commit := int64(1); commit <= rings; commit++ {
		inner.rings <- commit
	}
	for range rings { // one of them arrives
		inner.rings <- end
	}
	b := bustest.Lossy(inner, 1)
	times := map[int64]int{}
	repeated, reordered, last := 0, 0, int64(0)
	for commit := range b.Rings() {
		if commit == end {
			break
		}
		if times[commit]++; times[commit] > 1 {
			repeated++
		}
		if commit < last {
			reordered++
		}
		last = commit
	}
	require.NoError(t, b.Close())
	require.InDelta(t, 0.3*rings, rings-len(times), 0.03*rings)
	require.InDelta(t, 0.1*rings, repeated, 0.03*rings)
	require.Greater(t, reordered, rings/20)
}
