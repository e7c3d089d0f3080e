package httpapi

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
)

// BenchmarkStreamMemory measures heap and stacks per open stream. It includes the client's
// end of the connection, about 0.5 KiB.
func BenchmarkStreamMemory(b *testing.B) {
	const pages = 1000
	r := setup(b, func(c *Config) { c.Places.Streams = middleware.PlaceLimit{Total: pages, PerOwner: pages} })
	var kib float64
	for b.Loop() {
		before := inUse()
		conns := make([]net.Conn, pages)
		for i := range conns {
			c, err := net.Dial("tcp", r.addr)
			require.NoError(b, err)
			conns[i] = c
			_, err = fmt.Fprintf(c, "GET /stream?v=2 HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nUser-Agent: Mozilla/5.0\r\n%s\r\n\r\n",
				r.addr, r.addr, strings.Join(upgradeHeaders, "\r\n"))
			require.NoError(b, err)
			_, err = io.ReadFull(c, make([]byte, 200)) // the 101 and the start of the hello message
			require.NoError(b, err)
		}
		r.post(event(1)) // makes every stream write once more
		require.Eventually(b, func() bool { return strings.Contains(r.metrics(), "hookback_streams 1000\n") }, waitLimit, time.Millisecond)
		kib = float64(inUse()-before) / 1024 / pages
		for _, c := range conns {
			_ = c.Close()
		}
		require.Eventually(b, func() bool { return strings.Contains(r.metrics(), "hookback_streams 0\n") }, waitLimit, time.Millisecond)
	}
	b.ReportMetric(kib, "KiB/page")
	if kib > 32 {
		b.Errorf("%.1f KiB a page is beyond the gate of 32", kib)
	}
}

// BenchmarkPullMemory measures heap and stacks per agent that waits for its answer with a long
// poll. It includes the client's end of the connection.
func BenchmarkPullMemory(b *testing.B) {
	const pulls = 2000
	r := setup(b, func(c *Config) { c.Places.Waiting = middleware.PlaceLimit{Total: 2 * pulls, PerOwner: 2 * pulls} })
	id := r.post(event(1, `"humanInTheLoop":{"question":"May I?","type":"permission","timeout":0}`)).ID
	request := fmt.Sprintf("GET %s?wait=60 HTTP/1.1\r\nHost: %s\r\nUser-Agent: agent/1.0\r\nAccept: application/json\r\n\r\n", schema.At(schema.PathResponse, id), r.addr)
	var kib float64
	for b.Loop() {
		before := inUse()
		conns := make([]net.Conn, pulls)
		for i := range conns {
			c, err := net.Dial("tcp", r.addr)
			require.NoError(b, err)
			conns[i] = c
			_, err = io.WriteString(c, request)
			require.NoError(b, err)
		}
		require.Eventually(b, func() bool { return r.places.InUse(middleware.WaitingPlace) == pulls }, waitLimit, 10*time.Millisecond)
		kib = float64(inUse()-before) / 1024 / pulls
		for _, c := range conns {
			_ = c.Close()
		}
		require.Eventually(b, func() bool { return r.conns.Count() <= 2 }, waitLimit, 10*time.Millisecond)
	}
	b.ReportMetric(kib, "KiB/pull")
}

func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// BenchmarkOriginGuard measures the checks that every request passes.
func BenchmarkOriginGuard(b *testing.B) {
	r := setup(b)
	c, err := net.Dial("tcp", r.addr)
	require.NoError(b, err)
	b.Cleanup(func() { _ = c.Close() })
	request := fmt.Appendf(nil, "GET /healthz HTTP/1.1\r\nHost: %s\r\n\r\n", r.addr)
	answer := make([]byte, 4096)
	b.ReportAllocs()
	for b.Loop() {
		_, err := c.Write(request)
		require.NoError(b, err)
		_, err = c.Read(answer)
		require.NoError(b, err)
	}
}
