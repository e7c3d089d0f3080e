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
)

// BenchmarkStreamMemory measures heap and stacks per open stream. It includes the client's
// end of the connection, about 0.5 KiB.
func BenchmarkStreamMemory(b *testing.B) {
	r := setup(b)
	const pages = 1000
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
