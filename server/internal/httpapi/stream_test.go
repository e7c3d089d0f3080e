package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/query"
)

// streamClient is a client of /stream.
type streamClient struct {
	t          testing.TB
	ws         *websocket.Conn
	buffered   []schema.Frame // the rest of a joined message
	heartbeats int
}

func dial(r *harness, path string) *streamClient {
	r.t.Helper()
	ws, resp, err := websocket.Dial(r.t.Context(), "ws://"+r.addr+path, nil)
	require.NoError(r.t, err)
	require.Empty(r.t, resp.Header.Get("Sec-WebSocket-Extensions"), "compression costs memory and allows decompression bombs")
	ws.SetReadLimit(16 << 20)
	r.t.Cleanup(func() { _ = ws.CloseNow() })
	return &streamClient{t: r.t, ws: ws}
}

// read returns the next frame. It splits joined messages.
func (s *streamClient) read() (schema.Frame, error) {
	if len(s.buffered) == 0 {
		ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
		defer cancel()
		_, b, err := s.ws.Read(ctx)
		if err != nil {
			return schema.Frame{}, err
		}
		if b[0] == '[' {
			err = json.Unmarshal(b, &s.buffered)
		} else {
			s.buffered = make([]schema.Frame, 1)
			err = json.Unmarshal(b, &s.buffered[0])
		}
		if err != nil {
			return schema.Frame{}, fmt.Errorf("%w: %s", err, b)
		}
	}
	f := s.buffered[0]
	s.buffered = s.buffered[1:]
	if f.Type == schema.HeartbeatFrame {
		s.heartbeats++
		return s.read()
	}
	return f, nil
}

func (s *streamClient) next() schema.Frame {
	s.t.Helper()
	f, err := s.read()
	require.NoError(s.t, err)
	return f
}

func (s *streamClient) event() schema.Event {
	s.t.Helper()
	f := s.next()
	require.Equal(s.t, schema.EventFrame, f.Type)
	var e schema.Event
	require.NoError(s.t, json.Unmarshal(f.Data, &e))
	return e
}

func (s *streamClient) hello() schema.Hello {
	s.t.Helper()
	f := s.next()
	require.Equal(s.t, schema.HelloFrame, f.Type)
	var h schema.Hello
	require.NoError(s.t, json.Unmarshal(f.Data, &h))
	return h
}

