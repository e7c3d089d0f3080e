package hubtest_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// loadGenerator is a set of raw connections that post the same event over and over. A Go
// HTTP client would use more CPU time than the server.
type loadGenerator struct {
	conns   []net.Conn
	readers []*bufio.Reader
	request []byte
}

// hookEvent is a 1.2 KB event as a coding agent's hook sends it. n goes into it.
func hookEvent(n int) string {
	return fmt.Sprintf(`{"source_app":"my-project","session_id":"3f2b8c1e-0d7a-4a53-9a77-1f0c5b7e9d21","hook_event_type":"PostToolUse",`+
		`"tool_name":"Bash","model_name":"a-model","timestamp":1760000000000,"summary":"Bash: go test ./...","payload":{"n":%d,"cwd":"/home/dev/my-project",`+
		`"tool_input":{"command":"go test ./...","description":"Run the tests"},"tool_response":{"stdout":%q,"stderr":"","interrupted":false}}}`,
		n, strings.Repeat("ok  \tgithub.com/example/my-project/internal/part\t0.412s\n", 12))
}

func newLoad(b *testing.B, addr string, conns int) *loadGenerator {
	b.Helper()
	body := hookEvent(1)
	l := &loadGenerator{request: fmt.Appendf(nil, "POST /events HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", addr, len(body), body)}
	for range conns {
		c, err := net.Dial("tcp", addr)
		require.NoError(b, err)
		b.Cleanup(func() { _ = c.Close() })
		l.conns = append(l.conns, c)
		l.readers = append(l.readers, bufio.NewReaderSize(c, 8<<10))
	}
	return l
}

// post sends request on connection i and discards the response.
func (l *loadGenerator) post(i int, request []byte) error {
	if _, err := l.conns[i].Write(request); err != nil {
		return err
	}
	length := -1
	for first := true; ; first = false {
		line, err := l.readers[i].ReadSlice('\n')
		if err != nil {
			return err
		}
		if first && !bytes.Contains(line, []byte(" 200 ")) {
			return fmt.Errorf("refused: %s", line)
		}
		if name, value, ok := bytes.Cut(line, []byte(":")); ok && bytes.EqualFold(name, []byte("Content-Length")) {
			length, _ = strconv.Atoi(string(bytes.TrimSpace(value)))
		}
		if len(line) == 2 {
			_, err = l.readers[i].Discard(length)
			return err
		}
	}
}

// run posts n events over all connections and returns how long each took, sorted.
func (l *loadGenerator) run(b *testing.B, n int) []time.Duration {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(n))
	took := make([][]time.Duration, len(l.conns))
	var wg sync.WaitGroup
	for i := range l.conns {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				start := time.Now()
				if err := l.post(i, l.request); err != nil {
					b.Error(err)
					return
				}
				took[i] = append(took[i], time.Since(start))
			}
		})
	}
	wg.Wait()
	all := slices.Concat(took...)
	slices.Sort(all)
	return all
}

func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[int(q*float64(len(sorted)-1))].Microseconds()) / 1000
}

// reportGated reports a figure and, with HOOKBACK_BENCH_GATES set, fails the benchmark
// if it is beyond its gate (design/performance.md). Gates are off by default because a busy
// machine would fail them.
func reportGated(b *testing.B, value float64, unit string, ok bool) {
	b.Helper()
	b.ReportMetric(value, unit)
	if !ok && os.Getenv("HOOKBACK_BENCH_GATES") != "" && b.N >= 1000 {
		b.Errorf("%.3f %s is beyond the gate", value, unit)
	}
}

// serverResult has the figures of one server in a benchmark that alternates between several.
type serverResult struct {
	server *serverProcess
	load   *loadGenerator
	wall   time.Duration
	cpu    time.Duration
	took   []time.Duration
}

func (f *serverResult) run(b *testing.B, n int) {
	b.Helper()
	cpu, start := f.server.cpu(b), time.Now()
	f.took = append(f.took, f.load.run(b, n)...)
	f.wall += time.Since(start)
	f.cpu += f.server.cpu(b) - cpu
}

