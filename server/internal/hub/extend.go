package hub

import (
	"cmp"
	"context"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

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
	notifyAgent := false
	var duplicates []duplicate
	e, err := h.transition(ctx, id, func(s *snapshot) (*store.Change, error) {
		c, err := h.extend(s, x, caller)
		duplicates = s.duplicates
		notifyAgent = err == nil && c != nil && s.canNotifyAgent()
		return c, err
	})
	if err == nil && notifyAgent {
		h.SendDeadline(id)
	}
	if err == nil {
		wake(h.deadlineChanged)
		h.extendDuplicates(ctx, duplicates, x, caller)
	}
	return eventJSON(e, err)
}

func (h *Hub) extend(s *snapshot, x *schema.Extend, caller Caller) (*store.Change, error) {
	if err := s.requireRecipientCaller(caller); err != nil {
		return nil, err
	}
	now := h.Clock()
	switch {
	case s.status.IsSettled():
		return nil, s.settledError()
	case s.URL != "" && s.Protocol < 2:
		return nil, &schema.HintError{
			Err:  &schema.FieldError{Field: "seconds", Detail: "can't be added: the agent has its own time limit", Cause: schema.ErrWrongAnswer},
			Hint: "Answer before the deadline. The agent uses protocol version 1, which can't extend a deadline; version 2 can.",
		}
	case s.Deadline.IsZero():
		return nil, nil // it has no deadline
	}
	st, timers, deadline := s.status, s.Timers, time.Time{}
	if x.Seconds > 0 {
		deadline = s.Deadline.Add(seconds(x.Seconds))
		if deadline.After(now.Add(schema.MaxTimeout)) {
			return nil, invalidField("seconds", "would move the deadline more than %.0f days into the future", schema.MaxTimeout.Hours()/24)
		}
	}
	st.ExpiresAt = 0
	if deadline.IsZero() {
		timers.Remind = time.Time{} // the question's own reminders end with its deadline
		if every, limit := h.reminderSchedule(&s.hitl, deadline); st.Reminders < limit {
			timers.Remind = now.Add(every)
		}
	} else {
		st.ExpiresAt = schema.Millis(deadline.UnixMilli())
	}
	actor := cmp.Or(caller.Identity.Name, localName)
	st.Extended = &schema.DeadlineExtension{By: actor, At: schema.Millis(now.UnixMilli()), Agent: schema.NoDelivery}
	if s.canNotifyAgent() {
		st.Extended.Agent = schema.Queued
	}
	c, err := s.change(st)
	if err != nil {
		return nil, err
	}
	c.Deadline, c.NoDeadline, c.Timers = deadline, deadline.IsZero(), &timers
	c.Ledger = []store.LedgerRecord{{Action: "question.extended", Actor: actor, QuestionID: s.ID, Data: struct {
		ExpiresAt schema.Millis `json:"expiresAt,omitempty"`
	}{st.ExpiresAt}}}
	return c, nil
}

// canNotifyAgent reports whether the agent can be notified of a new deadline.
func (s *snapshot) canNotifyAgent() bool {
	return s.URL != "" && s.Protocol >= 2 && s.blockedErr == nil
}
