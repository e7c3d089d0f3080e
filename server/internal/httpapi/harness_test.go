package httpapi

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/alerts"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/coverage"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/flows"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/live"
	"github.com/hookback/hookback/server/internal/now"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/ratings"
	"github.com/hookback/hookback/server/internal/reach"
	"github.com/hookback/hookback/server/internal/requestdefaults"
	"github.com/hookback/hookback/server/internal/safety"
	"github.com/hookback/hookback/server/internal/sessions"
	"github.com/hookback/hookback/server/internal/shares"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
	"github.com/hookback/hookback/server/internal/studio"
	"github.com/hookback/hookback/server/internal/testagent"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// fasthttp keeps these two for the life of the process.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
	)
}

// harness is a server on a free port, with a real hub and a real database.
type harness struct {
	*Server
	t          testing.TB
	store      store.Store
	dbFile     string
	addr       string // 127.0.0.1:port
	port       string
	client     *http.Client
	remoteAddr atomic.Pointer[net.TCPAddr] // remote address of new connections; nil: the real one
	wrapped    atomic.Bool                 // new connections have only the methods of net.Conn, as with TLS
	log        *syncBuffer
	people     *auth.Service
	clock      *fakeClock  // of the auth service
	hookBytes  byteCounter // received by runHook
	stopOnce   sync.Once
}

// waitLimit exceeds every wait in these tests, even on a busy machine.
const waitLimit = 30 * time.Second

// forcedClose is logged if connections were still open after Shutdown had waited for them.
const forcedClose = "open connections closed at shutdown"

var appJS = bytes.Repeat([]byte("console.log('hookback');\n"), 400)

func brotliOf(b []byte) []byte {
	var out bytes.Buffer
	w := brotli.NewWriter(&out)
	_, _ = w.Write(b) // a buffer takes everything
	_ = w.Close()
	return out.Bytes()
}

func gzipOf(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(b)
	_ = w.Close()
	return out.Bytes()
}

const indexHTML = "<!doctype html><title>Hookback</title>"

func setup(t testing.TB, options ...func(*Config)) *harness {
	t.Helper()
	return setupPeople(t, func(*auth.Config) {}, options...)
}

// setupGrace is setup with that time for programs to ask again after their connection broke.
func setupGrace(t testing.TB, grace time.Duration, options ...func(*Config)) *harness {
	t.Helper()
	return setupHub(t, grace, func(*auth.Config) {}, options...)
}

func setupPeople(t testing.TB, configure func(*auth.Config), options ...func(*Config)) *harness {
	t.Helper()
	return setupHub(t, 0, configure, options...)
}

func setupHub(t testing.TB, grace time.Duration, configure func(*auth.Config), options ...func(*Config)) *harness {
	t.Helper()
	r := &harness{t: t, clock: &fakeClock{}, log: &syncBuffer{}, dbFile: storetest.NewFile(t)}
	db := storetest.Open(t, storetest.Options{File: r.dbFile, Fast: true})
	r.store = db
	log := feed.New(db.Head(), 4096, 16<<20)
	authConfig := auth.Config{Store: db, Feed: log, Clock: r.clock.now}
	configure(&authConfig)
	var err error
	r.people, err = auth.Open(t.Context(), authConfig)
	require.NoError(t, err)
	defaults, err := requestdefaults.Open(t.Context(), db, r.people)
	require.NoError(t, err)
	gates := coverage.New(coverage.Config{Store: db})
	h := hub.New(hub.Config{
		Store: db, People: r.people, Feed: log, Coverage: gates, ReconnectGrace: grace, Defaults: defaults,
	})
	limits, err := safety.OpenLimits(t.Context(), db, 0)
	require.NoError(t, err)
	alertRules, err := alerts.OpenRules(t.Context(), db, log)
	require.NoError(t, err)
	public, err := reach.Open(t.Context(), reach.Config{Store: db, Local: "http://localhost:4000", Machine: "laptop"})
	require.NoError(t, err)
	cfg := Config{
		Hub: h, Query: query.New(query.Config{Store: db, Feed: log, People: r.people, Version: "test"}),
		Sessions: sessions.New(sessions.Config{Store: db, Feed: log, Executions: h}), Ratings: ratings.New(ratings.Config{Store: db, Feed: log}), Safety: limits, Defaults: defaults, Alerts: alerts.New(alerts.Config{Store: db, Live: live.New(db), Feed: log, Rules: alertRules}), Coverage: gates, Reach: public, Tickets: &testagent.Tickets{Flows: flows.Flows{Store: db, Clock: time.Now}}, Store: db, Version: "test", Schema: db.Schema(), OpenAPI: []byte(`{"openapi":"3.1.0"}`),
		Log: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Assets: fstest.MapFS{
			"index.html":      {Data: []byte(indexHTML)},
			"assets/app-1.js": {Data: appJS}, "assets/app-1.js.br": {Data: brotliOf(appJS)}, "assets/app-1.js.gz": {Data: gzipOf(appJS)},
			"assets/dot-2.png": {Data: []byte("not really a picture")},
			".sources":         {Data: []byte("abc")},
		},
	}
	cfg.Studio = studio.New(studio.Config{Calls: cfg.Ratings})
	for _, o := range options {
		o(&cfg)
	}
	cfg.Shares = shares.New(shares.Config{Store: db, Sessions: cfg.Sessions, People: r.people, Clock: authConfig.Clock})
	cfg.Now = now.New(now.Config{Live: cfg.Alerts.Live, Freezes: db, Sessions: cfg.Sessions, People: r.people})
	r.Server = New(cfg)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r.addr = ln.Addr().String()
	_, r.port, _ = net.SplitHostPort(r.addr)
	served := make(chan error, 1)
	go func() { served <- r.Serve(&remoteListener{Listener: ln, addr: &r.remoteAddr, wrapped: &r.wrapped}) }()
	transport := &http.Transport{}
	r.client = &http.Client{Transport: transport, Timeout: waitLimit}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		r.shutdown()
		require.NoError(t, <-served)
		require.NoError(t, db.Close())
	})
	return r
}

