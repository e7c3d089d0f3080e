package store

import (
	"context"
	"crypto/hmac"
	"time"

	"github.com/hookback/hookback/schema"
)

// Questions are the pending and resolved questions.
type Questions interface {
	// Question returns a question with its full payload. It fails with schema.ErrNotFound if
	// there is no such event, and with schema.ErrNoQuestion if the event has no question.
	Question(ctx context.Context, id schema.EventID) (*Question, error)

	// Apply changes a question, all of c or nothing, and returns once it is committed and
	// published. It fails with ErrConflict if the question is no longer at c.Version, and
	// with schema.ErrNotFound or schema.ErrNoQuestion. ctx and ownership of c's bytes work
	// as for Append.
	Apply(ctx context.Context, c Change) error

	// Pending returns all pending questions, oldest first.
	Pending(ctx context.Context) ([]*Event, error)

	// PendingInSession returns the pending questions of a session, oldest first.
	PendingInSession(ctx context.Context, app, session string) ([]schema.EventID, error)

	// Questions returns up to n questions asked before the given one, newest first, or fewer
	// if they are big.
	Questions(ctx context.Context, before schema.EventID, n int) ([]*Event, error)

	// QuestionsSince returns the questions that were asked or changed after seq, each once,
	// and the log position up to which the list is complete. It skips plain events without
	// reading them, and pruned rows.
	QuestionsSince(ctx context.Context, seq int64, limit int) (ids []schema.EventID, upTo int64, err error)

	// DueQuestions returns pending questions with work due at now: up to n with an ended
	// undo window, then up to n past their deadline, then up to n with a due timer, each
	// longest due first. next is the earliest such time after now: zero if there is none.
	DueQuestions(ctx context.Context, now time.Time, n int) (due []schema.EventID, next time.Time, err error)

	// OpenUndoWindows returns the pending questions with an answer in its undo window.
	OpenUndoWindows(ctx context.Context) ([]schema.EventID, error)

	// GroupMembers returns the pending duplicates of the pending question leader.
	GroupMembers(ctx context.Context, leader schema.EventID) ([]GroupMember, error)

	// EarlierOutcomes returns the outcomes of earlier resolved questions about the same
	// tool call in the same application, newest first. It returns none for a question
	// without a call.
	EarlierOutcomes(ctx context.Context, id schema.EventID) ([]EarlierOutcome, error)

	// Lifelines returns the pending questions with the given liveness signal after the given one,
	// oldest first.
	Lifelines(ctx context.Context, of Lifeline, after schema.EventID) ([]schema.EventID, error)

	// Orphans returns the questions of Lifelines whose Owner is none of the hubs that are alive.
	Orphans(ctx context.Context, of Lifeline, alive []string) ([]schema.EventID, error)
}

// Repeats reports whether q is the same request as first: the same body, or the same
// question by an agent that has the request secret. The agent may have a new listener.
func (q *NewQuestion) Repeats(first *NewQuestion) bool {
	equal := func(a, b []byte) bool { return a != nil && hmac.Equal(a, b) }
	return equal(first.BodyHash, q.BodyHash) || equal(first.AskHash, q.AskHash) && equal(first.SecretHash, q.SecretHash)
}

// Change is one atomic change of a question, guarded by its version (optimistic
// concurrency).
type Change struct {
	Event   *Event // the question's event as read; carries the ID
	Version int64  // expected version of the question
	State   schema.State
	Status  []byte // new humanInTheLoopStatus
	Answer  []byte // nil: unchanged
	// Receipt is the signed resolution; nil: unchanged. Proofs replaces the assertions of the
	// question's answers and votes; nil: unchanged.
	Receipt, Proofs []byte
	// Delivery replaces the question's outbox row; nil: unchanged.
	Delivery *Delivery
	// Deadline is the new deadline; zero: unchanged. NoDeadline removes it.
	Deadline   time.Time
	NoDeadline bool
	// UndoWindow is the new undo window; nil: unchanged, an empty one removes it.
	UndoWindow *UndoWindow
	// Timers are the new timers; nil: unchanged.
	Timers *Timers
	// Duplicates are the resolutions of the other questions in the duplicate group.
	Duplicates []Change
	// Grant ends an appeal; nil: the question is none.
	Grant *GrantChange
	// Rule is the ID of the rule that decided, whose use is counted; 0: none.
	Rule int64
	// Approves marks an answer or a vote that is no denial. Apply refuses it with
	// schema.ErrFrozen if a freeze stops the agent.
	Approves bool
	// Authority is what allows the change. Apply refuses it with ErrPolicyChanged if another hub has
	// changed accounts or rules since this hub read them.
	Authority Authority
	// Ends marks a resolution: the question is no longer pending.
	Ends bool
	// Ledger are the audit log records, written in the same transaction.
	Ledger []LedgerRecord
}