// closed reads until the server closes the stream and returns the close code.
func (s *streamClient) closed() websocket.StatusCode {
	s.t.Helper()
	for {
		if _, err := s.read(); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

func (r *harness) respond(id schema.EventID) {
	r.t.Helper()
	resp, b := r.do("POST", schema.At(schema.PathRespond, id), `{"permission":true}`, "Content-Type", "application/json")
	require.Equal(r.t, 200, resp.StatusCode, string(b))
}

// TestStream_Version1Protocol expects an initial message with all pending questions, then
// exactly two frames per question: when it is created and when it is settled.
func TestStream_Version1Protocol(t *testing.T) {
	t.Parallel()
	r := setup(t)
	old := r.post(event(1, permission))
	for n := range 320 {
		r.post(event(n + 2))
	}
	s := dial(r, "/stream")
	first := s.next()
	require.Equal(t, schema.Initial, first.Type)
	var events []schema.Event
	require.NoError(t, json.Unmarshal(first.Data, &events))
	require.Len(t, events, schema.RecentLimit)
	require.Equal(t, old.ID, events[0].ID, "old pending questions are included")
	require.Equal(t, schema.EventID(321), events[299].ID)

	question := r.post(event(400, permission))
	created := s.event()
	require.Equal(t, question.ID, created.ID)
	require.Equal(t, schema.Pending, created.HumanInTheLoopStatus.Status)
	r.respond(question.ID)
	ended := s.event()
	require.Equal(t, question.ID, ended.ID)
	require.Equal(t, created.Timestamp, ended.Timestamp)
	require.Equal(t, schema.Responded, ended.HumanInTheLoopStatus.Status)
	require.JSONEq(t, `{"n":400}`, string(ended.Payload))
	last := r.post(event(401))
	require.Equal(t, last.ID, s.event().ID, "no frames in between")
}

func TestStream_Version2Protocol(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.post(event(1))
	s := dial(r, "/stream?v=2")
	hello := s.hello()
	require.Equal(t, int64(1), hello.Seq)
	require.Equal(t, r.store.HubID(), hello.HubID)
	require.Equal(t, "test", hello.Version)

	question := r.post(event(2, permission))
	f := s.next()
	require.Equal(t, schema.EventFrame, f.Type)
	require.Equal(t, int64(2), f.Seq)
	r.respond(question.ID)
	f = s.next()
	require.Equal(t, schema.StatusFrame, f.Type)
	require.Equal(t, int64(3), f.Seq)
	var change schema.StatusChange
	require.NoError(t, json.Unmarshal(f.Data, &change))
	require.Equal(t, question.ID, change.ID)
	require.Equal(t, schema.Responded, change.HumanInTheLoopStatus.Status)

	// A client that reconnects misses nothing and receives nothing twice.
	back := dial(r, "/stream?v=2&after=1&hub="+hello.HubID)
	back.hello()
	require.Equal(t, int64(2), back.next().Seq)
	require.Equal(t, int64(3), back.next().Seq)
	r.post(event(3))
	require.Equal(t, int64(4), back.next().Seq)
}

func TestStream_UnknownCursorResyncs(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.post(event(1))
	for _, query := range []string{"after=1&hub=another", "after=99&hub=" + r.store.HubID(), "after=99", "after=1&epoch=another"} {
		s := dial(r, "/stream?v=2&"+query)
		s.hello()
		f := s.next()
		require.Equal(t, schema.Resync, f.Type, query)
		var h schema.Hello
		require.NoError(t, json.Unmarshal(f.Data, &h))
		e := r.post(event(2))
		require.Equal(t, int64(e.ID), s.next().Seq, "continues from the present")
		require.Equal(t, int64(e.ID)-1, h.Seq)
	}
	for _, query := range []string{"v=3", "v=2&after=-1", "v=2&after=x"} {
		resp, body := r.raw("GET /stream?" + query + " HTTP/1.1\r\nHost: " + r.addr + "\r\n" + strings.Join(upgradeHeaders, "\r\n") + "\r\n\r\n")
		require.Equal(t, 400, resp.StatusCode)
		require.NotEmpty(t, r.problem(resp, body).Field)
	}
	resp, body := r.do("GET", "/stream", "")
	require.Equal(t, 426, resp.StatusCode)
	r.problem(resp, body)
}

// TestStream_ResumesUnderLoad: clients that disconnect and resume while events arrive
// receive each event once, in order, and no frames of other clients.
func TestStream_ResumesUnderLoad(t *testing.T) {
	t.Parallel()
	r := setup(t)
	const events, posters, pages = 2000, 4, 10
	var wg sync.WaitGroup
	for p := range posters {
		wg.Go(func() {
			for n := range events / posters {
				resp, err := r.client.Post("http://"+r.addr+"/events", "application/json", strings.NewReader(event(p*events+n)))
				if err != nil || resp.StatusCode != 200 {
					t.Errorf("post: %v", err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		})
	}
	for p := range pages {
		wg.Go(func() {
			cursor := int64(0)
			for cursor < events {
				ws, _, err := websocket.Dial(t.Context(), fmt.Sprintf("ws://%s/stream?v=2&after=%d&hub=%s", r.addr, cursor, r.store.HubID()), nil)
				if err != nil {
					t.Error(err)
					return
				}
				ws.SetReadLimit(16 << 20)
				s := &streamClient{t: t, ws: ws}
				for frames := 0; cursor < events && frames < 50+13*p; frames++ {
					f, err := s.read()
					if err != nil || f.Type == schema.HelloFrame {
						if err != nil {
							t.Errorf("page %d at %d: %v", p, cursor, err)
							return
						}
						continue
					}
					cursor++
					if f.Seq != cursor || f.Type != schema.EventFrame {
						t.Errorf("client %d: want event %d, got %s %d", p, cursor, f.Type, f.Seq)
						return
					}
				}
				_ = ws.CloseNow()
			}
		})
	}
	wg.Wait()
}

// dialSlowReaders opens streams that never read.
func dialSlowReaders(r *harness, n int) {
	r.t.Helper()
	for range n {
		c, err := net.Dial("tcp", r.addr)
		require.NoError(r.t, err)
		r.t.Cleanup(func() { _ = c.Close() })
		require.NoError(r.t, c.(*net.TCPConn).SetReadBuffer(4<<10))
		_, err = io.WriteString(c, "GET /stream?v=2 HTTP/1.1\r\nHost: "+r.addr+"\r\n"+strings.Join(upgradeHeaders, "\r\n")+"\r\n\r\n")
		require.NoError(r.t, err)
	}
	open := fmt.Sprintf("hookback_streams %d\n", n)
	require.Eventually(r.t, func() bool { return strings.Contains(r.metrics(), open) }, waitLimit, time.Millisecond)
}

// postLarge posts more than the socket buffers of a stream hold. It checks that the client
// receives each event before the next one is posted.
func (s *streamClient) postLarge(r *harness) {
	s.t.Helper()
	large := event(1, `"summary":"`+strings.Repeat("z", 60<<10)+`"`)
	for range 200 {
		e := r.post(large)
		require.Equal(s.t, int64(e.ID), s.next().Seq)
	}
}

// TestStream_SlowReaderDelaysNoOne: a client receives all events although the writes to
// other clients are blocked and do not time out.
func TestStream_SlowReaderDelaysNoOne(t *testing.T) {
	t.Parallel()
	r := setup(t, func(c *Config) { c.StreamWriteTimeout = time.Hour })
	dialSlowReaders(r, 5)
	good := dialV2(r)
	good.postLarge(r)
	metrics := r.metrics()
	require.Contains(t, metrics, "hookback_streams_cut_total 0\n")
	require.Contains(t, metrics, "hookback_streams 6\n", "the slow readers are still connected")
}

// TestStream_DisconnectsSlowReaders: clients that do not read are disconnected after the
// write timeout. Before and after that, other clients receive their events.
func TestStream_DisconnectsSlowReaders(t *testing.T) {
	t.Parallel()
	r := setup(t, func(c *Config) { c.StreamWriteTimeout = 1500 * time.Millisecond })
	dialSlowReaders(r, 5)
	good := dialV2(r)
	good.postLarge(r)
	require.Eventually(t, func() bool {
		metrics := r.metrics()
		return strings.Contains(metrics, "hookback_streams_cut_total 5\n") && strings.Contains(metrics, "hookback_streams 1\n")
	}, waitLimit, 10*time.Millisecond)
	last := r.post(event(2))
	require.Equal(t, int64(last.ID), good.next().Seq)
}

// dialSmall opens a stream whose client has a limited receive buffer. A very small one would make
// the kernel wait between segments.
func dialSmall(r *harness, path string) *streamClient {
	r.t.Helper()
	dialer := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			err = c.(*net.TCPConn).SetReadBuffer(256 << 10)
		}
		return c, err
	}}}
	ws, _, err := websocket.Dial(r.t.Context(), "ws://"+r.addr+path, &websocket.DialOptions{HTTPClient: dialer})
	require.NoError(r.t, err)
	ws.SetReadLimit(16 << 20)
	r.t.Cleanup(func() { _ = ws.CloseNow() })
	return &streamClient{t: r.t, ws: ws}
}

// TestStream_SlowReaderLosesNothing: a client that does not read for a while receives every
// event once and in order, and after that new events again. Connections that the server
// cannot write to without blocking, such as TLS, behave the same.
func TestStream_SlowReaderLosesNothing(t *testing.T) {
	t.Parallel()
	for name, wrapped := range map[string]bool{"TCP": false, "wrapped connection": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t, func(c *Config) { c.StreamWriteTimeout = time.Hour })
			r.wrapped.Store(wrapped)
			slow := []*streamClient{dialSmall(r, "/stream"), dialSmall(r, "/stream?v=2")}
			for _, s := range slow {
				s.next() // the opening message
			}
			large := event(1, `"summary":"`+strings.Repeat("z", 60<<10)+`"`)
			const events = 100 // more than the socket buffers hold
			for range events {
				r.post(large)
			}
			for _, s := range slow {
				for id := range schema.EventID(events) {
					require.Contains(t, string(s.next().Data[:20]), fmt.Sprintf(`{"id":%d,`, id+1))
				}
			}
			last := r.post(event(2))
			for _, s := range slow {
				require.Equal(t, last.ID, s.event().ID)
			}
		})
	}
}

