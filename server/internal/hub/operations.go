package hub

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/hub/arrival"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/store"
)

// The operations of people and agents on a question. Package question decides what each
// changes.

// Respond stores a person's answer and returns the event. The first answer wins:
// repeating it returns the event unchanged, and a different one returns
// schema.ErrDecided with the status. An answer with HoldMS becomes final only after its
// undo window.
func (h *Hub) Respond(ctx context.Context, id schema.EventID, r *schema.Response, caller Caller) ([]byte, error) {
	if err := h.People.Check(schema.AccessDecide, caller.Identity); err != nil {
		return nil, err
	}
	if r.HoldMS > 0 {
		h.detectClockStep(context.WithoutCancel(ctx)) // before the end of the undo window is computed
	}
	r.SetDenial()
	from := h.actor(caller)
	var passkey *question.Assertion
	event, err := h.transition(ctx, id, func(s *question.Snapshot) (*store.Change, error) {
		if passkey == nil { // verified once: it uses up its challenge
			passkey = &question.Assertion{IsPresent: len(r.Proof) > 0}
			text, err := s.SignedPayload(r)
			if passkey.Err = err; err == nil && passkey.IsPresent {
				passkey.Proof, passkey.Err = h.People.VerifyAssertion(ctx, caller.Identity, r.Proof, text)
			}
		}
		return s.Respond(r, from, *passkey, h.Clock())
	})
	if err != nil {
		return nil, err
	}
	h.sendNotice(ctx, question.NoticeOf(event))
	return event.AppendJSON(nil, -1), nil
}

// Challenge returns the options with which the caller's passkey signs an answer.
func (h *Hub) Challenge(ctx context.Context, req *schema.ChallengeRequest, caller Caller) (schema.PasskeyOptions, error) {
	if err := h.People.Check(schema.AccessDecide, caller.Identity); err != nil {
		return schema.PasskeyOptions{}, err
	}
	s, err := h.readSnapshot(ctx, req.ID)
	if err != nil {
		return schema.PasskeyOptions{}, err
	}
	req.Response.SetDenial()
	text, err := s.ChallengeText(&req.Response)
	if err != nil {
		return schema.PasskeyOptions{}, err
	}
	return h.People.Challenge(ctx, caller.Identity, text)
}

// defaultUndoWindow is the undo window of bulk approvals that set no HoldMS.
const defaultUndoWindow = 5 * time.Second

// ApproveAll approves each listed permission at the revision that the person saw. It
// returns a JSON array with one schema.BatchResult per request, in the same order. A
// rejected one does not stop the others.
func (h *Hub) ApproveAll(ctx context.Context, list *schema.Approvals, caller Caller) ([]byte, error) {
	if err := h.People.Check(schema.AccessDecide, caller.Identity); err != nil {
		return nil, err
	}
	if err := list.Validate(); err != nil {
		return nil, err
	}
	approved := true
	approval := schema.Response{Permission: &approved, Reason: list.Reason, HoldMS: list.HoldMS}
	approval.HoldMS = cmp.Or(approval.HoldMS, defaultUndoWindow.Milliseconds())
	h.detectClockStep(context.WithoutCancel(ctx)) // before the ends of the undo windows are computed
	from := h.actor(caller)
	results := make([]arrival.Result, len(list.Requests))
	var wg sync.WaitGroup // in parallel, so that they share a group commit
	for i, seen := range list.Requests {
		wg.Go(func() {
			r := approval
			r.Revision = seen.Revision
			results[i].Event, results[i].Err = eventJSON(h.transition(ctx, seen.ID, func(s *question.Snapshot) (*store.Change, error) {
				return s.ApproveInBulk(&r, from, h.Clock())
			}))
		})
	}
	wg.Wait()
	return arrival.EncodeResults(results)
}

// Undo drops the answer in the undo window and returns the event. It returns
// schema.ErrNotHeld if there is none (any more).
func (h *Hub) Undo(ctx context.Context, id schema.EventID, caller Caller) ([]byte, error) {
	event, err := h.change(ctx, id, caller, (*question.Snapshot).Undo)
	if err == nil { // the quorum may have become unreachable during the undo window
		if err := h.endUnreachable(context.WithoutCancel(ctx), id); err != nil {
			h.Log.Error("quorum check failed; a question that no one can decide may stay pending", "event", id, "err", err)
		}
	}
	return event, err
}

// Redeliver queues an undelivered answer for an immediate attempt and returns the
// event. If the answer must not be sent again, the error is schema.ErrNoRetry with the
// reason as its hint.
func (h *Hub) Redeliver(ctx context.Context, id schema.EventID, caller Caller) ([]byte, error) {
	return h.change(ctx, id, caller, func(s *question.Snapshot, from question.Actor) (*store.Change, error) {
		return s.Redeliver(from, h.Clock())
	})
}

// MarkHandled records that a person took care of an undelivered answer, and returns the
// event. Automatic delivery attempts stop.
func (h *Hub) MarkHandled(ctx context.Context, id schema.EventID, caller Caller) ([]byte, error) {
	return h.change(ctx, id, caller, func(s *question.Snapshot, from question.Actor) (*store.Change, error) {
		return s.MarkHandled(from, h.Clock())
	})
}

// change is a transition by a person who may answer questions.
func (h *Hub) change(
	ctx context.Context, id schema.EventID, caller Caller, decide func(*question.Snapshot, question.Actor) (*store.Change, error),
) ([]byte, error) {
	if err := h.People.Check(schema.AccessDecide, caller.Identity); err != nil {
		return nil, err
	}
	from := h.actor(caller)
	return eventJSON(h.transition(ctx, id, func(s *question.Snapshot) (*store.Change, error) { return decide(s, from) }))
}

