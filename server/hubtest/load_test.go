package hubtest_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
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
	l := &loadGenerator{request: eventRequest(addr, 1)}
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

// eventRequest is the POST of hookEvent(n).
func eventRequest(addr string, n int) []byte {
	body := hookEvent(n)
	return fmt.Appendf(nil, "POST /events HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", addr, len(body), body)
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

// usage measures the resources that a server uses after startUsage.
type usage struct {
	server *serverProcess
	began  time.Time
	cpu    time.Duration
	stored storageUse
}

func startUsage(b *testing.B, s *serverProcess) *usage {
	b.Helper()
	stored, err := s.counts()
	require.NoError(b, err)
	return &usage{server: s, began: time.Now(), cpu: s.cpu(b), stored: stored}
}

// report reports the CPU time of the server for each of n units of work, and for a hub the
// fsyncs and pages of the write-ahead log. It returns the CPU time and the duration.
func (u *usage) report(b *testing.B, n int, unit string) (cpu, took time.Duration) {
	b.Helper()
	took, cpu = time.Since(u.began), u.server.cpu(b)-u.cpu
	stored, err := u.server.counts()
	require.NoError(b, err)
	per := func(value float64, name string) { b.ReportMetric(value/float64(n), name+"/"+unit) }
	per(float64(cpu.Microseconds()), "cpu-µs")
	if u.server.role == "hub" {
		per(float64(stored.syncs-u.stored.syncs), "fsyncs")
		per(float64(stored.pages-u.stored.pages), "wal-pages")
		per(float64(stored.statements-u.stored.statements), "statements")
		per(float64(stored.rows-u.stored.rows), "rows")
	}
	b.ReportMetric(0, "ns/op")
	return cpu, took
}

// reportLatency reports the median and the 99th percentile as name-p50-ms and name-p99-ms.
func reportLatency(b *testing.B, name string, took []time.Duration) {
	b.Helper()
	if len(took) == 0 {
		return
	}
	slices.Sort(took)
	b.ReportMetric(quantile(took, .5), name+"-p50-ms")
	b.ReportMetric(quantile(took, .99), name+"-p99-ms")
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
