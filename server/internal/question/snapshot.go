// Package question is the state machine of questions. A Snapshot is a question's row as read.
// Its methods return the store.Change that an answer, a vote, a cancellation, a timer or an
// event of the agent makes, or nil if nothing has to change. Each question has one terminal
// transition, its resolution.
//
// The package does no I/O and reads no clock: times are parameters. Package hub reads the
// snapshot, calls one method and commits the change if the row is still the same
// (compare-and-swap); otherwise it reads the row again.
package question

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/identity"
	"github.com/hookback/hookback/server/internal/store"
)

// HubActor is the actor in the ledger if no person, agent or rule acted, such as at a
// deadline.
const HubActor = "hub"

// Accounts describes the people that a transition depends on, as of now.
type Accounts interface {
	// Access returns the access settings of the hub.
	Access() Access
	// Account returns the account of a person. The zero value means that there is none.
	Account(name string) Account
	// ResolveRecipients returns the people that r addresses, nil for anyone.
	ResolveRecipients(r *schema.Recipients) ([]string, error)
	// PeopleOf returns the people that handles and mail addresses of a CODEOWNERS file name.
	PeopleOf(owners []string) []string
}

// Access holds the access settings of a hub.
type Access struct {
	HasOwner         bool // there are accounts
	IsLocked         bool // only signed-in people may answer
	AllowsAnonymous  bool // callers without credentials may answer
	PasskeyThreshold schema.PasskeyThreshold
}

// Account holds the facts about one person that a transition depends on.
type Account struct {
	CreatedAt time.Time // when the account was created or last reset
	ResetAt   time.Time // when it was last reset; zero: never
	CanAnswer bool
}

// canStillAnswer reports whether something that name decided at that time (Unix ms) counts
// now: the account is the same and may answer.
func (env *Environment) canStillAnswer(name string, at int64) bool {
	account := env.Accounts.Account(name)
	return account.CanAnswer && account.CreatedAt.UnixMilli() <= at
}

// Freezes holds the active freezes.
type Freezes interface {
	// FreezeOf returns the active freeze that stops the session, or nil.
	FreezeOf(app, session string) *control.Freeze
}

// CompletedAsk is a question with the additions of the hub's settings.
type CompletedAsk struct {
	Ask     schema.HumanInTheLoop
	Applied *schema.AppliedDefaults
}

// Defaults are the hub's settings for questions.
type Defaults interface {
	// HasAny reports whether there are settings.
	HasAny() bool
	// Complete returns the forms of a valid question about a call of this class and risk after the settings, the
	// preferred form first. The others are for too few people who may decide it.
	Complete(q *schema.HumanInTheLoop, about *Call, class schema.Class, risk schema.Risk) []CompletedAsk
}

// Environment holds the inputs of a transition besides the question's row.
type Environment struct {
	HubID    string
	Key      *identity.Key
	Accounts Accounts
	Freezes  Freezes  // nil: none
	Defaults Defaults // nil: none
	// NudgeAfter is the interval of reminders for a question without a deadline; 0: none.
	NudgeAfter time.Duration
}

// RequestSecret returns the request secret of a question whose agent sent none. It is derived
// from the uid, so a repeated POST gets the same one.
func (env *Environment) RequestSecret(uid string) string {
	return base64.RawURLEncoding.EncodeToString(env.keyedHash("request secrets", []byte(uid)))
}

// keyedHash returns an HMAC with a key that is derived from the hub's key for a purpose.
// Without that key no one can test guesses at data.
func (env *Environment) keyedHash(purpose string, data []byte) []byte {
	mac := hmac.New(sha256.New, env.Key.Subkey(purpose))
	mac.Write(data)
	return mac.Sum(nil)
}

// StoredDigest returns the form of a call's digest in the database. Without the hub's key no one
// can test guesses at secrets in the call. It is nil for an empty digest.
func (env *Environment) StoredDigest(digest string) []byte {
	if digest == "" {
		return nil
	}
	return env.keyedHash("call digests", []byte(digest))
}

// IsGrantValid reports whether everyone who approved the grant could still do so: the account is
// the same and may answer, or the hub is still open to callers without credentials.
func (env *Environment) IsGrantValid(g *store.Grant) bool {
	for _, name := range g.By {
		if name == store.LocalName {
			if !env.Accounts.Access().AllowsAnonymous {
				return false
			}
		} else if !env.canStillAnswer(name, g.GrantedAt.UnixMilli()) {
			return false
		}
	}
	return true
}