// Extend moves the deadline of a question, or removes it, and returns the event. A
// version 2 listener is notified. For a version 1 listener, which can't be, Extend
// returns an error: the agent would stop waiting before the answer.
func (h *Hub) Extend(ctx context.Context, id schema.EventID, x *schema.Extend, caller Caller) ([]byte, error) {
	if err := h.People.Check(schema.AccessDecide, caller.Identity); err != nil {
		return nil, err
	}
	if x.Seconds < 0 || x.Seconds > schema.MaxTimeout.Seconds() {
		return nil, invalidField("seconds", "must be 0 (no limit) or seconds up to %.0f", schema.MaxTimeout.Seconds())
	}
	h.detectClockStep(context.WithoutCancel(ctx)) // before the new deadline is computed
	var duplicates []question.Duplicate
	event, err := h.change(ctx, id, caller, func(s *question.Snapshot, from question.Actor) (*store.Change, error) {
		c, err := s.Extend(x, from, h.Clock())
		duplicates = s.Duplicates
		return c, err
	})
	if err != nil {
		return nil, err
	}
	for _, m := range duplicates {
		if _, err := h.Extend(ctx, m.ID, x, caller); err != nil {
			h.Log.Warn("extending a duplicate failed; it keeps its own deadline", "event", m.ID, "err", err)
		}
	}
	return event, nil
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
	from := h.actor(caller)
	return eventJSON(h.transition(ctx, id, func(s *question.Snapshot) (*store.Change, error) {
		return s.Cancel(&c, from, h.Clock())
	}))
}

// DenyProbe denies a question of hookback doctor, with its request secret.
func (h *Hub) DenyProbe(ctx context.Context, id schema.EventID, secret, reason string) ([]byte, error) {
	return eventJSON(h.transition(ctx, id, func(s *question.Snapshot) (*store.Change, error) {
		return s.DenyProbe(secret, reason, h.Clock())
	}))
}

// Reasons of abandoned questions (source schema.ByOrphaned).
const (
	ReasonAgentGone   = schema.ReasonAgentGone
	ReasonNoDashboard = "no one had the dashboard open, so the agent decides at its own prompt"
	ReasonHubStopped  = "the hub stopped while the agent waited; the agent now asks in its own prompt"
	ReasonAskStopped  = "the hub stopped while the program waited"
)

// Abandon settles a question whose agent no longer waits at url, the last listener it
// named, or, if url is empty, in the request that posted it. It sends the agent
// nothing.
func (h *Hub) Abandon(ctx context.Context, id schema.EventID, url, reason string) error {
	_, err := h.transition(ctx, id, func(s *question.Snapshot) (*store.Change, error) {
		return s.Abandon(url, reason, h.Clock())
	})
	return err
}

// ResolveRecipients returns the names of the people that recipients address. See notify.Hub.
func (h *Hub) ResolveRecipients(to *schema.Recipients) ([]string, error) {
	return h.People.ResolveRecipients(to)
}

// RespondAs is Respond for the answer of a person in a chat. See chat.Hub.
func (h *Hub) RespondAs(ctx context.Context, id schema.EventID, r *schema.Response, by auth.Identity) error {
	_, err := h.Respond(ctx, id, r, Caller{Identity: by})
	return err
}

// AbandonListener is Abandon for a listener that has closed. See delivery.Hub.
func (h *Hub) AbandonListener(ctx context.Context, id schema.EventID, url string) error {
	return h.Abandon(ctx, id, url, ReasonAgentGone)
}

// SetNotifications stores in the status of a question, settled or not, who was notified
// of it. Unchanged values cause no commit.
func (h *Hub) SetNotifications(
	ctx context.Context, id schema.EventID, notices []schema.Notification, counts *schema.NotificationCounts,
) error {
	_, err := h.transition(ctx, id, func(s *question.Snapshot) (*store.Change, error) {
		return s.SetNotifications(notices, counts)
	})
	return err
}

// RecordExecution records in the question's status how its call ended, as the agent's events
// show it at that time (Unix ms).
func (h *Hub) RecordExecution(ctx context.Context, id schema.EventID, execution schema.Execution, at int64) error {
	_, err := h.transition(ctx, id, func(s *question.Snapshot) (*store.Change, error) {
		return s.RecordExecution(execution, at)
	})
	return err
}

// maxExecutionError is the number of bytes kept of an error: enough to recognize it.
const maxExecutionError = 2 << 10

// ReportExecution records that a call runs or how it ended, as reported by the agent that
// asked. It is for agents without hooks that would show it. An outcome already recorded is
// kept, also if the report of the start arrives after it.
func (h *Hub) ReportExecution(ctx context.Context, id schema.EventID, r *schema.CallReport) ([]byte, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	execution := schema.Execution{State: r.State, DurationMS: r.DurationMS, Error: h.cleanErrorText(r.Error)}
	return eventJSON(h.transition(ctx, id, func(s *question.Snapshot) (*store.Change, error) {
		return s.ReportExecution(r.RequestSecret, &execution)
	}))
}

// cleanErrorText returns the agent's text as valid UTF-8, truncated and with secrets
// removed.
func (h *Hub) cleanErrorText(text string) string {
	if text = strings.ToValidUTF8(text, "�"); len(text) > maxExecutionError {
		text = strings.ToValidUTF8(text[:maxExecutionError], "") + "…"
	}
	return h.redactText(text)
}

func invalidField(field, format string, args ...any) error {
	return &schema.FieldError{Field: field, Detail: fmt.Sprintf(format, args...)}
}
