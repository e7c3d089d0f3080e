package httpapi

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// TestBodyLimiter_TooLargeResponseIsReadable checks that the client can read the error
// although it has not sent the whole body.
func TestBodyLimiter_TooLargeResponseIsReadable(t *testing.T) {
	t.Parallel()
	r := setup(t)
	piece := strings.Repeat("x", 64<<10)
	for name, send := range map[string]func(io.Writer) error{
		"content-length": func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "POST /events HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n", r.addr, 20<<20)
			for range 20 << 20 / len(piece) {
				if err == nil {
					_, err = io.WriteString(w, piece)
				}
			}
			return err
		},
		"chunked": func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "POST /events HTTP/1.1\r\nHost: %s\r\nTransfer-Encoding: chunked\r\n\r\n", r.addr)
			for range 20 << 20 / len(piece) {
				if err == nil {
					_, err = fmt.Fprintf(w, "%x\r\n%s\r\n", len(piece), piece)
				}
			}
			return err
		},
	} {
		c, err := net.Dial("tcp", r.addr)
		require.NoError(t, err)
		require.NoError(t, c.SetDeadline(time.Now().Add(waitLimit)))
		// Send everything before reading, as python-requests does. If the server closed the
		// connection, the client would fail with a broken pipe and never see the error.
		require.NoError(t, send(c), name)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		require.NoError(t, err, name)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err, name)
		require.Equal(t, 413, resp.StatusCode)
		require.Equal(t, "too_large", r.problem(resp, body).Code)
		require.NotEmpty(t, resp.Header.Get("Content-Security-Policy"))
		require.NoError(t, c.Close())
	}
	resp, body := r.do("POST", "/events", event(1, `"summary":"`+strings.Repeat("y", schema.MaxBody-300)+`"`))
	require.NotEqual(t, 413, resp.StatusCode, "just below the limit: %s", body[:min(len(body), 200)])
}

func TestServer_MalformedRequestsGetProblems(t *testing.T) {
	t.Parallel()
	r := setup(t)
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"no host":        {"GET /healthz HTTP/1.1\r\nCookie: session=secret\r\n\r\n", 400},
		"not http":       {"\x16\x03\x01secret\r\n\r\n", 400},
		"bad header":     {"GET / HTTP/1.1\r\nHost: " + r.addr + "\r\nsecret secret\r\n\r\n", 400},
		"unknown method": {"BREW /secret HTTP/1.1\r\nHost: " + r.addr + "\r\n\r\n", 405},
		"long headers":   {"GET / HTTP/1.1\r\nHost: " + r.addr + "\r\nCookie: secret" + strings.Repeat("x", 20<<10) + "\r\n\r\n", 431},
	} {
		resp, body := r.raw(c.request)
		require.Equal(t, c.status, resp.StatusCode, "%s: %s", name, body)
		r.problem(resp, body)
		require.NotContains(t, string(body), "secret", name)
	}
	require.NotContains(t, r.log.String(), "secret")
}

// TestServer_ClosesSlowlorisConnections: without a read timeout, each slow request would
// hold a connection forever.
func TestServer_ClosesSlowlorisConnections(t *testing.T) {
	t.Parallel()
	r := setup(t, func(c *Config) { c.ReadTimeout, c.IdleTimeout = time.Second, time.Second })
	idle, err := net.Dial("tcp", r.addr)
	require.NoError(t, err)
	stream := dial(r, "/stream?v=2")
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			c, err := net.Dial("tcp", r.addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = c.Close() }()
			_, _ = fmt.Fprintf(c, "POST /events HTTP/1.1\r\nHost: %s\r\nContent-Length: 1000\r\n\r\n{", r.addr)
			_ = c.SetReadDeadline(time.Now().Add(waitLimit))
			answer, err := io.ReadAll(c) // until the server closes the connection
			if err != nil || !bytes.Contains(answer, []byte("408")) {
				t.Errorf("still open: %v %s", err, answer)
			}
		})
	}
	wg.Wait()
	require.NoError(t, idle.SetReadDeadline(time.Now().Add(waitLimit)))
	_, err = io.ReadAll(idle)
	require.NoError(t, err, "an idle connection is closed")
	_ = idle.Close()

	stream.hello()
	r.post(event(1))
	require.Equal(t, schema.EventFrame, stream.next().Type, "a stream outlives the timeouts of requests")
}

