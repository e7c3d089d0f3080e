package postgres

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/bus"
	"github.com/hookback/hookback/server/internal/pgtest"
)

// busNetwork is a database whose hubs have a bus.
type busNetwork struct {
	dsn string
	// open opens the bus of another hub. The test closes it.
	open func(t testing.TB, dsn string) bus.Bus
}

// stop ends all connections and refuses new ones until start.
func (n busNetwork) stop(t testing.TB) {
	t.Helper()
	name := databaseOf(t, n.dsn)
	execIn(t, n.dsn, "postgres", `ALTER DATABASE `+name+` ALLOW_CONNECTIONS false`,
		`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '`+name+`'`)
}

func (n busNetwork) start(t testing.TB) {
	t.Helper()
	execIn(t, n.dsn, "postgres", `ALTER DATABASE `+databaseOf(t, n.dsn)+` ALLOW_CONNECTIONS true`)
}

// TestNewBus_Contract runs each test with a database of its own.
func TestNewBus_Contract(t *testing.T) {
	t.Parallel()
	t.Run("Ring_NewestArrives", func(t *testing.T) {
		t.Parallel()
		ringNewestArrives(t, busNetwork{pgtest.New(t, Template), joinBus})
	})
	for name, test := range map[string]func(*testing.T, busNetwork){
		"Ring_ReachesOtherHubs":       ringReachesOtherHubs,
		"Ring_NeverBlocks":            ringNeverBlocks,
		"Ring_MergesBursts":           ringMergesBursts,
		"Rings_KeepLogDense":          ringsKeepLogDense,
		"Up_FollowsServer":            upFollowsServer,
		"Open_WithoutServer":          openWithoutServer,
		"Close_DropsRings":            closeDropsRings,
		"Stats_CountWhatReaderMissed": statsCountWhatReaderMissed,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, busNetwork{pgtest.New(t, Template), joinBus})
		})
		t.Run(name+"_Lossy", func(t *testing.T) {
			t.Parallel()
			var seed atomic.Uint64
			test(t, busNetwork{pgtest.New(t, Template), func(t testing.TB, dsn string) bus.Bus { return newLossyBus(joinBus(t, dsn), seed.Add(1)) }})
		})
	}
}

func (n busNetwork) join(t testing.TB) bus.Bus {
	t.Helper()
	b := n.open(t, n.dsn)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

func (n busNetwork) joinUp(t testing.TB) bus.Bus {
	t.Helper()
	b := n.join(t)
	eventually(t, b.Up)
	return b
}

func eventually(t testing.TB, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, time.Minute, time.Millisecond)
}

// ringUntil rings the commit until the reader has received at least that. Any bus may lose a ring.
func ringUntil(t testing.TB, from, reader bus.Bus, commit int64) {
	t.Helper()
	eventually(t, func() bool {
		from.Ring(commit)
		for {
			select {
			case got := <-reader.Rings():
				require.LessOrEqual(t, got, commit, "a commit that no one rang")
				if got == commit {
					return true
				}
			default:
				return false
			}
		}
	})
}

func ringReachesOtherHubs(t *testing.T, n busNetwork) {
	hubs := []bus.Bus{n.joinUp(t), n.joinUp(t), n.joinUp(t)}
	for i, from := range hubs {
		for _, reader := range hubs {
			if reader != from {
				ringUntil(t, from, reader, int64(i+1)<<40)
			}
		}
		eventually(t, func() bool { return from.Stats().Sent > 0 }) // counted after it was received
	}
	require.Positive(t, hubs[0].Stats().Received)
	ringUntil(t, hubs[0], hubs[1], math.MaxInt64)
}

// While the bus is up, the newest of several rings is not lost, so hubs are not late without a
// fault. A connection that stalls on a busy machine is one.
func ringNewestArrives(t *testing.T, n busNetwork) {
	const groups, maxLost, patience = 300, 10, 2000
	a, b := n.joinUp(t), n.joinUp(t)
	lost := 0
	for group := int64(1); group <= groups; group++ {
		commit := 3 * group
		for ring := commit - 2; ring <= commit; ring++ {
			a.Ring(ring)
		}
		checks := 0
		eventually(t, func() bool {
			if checks++; checks%patience == 0 {
				lost++
				a.Ring(commit)
			}
			select {
			case got := <-b.Rings():
				return got == commit
			default:
				return false
			}
		})
	}
	require.LessOrEqual(t, lost, maxLost)
}

