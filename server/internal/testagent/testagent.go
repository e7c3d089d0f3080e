// Package testagent plays the agent of a test request: it asks for a permission, receives the answer
// on a real listener, acknowledges it, and reports that the call ran. Nothing runs. Everything goes
// through the interface that other agents use, so its check marks prove that an answer arrives.
package testagent

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

// lifetime is how long a test request waits for an answer, startLimit how long its start may take.
const (
	lifetime   = 10 * time.Minute
	startLimit = 10 * time.Second
)

// Config configures an Agent.
type Config struct {
	Store  store.Store
	Feed   *feed.Feed
	URL    string // of this hub, for programs
	HubKey ed25519.PublicKey
	Log    *slog.Logger
}

// Agent runs one test request at a time.
type Agent struct {
	Config
	ctx     context.Context // ends with Run
	stop    context.CancelFunc
	running sync.WaitGroup

	mu  sync.Mutex
	key string         // idempotency key of the request; empty: none is open
	id  schema.EventID // 0: not stored yet
}

// New returns an Agent. Call Run before Start.
func New(cfg Config) *Agent {
	a := &Agent{Config: cfg}
	a.ctx, a.stop = context.WithCancel(context.Background())
	return a
}

// Run ends the open test request when ctx ends, and then returns.
func (a *Agent) Run(ctx context.Context) error {
	<-ctx.Done()
	a.stop()
	a.running.Wait()
	return nil
}

// Owns reports whether an event with this idempotency key is the open test request. Nothing else may
// use the application schema.TestApp.
func (a *Agent) Owns(key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return key != "" && key == a.key
}

// Start asks the question and returns its id once it is stored. While a test request is open, it returns
// the id of that one and schema.ErrTestPending.
func (a *Agent) Start(ctx context.Context) (schema.EventID, error) {
	key, id, err := a.begin()
	if err != nil {
		return id, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, schema.ErrTestFailed)
	defer cancel()
	head := a.Store.Head()
	a.running.Go(func() {
		defer cancel() // ends the wait below if it was not asked
		if err := a.play(key); err != nil {
			a.Log.Error("test request failed", "err", err)
		}
	})
	if id = a.findQuestion(ctx, head); id == 0 {
		return 0, schema.ErrTestFailed
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.key == key {
		a.id = id
	}
	return id, nil
}

// errFound ends a follower.
var errFound = errors.New("found")

// findQuestion returns the question of the test request that is stored after head, or 0 if ctx ends before.
func (a *Agent) findQuestion(ctx context.Context, head int64) (id schema.EventID) {
	_ = a.Feed.Follow(ctx, feed.NewQuestion, func(*feed.Batch) error {
		ids, upTo, err := a.Store.QuestionsSince(ctx, head, 1000)
		for _, candidate := range ids {
			if q, err := a.Store.Question(ctx, candidate); err == nil && q.App == schema.TestApp {
				id = candidate
				return errFound
			}
		}
		head = max(head, upTo)
		return err
	})
	return id
}

func (a *Agent) begin() (key string, open schema.EventID, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.key != "" || a.ctx.Err() != nil {
		return "", a.id, schema.ErrTestPending
	}
	a.key, a.id = "test-request/"+rand.Text(), 0
	return a.key, 0, nil
}

func (a *Agent) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.key, a.id = "", 0
}

// play asks, waits for the answer and reports that an approved call ran.
func (a *Agent) play(key string) error {
	defer a.end()
	client := agentclient.New(agentclient.Options{
		Hubs: []string{a.URL}, HubKeys: []string{sign.FormatPublicKey(a.HubKey)}, SourceApp: schema.TestApp, SessionID: "test-" + rand.Text()[:8],
		Env: func(string) string { return "" },
	})
	tool := agentclient.Guard(client, policy.Always(), func(context.Context, agentclient.ToolCall) (struct{}, error) {
		return struct{}{}, nil
	},
		func(_ agentclient.ToolCall, r *agentclient.Request) {
			r.Question, r.Risk, r.Timeout = "Delete ./build?", schema.LowRisk, lifetime
			r.Context = &schema.Context{Why: "This is a test: nothing runs and nothing is deleted, whatever you answer."}
			r.Event.IdempotencyKey = key
		})
	_, err := tool(a.ctx, agentclient.ToolCall{Name: "Bash", Arguments: json.RawMessage(`{"command":"rm -r ./build","description":"Test: nothing runs"}`)})
	if closeErr := client.Close(); err == nil {
		err = closeErr
	}
	if a.ctx.Err() != nil {
		return nil
	}
	return err
}
