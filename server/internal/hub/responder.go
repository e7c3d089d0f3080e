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

// localName is who acts on a hub that does not know them.
const localName = auth.LocalName

// responder is who is about to answer, by their credentials and by what the operating
// system knows of the program on the other end.
type responder struct {
	identity auth.Identity
	process  *peer.Process
}

// describe is who answers, as it is stored: the person behind a credential, or anyone
// on this machine. The process is evidence, not proof.
func (r responder) describe(requesterProcess []byte) *schema.Responder {
	by := &schema.Responder{Name: localName}
	if r.identity.Known() {
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

// authorizeResponder is who answers question a, unless that is who asked it. On a hub where
// anyone may answer, an answer that comes from the asking program is marked; where the
// hub is locked, or the asker named itself by a token, it is refused.
func (h *Hub) authorizeResponder(s *snapshot, from responder) (*schema.Responder, error) {
	by := from.describe(s.RequesterProcess)
	excluded := s.hitl.ExcludeRequester == nil || *s.hitl.ExcludeRequester
	switch {
	case by.SelfApproval && (h.People.Locked() || s.Requester != ""):
		return nil, &schema.HintError{
			Err:  &schema.StatusError{Err: schema.ErrSelfApproval, Status: s.status},
			Hint: "The answer came from a program that the asking one started. Nothing was decided: answer in a browser that you opened yourself.",
		}
	case len(s.status.Recipients) > 0 && h.nameReused(s, from.identity.Name):
		return nil, &schema.HintError{Err: schema.ErrNotAllowed, Hint: "This question was put to another " + from.identity.Name + ", who is gone."}
	case excluded && s.Requester != "" && from.identity.Known() && strings.EqualFold(s.Requester, from.identity.Name):
		return nil, &schema.HintError{
			Err:  &schema.StatusError{Err: schema.ErrSelfApproval, Status: s.status},
			Hint: "It was asked in the name of " + from.identity.Name + ". Somebody else has to answer. Agents ask with tokens of their own (hubin_…).",
		}
	default:
		return by, nil
	}
}

// nameReused reports whether the person of that name has been known only since the question
// was put to whom it is put to: whoever it names was somebody else.
func (h *Hub) nameReused(s *snapshot, name string) bool {
	created, known := h.People.CreatedAt(name)
	return known && created.UnixMilli() > max(s.Event.ReceivedAt.UnixMilli(), int64(s.status.EscalatedAt))
}

// dropRevokedVotes takes out the votes of those who may not vote any more, before another one is
// counted with them: whoever is sent away takes their yes along.
func (h *Hub) dropRevokedVotes(s *snapshot) {
	s.status.Votes = slices.DeleteFunc(slices.Clone(s.status.Votes), func(v schema.Vote) bool { return !h.voteStillValid(v.User, v.At) })
}

// voteStillValid reports whether what name decided at that time is still theirs to decide: they
// are the same person, and may answer.
func (h *Hub) voteStillValid(name string, at schema.Millis) bool {
	created, known := h.People.CreatedAt(name)
	identity, _ := h.People.IdentityOf(name, "vote")
	return h.People == nil || known && h.People.RequireOperator(identity) == nil && created.UnixMilli() <= int64(at)
}

// App is the application that an event is of.
func (h *Hub) App(ctx context.Context, id schema.EventID) (string, error) {
	e, _, err := h.Store.Event(ctx, id)
	if err != nil {
		return "", err
	}
	return e.App, nil
}

// appNotAllowedError refuses an event that a token is not for.
func appNotAllowedError(app string) error {
	return &schema.HintError{
		Err:  &schema.FieldError{Field: "source_app", Detail: "is " + strconv.Quote(app) + ", which this token is not for", Cause: schema.ErrNotAllowed},
		Hint: "An admin bound it to other names under Settings, People.",
	}
}
