package hub

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/peer"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/redact"
	"github.com/hookback/hookback/server/internal/rules"
	"github.com/hookback/hookback/server/internal/store"
)

// DefaultReconnectGrace is the default of Config.ReconnectGrace.
const DefaultReconnectGrace = 10 * time.Second

// DialPolicy decides which callback URLs may be dialed.
type DialPolicy interface {
	// Check returns why a URL may not be dialed, or nil if it may.
	Check(url string) error
}

// Processes finds the process at the other end of a connection.
type Processes interface {
	ProcessOf(remote, local netip.AddrPort) (*peer.Process, bool)
}

// FreezeWriter stores the active freezes. The hub calls it when it starts, and after each change before
// it reports the change.
type FreezeWriter interface{ Write([]control.Freeze) }

// Config holds the dependencies and options of a Hub. Store and Feed are required.
type Config struct {
	Store interface {
		store.Log
		store.Questions
		store.Rules
		store.History
		store.Projections
		store.Ledger
		store.Directives
		store.Messages
		store.Freezes
		store.Members
	}
	Feed *feed.Feed

	// Redactor removes secrets from events before they are stored. Nil stores them
	// unchanged.
	Redactor *redact.Redactor
	// DialPolicy is the SSRF protection of callbacks. Nil allows every URL.
	DialPolicy DialPolicy
	// Address is that of this hub for programs, such as http://127.0.0.1:4000.
	Address string
	// NudgeAfter is the interval of reminders for a question without a deadline, sent
	// at most three times. 0 sends none. Questions with a deadline set their own
	// interval.
	NudgeAfter time.Duration
	// Processes finds callers. Nil disables the lookup.
	Processes Processes
	// People authorizes callers and knows the accounts. Nil means that there are no
	// accounts and every caller is allowed.
	People *auth.Service

	// Coverage takes the gate facts of stored events, with the authenticated name of their sender. Nil ignores them.
	Coverage interface {
		Observe(requester string, e *store.Event)
	}

	Tests TestRequests // nil: no event is a test request
	Reach Reach        // nil: no notifications

	// Defaults complete questions. Nil completes none.
	Defaults question.Defaults

	PendingLimits PendingLimits

	// FreezeWriter stores the active freezes for hooks that can't reach the hub. Nil: nowhere.
	FreezeWriter FreezeWriter

	// ReconnectGrace is the time in which a program whose request broke off can send it again; see
	// Attach. Default DefaultReconnectGrace.
	ReconnectGrace time.Duration

	Clock func() time.Time // default: time.Now
	Log   *slog.Logger     // default: discard
}

// Hub executes the operations. Its methods are safe for concurrent use.
type Hub struct {
	Config
	env      question.Environment
	startSeq int64 // head of the log at the start

	raceLocks [64]sync.Mutex // striped by question id; serialize retries after a lost compare-and-swap

	clockMu      sync.Mutex
	clockChecked time.Time // reference reading, renewed after each detected step; guarded by clockMu
	elapsed      func(from, to time.Time) time.Duration

	rulesMu sync.Mutex                // serializes replacement of rules
	rules   atomic.Pointer[rules.Set] // active rules; nil means none

	allowances []schema.Rule // the active ones, as published; guarded by rulesMu
	newestRule atomic.Int64  // the largest id of an active rule so far; rulesMu serializes changes
	followed   followedState

	Viewers  Viewers // open dashboard streams
	requests openRequests
	frozen   freezeProgress

	repeating sync.Mutex // held while FreezeWriter runs

	mu              sync.Mutex
	subscribers     map[schema.EventID]map[feed.Wakeup]bool // by question; woken by its changes
	unsentResponses map[schema.EventID]chan struct{}        // by question; closed when the response to its POST was sent
	unanswered      question.UnansweredAppeals
	pending         tally[store.SessionKey]                 // the pending questions of all hubs, and those in unstored
	unstored        map[string]bool                         // uids of the questions that are not stored yet
	calls           map[schema.EventID]question.PendingCall // of pending questions; a cache
	askBacks        map[sessionCall]schema.EventID          // newest question of the call that was answered with askBack; only a hint
	sessionApps     map[sentSession]string                  // their applications
	messageWaiters  map[store.SessionKey]*messageWaiter
	stopBlocks      map[store.SessionKey]int // ends of turns in a row that handed over messages
	byOwner         tally[string]            // of the questions asked at this hub since it started and not settled
}

// Reach counts the notifications that reach people.
type Reach interface {
	// Reachable returns how many notifications of a new question would be delivered now.
	Reachable(ctx context.Context) int
	// IsAway reports whether the person has quiet hours now, and no page open.
	IsAway(ctx context.Context, person string) bool
}

