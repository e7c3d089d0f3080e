package store

import (
	"context"
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
