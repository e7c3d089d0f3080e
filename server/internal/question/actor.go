package question

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/peer"
	"github.com/hookback/hookback/server/internal/store"
)

// Actor is the caller of an operation on a question, identified by credentials and by the
// process at the other end of the connection.
type Actor struct {
	Name    string // of the authenticated person; empty without credentials
	Via     string // authentication method; empty: none
	IsAdmin bool
	Paired  bool          // a paired device
	Process *peer.Process // evidence, not proof; nil: unknown
}

// name returns the name under which an action of the caller is stored.
func (a Actor) name() string {
	if a.Name == "" {
		return store.LocalName
	}
	return a.Name
}

// responder is the caller that answered. Only the audit log has the program: agents and pages get the public part.
type responder struct {
	schema.Responder
	Process *peer.Program `json:"process,omitempty"` // nil: the operating system does not report it
}

// public returns the part for agents and pages; nil for no one.
func (r *responder) public() *schema.Responder {
	if r == nil {
		return nil
	}
	return &r.Responder
}

// responder returns the actor in its stored form: the verified person, or an unauthenticated
// caller on this machine.
func (a Actor) responder(requesterProcess []byte) *responder {
	by := &responder{Responder: schema.Responder{Name: store.LocalName}}
	if a.Via != "" {
		by.Name, by.Verified, by.Via = a.Name, true, a.Via
	}
	if a.Process == nil {
		return by
	}
	by.Process = &a.Process.Program
	var requester peer.Process
	if len(requesterProcess) > 0 && json.Unmarshal(requesterProcess, &requester) == nil {
		by.SelfApproval = peer.IsDescendant(a.Process, &requester)
	}
	return by
}

// IsStartedByRequester reports whether the actor is a program that the requester started.
func (s *Snapshot) IsStartedByRequester(from Actor) bool {
	return from.responder(s.RequesterProcess).SelfApproval
}

// authorize returns the responder to the question, and rejects the requester. An answer from
// a descendant of the requesting process is marked as self-approval on an open hub. It is
// rejected if the hub is locked, the requester was authenticated by a token, or the question is
// an appeal.
func (s *Snapshot) authorize(from Actor) (*responder, error) {
	by := from.responder(s.RequesterProcess)
	s.authority = store.OfCaller
	switch {
	case by.SelfApproval && (s.Requester != "" || s.Ask.Appeal != nil || s.env.Accounts.Access().IsLocked):
		return nil, &schema.HintError{
			Err:  &schema.StatusError{Err: schema.ErrSelfApproval, Status: s.Status},
			Hint: "The answer came from a program that the requester started. Nothing was decided. Answer in a browser that you opened yourself." + ownPageHint,
		}
	case by.Verified && s.env.Accounts.Account(by.Name).ResetAt.After(s.ReceivedAt):
		return nil, &schema.HintError{Err: schema.ErrNotAllowed, Hint: "This question was asked before the account of " + by.Name + " was reset. Someone else has to answer it."}
	case by.Verified && requiresVotes(&s.Status) && s.isLaterAccount(by.Name):
		return nil, &schema.HintError{Err: schema.ErrNotAllowed, Hint: "This question was asked before the account of " + by.Name + " was created. Someone else has to answer it."}
	case by.Verified && s.Requester != "" && excludesRequester(&s.Ask) && strings.EqualFold(s.Requester, by.Name):
		return nil, &schema.HintError{
			Err:  &schema.StatusError{Err: schema.ErrSelfApproval, Status: s.Status},
			Hint: "The requester is " + by.Name + ", so someone else has to answer. Give agents their own tokens (hubin_…)." + ownPageHint,
		}
	default:
		return by, nil
	}
}

// ownPageHint names the page for programs that ask and answer.
const ownPageHint = " For a page of your own, see /docs/votes#your-own-page."

// isLaterAccount reports whether the account was created after the question was
// addressed. If the question names recipients, the name meant a different person at that
// time. If everyone may vote, an admin could otherwise add accounts until they decide
// alone; an escalation does not change that, because it adds no one.
func (s *Snapshot) isLaterAccount(name string) bool {
	addressed := s.ReceivedAt.UnixMilli()
	if len(s.Status.Recipients) > 0 {
		addressed = max(addressed, int64(s.Status.EscalatedAt))
	}
	return s.env.Accounts.Account(name).CreatedAt.UnixMilli() > addressed
}

// requireRecipient rejects a responder who is not a recipient. For Undo, Extend, Redeliver and MarkHandled
// that is enough, without the further checks of authorize: none of them approves anything. An undone answer
// leaves the question pending, no matter who undoes it, and a new answer passes authorize. More time, another
// delivery of the given answer or none at all turn no answer into an approval.
func (s *Snapshot) requireRecipient(by *responder) error {
	s.authority = store.OfCaller
	switch {
	case !requiresVotes(&s.Status):
		return nil
	case !by.Verified:
		return &schema.HintError{Err: schema.ErrSignIn, Hint: "This question is addressed to certain people. Open your sign-in link, or send your own token."}
	case len(s.Status.Recipients) > 0 && !slices.Contains(s.Status.Recipients, by.Name) && hasOwners(&s.Status):
		return &schema.HintError{Err: schema.ErrNotAllowed, Hint: "Only owners of the files may decide: " + strings.Join(s.Status.Recipients, ", ") + "."}
	case len(s.Status.Recipients) > 0 && !slices.Contains(s.Status.Recipients, by.Name):
		return &schema.HintError{Err: schema.ErrNotAllowed, Hint: "This question is addressed to " + strings.Join(s.Status.Recipients, ", ") + "."}
	default:
		return nil
	}
}

// excludeSelfApproved removes the duplicates that the responder may not answer, and
// duplicates whose answer would be a self-approval when the leader's is not, or the reverse.
func (s *Snapshot) excludeSelfApproved(from Actor, by *responder) {
	s.Duplicates = slices.DeleteFunc(s.Duplicates, func(m Duplicate) bool {
		ownBy, err := m.authorize(from)
		return err != nil || ownBy.SelfApproval != by.SelfApproval
	})
}
