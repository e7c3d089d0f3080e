// Package hub implements the operations of the product: store an event, answer a
// question, cancel it, pull its answer, follow the log. It contains no HTTP and no SQL.
//
// A question is a state machine with one terminal transition, and every change of it
// uses optimistic concurrency. Package question computes the change from a snapshot of the row,
// and store.Apply commits it only if the row's version is still the same (compare-and-swap).
// The first commit wins. Every other writer reads the row again and decides on its current
// state.
package hub

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/peer"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/redact"
	"github.com/hookback/hookback/server/internal/rules"
	"github.com/hookback/hookback/server/internal/store"
)

// DialPolicy decides which callback URLs may be dialed.
type DialPolicy interface {
	// Check returns why a URL may not be dialed, or nil if it may.
	Check(url string) error
}

// Processes finds the process at the other end of a connection.
type Processes interface {
	ProcessOf(remote, local netip.AddrPort) (*peer.Process, bool)
}

// Config holds the dependencies and options of a Hub. Store and Feed are required.
type Config struct {
	Store interface {
		store.Log
		store.Questions
		store.Rules
		store.History
		store.Projections
		store.Ledger
	}
	Feed *feed.Feed

	// Redactor removes secrets from events before they are stored. Nil stores them
	// unchanged.
	Redactor *redact.Redactor
	// DialPolicy is the SSRF protection of callbacks. Nil allows every URL.
	DialPolicy DialPolicy
	// NudgeAfter is the interval of reminders for a question without a deadline, sent
	// at most maxReminders times. 0 sends none. Questions with a deadline set their own
	// interval.
	NudgeAfter time.Duration
	// Processes finds callers. Nil disables the lookup.
	Processes Processes
	// People authorizes callers and knows the accounts. Nil means that there are no
	// accounts and every caller is allowed.
	People *auth.Service

	PendingLimits PendingLimits

	Clock func() time.Time // default: time.Now
	Log   *slog.Logger     // default: discard
}

// Hub executes the operations. Its methods are safe for concurrent use.
type Hub struct {
	Config
	env question.Environment

	raceLocks [64]sync.Mutex // striped by question id; serialize retries after a lost compare-and-swap

	clockMu      sync.Mutex
	clockChecked time.Time // reference reading, renewed after each detected step; guarded by clockMu
	elapsed      func(from, to time.Time) time.Duration

	rulesMu sync.Mutex                // serializes replacement of rules
	rules   atomic.Pointer[rules.Set] // active rules; nil means none

	viewers  atomic.Int64 // open dashboard streams
	startSeq int64        // head of the log when this hub started

	mu              sync.Mutex
	subscribers     map[schema.EventID]map[feed.Alarm]bool // by question; rung by its changes
	unsentResponses map[schema.EventID]chan struct{}       // by question; closed when the response to its POST was sent
	pending         pendingBySession
	pendingTotal    int64
	owners          pendingOwners
}

// New returns a hub over cfg.Store and publishes the store's commits to cfg.Feed.
func New(cfg Config) *Hub {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.PendingLimits.setDefaults()
	h := &Hub{
		Config:          cfg,
		env:             question.Environment{HubID: cfg.Store.HubID(), Key: cfg.Store.Identity(), Accounts: accounts{cfg.People}, NudgeAfter: cfg.NudgeAfter},
		clockChecked:    cfg.Clock(),
		elapsed:         elapsed,
		subscribers:     map[schema.EventID]map[feed.Alarm]bool{},
		unsentResponses: map[schema.EventID]chan struct{}{},
		pending:         pendingBySession{},
		startSeq:        cfg.Store.Head(),
	}
	pending, err := cfg.Store.PendingCounts(context.Background())
	if err != nil {
		cfg.Log.Error("pending question lookup failed; answers given at the agent may not close them", "err", err)
	}
	for key, n := range pending {
		h.pending[key] = &sessionCalls{pending: n}
		h.pendingTotal += n
	}
	h.initRules(context.Background())
	cfg.People.ObserveLock(h)
	cfg.Store.SetPublish(h.publish)
	return h
}

// Caller identifies the connection and the credentials of a request. The zero value is
// unknown and unauthenticated.
type Caller struct {
	Remote, Local netip.AddrPort
	Process       peer.ProcessRef // of a connection over the Unix socket; zero: found by the addresses
	Identity      auth.Identity   // proven by the request's credentials
	// WaitsForAnswer is set when the HTTP request itself waits for the answer. Its handler must
	// call Abandon when the connection ends.
	WaitsForAnswer bool
}

func (h *Hub) callerProcess(caller Caller) *peer.Process {
	if h.Processes == nil || !caller.Remote.IsValid() {
		return nil
	}
	if caller.Process.PID != 0 {
		p, _ := peer.Describe(caller.Process)
		return p
	}
	p, _ := h.Processes.ProcessOf(caller.Remote, caller.Local)
	return p
}

// checkURL returns why the dial policy rejects a callback URL, or nil if it may be dialed.
func (h *Hub) checkURL(url string) error {
	if h.DialPolicy == nil {
		return nil
	}
	return h.DialPolicy.Check(url)
}

// AddViewer registers a dashboard stream until remove is called, which must happen
// exactly once.
func (h *Hub) AddViewer() (remove func()) {
	h.viewers.Add(1)
	return func() { h.viewers.Add(-1) }
}

// ViewerCount returns the number of open dashboard streams.
func (h *Hub) ViewerCount() int { return int(h.viewers.Load()) }

// ResponseSent records that the POST of a question was answered or its connection
// closed. From then on the agent may be dialed.
func (h *Hub) ResponseSent(id schema.EventID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if done, ok := h.unsentResponses[id]; ok {
		close(done)
		delete(h.unsentResponses, id)
	}
}

// responseSentTimeout limits AwaitResponseSent in case no one calls ResponseSent.
const responseSentTimeout = 10 * time.Second

// AwaitResponseSent blocks until the POST of the question was answered, at most
// responseSentTimeout. An agent that blocks in its POST can't accept a connection
// before that. It returns an error only if ctx ends.
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

// subscribe returns a channel that receives a value after the question changed, until
// stop is called. The id may be unknown to the hub; after stop nothing is retained for
// it.
func (h *Hub) subscribe(id schema.EventID) (changed <-chan struct{}, stop func()) {
	ch := feed.NewAlarm()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.subscribers[id] == nil {
		h.subscribers[id] = map[feed.Alarm]bool{}
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

// notifyRows updates the pending calls and wakes everything that waits for one of the
// committed rows.
func (h *Hub) notifyRows(rows []store.LogRow) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, row := range rows {
		id := row.Event.ID
		switch {
		case row.Change:
			for ch := range h.subscribers[id] {
				ch.Ring()
			}
			if row.Ends {
				h.pending.remove(row.Event)
				h.owners.remove(row.Event.UID)
				h.pendingTotal--
			}
		case row.Event.Question != nil:
			h.unsentResponses[id] = make(chan struct{})
			h.pending.add(row.Event)
			h.pendingTotal++
		}
	}
}