func (r *harness) metrics() string {
	resp, b := r.do("GET", "/metrics", "")
	require.Equal(r.t, 200, resp.StatusCode)
	return string(b)
}

func TestStream_ShutdownSendsCloseFrame(t *testing.T) {
	t.Parallel()
	r := setup(t)
	v1, v2 := dial(r, "/stream"), dial(r, "/stream?v=2")
	v1.next()
	v2.hello()
	silent, err := net.Dial("tcp", r.addr) // like a connection that a browser opens in advance
	require.NoError(t, err)
	defer func() { _ = silent.Close() }()
	stopped := make(chan struct{})
	go func() { r.shutdown(); close(stopped) }()
	require.Equal(t, websocket.StatusServiceRestart, v1.closed())
	require.Equal(t, websocket.StatusServiceRestart, v2.closed())
	<-stopped
	require.NotContains(t, r.log.String(), forcedClose)
}

// TestStream_LimitsClientMessageSize: without a limit the server would buffer up to 64 MiB.
func TestStream_LimitsClientMessageSize(t *testing.T) {
	t.Parallel()
	r := setup(t)
	s := dial(r, "/stream?v=2")
	s.hello()
	require.NoError(t, s.ws.Write(t.Context(), websocket.MessageText, []byte("hello?")))
	r.post(event(1))
	require.Equal(t, int64(1), s.next().Seq, "unknown messages are ignored")
	err := s.ws.Write(t.Context(), websocket.MessageText, make([]byte, 1<<20))
	if err == nil {
		require.Equal(t, websocket.StatusMessageTooBig, s.closed())
	}
}