// Authority is what allows a change of a question.
type Authority int

// The authorities.
const (
	NoAuthority Authority = iota // nothing that people change, such as a deadline
	OfAccounts                   // accounts and rules, as the hub reads them when it decides
	OfCaller                     // credentials, which the hub checked when the request arrived
)

// MaxGroupSize bounds how many questions one answer can resolve. Further duplicates start
// a new group.
const MaxGroupSize = 100

// GroupMember is a member of a duplicate group, other than its leader.
type GroupMember struct {
	ID     schema.EventID
	Joined int64 // the leader's revision from which this member is counted
}

// EarlierOutcome is the outcome of an earlier question.
type EarlierOutcome struct {
	ID      schema.EventID
	Outcome schema.Outcome
}

// NewQuestion is the part of a question that the hub does not show to clients.
type NewQuestion struct {
	URL              string // callback address, secret; empty: the agent pulls
	ListenerKey      string
	Protocol         int       // 2: the listener acknowledges
	Deadline         time.Time // zero: never
	Text             string    // searchable text
	RequesterProcess []byte    // peer.Process of the requester, JSON; nil: unknown
	Requester        string    // authenticated name of the requester; empty: unknown
	Call             []byte    // hash that identifies the tool call; nil: none
	Appeal           []byte    // the digest of the refused call, as in DirectiveRequest.StoredDigest; nil: no appeal
	Lifeline         Lifeline
	DuplicateKey     []byte // equal for duplicates; nil: never grouped
	Timers           Timers
	// SharedListener is equal for version 1 questions whose answers one listener can't distinguish
	// apart; nil: none. Append ends older pending questions with the same value, and the
	// delivery of their unsent answers, by applying the change that Supersede returns.
	// Supersede must not use the store.
	SharedListener []byte
	Supersede      func(older *Question, by schema.EventID) (*Change, error)

	// The hashes of the POST that asked decide whether a repeat is the same request. They are nil
	// for a question of an older hub, whose POST can't be repeated.
	BodyHash   []byte // of the whole body
	AskHash    []byte // of the question, without its secrets
	SecretHash []byte // schema.RequestSecretHash
	HasNonce   bool   // see schema.HumanInTheLoop.Nonce, which is not stored
}

// Timers are the times of a pending question's reminder and escalation; zero: none.
type Timers struct {
	Remind   time.Time // remind recipients who have not answered
	Escalate time.Time // address the question to more people
}

// Next returns the earlier timer; zero if none is set.
func (t Timers) Next() time.Time {
	if t.Remind.IsZero() || !t.Escalate.IsZero() && t.Escalate.Before(t.Remind) {
		return t.Escalate
	}
	return t.Remind
}

// Lifeline is the liveness signal of a question: the connection whose loss shows that
// the requester is gone and resolves the question.
type Lifeline int

// The liveness signals.
const (
	NoLifeline Lifeline = iota
	// ByListener: the listener at URL is gone.
	ByListener
	// ByRequest: the connection of the HTTP request that asked and waits for the answer
	// is closed.
	ByRequest
	// ByRetry is ByRequest for a program that sends its request again if the connection breaks.
	ByRetry
)

// Question is a question with all of its stored state.
type Question struct {
	Event
	NewQuestion
	Place
	Version    int64 // incremented by every change; the guard of Apply
	State      schema.State
	Answer     []byte      // schema.Answer without hookEvent; nil while pending
	UndoWindow *UndoWindow // nil: none
	Delivery   *Delivery   // nil while pending
	Receipt    []byte      // schema.Envelope, JSON; nil while pending, and if the hub that settled it signed nothing
	Proofs     []byte      // JSON array of sign.PasskeyProof; nil: none
}

// Seal returns the signed form of the answer as its agent gets it, or nil if the agent did
// not ask for one.
func (q *Question) Seal() []byte {
	if q.Protocol < 2 || !q.HasNonce {
		return nil
	}
	return q.Receipt
}

// UndoWindow is an answer that was given but can still be undone.
type UndoWindow struct {
	Answer []byte    // schema.Answer
	Until  time.Time // when the answer becomes final
}
