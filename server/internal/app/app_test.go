package app

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/server/internal/store"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
	)
}

// output is a concurrent buffer for the output of a hub.
type output struct {
	mu sync.Mutex
	b  strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// startHub runs a hub until the test ends.
func startHub(t *testing.T, cfg Config) (a *App, stop func()) {
	t.Helper()
	a, err := New(t.Context(), cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-done:
			require.NoError(t, err)
		case <-time.After(2 * time.Minute):
			require.Fail(t, "the hub did not stop")
		}
	})
	t.Cleanup(stop)
	return a, stop
}

func testConfig(t *testing.T) Config {
	t.Helper()
	return Config{Addr: "127.0.0.1:0", Socket: noSocket, DB: filepath.Join(t.TempDir(), "data", "hub.db")}
}

func postEvent(t *testing.T, a *App, kind string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	body := `{"source_app":"a","session_id":"s","hook_event_type":"` + kind + `","payload":{}}`
	resp, err := client.Post(a.URL()+"/events", "application/json", strings.NewReader(body))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 200, resp.StatusCode)
}

func TestApp_ServesAndStops(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	out := &output{}
	cfg.Stdout, cfg.Stderr = out, out
	cfg.StopWithin = time.Hour // a stop that waits for it fails
	a, stop := startHub(t, cfg)
	require.Eventually(t, func() bool { return strings.Contains(out.String(), a.URL()) }, time.Minute, time.Millisecond)
	require.Contains(t, out.String(), cfg.DB)
	require.Contains(t, out.String(), `HOOKBACK_URL=`+a.URL()+` go run ./agentclient/cmd/hookback ask "May I delete ./build?"`)
	postEvent(t, a, "Start")
	for _, ln := range a.listeners { // IPv4 and IPv6 on one port
		require.Equal(t, portOf(a.listeners[0]), portOf(ln))
		c, err := net.Dial("tcp", ln.Addr().String())
		require.NoError(t, err)
		require.NoError(t, c.Close())
	}
	info, err := os.Stat(cfg.DB)
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077, "only the user may read the database")
	info, err = os.Stat(filepath.Dir(cfg.DB))
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077)
	stop()
	_, err = net.Dial("tcp", a.listeners[0].Addr().String())
	require.Error(t, err)
}

func TestListen_NamesPortOwner(t *testing.T) {
	t.Parallel()
	a, _ := startHub(t, testConfig(t))
	cfg := testConfig(t)
	for _, ln := range a.listeners {
		cfg.Addr = ln.Addr().String()
		_, err := New(t.Context(), cfg)
		require.ErrorContains(t, err, "is in use by")
		require.ErrorContains(t, err, "-addr")
		if _, err := os.Stat("/proc/self/exe"); err == nil {
			_, err := New(t.Context(), cfg)
			require.ErrorContains(t, err, "app.test (process ")
		}
	}
	_, err := os.Stat(cfg.DB)
	require.ErrorIs(t, err, os.ErrNotExist, "no file was created")
}

// Another program on [::1] would receive the requests of clients that prefer IPv6.
func TestListen_RequiresBothFamilies(t *testing.T) {
	t.Parallel()
	other, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("this machine has no IPv6")
	}
	defer func() { _ = other.Close() }()
	cfg := testConfig(t)
	_, port, err := net.SplitHostPort(other.Addr().String())
	require.NoError(t, err)
	cfg.Addr = "127.0.0.1:" + port
	_, err = New(t.Context(), cfg)
	require.ErrorContains(t, err, "is in use by")
}

func TestNew_RejectsDatabaseInUse(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	a, _ := startHub(t, cfg)
	_, err := New(t.Context(), cfg)
	require.ErrorIs(t, err, store.ErrLocked)
	require.ErrorContains(t, err, "-db")
	postEvent(t, a, "StillAlive")
}

func TestNew_NamesFlagAtFault(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.CallbackAllow = []string{"10.0.0.0/33"}
	_, err := New(t.Context(), cfg)
	require.ErrorContains(t, err, "callback-allow")
	cfg = testConfig(t)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	cfg.DB = filepath.Join(file, "hub.db")
	_, err = New(t.Context(), cfg)
	require.ErrorContains(t, err, "-db")
}

