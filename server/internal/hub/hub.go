// Package hub holds the product's verbs: take in an event, answer a question,
// cancel it, pull its answer, follow the log. It knows no HTTP and no SQL.
//
// One rule carries the package: a change of a question is computed from the row
// as it was read (settle.go, pure functions) and written by store.Apply, which
// refuses it when somebody else was faster. The first commit wins; everyone else
// reads again and is told what is.
package hub

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/peer"
	"github.com/hookback/hookback/server/internal/redact"
	"github.com/hookback/hookback/server/internal/rules"
	"github.com/hookback/hookback/server/internal/store"
)

// Config is what a Hub is made of. Store and Feed are required.
type Config struct {
	Store *store.Store
	Feed  *feed.Feed

	// Redactor takes secrets out of events before they are stored; nil keeps them.
	Redactor *redact.Redactor
	// Blocked says why an address may not be dialled; nil error: it may.
	Blocked func(url string) error
	// Dispatch hands over a delivery that has just been committed, leased to us.
	Dispatch func(schema.EventID)
	// Lifeline is told when a question came in that ends with its agent's listener.
	Lifeline func()
	// LogAppended is told when a question was asked or changed. It runs on the store's writer
	// and must not block.
	LogAppended func()
	// Control tells the agent of a question that waits at a version 2 listener how long
	// it has now.
	Control func(schema.EventID)
	// NudgeAfter is how long after people are reminded of a question without a limit,
	// three times at most; 0: never. Others say themselves whether they are.
	NudgeAfter time.Duration
	// Lookup names the program behind a connection; nil: nobody is looked up.
	Lookup func(remote, local netip.AddrPort) (*peer.Process, bool)
	// People says who may do what; nil: nobody is known, and whoever gets here may.
	People *auth.Service

	Version string           // of the program, for Hello
	Clock   func() time.Time // default time.Now
	Log     *slog.Logger     // default: discard
}

// Hub carries out the verbs. Its methods may be called by many goroutines.
type Hub struct {
	Config

	raceLocks [64]sync.Mutex // held by who changes a question that somebody else changed first

	deadlineChanged chan struct{} // told when a question came in; never closed
	logGrown        chan struct{} // told when the log has grown, for Derive; never closed

	clockMu      sync.Mutex
	clockChecked time.Time // when the clock was right; guarded by stepping
	elapsed      func(from, to time.Time) time.Duration

	searches  *searchSemaphore // of Search and of Sessions with a text
	overviews overviewCache

	initialMu sync.Mutex                     // held while a first message is made
	initial   atomic.Pointer[initialMessage] // the last one; nil when something happened since

	rulesMu sync.Mutex                // held while rules is replaced
	rules   atomic.Pointer[rules.Set] // those that hold; nil: none does

	viewers  atomic.Int64 // how many follow the log to show it to people
	startSeq int64        // the log's head when this hub began

	mu              sync.Mutex
	subscribers     map[schema.EventID]map[chan struct{}]bool // :: question → who is told of its changes
	unsentResponses map[schema.EventID]chan struct{}          // :: question → closed when its POST was answered
	pending         pendingBySession
}

// New makes a hub over a store and publishes what the store commits.
func New(cfg Config) *Hub {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Blocked == nil {
		cfg.Blocked = func(string) error { return nil }
	}
	if cfg.Dispatch == nil {
		cfg.Dispatch = func(schema.EventID) {}
	}
	if cfg.Control == nil {
		cfg.Control = func(schema.EventID) {}
	}
	if cfg.Lifeline == nil {
		cfg.Lifeline = func() {}
	}
	if cfg.LogAppended == nil {
		cfg.LogAppended = func() {}
	}
	h := &Hub{
		Config:          cfg,
		deadlineChanged: make(chan struct{}, 1),
		logGrown:        make(chan struct{}, 1),
		clockChecked:    cfg.Clock(),
		elapsed:         elapsed,
		searches:        newSearchSemaphore(),
		subscribers:     map[schema.EventID]map[chan struct{}]bool{},
		unsentResponses: map[schema.EventID]chan struct{}{},
		pending:         pendingBySession{},
		startSeq:        cfg.Store.Head(),
	}
	pending, err := cfg.Store.PendingCounts(context.Background())
	if err != nil {
		cfg.Log.Error("looking for open questions; those in agents' prompts may stay open here", "err", err)
	}
	for key, n := range pending {
		h.pending[key] = &sessionCalls{pending: n}
	}
	h.initRules(context.Background())
	cfg.Store.SetPublish(h.publish)
	return h
}

