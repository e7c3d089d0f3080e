package postgres

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/bus"
)

// newLossyBus returns a bus that loses 30 % of the rings that b receives, repeats 10 %, and delivers 20 %
// after the next one. The same seed makes the same choices. Closing it closes b.
func newLossyBus(b bus.Bus, seed uint64) bus.Bus {
	l := &lossyBus{Bus: b, rings: make(chan int64)}
	l.stopped, l.stop = context.WithCancel(context.Background())
	l.running.Go(func() { l.run(rand.New(rand.NewPCG(seed, seed))) })
	return l
}

type lossyBus struct {
	bus.Bus
	rings   chan int64
	stop    context.CancelFunc
	stopped context.Context
	running sync.WaitGroup
}

func (l *lossyBus) run(random *rand.Rand) {
	late := int64(0) // delivered after the next one; 0: none
	for {
		var commit int64
		select {
		case commit = <-l.Bus.Rings():
		case <-l.stopped.Done():
			return
		}
		switch n := random.IntN(100); {
		case n < 30:
			commit = 0
		case n < 40:
			l.deliver(commit)
		case n < 60 && late == 0:
			late = commit
			continue
		}
		l.deliver(commit)
		l.deliver(late)
		late = 0
	}
}

func (l *lossyBus) deliver(commit int64) {
	if commit == 0 {
		return
	}
	select {
	case l.rings <- commit:
	case <-l.stopped.Done():
	}
}

// Rings implements bus.Bus.
func (l *lossyBus) Rings() <-chan int64 { return l.rings }

// Close implements bus.Link.
func (l *lossyBus) Close() error {
	l.stop()
	l.running.Wait()
	return l.Bus.Close()
}

// rungBus has received commits.
type rungBus struct {
	bus.Bus
	rings chan int64
}

func (b rungBus) Rings() <-chan int64 { return b.rings }
func (b rungBus) Close() error        { return nil }

func TestLossyBus_LosesRepeatsAndReorders(t *testing.T) {
	t.Parallel()
	const rings, end = 10_000, int64(1) << 40
	inner := rungBus{rings: make(chan int64, 2*rings)}
	for commit := int64(1); commit <= rings; commit++ {
		inner.rings <- commit
	}
	for range rings { // one of them arrives
		inner.rings <- end
	}
	b := newLossyBus(inner, 1)
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
