//go:build unix

package sqlite

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

var benchEvents = flag.Int("events", 100_000, "events in the database of BenchmarkRead; 1000000 for the goals")

// busyEvent returns an event like those of a busy hub: 20 apps, 40 changing sessions at a
// time, 12 types, 15 tools, and a payload of 1.1 KB.
func busyEvent(i int) *store.EventDraft {
	tool := fmt.Sprint("tool", rand.IntN(15))
	d := conformance.NewDraft(fmt.Sprint("app", rand.IntN(20)), fmt.Sprintf("0198f2c4-aaaa-7bbb-8ccc-%012d", i/2000*5+rand.IntN(40)), fmt.Sprint("type", rand.IntN(12)), tool)
	d.Envelope = fmt.Appendf(d.Envelope, `,"tool_name":%q,"model_name":"opus"`, tool)
	d.Payload = []byte(busyPayload)
	return d
}

var busyPayload = `{"hook_event_name":"PreToolUse","tool_input":{"command":"` + strings.Repeat("go test ./... ", 73) + `"}}`

// BenchmarkAppend writes with many producers, alternating with and without fsync.
// full/normal is the throughput with fsync relative to that without.
func BenchmarkAppend(b *testing.B) {
	for _, producers := range []int{1, 16, 64} {
		b.Run(fmt.Sprint("producers=", producers), func(b *testing.B) {
			commits := 0
			full, normal := newBenchStore(b, "FULL", func(c *Config) {
				c.Commits = commitFunc(func(store.Commit) { commits++ })
			}), newBenchStore(b, "NORMAL")
			var took [2]time.Duration
			var cpu [2]time.Duration
			const turn = 2000
			n := 0
			for b.Loop() {
				for i, s := range []*testStore{full, normal} {
					start, used := time.Now(), cpuTime()
					appendConcurrently(b, s, producers, turn)
					took[i] += time.Since(start)
					cpu[i] += cpuTime() - used
				}
				n += turn
			}
			b.ReportMetric(float64(n)/took[0].Seconds(), "events/s")
			b.ReportMetric(float64(cpu[0].Microseconds())/float64(n), "cpu-µs/event")
			b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "full/normal")
			b.ReportMetric(float64(fileSize(full.file))/float64(n)/float64(len(busyPayload)+170), "bytes/json")
			require.NoError(b, full.Close())
			b.ReportMetric(float64(n)/float64(commits), "events/commit")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// newBenchStore returns a store that keeps no published rows.
func newBenchStore(b *testing.B, synchronous string, change ...func(*Config)) *testStore {
	s := newTestStore(b, append(change, func(c *Config) { c.Synchronous = synchronous })...)
	s.SetPublish(nil)
	return s
}

func appendConcurrently(b *testing.B, s *testStore, producers, n int) {
	b.Helper()
	var wg sync.WaitGroup
	var failed atomic.Int64
	for p := range producers {
		wg.Go(func() {
			for i := p; i < n; i += producers {
				if _, err := s.Append(context.Background(), busyEvent(int(s.Head()))); err != nil {
					failed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	require.Zero(b, failed.Load())
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRead runs the dashboard's queries on a database of -events events.
func BenchmarkRead(b *testing.B) {
	s := newBenchStore(b, "NORMAL")
	n := *benchEvents
	s.AppendMany(b, n, func(i int) *store.EventDraft {
		switch {
		case i == n/50:
			d := busyEvent(i)
			d.App = "rare app"
			return d
		case i%1000 == 0:
			d := busyEvent(i)
			q := conformance.NewQuestionDraft(d.Session, time.Time{})
			q.App = d.App
			return q
		default:
			d := busyEvent(i)
			if d.App == "app0" && d.Tool == "tool0" {
				d.Tool = "tool1" // both are common but never occur together
			}
			d.ReceivedAt = conformance.ClockStart.Add(time.Duration(i) * time.Second)
			return d
		}
	})
	last := s.newestEvent(b)
	for name, f := range map[string]store.Filter{
		"newest":               {Limit: 100},
		"app":                  {App: "app3", Limit: 100},
		"session":              {Session: last.Session, Limit: 100},
		"session,type":         {Session: last.Session, Type: last.Type, Limit: 100},
		"app,type,tool":        {App: "app3", Type: "type3", Tool: "tool3", Limit: 100},
		"rare app":             {App: "rare app", Limit: 100},
		"rare app,common type": {App: "rare app", Type: "type3", Limit: 100},
		"absent app":           {App: "nobody", Limit: 100},
		"never together":       {App: "app0", Tool: "tool0", Limit: 100},
		"pending":              {Status: "pending", Limit: 100},
		"pending,app":          {Status: "pending", App: "app3", Limit: 100},
		"time":                 {From: conformance.ClockStart.Add(time.Duration(n/3) * time.Second), To: conformance.ClockStart.Add(time.Duration(n/3+500) * time.Second), Limit: 100},
		"before":               {Before: schema.EventID(n / 2), App: "app3", Limit: 100},
		"text, found":          {Text: "go test", Limit: 100},
		"text, absent":         {Text: "no such text", Limit: 100},
	} {
		b.Run("Find/"+name, func(b *testing.B) {
			reportCPUTime(b, func() error { _, err := s.Find(context.Background(), f); return err })
		})
	}
	for name, read := range map[string]func() error{
		"Recent300":     func() error { _, err := s.Find(context.Background(), store.Filter{Limit: 300}); return err },
		"FilterOptions": func() error { _, err := s.FilterOptions(context.Background()); return err },
		"Pending":       func() error { _, err := s.Pending(context.Background()); return err },
		"After512":      func() error { _, err := s.After(context.Background(), s.Head()-512, 512); return err },
		"Question":      func() error { _, err := s.Question(context.Background(), 1); return err },
		"Stats":         func() error { _, err := s.Stats(context.Background()); return err },
	} {
		b.Run(name, func(b *testing.B) { reportCPUTime(b, read) })
	}
}

func (b *testStore) newestEvent(t testing.TB) *store.Event {
	t.Helper()
	events, err := b.Find(context.Background(), store.Filter{Limit: 1})
	require.NoError(t, err)
	return events[0]
}

// BenchmarkOpen opens a database of -events events, and creates a new one.
func BenchmarkOpen(b *testing.B) {
	s := newBenchStore(b, "NORMAL")
	s.AppendMany(b, *benchEvents, busyEvent)
	require.NoError(b, s.Close())
	for name, path := range map[string]func() string{
		"existing": func() string { return s.file },
		"new":      func() string { return b.TempDir() + "/new.db" },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				opened, err := Open(b.Context(), Config{Path: path()})
				require.NoError(b, err)
				b.StopTimer()
				require.NoError(b, opened.Close())
				b.StartTimer()
			}
		})
	}
}

// BenchmarkPrune removes the oldest events, a thousand at a time.
func BenchmarkPrune(b *testing.B) {
	s := newBenchStore(b, "FULL")
	n := *benchEvents
	s.AppendMany(b, n, func(i int) *store.EventDraft {
		d := busyEvent(i)
		d.ReceivedAt = conformance.ClockStart.Add(time.Duration(i) * time.Second)
		return d
	})
	removed, used := int64(0), cpuTime()
	for i := 1; b.Loop(); i++ {
		done, err := s.Prune(b.Context(), store.RetentionPolicy{EventsBefore: conformance.ClockStart.Add(time.Duration(i) * 1000 * time.Second)})
		require.NoError(b, err)
		removed += done.Events
	}
	b.ReportMetric(float64((cpuTime()-used).Microseconds())/float64(max(removed, 1)), "cpu-µs/event")
}

// BenchmarkAppendDuringPrune writes 200 events a second, with and without concurrent pruning, in turns.
// prune/alone are the ratios of the latencies, longest-commit-ms is the longest group commit of any kind.
func BenchmarkAppendDuringPrune(b *testing.B) {
	var longest time.Duration
	s := newBenchStore(b, "FULL", func(c *Config) {
		c.Commits = commitFunc(func(c store.Commit) { longest = max(longest, c.Duration) })
	})
	go func() { _ = s.RunIndexer(b.Context()) }()
	n := *benchEvents
	s.AppendMany(b, n, func(i int) *store.EventDraft {
		d := busyEvent(i)
		d.ReceivedAt = conformance.ClockStart.Add(time.Duration(i) * time.Second)
		return d
	})
	const turn = 200
	longest = 0
	pace := time.NewTicker(time.Second / turn)
	defer pace.Stop()
	var took [2][]time.Duration
	write := func(kind int) {
		for range turn {
			<-pace.C
			start := time.Now()
			s.MustAppend(b, busyEvent(n))
			took[kind] = append(took[kind], time.Since(start))
		}
	}
	var removed int64
	for i := 1; b.Loop(); i++ {
		write(0)
		ctx, stop := context.WithCancel(b.Context())
		pruned := make(chan int64)
		go func() {
			result, _ := s.Prune(ctx, store.RetentionPolicy{EventsBefore: conformance.ClockStart.Add(time.Duration(n) * time.Second)})
			pruned <- result.Events
		}()
		write(1)
		stop()
		removed += <-pruned
	}
	for i := range took {
		slices.Sort(took[i])
	}
	at := func(kind int, q float64) float64 {
		return float64(took[kind][int(q*float64(len(took[kind])-1))].Microseconds()) / 1e3
	}
	b.ReportMetric(at(0, .5), "alone-p50-ms")
	b.ReportMetric(at(0, .99), "alone-p99-ms")
	b.ReportMetric(at(1, .5)/at(0, .5), "p50-x")
	b.ReportMetric(at(1, .99)/at(0, .99), "p99-x")
	b.ReportMetric(float64(longest.Microseconds())/1e3, "longest-commit-ms")
	b.ReportMetric(float64(removed)/float64(b.N), "pruned/s")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkBackup copies a database of -events events while 50 events a second are written. wal-MiB is the
// size of the write-ahead log afterwards, and wal-before-MiB before.
func BenchmarkBackup(b *testing.B) {
	s := newBenchStore(b, "FULL")
	s.AppendMany(b, *benchEvents, busyEvent)
	pace := time.NewTicker(time.Second / 50)
	defer pace.Stop()
	var took [2][]time.Duration
	write := func(kind int) {
		<-pace.C
		start := time.Now()
		s.MustAppend(b, busyEvent(0))
		took[kind] = append(took[kind], time.Since(start))
	}
	before := fileSize(s.file + "-wal")
	n := 0
	for b.Loop() {
		for range 50 {
			write(0)
		}
		copied := make(chan error)
		go func() { copied <- Backup(b.Context(), s.file, fmt.Sprintf("%s/copy%d", b.TempDir(), n)) }()
		n++
		for done := false; !done; {
			write(1)
			select {
			case err := <-copied:
				require.NoError(b, err)
				done = true
			default:
			}
		}
	}
	slices.Sort(took[0])
	slices.Sort(took[1])
	b.ReportMetric(float64(took[1][len(took[1])/2])/float64(took[0][len(took[0])/2]), "p50-x")
	b.ReportMetric(float64(len(took[1]))/50/float64(n), "backup-s")
	b.ReportMetric(float64(before)/(1<<20), "wal-before-MiB")
	b.ReportMetric(float64(fileSize(s.file+"-wal"))/(1<<20), "wal-MiB")
	b.ReportMetric(float64(fileSize(s.file))/(1<<20), "database-MiB")
	b.ReportMetric(0, "ns/op")
}

// reportCPUTime also reports processor time, which other processes disturb less.
func reportCPUTime(b *testing.B, read func() error) {
	b.Helper()
	used, n := cpuTime(), 0
	for b.Loop() {
		require.NoError(b, read())
		n++
	}
	b.ReportMetric(float64((cpuTime()-used).Microseconds())/1e3/float64(n), "cpu-ms/op")
}