// BenchmarkIngest posts to the hub, which has each event on the disk before it
// answers, and in turn to bare echo servers of the same body. Run it with
// -benchtime 40000x. fiber-x and nethttp-x are the hub's rate divided by that server's
// rate; cpu-x is the hub's CPU time divided by fiber's.
func BenchmarkIngest(b *testing.B) {
	for _, posters := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("posters=%d", posters), func(b *testing.B) {
			all := map[string]*serverResult{}
			for _, role := range []string{"fiber", "net/http", "hub"} {
				s := startServer(b, role)
				all[role] = &serverResult{server: s, load: newLoad(b, s.addr, posters)}
				all[role].load.run(b, 500) // warm
			}
			const chunk = 4000
			b.ResetTimer()
			for left := b.N; left > 0; left -= chunk {
				for _, f := range all {
					f.run(b, min(left, chunk))
				}
			}
			hub, fiber := all["hub"], all["fiber"]
			slices.Sort(hub.took)
			b.ReportMetric(float64(b.N)/hub.wall.Seconds(), "events/s")
			b.ReportMetric(float64(hub.cpu.Microseconds())/float64(b.N), "cpu-µs/event")
			// The gates are for 64 posters; fewer share a flush with fewer.
			rate, net := fiber.wall.Seconds()/hub.wall.Seconds(), all["net/http"].wall.Seconds()/hub.wall.Seconds()
			cpu := hub.cpu.Seconds() / max(fiber.cpu, clockTick).Seconds()
			reportGated(b, rate, "fiber-x", posters < 64 || rate >= 0.25)
			reportGated(b, net, "nethttp-x", posters < 64 || net >= 0.45)
			reportGated(b, cpu, "cpu-x", posters < 64 || cpu <= 4.5)
			b.ReportMetric(quantile(hub.took, .5), "p50-ms")
			b.ReportMetric(quantile(hub.took, .99), "p99-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

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
	times := quantile(posts, .5) / quantile(syncs, .5)
	reportGated(b, times, "fsync-x", times <= 2)
	b.ReportMetric(0, "ns/op")
}

// watchStream opens a raw /stream connection that calls seen with every message but the
// first.
func watchStream(b *testing.B, addr, query string, seen func(message []byte)) {
	b.Helper()
	c, err := net.Dial("tcp", addr)
	require.NoError(b, err)
	_, err = fmt.Fprintf(c, "GET /stream%s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", query, addr)
	require.NoError(b, err)
	r := bufio.NewReaderSize(c, 64<<10)
	for line := ""; line != "\r\n"; {
		line, err = r.ReadString('\n')
		require.NoError(b, err)
	}
	done := make(chan struct{})
	b.Cleanup(func() {
		_ = c.Close()
		<-done
	})
	opened := make(chan struct{})
	go func() {
		defer close(done)
		for first := true; ; first = false {
			message, err := readFrame(r)
			if message == nil && err == nil { // a ping, which an empty pong answers
				_, err = c.Write([]byte{0x8a, 0x80, 0, 0, 0, 0})
			}
			if first {
				close(opened)
			}
			if err != nil {
				return
			}
			if !first && message != nil {
				seen(message)
			}
		}
	}()
	<-opened
}

// readFrame reads one frame of a server; nil for one that is not text.
func readFrame(r *bufio.Reader) ([]byte, error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := int(head[1])
	switch n {
	case 126:
		var b [2]byte
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return nil, err
		}
		n = int(binary.BigEndian.Uint16(b[:]))
	case 127:
		var b [8]byte
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return nil, err
		}
		n = int(binary.BigEndian.Uint64(b[:]))
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	if head[0] != 0x81 {
		return nil, nil
	}
	return b, nil
}

var payloadMarker = []byte(`"payload":{"n":`)

// forEachMarker calls f with the number of every event in message.
func forEachMarker(message []byte, f func(n int)) {
	for {
		_, rest, ok := bytes.Cut(message, payloadMarker)
		if !ok {
			return
		}
		end := bytes.IndexByte(rest, ',')
		n, _ := strconv.Atoi(string(rest[:end]))
		f(n)
		message = rest[end:]
	}
}

// BenchmarkToDashboard is the time from the beginning of a POST until each of 10
// dashboards has the event, at 500 events a second.
func BenchmarkToDashboard(b *testing.B) {
	const dashboards, perSecond = 10, 500
	for _, version := range []string{"?v=1", "?v=2"} {
		b.Run(version[1:], func(b *testing.B) {
			s := startServer(b, "hub")
			sent := make([]time.Time, b.N+1)
			took := make([][]time.Duration, dashboards)
			var all sync.WaitGroup
			all.Add(dashboards * b.N)
			var mu sync.RWMutex // sent
			for d := range dashboards {
				took[d] = make([]time.Duration, 0, b.N)
				watchStream(b, s.addr, version, func(message []byte) {
					now := time.Now()
					forEachMarker(message, func(n int) {
						mu.RLock()
						took[d] = append(took[d], now.Sub(sent[n]))
						mu.RUnlock()
						all.Done()
					})
				})
			}
			const posters = 4
			l := newLoad(b, s.addr, posters)
			requests := make(chan int, b.N)
			var wg sync.WaitGroup
			for i := range posters {
				wg.Go(func() {
					for n := range requests {
						body := hookEvent(n)
						request := fmt.Appendf(nil, "POST /events HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", s.addr, len(body), body)
						mu.Lock()
						sent[n] = time.Now()
						mu.Unlock()
						if err := l.post(i, request); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			cpu := s.cpu(b)
			b.ResetTimer()
			pace := time.NewTicker(time.Second / perSecond)
			defer pace.Stop()
			for n := range b.N {
				<-pace.C
				requests <- n + 1
			}
			close(requests)
			wg.Wait()
			all.Wait()
			sorted := slices.Concat(took...)
			slices.Sort(sorted)
			p50, p99 := quantile(sorted, .5), quantile(sorted, .99)
			reportGated(b, p50, "p50-ms", p50 <= 1.5)
			reportGated(b, p99, "p99-ms", p99 <= 5)
			b.ReportMetric(float64((s.cpu(b)-cpu).Microseconds())/float64(b.N), "cpu-µs/event")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkFanOut measures deliveries of events to dashboards per CPU second of the server,
// including the cost of storing the events.
func BenchmarkFanOut(b *testing.B) {
	for _, c := range []struct {
		dashboards, perSecond, burst int
	}{{10, 1000, 1}, {100, 400, 1}, {1000, 40, 1}, {100, 400, 10}, {100, 0, 64}} {
		for _, version := range []string{"?v=1", "?v=2"} {
			name := fmt.Sprintf("dashboards=%d/rate=%d/burst=%d/%s", c.dashboards, c.perSecond, c.burst, version[1:])
			b.Run(name, func(b *testing.B) {
				s := startServer(b, "hub")
				l := newLoad(b, s.addr, c.burst)
				l.run(b, 10)
				var delivered atomic.Int64
				for range c.dashboards {
					watchStream(b, s.addr, version, func(message []byte) {
						delivered.Add(int64(bytes.Count(message, payloadMarker)))
					})
				}
				cpu := s.cpu(b)
				b.ResetTimer()
				if c.perSecond == 0 {
					l.run(b, b.N)
				} else {
					pace := time.NewTicker(time.Second * time.Duration(c.burst) / time.Duration(c.perSecond))
					for left := b.N; left > 0; left -= c.burst {
						<-pace.C
						l.run(b, min(left, c.burst))
					}
					pace.Stop()
				}
				want := int64(b.N * c.dashboards)
				deadline := time.Now().Add(30 * time.Second)
				for delivered.Load() < want && time.Now().Before(deadline) {
					<-time.After(time.Millisecond)
				}
				require.Equal(b, want, delivered.Load())
				used := max(s.cpu(b)-cpu, clockTick)
				b.ReportMetric(float64(want)/used.Seconds(), "deliveries/cpu-s")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
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
	mib := float64(most) / (1 << 20)
	reportGated(b, mib, "MiB", mib <= 32)
	b.ReportMetric(0, "ns/op")
}