// Caller is the connection a request came by; the zero value is not known.
type Caller struct {
	Remote, Local netip.AddrPort
	Who           auth.Identity // by the credentials that came with it
	// Waits is set when the request itself waits for the answer to its question. When
	// its connection is over, somebody must call Orphan.
	Waits bool
}

func (h *Hub) callerProcess(caller Caller) *peer.Process {
	if h.Lookup == nil || !caller.Remote.IsValid() {
		return nil
	}
	p, _ := h.Lookup(caller.Remote, caller.Local)
	return p
}

// Hello introduces the hub to a stream.
func (h *Hub) Hello() schema.Hello {
	return schema.Hello{
		HubID: h.Store.HubID(), Seq: h.Store.Head(),
		ServerTime: schema.Millis(h.Clock().UnixMilli()), Version: h.Version,
	}
}

// AddViewer counts who follows the log to show it to people, until leave is called,
// once.
func (h *Hub) AddViewer() (remove func()) {
	h.viewers.Add(1)
	return func() { h.viewers.Add(-1) }
}

// ViewerCount is how many follow the log to show it to people.
func (h *Hub) ViewerCount() int { return int(h.viewers.Load()) }

// requestSecret lets the poster of an event, and nobody else, withdraw its
// question. It is derived, so that a repeated POST is given the same one.
func (h *Hub) requestSecret(uid string) string {
	mac := hmac.New(sha256.New, h.Store.Key())
	mac.Write([]byte("request:" + uid))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (h *Hub) isRequestSecret(uid, secret string) bool {
	return hmac.Equal([]byte(h.requestSecret(uid)), []byte(secret))
}

// ResponseSent says that the POST of a question has been answered, or that its
// connection is gone: from now on the agent may be dialled.
func (h *Hub) ResponseSent(id schema.EventID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if done, ok := h.unsentResponses[id]; ok {
		close(done)
		delete(h.unsentResponses, id)
	}
}

// responseSentTimeout bounds the wait for a POST whose end nobody reported.
const responseSentTimeout = 10 * time.Second

// AwaitResponseSent waits until the POST of the question has been answered. An agent
// that blocks in its POST can't accept a connection before.
func (h *Hub) AwaitResponseSent(ctx context.Context, id schema.EventID) error {
	h.mu.Lock()
	done, ok := h.unsentResponses[id]
	h.mu.Unlock()
	if !ok {
		return nil
	}
	timer := time.NewTimer(responseSentTimeout)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
		h.ResponseSent(id)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// subscribe returns a channel that gets something when the question has changed,
// until stop is called. The id may be anybody's guess: nothing of it stays behind.
func (h *Hub) subscribe(id schema.EventID) (changed <-chan struct{}, stop func()) {
	ch := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.subscribers[id] == nil {
		h.subscribers[id] = map[chan struct{}]bool{}
	}
	h.subscribers[id][ch] = true
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if delete(h.subscribers[id], ch); len(h.subscribers[id]) == 0 {
			delete(h.subscribers, id)
		}
	}
}

// notifyRows wakes whoever waits for one of the committed rows.
func (h *Hub) notifyRows(rows []store.LogRow) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, row := range rows {
		id := row.Event.ID
		switch {
		case row.Change:
			h.LogAppended()
			for ch := range h.subscribers[id] {
				wake(ch)
			}
			if row.Ends {
				h.pending.remove(row.Event)
			}
		case row.Event.Question != nil:
			h.unsentResponses[id] = make(chan struct{})
			h.pending.add(row.Event)
			h.LogAppended()
			wake(h.deadlineChanged)
		}
	}
}

// wake leaves word in a channel that holds one.
func wake(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
