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

// settledError is the error for a question that has its end already.
func (a *snapshot) settledError() error {
	err := schema.ErrDecided
	if a.status.Status != schema.Responded {
		err = schema.ErrExpired
	}
	return &schema.StatusError{Err: err, Status: a.status}
}

// Respond stores a person's answer. The first one wins: the same answer again
// returns the event as it is, another one is schema.ErrDecided with the status.
// One with HoldMS does not count before that time is over (hold.go).
func (h *Hub) Respond(ctx context.Context, id schema.EventID, r *schema.Response, by Caller) ([]byte, error) {
	if err := h.People.RequireOperator(by.Who); err != nil {
		return nil, err
	}
	if r.HoldMS > 0 {
		h.detectClockStep(context.WithoutCancel(ctx)) // before its end is reckoned
	}
	answerer := responder{by.Who, h.callerProcess(by)}
	proof := h.verifyAssertion(ctx, id, r, by.Who)
	return eventJSON(h.transition(ctx, id, func(a *snapshot) (*store.Change, error) {
		who, err := h.authorizeResponder(a, answerer)
		if err != nil {
			return nil, err
		}
		if err := h.requireAssertion(a, r, who, proof); err != nil {
			return nil, err
		}
		h.excludeSelfApproved(a, answerer, who)
		if !a.status.Settled() && len(a.status.Votes) > 0 {
			h.dropRevokedVotes(a)
		}
		return a.respond(r, who, h.Clock())
	}))
}

// eventJSON is the JSON of an event that a verb returns.
func eventJSON(e *store.Event, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return e.AppendJSON(nil, -1), nil
}

func (a *snapshot) respond(r *schema.Response, by *schema.Responder, now time.Time) (*store.Change, error) {
	if err := a.requireRecipient(by); err != nil {
		return nil, err
	}
	if a.status.Settled() {
		if a.isRepeat(r, by) {
			return nil, nil
		}
		return nil, a.settledError()
	}
	// An older revision is fine: what changes while a question is pending, such as
	// whether the agent still waits, does not change what is asked.
	if r.Revision > a.status.Revision {
		return nil, &schema.StatusError{Err: schema.ErrStale, Status: a.status}
	}
	if err := a.hitl.CheckResponse(r); err != nil {
		return nil, err
	}
	if a.status.RequiredApprovals > 1 {
		return a.vote(r, by, now)
	}
	end := &resolution{
		state: schema.Responded, outcome: a.hitl.Outcome(r), source: schema.ByHuman, reason: r.Reason, by: by, seenRevision: r.Revision,
		answer: schema.Answer{
			Permission: r.Permission, Response: r.Response, Choice: r.Choice, Answers: r.Answers,
			Comment: r.Comment, ModifiedArguments: r.ModifiedArguments, Remember: r.Remember,
		},
	}
	if requiresVotes(&a.status) {
		end.votes = []schema.Vote{a.toVote(r, by, now)}
	}
	same := a.undoableAnswer != nil && equalAnswer(a.undoableAnswer, r) && a.undoableAnswer.RespondedBy.Name == by.Name
	switch until := a.undoableUntil(now, r); {
	case a.undoableAnswer != nil && !same:
		return nil, &schema.StatusError{Err: schema.ErrHeld, Status: a.status}
	case same && r.HoldMS > 0:
		return nil, nil
	case until.IsZero():
		return end.change(a, now)
	default:
		return end.openUndoWindow(a, now, until)
	}
}

// isRepeat reports whether r is what by said before the question ended.
func (a *snapshot) isRepeat(r *schema.Response, by *schema.Responder) bool {
	if a.status.RequiredApprovals > 1 {
		same := r.ModifiedArguments == nil || equalJSON(r.ModifiedArguments, a.arguments())
		return same && hasVote(a.status.Votes, a.toVote(r, by, time.Time{}))
	}
	return a.status.Status == schema.Responded && equalAnswer(a.status.Response, r) && a.status.RespondedBy.Name == by.Name
}

// equalAnswer reports whether r says again what was answered before.
func equalAnswer(a *schema.Answer, r *schema.Response) bool {
	return a != nil && equalPtr(a.Permission, r.Permission) && equalPtr(a.Response, r.Response) && equalPtr(a.Choice, r.Choice) &&
		maps.EqualFunc(a.Answers, r.Answers, equalJSON) && equalJSON(a.ModifiedArguments, r.ModifiedArguments) &&
		a.Reason == r.Reason && a.Comment == r.Comment && equalJSON(a.Remember, r.Remember)
}

func equalPtr[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// equalJSON compares two texts of JSON but for white space and escapes of HTML.
func equalJSON(a, b json.RawMessage) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	x, errX := decodeExact(a)
	y, errY := decodeExact(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

// decodeExact decodes JSON with its numbers as they are written: as floats, two long
// ids would be the same.
func decodeExact(raw []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return v, dec.Decode(&v)
}

// Cancel ends a question without an answer. With the question's own secret it is
// the agent that withdraws it; the wrong secret is schema.ErrForbidden.
func (h *Hub) Cancel(ctx context.Context, id schema.EventID, c schema.Cancel, by Caller) ([]byte, error) {
	if len(c.Reason) > schema.MaxReason {
		return nil, invalidField("reason", "is longer than %d bytes", schema.MaxReason)
	}
	if c.RequestSecret == "" {
		if err := h.People.RequireOperator(by.Who); err != nil {
			return nil, err
		}
	}
	answerer := responder{by.Who, h.callerProcess(by)}
	return eventJSON(h.transition(ctx, id, func(a *snapshot) (*store.Change, error) {
		end := &resolution{
			state: schema.Failed, outcome: schema.Cancelled, source: schema.ByCancel,
			reason: c.Reason, by: answerer.describe(nil), seenRevision: a.status.Revision,
		}
		if c.RequestSecret != "" {
			if !h.isRequestSecret(a.UID, c.RequestSecret) {
				return nil, &schema.HintError{Err: wrongSecretError("requestSecret"), Hint: "Leave it out to cancel as a person."}
			}
			end.outcome, end.source, end.by, end.silent, end.seenRevision = schema.Withdrawn, schema.ByAgent, nil, true, 0
		}
		switch {
		case !a.status.Settled():
			return end.change(a, h.Clock())
		case a.status.Outcome == end.outcome:
			return nil, nil
		default:
			return nil, a.settledError()
		}
	}))
}

// wrongSecretError refuses a secret that is another question's, or nobody's.
func wrongSecretError(field string) error {
	return &schema.FieldError{Field: field, Detail: "is not this question's", Cause: schema.ErrForbidden}
}
