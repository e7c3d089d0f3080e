package hub

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/peer"
)

// localName is the name of a caller without an account.
const localName = auth.LocalName

// responder is the sender of an answer, identified by credentials and by the process at
// the other end of the connection.
type responder struct {
	identity auth.Identity
	process  *peer.Process
}

// describe returns the responder in its stored form: the verified person, or an
// unauthenticated caller on this machine. The process is evidence, not proof.
func (r responder) describe(requesterProcess []byte) *schema.Responder {
	by := &schema.Responder{Name: localName}
	if r.identity.IsAuthenticated() {
		by.Name, by.Verified, by.Via = r.identity.Name, true, r.identity.Via
	}
	if r.process == nil {
		return by
	}
	by.Process = &r.process.Process
	var requester peer.Process
	if len(requesterProcess) > 0 && json.Unmarshal(requesterProcess, &requester) == nil {
		by.SelfApproval = peer.IsDescendant(r.process, &requester)
	}
	return by
}

// authorizeResponder returns the responder to question s, and rejects the requester. An
// answer from a descendant of the requesting process is marked as self-approval on an
// open hub. It is rejected if the hub is locked or the requester was authenticated by a
// token.
func (h *Hub) authorizeResponder(s *snapshot, from responder) (*schema.Responder, error) {
	by := from.describe(s.RequesterProcess)
	excluded := s.hitl.ExcludeRequester == nil || *s.hitl.ExcludeRequester
	switch {
	case by.SelfApproval && (h.People.IsLocked() || s.Requester != ""):
		return nil, &schema.HintError{
			Err:  &schema.StatusError{Err: schema.ErrSelfApproval, Status: s.status},
			Hint: "The answer came from a program that the requester started. Nothing was decided. Answer in a browser that you opened yourself.",
		}
	case from.identity.IsAuthenticated() && h.People.ResetAt(from.identity.Name).After(s.Event.ReceivedAt):
		return nil, &schema.HintError{Err: schema.ErrNotAllowed, Hint: "This question was asked before the account of " + from.identity.Name + " was reset. Someone else has to answer it."}
	case requiresVotes(&s.status) && h.isLaterAccount(s, from.identity.Name):
		return nil, &schema.HintError{Err: schema.ErrNotAllowed, Hint: "This question was asked before the account of " + from.identity.Name + " was created. Someone else has to answer it."}
	case excluded && s.Requester != "" && from.identity.IsAuthenticated() && strings.EqualFold(s.Requester, from.identity.Name):
		return nil, &schema.HintError{
			Err:  &schema.StatusError{Err: schema.ErrSelfApproval, Status: s.status},
			Hint: "The requester is " + from.identity.Name + ", so someone else has to answer. Give agents their own tokens (hubin_…).",
		}
	default:
		return by, nil
	}
}

// isLaterAccount reports whether the account was created after the question was
// addressed. If the question names recipients, the name meant a different person at that
// time. If everyone may vote, an admin could otherwise add accounts until they decide
// alone; an escalation does not change that, because it adds no one.
func (h *Hub) isLaterAccount(s *snapshot, name string) bool {
	addressed := s.Event.ReceivedAt.UnixMilli()
	if len(s.status.Recipients) > 0 {
		addressed = max(addressed, int64(s.status.EscalatedAt))
	}
	created, known := h.People.CreatedAt(name)
	return known && created.UnixMilli() > addressed
}

// dropRevokedVotes removes the votes of people who may no longer vote, before another
// vote is counted with them.
func (h *Hub) dropRevokedVotes(s *snapshot) {
	s.status.Votes = slices.DeleteFunc(slices.Clone(s.status.Votes), func(v schema.Vote) bool { return !h.voteStillValid(v.User, v.At) })
}

// voteStillValid reports whether a decision that name made at that time still counts:
// the account is the same and may still answer.
func (h *Hub) voteStillValid(name string, at schema.Millis) bool {
	created, known := h.People.CreatedAt(name)
	identity, _ := h.People.IdentityOf(name, "vote")
	return h.People == nil || known && h.People.Check(schema.AccessDecide, identity) == nil && created.UnixMilli() <= int64(at)
}

// EventApp returns the application of an event.
func (h *Hub) EventApp(ctx context.Context, id schema.EventID) (string, error) {
	e, _, err := h.Store.Event(ctx, id)
	if err != nil {
		return "", err
	}
	return e.App, nil
}

// appNotAllowedError returns the error for an event of an application that the token is
// not valid for.
func appNotAllowedError(app string) error {
	return &schema.HintError{
		Err:  &schema.FieldError{Field: "source_app", Detail: "is " + strconv.Quote(app) + ", which this token is not valid for", Cause: schema.ErrNotAllowed},
		Hint: "An admin can change the applications of a token under Settings, People.",
	}
}
