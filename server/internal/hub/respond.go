package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// settledError returns the error for a change of a question that is already settled.
func (s *snapshot) settledError() error {
	err := schema.ErrDecided
	if s.status.Status != schema.Responded {
		err = schema.ErrExpired
	}
	return &schema.StatusError{Err: err, Status: s.status}
}

// Respond stores a person's answer and returns the event. The first answer wins:
// repeating it returns the event unchanged, and a different one returns
// schema.ErrDecided with the status. An answer with HoldMS becomes final only after its
// undo window (undo_window.go).
func (h *Hub) Respond(ctx context.Context, id schema.EventID, r *schema.Response, caller Caller) ([]byte, error) {
	if err := h.People.Check(schema.AccessDecide, caller.Identity); err != nil {
		return nil, err
	}
	if r.HoldMS > 0 {
		h.detectClockStep(context.WithoutCancel(ctx)) // before the end of the undo window is computed
	}
	from := responder{caller.Identity, h.callerProcess(caller)}
	passkey := h.verifyAssertion(ctx, id, r, caller.Identity)
	return eventJSON(h.transition(ctx, id, func(s *snapshot) (*store.Change, error) {
		by, err := h.authorizeResponder(s, from)
		if err != nil {
			return nil, err
		}
		if err := h.requireAssertion(s, r, by, passkey); err != nil {
			return nil, err
		}
		h.excludeSelfApproved(s, from, by)
		if !s.status.IsSettled() && len(s.status.Votes) > 0 {
			h.dropRevokedVotes(s)
		}
		c, err := s.respond(r, by, h.Clock())
		if err != nil || c == nil || !by.Passkey {
			return c, err
		}
		return s.withProof(c, passkey.proof)
	}))
}

// eventJSON encodes the event that an operation returns, or passes on its error.
func eventJSON(e *store.Event, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return e.AppendJSON(nil, -1), nil
}

// respond returns the change that a response makes, or nil if it repeats the current
// answer.
func (s *snapshot) respond(r *schema.Response, by *schema.Responder, now time.Time) (*store.Change, error) {
	if err := s.requireRecipient(by); err != nil {
		return nil, err
	}
	if s.status.IsSettled() {
		if s.isRepeat(r, by) {
			return nil, nil
		}
		return nil, s.settledError()
	}
	// Older revisions are accepted: changes while a question is pending, such as
	// whether the agent still waits, don't affect the content that the person approves.
	if r.Revision > s.status.Revision {
		return nil, &schema.StatusError{Err: schema.ErrStale, Status: s.status}
	}
	if err := s.hitl.CheckResponse(r); err != nil {
		return nil, err
	}
	if s.status.RequiredApprovals > 1 {
		return s.vote(r, by, now)
	}
	res := &resolution{
		state: schema.Responded, outcome: s.hitl.Outcome(r), source: schema.ByHuman, reason: r.Reason, by: by, seenRevision: r.Revision,
		answer: schema.Answer{
			Permission: r.Permission, Response: r.Response, Choice: r.Choice, Answers: r.Answers,
			Comment: r.Comment, ModifiedArguments: r.ModifiedArguments, Remember: r.Remember,
		},
	}
	if requiresVotes(&s.status) {
		res.votes = []schema.Vote{s.toVote(r, by, now)}
	}
	repeated := s.undoableAnswer != nil && equalAnswer(s.undoableAnswer, r) && s.undoableAnswer.RespondedBy.Name == by.Name
	switch until := s.undoableUntil(now, r); {
	case s.undoableAnswer != nil && !repeated:
		return nil, &schema.StatusError{Err: schema.ErrHeld, Status: s.status}
	case repeated && r.HoldMS > 0:
		return nil, nil
	case until.IsZero():
		return res.change(s, now)
	default:
		return res.openUndoWindow(s, now, until)
	}
}

// isRepeat reports whether r repeats the response that by gave before the question was
// settled.
func (s *snapshot) isRepeat(r *schema.Response, by *schema.Responder) bool {
	if s.status.RequiredApprovals > 1 {
		sameArguments := r.ModifiedArguments == nil || equalJSON(r.ModifiedArguments, s.arguments())
		return sameArguments && hasVote(s.status.Votes, s.toVote(r, by, time.Time{}))
	}
	return s.status.Status == schema.Responded && equalAnswer(s.status.Response, r) && s.status.RespondedBy.Name == by.Name
}

// equalAnswer reports whether r has the same content as the stored answer a.
func equalAnswer(a *schema.Answer, r *schema.Response) bool {
	return a != nil && equalPtr(a.Permission, r.Permission) && equalPtr(a.Response, r.Response) && equalPtr(a.Choice, r.Choice) &&
		maps.EqualFunc(a.Answers, r.Answers, equalJSON) && equalJSON(a.ModifiedArguments, r.ModifiedArguments) &&
		a.Reason == r.Reason && a.Comment == r.Comment && equalJSON(a.Remember, r.Remember)
}

func equalPtr[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// equalJSON reports whether two JSON texts have the same value. White space, member
// order and escapes don't matter. Two empty texts are equal.
func equalJSON(a, b json.RawMessage) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	x, errX := decodeExact(a)
	y, errY := decodeExact(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

// decodeExact decodes JSON with numbers kept as text: as floats, two different long ids
// could compare equal.
func decodeExact(raw []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return v, dec.Decode(&v)
}

// Cancel settles a question without an answer and returns the event. With a revision it
// also settles the duplicates of that revision whose agents still wait. With the
// question's own request secret the agent withdraws it; a wrong secret is
// schema.ErrForbidden.
func (h *Hub) Cancel(ctx context.Context, id schema.EventID, c schema.Cancel, caller Caller) ([]byte, error) {
	if len(c.Reason) > schema.MaxReason {
		return nil, invalidField("reason", "is longer than %d bytes", schema.MaxReason)
	}
	if c.RequestSecret == "" {
		if err := h.People.Check(schema.AccessCancel, caller.Identity); err != nil {
			return nil, err
		}
	}
	from := responder{caller.Identity, h.callerProcess(caller)}
	return eventJSON(h.transition(ctx, id, func(s *snapshot) (*store.Change, error) {
		res := &resolution{
			state: schema.Failed, outcome: schema.Cancelled, source: schema.ByCancel,
			reason: c.Reason, by: from.describe(nil), seenRevision: c.Revision,
		}
		if c.RequestSecret != "" {
			if !isRequestSecret(s.Question, c.RequestSecret) {
				return nil, &schema.HintError{Err: wrongSecretError("requestSecret"), Hint: "Omit it to cancel as a person."}
			}
			res.outcome, res.source, res.by, res.silent, res.seenRevision = schema.Withdrawn, schema.ByAgent, nil, true, 0
		} else if !caller.Identity.HasRole(schema.Admin) {
			if err := s.requireRecipient(res.by); err != nil {
				return nil, err
			}
		}
		switch {
		case !s.status.IsSettled() && res.seenRevision > s.status.Revision:
			return nil, &schema.StatusError{Err: schema.ErrStale, Status: s.status}
		case !s.status.IsSettled():
			s.excludeLost()
			return res.change(s, h.Clock())
		case s.status.Outcome == res.outcome:
			return nil, nil
		default:
			return nil, s.settledError()
		}
	}))
}

// wrongSecretError returns the error for a secret that does not match the question.
func wrongSecretError(field string) error {
	return &schema.FieldError{Field: field, Detail: "does not belong to this question", Cause: schema.ErrForbidden}
}
