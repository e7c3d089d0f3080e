package hubtest_test

import (
	"bytes"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkFlood posts events as fast as the server takes them: to the hub, which has each
// event on the disk before it answers, and to the reference server. With pages it reports the
// messages that they received. Run it with -benchtime 4s.
func BenchmarkFlood(b *testing.B) {
	for _, c := range []struct{ posters, pages int }{{16, 0}, {64, 0}, {16, 50}} {
		for _, role := range comparedServers() {
			b.Run(fmt.Sprintf("%s/posters=%d/pages=%d", role, c.posters, c.pages), func(b *testing.B) {
				flood(b, startServer(b, role), c.posters, c.pages)
			})
		}
	}
}

func flood(b *testing.B, s *serverProcess, posters, pages int) {
	b.Helper()
	const chunk = 500
	l := newLoad(b, s.addr, posters)
	l.run(b, chunk) // warm
	s.waitUntilIdle(b)
	var delivered atomic.Int64
	for range pages {
		watchStream(b, s.addr, "?v=2", func(message []byte) {
			delivered.Add(int64(bytes.Count(message, payloadMarker)))
		})
	}
	var posts []time.Duration
	use := startUsage(b, s)
	for b.Loop() {
		posts = append(posts, l.run(b, chunk)...)
	}
	posted := time.Since(use.began)
	want := int64(len(posts) * pages)
	waitUntilSteady(func() bool { return delivered.Load() >= want }, &delivered)
	cpu, took := use.report(b, len(posts), "event")
	slices.Sort(posts)
	b.ReportMetric(float64(len(posts))/posted.Seconds(), "events/s")
	reportLatency(b, "post", posts)
	if pages > 0 {
		got := delivered.Load()
		if s.role == "hub" {
			require.Equal(b, want, got)
		}
		b.ReportMetric(float64(got)/took.Seconds(), "deliveries/s")
		b.ReportMetric(float64(got)/max(cpu, clockTick).Seconds(), "deliveries/cpu-s")
	}
}

// waitUntilSteady waits until done, or until n did not change for five seconds.
func waitUntilSteady(done func() bool, n *atomic.Int64) {
	last, changed := n.Load(), time.Now()
	for !done() && time.Since(changed) < 5*time.Second {
		<-time.After(time.Millisecond)
		if now := n.Load(); now != last {
			last, changed = now, time.Now()
		}
	}
}