// No one reads.
func ringNeverBlocks(t *testing.T, n busNetwork) {
	a, b := n.joinUp(t), n.joinUp(t)
	var writers sync.WaitGroup
	for w := range int64(4) {
		writers.Go(func() {
			for i := range int64(20_000) {
				a.Ring(4*i + w + 1)
			}
		})
	}
	writers.Wait()
	ringUntil(t, a, b, 100_000)
}

func ringMergesBursts(t *testing.T, n busNetwork) {
	a, b := n.joinUp(t), n.joinUp(t)
	const rings = 200_000
	for commit := int64(1); commit <= rings; commit++ {
		a.Ring(commit)
	}
	ringUntil(t, a, b, rings)
	require.Less(t, a.Stats().Sent, int64(rings/10))
}

// ringsKeepLogDense: two hubs append and ring; a reader that reads the log at each ring misses no
// entry, if it is rung at the end.
func ringsKeepLogDense(t *testing.T, n busNetwork) {
	a, b, reader := n.joinUp(t), n.joinUp(t), n.joinUp(t)
	var mu sync.Mutex
	var log []int64
	appendTo := func(to bus.Bus) {
		mu.Lock()
		log = append(log, int64(len(log)+1))
		commit := log[len(log)-1]
		mu.Unlock()
		to.Ring(commit)
	}
	const entries = 500
	var writers sync.WaitGroup
	for _, hub := range []bus.Bus{a, b} {
		writers.Go(func() {
			for range entries {
				appendTo(hub)
			}
		})
	}
	var read []int64
	eventually(t, func() bool {
		select {
		case commit := <-reader.Rings():
			mu.Lock()
			if commit > int64(len(read)) {
				read = append(read, log[len(read):commit]...)
			}
			mu.Unlock()
		default:
			mu.Lock()
			commit := int64(len(log))
			mu.Unlock()
			a.Ring(commit) // as a poll would notice
		}
		return len(read) == 2*entries
	})
	writers.Wait()
	require.Equal(t, log, read)
}

func upFollowsServer(t *testing.T, n busNetwork) {
	a, b := n.joinUp(t), n.joinUp(t)
	ringUntil(t, a, b, 1)
	for commit := int64(2); commit <= 3; commit++ {
		n.stop(t)
		eventually(t, func() bool { return !a.Up() && !b.Up() })
		dropped := a.Stats().Dropped
		a.Ring(math.MaxInt64)
		eventually(t, func() bool { return a.Stats().Dropped > dropped })
		n.start(t)
		eventually(t, func() bool { return a.Up() && b.Up() })
		ringUntil(t, a, b, commit)
		ringUntil(t, b, a, commit)
	}
}

func openWithoutServer(t *testing.T, n busNetwork) {
	n.stop(t)
	a, b := n.join(t), n.join(t)
	require.False(t, a.Up())
	a.Ring(1)
	n.start(t)
	eventually(t, func() bool { return a.Up() && b.Up() })
	ringUntil(t, a, b, 2)
}

func closeDropsRings(t *testing.T, n busNetwork) {
	a, b := n.joinUp(t), n.joinUp(t)
	require.NoError(t, b.Close())
	require.NoError(t, b.Close())
	require.False(t, b.Up())
	sent := b.Stats().Sent
	b.Ring(1)
	require.Equal(t, sent, b.Stats().Sent)
	require.Positive(t, b.Stats().Dropped)
	ringUntil(t, n.joinUp(t), a, 2)
}

func statsCountWhatReaderMissed(t *testing.T, n busNetwork) {
	a, b := n.joinUp(t), n.joinUp(t)
	commit := int64(0)
	eventually(t, func() bool {
		commit++
		a.Ring(commit)
		return b.Stats().Dropped > 0
	})
	ringUntil(t, a, b, commit+1)
	require.GreaterOrEqual(t, b.Stats().Received, b.Stats().Dropped)
}
