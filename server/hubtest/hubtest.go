// Package hubtest runs a real hub for tests: a free loopback port, a temporary
// database, everything else as in production.
//
//	hub := hubtest.Start(t)
//	client := agentclient.New(hub.Options())
//	go hub.Answer(ctx, schema.Response{Permission: new(true)})
//	decision, err := client.AskPermission(ctx, "May I delete ./build?")
//
// The documentation of agentclient has flags with which the first go test -race takes less than 2 minutes.
package hubtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/schema"
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

// Options returns the options of a client of this hub that uses nothing of the account that runs
// the test: neither its known hubs nor its environment. If the machine's administrator has pinned
// a hub, answers count unsigned.
func (h *Hub) Options() agentclient.Options {
	o := agentclient.Options{
		Hubs: []string{h.url}, KnownHubs: filepath.Join(h.t.TempDir(), "known_hubs"), Env: func(string) string { return "" },
	}
	trust, err := agentclient.LoadTrust(o)
	o.Unsigned = err == nil && len(trust.Pins()) > 0
	return o
}

// Answer gives each of the hub's questions its answer, in the order in which they were asked, as a
// person at this computer would. It returns when the last one has been given.
func (h *Hub) Answer(ctx context.Context, answers ...schema.Response) error {
	conn, _, err := websocket.Dial(ctx, h.StreamURL()+"?v=2&after=0", nil)
	if err != nil {
		return err
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(16 << 20)
	for seen := schema.EventID(0); len(answers) > 0; {
		_, message, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		var frames []schema.Frame
		if message[0] != '[' {
			message = slices.Concat([]byte("["), message, []byte("]"))
		}
		if err := json.Unmarshal(message, &frames); err != nil {
			return err
		}
		for _, frame := range frames {
			var e schema.Event
			if frame.Type != schema.EventFrame || json.Unmarshal(frame.Data, &e) != nil || e.HumanInTheLoop == nil ||
				e.ID <= seen || len(answers) == 0 {
				continue
			}
			if err := h.respond(ctx, e.ID, answers[0]); err != nil {
				return err
			}
			seen, answers = e.ID, answers[1:]
		}
	}
	return nil
}

func (h *Hub) respond(ctx context.Context, id schema.EventID, answer schema.Response) error {
	body, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url+schema.At(schema.PathRespond, id), bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		return fmt.Errorf("answer question %d: %s: %s", id, res.Status, text)
	}
	return nil
}

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