func TestStream_InterleavesPongsAndData(t *testing.T) {
	t.Parallel()
	r := setup(t)
	s := dial(r, "/stream?v=2")
	s.hello()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	const events = 500
	var wg sync.WaitGroup
	wg.Go(func() {
		for range events {
			if err := s.ws.Ping(ctx); err != nil {
				t.Errorf("ping: %v", err)
				return
			}
		}
	})
	wg.Go(func() {
		for n := range events {
			r.post(event(n))
		}
	})
	for n := range int64(events) {
		require.Equal(t, n+1, s.next().Seq)
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for {
		select {
		case <-done:
			return
		default:
			r.post(event(0))
			s.next()
		}
	}
}

// TestStream_ClosesSilentPeer: the server sends pings and disconnects a peer that does not
// answer them.
func TestStream_ClosesSilentPeer(t *testing.T) {
	t.Parallel()
	r := setup(t, func(c *Config) {
		c.PingInterval, c.StreamWriteTimeout = 200*time.Millisecond, 4*time.Second
	})
	alive := dial(r, "/stream?v=2")
	alive.hello()
	got := make(chan error, 1)
	go func() { _, err := alive.read(); got <- err }() // answers pings
	c, err := net.Dial("tcp", r.addr)
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	_, err = io.WriteString(c, "GET /stream?v=2 HTTP/1.1\r\nHost: "+r.addr+"\r\n"+strings.Join(upgradeHeaders, "\r\n")+"\r\n\r\n")
	require.NoError(t, err)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(waitLimit)))
	received, err := io.ReadAll(c)
	require.NoError(t, err, "the server closes the connection")
	require.Contains(t, string(received), "\x89\x00", "after pings")
	require.Contains(t, string(received), `{"type":"heartbeat","data":{"serverTime":`, "which scripts do not see")
	r.post(event(1))
	require.NoError(t, <-got, "a peer that answers pings stays connected")
	require.Positive(t, alive.heartbeats)
}

func TestStream_PanicEndsOnlyItsStream(t *testing.T) {
	t.Parallel()
	r := setup(t, func(c *Config) { c.Query = &query.Service{} })
	for _, path := range []string{"/stream", "/stream?v=2"} {
		require.Equal(t, websocket.StatusInternalError, dial(r, path).closed())
	}
	require.Contains(t, r.log.String(), "panicked")
	resp, _ := r.do("GET", "/healthz", "")
	require.Equal(t, 200, resp.StatusCode)
}

// TestStream_NeverCrossesConnections opens and drops many streams at once. Each must
// receive only its own frames, although the WebSocket library reuses its connections.
func TestStream_NeverCrossesConnections(t *testing.T) {
	t.Parallel()
	r := setup(t)
	const pages, rounds, events = 8, 30, 40
	for n := range events {
		r.post(event(n))
	}
	var wg sync.WaitGroup
	for p := range pages {
		wg.Go(func() {
			after := int64(p) // identifies the stream by its first frame
			for range rounds {
				ws, _, err := websocket.Dial(t.Context(), fmt.Sprintf("ws://%s/stream?v=2&after=%d", r.addr, after), nil)
				if err != nil {
					t.Error(err)
					return
				}
				s := &streamClient{t: t, ws: ws}
				hello, err1 := s.read()
				first, err2 := s.read()
				if errors.Join(err1, err2) != nil || hello.Type != schema.HelloFrame || first.Seq != after+1 {
					t.Errorf("client %d: got %s and %d: %v", p, hello.Type, first.Seq, errors.Join(err1, err2))
				}
				_ = ws.CloseNow() // while frames are being sent
			}
		})
	}
	wg.Wait()
}
