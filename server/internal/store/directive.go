package store

import (
	"context"
	"errors"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// Directives carry grants, messages and freezes to running agents. Append hands them over: see
// EventDraft.Directive.
type Directives interface {
	// HasGrants reports whether a call of the session may have a grant. Append looks up the
	// grant only if its draft has the digest of the call, which costs time for every call.
	HasGrants(app, session string) bool

	// ExpireGrants ends the grants that have expired, and returns when the next one expires;
	// zero: never.
	ExpireGrants(ctx context.Context, now time.Time) (next time.Time, err error)
}

// DirectiveRequest is the part of a draft that asks for a directive. Append takes what the
// hook accepts in the transaction of the event. A repeat of the event gets the same again.
type DirectiveRequest struct {
	control.Accepts
	// AgentID is the subagent of the event; empty: the main agent.
	AgentID string
	// Digest is control.Digest of the event's call before redaction; empty: none.
	// StoredDigest is its form in the database.
	Digest       string
	StoredDigest []byte
	// IsValid reports whether the grantor could still grant the call. It must not use the
	// store. Nil: every grant is valid.
	IsValid func(*Grant) bool
	// CanSend reports whether a person may still send a message that was sent at that time.
	// It must not use the store. Nil: everyone may.
	CanSend func(from string, sentAt schema.Millis) bool
}

// Grant is a person's approval to run a refused call once.
type Grant struct {
	Question  schema.EventID // the appeal
	By        []string       // the approvers; LocalName without credentials
	GrantedAt time.Time
	ExpiresAt time.Time
}

// GrantChange ends an appeal in the transaction of its question. Without By nothing is
// granted.
type GrantChange struct {
	By                   []string
	GrantedAt, ExpiresAt time.Time
}

// Messages are the messages of people to running sessions. Append hands them over: see
// DirectiveRequest. Every change but acted_on is a ledger entry.
type Messages interface {
	// CreateMessage stores a message in the state saved. A repeat with the same key by the
	// same person returns the first message and isNew is false. Errors: schema.ErrKeyConflict
	// if the key belongs to another message, ErrManyWaiting if
	// control.MaxWaitingMessages messages wait for the session.
	CreateMessage(ctx context.Context, d MessageDraft) (m control.Message, isNew bool, err error)

	// WithdrawMessage withdraws a saved message. It fails with schema.ErrNotFound, and with
	// schema.ErrHandedOver if the message is in any other state.
	WithdrawMessage(ctx context.Context, id int64, by string) (control.Message, error)

	// Messages returns the newest messages to a session, at most n, oldest first.
	Messages(ctx context.Context, key SessionKey, n int) ([]control.Message, error)

	// EndMessages ends the saved messages to a session in the state expired.
	EndMessages(ctx context.Context, key SessionKey) error

	// HasMessages reports whether messages to the session are saved, or handed over and not acted
	// on. It reads no row.
	HasMessages(key SessionKey) bool

	// OpenMessages returns the numbers of these messages by session. It reads no row.
	OpenMessages() map[SessionKey]int64

	// HasWaitingMessages reports whether messages to the session are saved. It reads no row.
	HasWaitingMessages(key SessionKey) bool
}

// ErrManyWaiting is returned by CreateMessage if too many messages wait for the session.
var ErrManyWaiting = errors.New("too many messages wait for this session")

// MessageDraft is a message to store.
type MessageDraft struct {
	control.MessageDraft
	From   string
	SentAt time.Time
	Key    string // idempotency key; empty: none
}

// MessageStep is the effect of an event on the messages to its session. Append applies it in the
// transaction of the event.
type MessageStep struct {
	AgentID string // the subagent of the event; empty: the main agent
	ActedOn bool   // the agent has read the messages that were handed over before
	Ended   bool   // the session has ended
}

// Freezes are the stored freezes. The active ones are in memory.
type Freezes interface {
	// CreateFreeze stores a freeze and returns it with its ID. If an active one has the same scope,
	// it is returned unchanged, and created is false. It fails with schema.ErrTooMany if there are
	// MaxFreezes active ones.
	CreateFreeze(ctx context.Context, f control.Freeze) (stored control.Freeze, created bool, err error)

	// LiftFreeze ends a freeze and returns it. It fails with schema.ErrNotFound. A freeze that was
	// lifted before stays unchanged.
	LiftFreeze(ctx context.Context, id int64, by string, at time.Time) (control.Freeze, error)

	// ActiveFreezes returns the active freezes, the oldest first.
	ActiveFreezes() []control.Freeze

	// FreezeOf returns the oldest active freeze that stops the session, or nil.
	FreezeOf(app, session string) *control.Freeze

	// AutomaticFreezes returns the automatic freezes that f selects, lifted ones too, the newest
	// first.
	AutomaticFreezes(ctx context.Context, f AutomaticFreezeFilter) ([]control.Freeze, error)
}

// AutomaticFreezeFilter selects automatic freezes. Zero values select everything.
type AutomaticFreezeFilter struct {
	Rule         control.FreezeRule
	App, Session string // a session needs its application
	Limit        int    // required
}

// MaxFreezes limits the active freezes. Every gate hook and every approval reads them.
const MaxFreezes = 1000