// TestServer_ClosesNonReadingPeers: without a write timeout, the response would hold a
// worker and its memory forever.
func TestServer_ClosesNonReadingPeers(t *testing.T) {
	t.Parallel()
	r := setup(t, func(c *Config) { c.WriteTimeout = time.Second })
	e := r.post(event(1, `"chat":["`+strings.Repeat("z", 7<<20)+`"]`))
	stuck := make([]net.Conn, 4)
	for i := range stuck {
		c, err := net.Dial("tcp", r.addr)
		require.NoError(t, err)
		defer func() { _ = c.Close() }()
		require.NoError(t, c.(*net.TCPConn).SetReadBuffer(4<<10))
		_, err = fmt.Fprintf(c, strings.Repeat("GET %[1]s HTTP/1.1\r\nHost: %[2]s\r\n\r\n", 3), schema.At(schema.PathEvent, e.ID), r.addr)
		require.NoError(t, err)
		stuck[i] = c
	}
	r.client.CloseIdleConnections()
	require.Eventually(t, func() bool { return r.conns.Count() == 0 }, waitLimit, 5*time.Millisecond)
}

// TestServer_ClosesIdleConnections also checks that large headers are accepted: other
// programs on this machine leave their cookies for every port.
func TestServer_ClosesIdleConnections(t *testing.T) {
	t.Parallel()
	r := setup(t, func(c *Config) { c.ReadTimeout, c.IdleTimeout = time.Minute, 500*time.Millisecond })
	c, err := net.Dial("tcp", r.addr)
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	require.NoError(t, c.SetDeadline(time.Now().Add(waitLimit)))
	_, err = fmt.Fprintf(c, "GET /healthz HTTP/1.1\r\nHost: %s\r\nCookie: %s\r\n\r\n", r.addr, strings.Repeat("c", 15<<10))
	require.NoError(t, err)
	answer, err := io.ReadAll(c)
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(answer, []byte("HTTP/1.1 200")), "%s", answer)
	require.Greater(t, r.app.Config().Concurrency, r.Places.Total(), "the places refuse first")
}

// TestServer_HostileBodiesUseBoundedMemory checks that hostile bodies are rejected without
// being expanded in memory.
func TestServer_HostileBodiesUseBoundedMemory(t *testing.T) {
	r := setup(t)
	question := r.post(event(1, permission))
	respond := schema.At(schema.PathRespond, question.ID)

	var bomb, twice bytes.Buffer
	w, _ := gzip.NewWriterLevel(&bomb, gzip.BestSpeed)
	zeros := make([]byte, 1<<20)
	for range 32 {
		_, _ = w.Write(zeros)
	}
	require.NoError(t, w.Close())
	w = gzip.NewWriter(&twice)
	_, _ = w.Write(bomb.Bytes())
	require.NoError(t, w.Close())

	var keys strings.Builder
	keys.WriteString(`{"permission":true`)
	for i := range 700_000 {
		keys.WriteString(`,"k` + strconv.Itoa(i) + `":1`)
	}
	keys.WriteString("}")
	withQuestion := func(members string) string {
		return event(1, `"humanInTheLoop":{"question":"May I?","type":"permission",`+members+`}`)
	}
	objects := "[" + strings.Repeat("{},", 2_000_000) + "{}]"
	deep := strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000)
	for name, c := range map[string]struct {
		path, body string
		headers    []string
	}{
		"gzip bomb":            {"/events", twice.String(), []string{"Content-Encoding", "gzip, gzip"}},
		"deflate":              {respond, twice.String(), []string{"Content-Encoding", "deflate"}},
		"deep event":           {"/events", deep, nil},
		"deep payload":         {"/events", strings.Replace(event(1), `{"n":1}`, deep, 1), nil},
		"deep answer":          {respond, deep, nil},
		"deep array":           {respond, strings.Repeat("[", 1_000_000), nil},
		"many members":         {respond, keys.String(), nil},
		"many members, event":  {"/events", keys.String(), nil},
		"members, question":    {"/events", withQuestion(keys.String()[1 : keys.Len()-1]), nil},
		"members, context":     {"/events", withQuestion(`"context":` + keys.String()), nil},
		"questions":            {"/events", withQuestion(`"questions":` + objects), nil},
		"suggestions":          {"/events", withQuestion(`"suggestions":` + objects), nil},
		"answers":              {respond, `{"answers":` + keys.String() + `}`, nil},
		"invalid utf-8":        {"/events", strings.Replace(event(1), "demo", "d\xff", 1), nil},
		"invalid utf-8 answer": {respond, "{\"permission\":true,\"reason\":\"\xff\"}", nil},
		"a nul":                {"/events", strings.Replace(event(1), "demo", "d\x00", 1), nil},
		"empty":                {"/events", "", nil},
		"two values":           {respond, `{"permission":true}{"permission":false}`, nil},
		"an array":             {respond, `[true]`, nil},
		"a wrong type":         {respond, `{"permission":"yes"}`, nil},
	} {
		peak := peakHeap(func() {
			resp, body := r.do("POST", c.path, c.body, append(c.headers, "Content-Type", "application/json")...)
			require.GreaterOrEqual(t, resp.StatusCode, 400, name)
			require.Less(t, resp.StatusCode, 500, "%s: %s", name, body)
			r.problem(resp, body)
		})
		// The body is in memory several times: in the test, the server's buffer and the
		// hub's copy.
		require.Less(t, peak, int64(6*len(c.body)+16<<20), "%s: bytes in use while it was handled", name)
	}
	require.Equal(t, int64(question.ID), r.store.Head(), "nothing was stored")
}