// Snapshot is a question's row as read and decoded, the input of a transition. A transition
// may modify its Status, so a snapshot serves one transition.
type Snapshot struct {
	*store.Question
	Ask     schema.HumanInTheLoop
	Status  schema.Status
	Blocked error // why the callback URL may not be dialed; nil if it may
	// Duplicates are the other questions of the group that it leads.
	Duplicates []Duplicate

	env       *Environment
	voters    []string        // recipients who may still vote
	undoable  *undoableAnswer // answer in its undo window; nil if none
	authority store.Authority
	call      *Call // see Call
}

// Call returns the call that the question is about; see CallOf.
func (s *Snapshot) Call() *Call {
	if s.call == nil {
		s.call = CallOf(&s.Event, &s.Ask)
	}
	return s.call
}

// Duplicate is a later question of a group.
type Duplicate struct {
	*Snapshot
	Joined int64 // first revision of the leader that counts it
}

// Decode decodes a question that was read.
func Decode(q *store.Question, env *Environment) (*Snapshot, error) {
	s := &Snapshot{Question: q, env: env}
	if err := json.Unmarshal(q.Event.Question, &s.Ask); err != nil {
		return nil, fmt.Errorf("read stored question %d: %w", q.ID, err)
	}
	if err := json.Unmarshal(q.Status, &s.Status); err != nil {
		return nil, fmt.Errorf("read stored status of question %d: %w", q.ID, err)
	}
	addressed := max(q.ReceivedAt.UnixMilli(), int64(s.Status.EscalatedAt))
	s.voters = slices.DeleteFunc(slices.Clone(s.Status.Recipients), func(name string) bool { return !env.canStillAnswer(name, addressed) })
	if s.UndoWindow != nil {
		if err := json.Unmarshal(s.UndoWindow.Answer, &s.undoable); err != nil {
			return nil, fmt.Errorf("read undoable answer of question %d: %w", q.ID, err)
		}
	}
	return s, nil
}

// CheckSecret returns an error that names field unless secret is the one with which the
// requester withdraws the question and fetches its answer.
func (s *Snapshot) CheckSecret(field, secret string) error {
	if hmac.Equal(s.SecretHash, schema.RequestSecretHash(secret)) {
		return nil
	}
	return &schema.FieldError{Field: field, Detail: "does not belong to this question", Cause: schema.ErrForbidden}
}

// excludesRequester reports whether the requester of q may not answer it.
func excludesRequester(q *schema.HumanInTheLoop) bool {
	return q.ExcludeRequester == nil || *q.ExcludeRequester
}

// arguments returns the arguments that an approval would run now, or nil if the
// question is not about a tool call.
func (s *Snapshot) arguments() json.RawMessage {
	switch {
	case s.Status.Edited != nil:
		return s.Status.Edited.Arguments
	case s.Ask.ToolCall != nil && s.Ask.ToolCall.ArgumentsRef != "":
		return s.Call().Arguments
	case s.Ask.ToolCall != nil:
		return s.Ask.ToolCall.Arguments
	default:
		return nil
	}
}

// change returns the row change to status st, with the next revision.
func (s *Snapshot) change(st schema.Status) (*store.Change, error) {
	st.Revision = s.Version + 1
	status, err := json.Marshal(st)
	if err != nil {
		return nil, fmt.Errorf("encode status: %w", err)
	}
	return &store.Change{Event: &s.Event, Version: s.Version, State: st.Status, Status: status, Authority: s.authority}, nil
}

// SettledError returns the error for a change of a question that is settled with that status.
func SettledError(st *schema.Status) error {
	err := schema.ErrDecided
	if st.Status != schema.Responded {
		err = schema.ErrExpired
	}
	return &schema.StatusError{Err: err, Status: *st}
}

// undecidedError returns the error for an operation on a question that is still pending.
func (s *Snapshot) undecidedError() error {
	return &schema.StatusError{Err: schema.ErrUndecided, Status: s.Status}
}

func invalidField(field, format string, args ...any) error {
	return &schema.FieldError{Field: field, Detail: fmt.Sprintf(format, args...)}
}

func invalidAnswer(field, detail string, args ...any) error {
	return &schema.FieldError{Field: field, Detail: fmt.Sprintf(detail, args...), Cause: schema.ErrWrongAnswer}
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// approves reports whether an answer with this outcome lets the agent continue. A choice, a text and
// a vote without a majority do.
func approves(outcome schema.Outcome) bool {
	return !strings.EqualFold(string(outcome), string(schema.Deny)) && outcome != schema.NoQuorum
}

// requireDenial rejects an answer to a question of hookback doctor that is not a denial.
func (s *Snapshot) requireDenial(outcome schema.Outcome) error {
	if !s.Status.Probe || outcome == schema.Deny {
		return nil
	}
	return &schema.HintError{
		Err:  &schema.StatusError{Err: schema.ErrNotAllowed, Status: s.Status},
		Hint: "hookback doctor sent this request to check that a denial arrives. Nothing was approved. It can only be denied.",
	}
}
