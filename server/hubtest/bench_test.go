package hubtest_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkOnePoster compares the latency of one poster with its lower bound: appending
// 4 KB to a file and flushing it to the disk.
func BenchmarkOnePoster(b *testing.B) {
	s := startServer(b, "hub")
	l := newLoad(b, s.addr, 1)
	f, err := os.Create(filepath.Join(b.TempDir(), "raw"))
	require.NoError(b, err)
	defer func() { _ = f.Close() }()
	page := make([]byte, 4096)
	l.run(b, 200)
	var posts, syncs []time.Duration
	b.ResetTimer()
	for range b.N {
		posts = append(posts, l.run(b, 1)...)
		start := time.Now()
		_, err := f.Write(page)
		require.NoError(b, err)
		require.NoError(b, f.Sync())
		syncs = append(syncs, time.Since(start))
	}
	slices.Sort(posts)
	slices.Sort(syncs)
	b.ReportMetric(quantile(posts, .5), "p50-ms")
	b.ReportMetric(quantile(syncs, .5), "fsync-p50-ms")
	b.ReportMetric(quantile(posts, .5)/quantile(syncs, .5), "fsync-x")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkStalled measures the memory that 20 dashboards cost that stop reading while
// events arrive. Run it with -benchtime 30000x.
func BenchmarkStalled(b *testing.B) {
	s := startServer(b, "hub")
	l := newLoad(b, s.addr, 16)
	l.run(b, 3000)
	before := s.memory(b)
	for range 20 {
		c, err := net.Dial("tcp", s.addr)
		require.NoError(b, err)
		defer func() { _ = c.Close() }()
		_, err = fmt.Fprintf(c, "GET /stream HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", s.addr)
		require.NoError(b, err)
	}
	b.ResetTimer()
	most := int64(0)
	for left := b.N; left > 0; left -= 500 {
		l.run(b, min(left, 500))
		most = max(most, s.memory(b)-before)
	}
	b.ReportMetric(float64(most)/(1<<20), "MiB")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkStart measures the time and CPU time from starting the program until it listens, and its
// resident memory then.
func BenchmarkStart(b *testing.B) {
	var took []time.Duration
	var memory int64
	var cpu time.Duration
	for b.Loop() {
		began := time.Now()
		hub := startServer(b, "hub")
		took = append(took, time.Since(began))
		cpu += hub.cpu(b)
		memory = hub.memory(b)
		hub.stop()
	}
	slices.Sort(took)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(quantile(took, 0.5), "listening-p50-ms")
	b.ReportMetric(float64(cpu.Milliseconds())/float64(len(took)), "cpu-ms")
	b.ReportMetric(float64(memory)/(1<<20), "MiB")
}