// peakHeap returns the maximum growth of the heap while f runs, including garbage.
func peakHeap(f func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, peak := m.HeapAlloc, uint64(0)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
		case <-done:
			return int64(max(peak, before) - before)
		}
	}
}

// TestServer_RequestStringsAreImmutable fails without fiber.Config.Immutable: strings that
// a handler kept would change with a later request.
func TestServer_RequestStringsAreImmutable(t *testing.T) {
	t.Parallel()
	type kept struct{ want, param, query, header, body string }
	var mu sync.Mutex
	var all []kept
	app := fiber.New(setup(t).app.Config())
	app.Add("POST", "/keep/:id", func(c *fiber.Ctx) error {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, kept{strings.Clone(c.Query("want")), c.Params("id"), c.Query("q"), c.Get("X-Value"), string(c.Request().Body())})
		return nil
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- app.Listener(ln) }()

	const clients, each = 8, 250
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			http := &http.Client{Transport: &http.Transport{}}
			defer http.CloseIdleConnections()
			for n := range each {
				v := fmt.Sprintf("value-%d-%d", client, n)
				req, _ := newRequest("POST", fmt.Sprintf("http://%s/keep/%s?q=%s&want=%s", ln.Addr(), v, v, v), v)
				req.Header.Set("X-Value", v)
				resp, err := http.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				_ = resp.Body.Close()
			}
		})
	}
	wg.Wait()
	require.NoError(t, app.Shutdown())
	require.NoError(t, <-served)
	require.Len(t, all, clients*each)
	for _, k := range all {
		require.Equal(t, kept{k.want, k.want, k.want, k.want, k.want}, k)
	}
}

func newRequest(method, url, body string) (*http.Request, error) {
	return http.NewRequest(method, url, strings.NewReader(body)) //nolint:noctx // the client has a timeout
}

func TestServer_PanicFailsOnlyItsRequest(t *testing.T) {
	t.Parallel()
	r := setup(t, func(c *Config) { c.Hub = nil })
	resp, body := r.do("POST", "/events", event(1)+"secret")
	require.Equal(t, 500, resp.StatusCode)
	require.Equal(t, "internal", r.problem(resp, body).Code)
	require.Contains(t, r.log.String(), "panicked")
	require.NotContains(t, r.log.String(), "secret")
	resp, _ = r.do("GET", "/healthz", "")
	require.Equal(t, 200, resp.StatusCode)
}

func TestServer_InternalErrorsHideDetails(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.post(event(1)) // the list of an empty hub needs no database
	require.NoError(t, r.store.Close())
	resp, body := r.do("GET", "/events/recent", "")
	require.GreaterOrEqual(t, resp.StatusCode, 500)
	require.NotContains(t, string(body), "sql")
	require.Contains(t, []string{"internal", "stopping"}, r.problem(resp, body).Code)
	resp, body = r.do("GET", "/readyz", "")
	require.Equal(t, 503, resp.StatusCode)
	var h schema.Health
	require.NoError(t, json.Unmarshal(body, &h))
	require.Equal(t, "degraded", h.Status)
}

// slowStore commits no change until the caller stops waiting, once isSlow is set.
type slowStore struct {
	store.Store
	isSlow *atomic.Bool
}

func (s slowStore) Apply(ctx context.Context, c store.Change) error {
	if !s.isSlow.Load() {
		return s.Store.Apply(ctx, c)
	}
	<-ctx.Done()
	return ctx.Err()
}

// Only a hub that stops says that it stops: one whose commit takes too long is busy.
func TestServer_SlowCommitIsBusy(t *testing.T) {
	t.Parallel()
	var isSlow atomic.Bool
	r := setup(t, func(c *Config) {
		c.Hub.Store = slowStore{c.Hub.Store.(store.Store), &isSlow} //nolint:forcetypeassert // of setup
	})
	id := r.postQuestion("web", `{"question":"May I?","type":"permission"}`)
	r.respond(id)
	isSlow.Store(true)
	resp, body := r.do("GET", schema.At(schema.PathResponse, id), "")
	require.Equal(t, 503, resp.StatusCode)
	require.Equal(t, "busy", r.problem(resp, body).Code)
	require.NotEmpty(t, resp.Header.Get("Retry-After"))
	isSlow.Store(false)
	resp, _ = r.do("GET", schema.At(schema.PathResponse, id), "")
	require.Equal(t, 200, resp.StatusCode)
}