// TestRequests are the questions that the hub itself asks.
type TestRequests interface {
	// Owns reports whether an event with this idempotency key is one.
	Owns(key string) bool
}

// Caller identifies the connection and the credentials of a request. The zero value is
// unknown and unauthenticated.
type Caller struct {
	Remote, Local netip.AddrPort
	Process       peer.ProcessRef       // of a connection over the Unix socket; zero: found by the addresses
	Connection    *peer.ConnectionCache // nil: the process is found for each request
	Identity      auth.Identity         // proven by the request's credentials
	// WaitsForAnswer is set when the HTTP request itself waits for the answer. Its handler must
	// call Abandon when the connection ends.
	WaitsForAnswer bool
	// Retries is set with WaitsForAnswer if the program sends its request again when the connection
	// breaks. Its handler must call Attach.
	Retries bool
	IsProbe bool // hookback doctor sent the event, with a ticket
	// KeyScope separates the idempotency keys of a kind of request from all others; "": the keys of
	// posted events.
	KeyScope string
	// Accepts are the parts of a directive that the poster of an event applies; nil: it
	// did not ask for a receipt.
	Accepts *control.Accepts

	isLate bool // the event is one of a batch
}

// callerProcess returns the process that opened the caller's connection, or nil if it is unknown.
func (h *Hub) callerProcess(caller Caller) *peer.Process {
	if h.Processes == nil || !caller.Remote.IsValid() {
		return nil
	}
	return caller.Connection.Process(func() (p *peer.Process) {
		if caller.Process.PID != 0 {
			p, _ = peer.Describe(caller.Process)
		} else {
			p, _ = h.Processes.ProcessOf(caller.Remote, caller.Local)
		}
		return p
	})
}

// actor returns the caller in the form in which package question knows it.
func (h *Hub) actor(caller Caller) question.Actor {
	return question.Actor{
		Name: caller.Identity.Name, Via: caller.Identity.Via, IsAdmin: caller.Identity.HasRole(schema.Admin), Paired: caller.Identity.Paired,
		Process: h.callerProcess(caller),
	}
}

// checkURL returns why the dial policy rejects a callback URL, or nil if it may be dialed.
func (h *Hub) checkURL(url string) error {
	if h.DialPolicy == nil {
		return nil
	}
	return h.DialPolicy.Check(url)
}

// Viewers counts open dashboard streams.
type Viewers struct {
	own, others atomic.Int64
	changed     atomic.Pointer[func()] // nil: there are no other hubs
}

// Add registers a stream until remove is called, which must happen exactly once.
func (v *Viewers) Add() (remove func()) {
	v.add(1)
	return func() { v.add(-1) }
}

func (v *Viewers) add(n int64) {
	v.own.Add(n)
	if changed := v.changed.Load(); changed != nil {
		(*changed)()
	}
}

// Observe sets the function that is called after Own has changed. It must be quick.
func (v *Viewers) Observe(changed func()) { v.changed.Store(&changed) }

// Own returns the number of open streams of this hub.
func (v *Viewers) Own() int { return int(v.own.Load()) }

// SetOthers sets the number of open streams of other hubs.
func (v *Viewers) SetOthers(n int) { v.others.Store(int64(n)) }

// Count returns the number of open streams of all hubs.
func (v *Viewers) Count() int { return int(v.own.Load() + v.others.Load()) }

// accounts presents the accounts to package question. The service may be nil: a hub without
// accounts, where everyone may answer.
type accounts struct{ *auth.Service }

// Access implements question.Accounts.
func (a accounts) Access() question.Access {
	return question.Access{
		HasOwner: a.HasOwner(), IsLocked: a.IsLocked(), AllowsAnonymous: a.Check(schema.AccessDecide, auth.Identity{}) == nil,
		PasskeyThreshold: a.PasskeyThreshold(),
	}
}

// Account implements question.Accounts.
func (a accounts) Account(name string) (account question.Account) {
	if a.Service == nil {
		return question.Account{CanAnswer: true}
	}
	identity, known := a.IdentityOf(name, "vote")
	account.CreatedAt, _ = a.CreatedAt(name)
	account.ResetAt = a.ResetAt(name)
	account.CanAnswer = known && a.Check(schema.AccessDecide, identity) == nil
	return account
}

// approvers returns the names of all accounts that may answer.
func (a accounts) approvers() (names []string) {
	for _, p := range a.Accounts(context.Background()) {
		if p.Role == schema.Operator || p.Role == schema.Admin {
			names = append(names, p.Name)
		}
	}
	return names
}