func (r *harness) shutdown() {
	r.stopOnce.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
		defer cancel()
		_ = r.Shutdown(ctx)
	})
}

// fakeClock is the current time plus an offset.
type fakeClock struct{ ahead atomic.Int64 }

func (c *fakeClock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *fakeClock) advance(d time.Duration) { c.ahead.Add(int64(d)) }

// remoteListener is a listener whose connections appear to come from another machine.
type remoteListener struct {
	net.Listener
	addr    *atomic.Pointer[net.TCPAddr]
	wrapped *atomic.Bool
}

func (l *remoteListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if from := l.addr.Load(); err == nil && from != nil {
		return remoteConn{c, from}, nil
	}
	if err == nil && l.wrapped.Load() {
		return struct{ net.Conn }{c}, nil
	}
	return c, err
}

type remoteConn struct {
	net.Conn
	addr *net.TCPAddr
}

func (f remoteConn) RemoteAddr() net.Addr { return f.addr }

// byteCounter counts the bytes written to it.
type byteCounter struct{ n atomic.Int64 }

func (c *byteCounter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}

// syncBuffer is a log buffer that is safe for concurrent use.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func event(n int, members ...string) string {
	return fmt.Sprintf(`{"source_app":"demo","session_id":"s1","hook_event_type":"PreToolUse","payload":{"n":%d}%s}`,
		n, strings.Join(append([]string{""}, members...), ","))
}

const permission = `"humanInTheLoop":{"question":"May I?","type":"permission"}`

func (r *harness) do(method, path, body string, headers ...string) (*http.Response, []byte) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, "http://"+r.addr+path, strings.NewReader(body))
	require.NoError(r.t, err)
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := r.client.Do(req)
	require.NoError(r.t, err)
	defer func() { _ = resp.Body.Close() }()
	if resp.Header.Get("Content-Type") == "text/event-stream" { // has no end
		return resp, nil
	}
	b, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err)
	r.requireListedStatus(resp, b)
	return resp, b
}

// post stores an event and returns it.
func (r *harness) post(body string) schema.Event {
	r.t.Helper()
	resp, b := r.do("POST", schema.PathEvents, body, "Content-Type", "application/json")
	require.Equal(r.t, 200, resp.StatusCode, string(b))
	var e schema.Event
	require.NoError(r.t, json.Unmarshal(b, &e))
	return e
}

// problem decodes the problem document of a response and checks its form.
func (r *harness) problem(resp *http.Response, body []byte) schema.Problem {
	r.t.Helper()
	require.Equal(r.t, schema.ProblemMediaType, resp.Header.Get("Content-Type"), string(body))
	var p schema.Problem
	require.NoError(r.t, json.Unmarshal(body, &p), string(body))
	require.Equal(r.t, resp.StatusCode, p.Status)
	require.NotEmpty(r.t, p.Code)
	require.Equal(r.t, p.Detail, p.Error)
	return p
}

// raw sends a request unchanged and reads one response.
func (r *harness) raw(request string) (*http.Response, []byte) {
	r.t.Helper()
	c, err := net.Dial("tcp", r.addr)
	require.NoError(r.t, err)
	defer func() { _ = c.Close() }()
	require.NoError(r.t, c.SetDeadline(time.Now().Add(waitLimit)))
	_, _ = io.WriteString(c, request) // the server may close the connection during the write
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(r.t, err)
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return resp, nil
	}
	b, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err)
	return resp, b
}
