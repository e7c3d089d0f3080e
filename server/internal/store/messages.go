package store

import (
	"context"
	"errors"
	"time"

	"github.com/hookback/hookback/schema/control"
)

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
