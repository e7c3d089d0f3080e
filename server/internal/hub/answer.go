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

// over is the error for a question that has its end already.
func (a *asking) over() error {
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
		h.noticeStep(context.WithoutCancel(ctx)) // before its end is reckoned
	}
	answerer := answerer{by.Who, h.process(by)}
	proof := h.proofOf(ctx, id, r, by.Who)
	return whole(h.transition(ctx, id, func(a *asking) (*store.Change, error) {
		who, err := h.responder(a, answerer)
		if err != nil {
			return nil, err
		}
		if err := h.proven(a, r, who, proof); err != nil {
			return nil, err
		}
		h.leaveOut(a, answerer, who)
		if !a.status.Settled() && len(a.status.Votes) > 0 {
			h.lapsed(a)
		}
		return a.respond(r, who, h.Clock())
	}))
}

// whole is the JSON of an event that a verb returns.
func whole(e *store.Event, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return e.AppendJSON(nil, -1), nil
}

func (a *asking) respond(r *schema.Response, by *schema.Responder, now time.Time) (*store.Change, error) {
	if err := a.mayDecide(by); err != nil {
		return nil, err
	}
	if a.status.Settled() {
		if a.said(r, by) {
			return nil, nil
		}
		return nil, a.over()
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
	end := &ending{
		state: schema.Responded, outcome: a.hitl.Outcome(r), source: schema.ByHuman, reason: r.Reason, by: by, seen: r.Revision,
		answer: schema.Answer{
			Permission: r.Permission, Response: r.Response, Choice: r.Choice, Answers: r.Answers,
			Comment: r.Comment, ModifiedArguments: r.ModifiedArguments, Remember: r.Remember,
		},
	}
	if polled(&a.status) {
		end.votes = []schema.Vote{a.voteOf(r, by, now)}
	}
	same := a.held != nil && sameAnswer(a.held, r) && a.held.RespondedBy.Name == by.Name
	switch until := a.holdUntil(now, r); {
	case a.held != nil && !same:
		return nil, &schema.StatusError{Err: schema.ErrHeld, Status: a.status}
	case same && r.HoldMS > 0:
		return nil, nil
	case until.IsZero():
		return end.change(a, now)
	default:
		return end.hold(a, now, until)
	}
}

// said reports whether r is what by said before the question ended.
func (a *asking) said(r *schema.Response, by *schema.Responder) bool {
	if a.status.RequiredApprovals > 1 {
		same := r.ModifiedArguments == nil || sameJSON(r.ModifiedArguments, a.arguments())
		return same && voted(a.status.Votes, a.voteOf(r, by, time.Time{}))
	}
	return a.status.Status == schema.Responded && sameAnswer(a.status.Response, r) && a.status.RespondedBy.Name == by.Name
}

// sameAnswer reports whether r says again what was answered before.
func sameAnswer(a *schema.Answer, r *schema.Response) bool {
	return a != nil && equal(a.Permission, r.Permission) && equal(a.Response, r.Response) && equal(a.Choice, r.Choice) &&
		maps.EqualFunc(a.Answers, r.Answers, sameJSON) && sameJSON(a.ModifiedArguments, r.ModifiedArguments) &&
		a.Reason == r.Reason && a.Comment == r.Comment && sameJSON(a.Remember, r.Remember)
}

func equal[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// sameJSON compares two texts of JSON but for white space and escapes of HTML.
func sameJSON(a, b json.RawMessage) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	x, errX := exactly(a)
	y, errY := exactly(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

// exactly decodes JSON with its numbers as they are written: as floats, two long
// ids would be the same.
func exactly(raw []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return v, dec.Decode(&v)
}

// Cancel ends a question without an answer. With the question's own secret it is
// the agent that withdraws it; the wrong secret is schema.ErrForbidden.
func (h *Hub) Cancel(ctx context.Context, id schema.EventID, c schema.Cancel, by Caller) ([]byte, error) {
	if len(c.Reason) > schema.MaxReason {
		return nil, invalid("reason", "is longer than %d bytes", schema.MaxReason)
	}
	if c.RequestSecret == "" {
		if err := h.People.RequireOperator(by.Who); err != nil {
			return nil, err
		}
	}
	answerer := answerer{by.Who, h.process(by)}
	return whole(h.transition(ctx, id, func(a *asking) (*store.Change, error) {
		end := &ending{
			state: schema.Failed, outcome: schema.Cancelled, source: schema.ByCancel,
			reason: c.Reason, by: answerer.responder(nil), seen: a.status.Revision,
		}
		if c.RequestSecret != "" {
			if !h.isSecret(a.UID, c.RequestSecret) {
				return nil, &schema.HintError{Err: notTheSecret("requestSecret"), Hint: "Leave it out to cancel as a person."}
			}
			end.outcome, end.source, end.by, end.silent, end.seen = schema.Withdrawn, schema.ByAgent, nil, true, 0
		}
		switch {
		case !a.status.Settled():
			return end.change(a, h.Clock())
		case a.status.Outcome == end.outcome:
			return nil, nil
		default:
			return nil, a.over()
		}
	}))
}

// notTheSecret refuses a secret that is another question's, or nobody's.
func notTheSecret(field string) error {
	return &schema.FieldError{Field: field, Detail: "is not this question's", Cause: schema.ErrForbidden}
}
