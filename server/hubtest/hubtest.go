// Package hubtest runs a real hub for tests: a free loopback port, a temporary
// database, everything else as in production.
//
//	hub := hubtest.Start(t)
//	client := agentclient.New(agentclient.Options{Hubs: []string{hub.URL()}, KnownHubs: filepath.Join(t.TempDir(), "known_hubs")})
package hubtest

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hookback/hookback/server/internal/app"
	"github.com/hookback/hookback/server/internal/storetest"
)

// Hub is a hub that runs until the test ends.
type Hub struct {
	t   testing.TB
	cfg app.Config
	url string

	greeting *output

	mu     sync.Mutex
	cancel context.CancelFunc // nil while it is stopped
	done   chan error
}

// Option changes how the hub is set up.
type Option func(*app.Config)

// AllowOrigin lets pages of another origin use the hub.
func AllowOrigin(origin string) Option {
	return func(c *app.Config) { c.AllowOrigins = append(c.AllowOrigins, origin) }
}

// CallbackAllow lets the hub dial target in addition to loopback addresses.
func CallbackAllow(target string) Option {
	return func(c *app.Config) { c.CallbackAllow = append(c.CallbackAllow, target) }
}

// Clock sets the hub's clock.
func Clock(now func() time.Time) Option { return func(c *app.Config) { c.Clock = now } }

// DB sets the database file. The default is a file in a temporary directory.
func DB(file string) Option { return func(c *app.Config) { c.DB = file } }

// KeepEvents turns the retention of events off.
func KeepEvents() Option {
	return func(c *app.Config) { c.Retention, c.RetentionSize = -1, -1 }
}

// KeepSecrets turns redaction off.
func KeepSecrets() Option { return func(c *app.Config) { c.KeepSecrets = true } }

// LocalUsers lists accounts whose local programs need no credentials.
func LocalUsers(names ...string) Option { return func(c *app.Config) { c.LocalUsers = names } }

// Socket opens a Unix socket. The default is none.
func Socket(path string) Option { return func(c *app.Config) { c.Socket = path } }

// Start runs a hub until the test ends. It listens when Start returns. The test fails if the
// hub does not start, run and stop without an error.
func Start(t testing.TB, options ...Option) *Hub {
	t.Helper()
	h := &Hub{t: t, cfg: app.Config{
		Addr: "127.0.0.1:0", Socket: "off", DB: storetest.NewFile(t),
		LogLevel: slog.LevelWarn, Stderr: logger{t},
		NotifyAllow: []string{"127.0.0.1"}, // the services of tests
	}, greeting: &output{}}
	h.cfg.Stdout = h.greeting
	for _, o := range options {
		o(&h.cfg)
	}
	h.cfg.DataDir = storetest.DataDir(h.cfg.DB)
	h.start()
	t.Cleanup(h.Stop)
	return h
}

func (h *Hub) start() {
	h.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	a, err := app.New(ctx, h.cfg)
	// A connection of another process may have taken the port of a stopped hub for a moment.
	isInUse := func(err error) bool { return err != nil && strings.Contains(err.Error(), "is in use by") }
	for until := time.Now().Add(time.Minute); isInUse(err) && time.Now().Before(until); a, err = app.New(ctx, h.cfg) {
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		cancel()
		h.t.Fatalf("start hub: %v", err)
	}
	h.url = a.URL()
	h.cfg.Addr = strings.TrimPrefix(h.url, "http://") // for Restart
	h.cancel, h.done = cancel, make(chan error, 1)
	go func() { h.done <- a.Run(ctx) }()
}

// URL returns the hub's address, such as http://127.0.0.1:40123.
func (h *Hub) URL() string { return h.url }

// StreamURL returns the address of its stream, such as ws://127.0.0.1:40123/stream.
func (h *Hub) StreamURL() string { return "ws" + strings.TrimPrefix(h.url, "http") + "/stream" }

// DB returns the path of the database file, or the address of the database.
func (h *Hub) DB() string { return h.cfg.DB }

// Stop stops the hub as a signal would and returns when it has stopped. It is idempotent.
func (h *Hub) Stop() {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cancel == nil {
		return
	}
	h.cancel()
	h.cancel = nil
	if err := <-h.done; err != nil {
		h.t.Errorf("stop hub: %v", err)
	}
}

// Restart stops the hub and starts it again on the same database and port.
func (h *Hub) Restart() {
	h.t.Helper()
	h.Stop()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.start()
}

// Goroutines returns the functions whose goroutines fasthttp never stops, for
// goleak.IgnoreAnyFunction.
func Goroutines() []string {
	return []string{"github.com/valyala/fasthttp.updateServerDate.func1", "github.com/valyala/fasthttp.(*workerPool).Start.func2"}
}

// logger writes the hub's warnings to the test's log.
type logger struct{ t testing.TB }

func (l logger) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimRight(string(p), "\n"))
	return len(p), nil
}