func TestBackup(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	copied := filepath.Join(t.TempDir(), "copy.db")
	a, stop := startHub(t, cfg)
	postEvent(t, a, "Before")
	require.NoError(t, Backup(t.Context(), cfg, copied), "while the hub runs")
	require.Error(t, Backup(t.Context(), cfg, copied), "nothing is overwritten")
	stop()
	require.NoError(t, Backup(t.Context(), cfg, copied+"2"))
	report, err := Check(t.Context(), Config{DB: copied})
	require.NoError(t, err)
	require.Contains(t, report, "No corruption found")
	require.Contains(t, report, "copy.db.key is not here")
	require.Contains(t, report, a.store.Identity().ID())
	restored := testConfig(t)
	restored.DB = copied
	_, err = New(t.Context(), restored)
	require.ErrorContains(t, err, "copy.db.key is missing")
	key, err := os.ReadFile(KeyFile(cfg))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(KeyFile(restored), key, 0o600))
	b, _ := startHub(t, restored)
	require.Equal(t, int64(1), b.store.Head())
	missing := Config{DB: filepath.Join(t.TempDir(), "none.db")}
	require.Error(t, Backup(t.Context(), missing, filepath.Join(t.TempDir(), "x")))
}

// A running hub builds the search index.
func TestApp_BuildsSearchIndex(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	a, _ := startHub(t, cfg)
	const event = `{"source_app":"a","session_id":"s","hook_event_type":"Stop","payload":{"text":"needle"}}`
	body := "[" + strings.Repeat(event+",", 99) + event + "]"
	for range 11 {
		resp, err := http.Post(a.URL()+"/events/batch", "application/json", strings.NewReader(body))
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, 200, resp.StatusCode)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(cfg.DB)+"?mode=ro")
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	require.Eventually(t, func() bool {
		var blocks int
		return db.QueryRow(`SELECT count(*) FROM search_blocks WHERE made <> ''`).Scan(&blocks) == nil && blocks == 1
	}, time.Minute, 10*time.Millisecond)
}

func TestApp_StopsWhenWorkerFails(t *testing.T) {
	t.Parallel()
	a, err := New(t.Context(), testConfig(t))
	require.NoError(t, err)
	broken := errors.New("broken")
	a.listeners = append(a.listeners, brokenListener{a.listeners[0], broken})
	err = a.Run(t.Context())
	require.ErrorContains(t, err, "listening")
	require.ErrorIs(t, err, broken)
}

type brokenListener struct {
	net.Listener
	err error
}

func (l brokenListener) Accept() (net.Conn, error) { return nil, l.err }
func (l brokenListener) Close() error              { return nil }

// Sessions belong to one host, so the greeting and links use only one, by name if
// possible.
func TestApp_UsesOneDashboardURL(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"127.0.0.1:4000": "http://localhost:4000",
		"[::1]:4000":     "http://localhost:4000",
		"localhost:4000": "http://localhost:4000",
		"0.0.0.0:4000":   "http://localhost:4000",
		"127.0.0.2:4000": "http://127.0.0.2:4000",
		"10.0.0.7:4000":  "http://10.0.0.7:4000",
	} {
		require.Equal(t, want, (&Config{}).baseURL(addr), addr)
	}
	out := &output{}
	cfg := testConfig(t)
	cfg.Stdout = out
	a, _ := startHub(t, cfg)
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "Ctrl-C") }, time.Minute, time.Millisecond)
	require.Contains(t, out.String(), "Dashboard   "+a.dashboardURL()+"\n")
	require.Contains(t, out.String(), "Sign in     "+a.dashboardURL()+"/#sign-in=")
	require.Contains(t, a.dashboardURL(), "http://localhost:")
}

// TestWorkerGroup_ManyFailures: no number of failures keeps the hub from stopping.
func TestWorkerGroup_ManyFailures(t *testing.T) {
	t.Parallel()
	group := workerGroup{failed: make(chan error, 1)}
	for range 100 {
		group.start("worker", func() error { return errors.New("disk failure") })
	}
	group.Wait()
	require.EqualError(t, <-group.failed, "worker: disk failure")
	require.Empty(t, group.failed)
}

// The health check of a load balancer fails before the listeners close.
func TestApp_DrainsBeforeItStops(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	out := &output{}
	cfg.Stderr, cfg.Drain = out, 3*time.Second
	a, stop := startHub(t, cfg)
	ready := func() (status int, body string) {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Get(a.URL() + "/readyz")
		if err != nil {
			return 0, err.Error()
		}
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(b)
	}
	require.Eventually(t, func() bool { status, _ := ready(); return status == 200 }, time.Minute, time.Millisecond)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop()
	}()
	var body string
	require.Eventually(t, func() bool { _, body = ready(); return strings.Contains(body, `"draining"`) }, time.Minute, time.Millisecond, body)
	postEvent(t, a, "Stop")
	<-stopped
	require.Regexp(t, `(?s)msg=draining.*msg=stopping`, out.String())
}
