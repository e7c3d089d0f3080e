package hub

import (
	"cmp"
	"context"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// Extend gives people more time for a question, or all the time there is. Its agent is
// told; one that can't be is refused, since it would be gone before the answer.
func (h *Hub) Extend(ctx context.Context, id schema.EventID, x *schema.Extend, caller Caller) ([]byte, error) {
	if err := h.People.RequireOperator(caller.Who); err != nil {
		return nil, err
	}
	if x.Seconds < 0 || x.Seconds > schema.MaxTimeout.Seconds() {
		return nil, invalidField("seconds", "must be 0 (no limit) or seconds up to %.0f", schema.MaxTimeout.Seconds())
	}
	h.detectClockStep(context.WithoutCancel(ctx)) // before the new deadline is reckoned
	notifyAgent := false
	var duplicates []duplicate
	e, err := h.transition(ctx, id, func(s *snapshot) (*store.Change, error) {
		c, err := h.extend(s, x, caller)
		duplicates = s.duplicates
		notifyAgent = err == nil && c != nil && s.canNotifyAgent()
		return c, err
	})
	if err == nil && notifyAgent {
		h.Control(id)
	}
	if err == nil {
		wake(h.deadlineChanged)
		h.extendDuplicates(ctx, duplicates, x, caller)
	}
	return eventJSON(e, err)
}

func (h *Hub) extend(s *snapshot, x *schema.Extend, caller Caller) (*store.Change, error) {
	now := h.Clock()
	switch {
	case s.status.Settled():
		return nil, s.settledError()
	case s.URL != "" && s.Protocol < 2:
		return nil, &schema.HintError{
			Err:  &schema.FieldError{Field: "seconds", Detail: "can't be added: this agent has a limit of its own", Cause: schema.ErrWrongAnswer},
			Hint: "It speaks version 1 of the protocol, in which nobody can tell it to wait longer. Answer before its time is up; ask its author for protocolVersion 2.",
		}
	case s.Deadline.IsZero():
		return nil, nil // it has all the time there is
	}
	st, timers, deadline := s.status, s.Timers, time.Time{}
	if x.Seconds > 0 {
		deadline = s.Deadline.Add(seconds(x.Seconds))
		if deadline.After(now.Add(schema.MaxTimeout)) {
			return nil, invalidField("seconds", "would make the deadline more than %.0f days away", schema.MaxTimeout.Hours()/24)
		}
	}
	st.ExpiresAt = 0
	if deadline.IsZero() {
		timers.Remind = time.Time{} // its own reminders go with its limit
		if every, limit := h.reminderSchedule(&s.hitl, deadline); st.Reminders < limit {
			timers.Remind = now.Add(every)
		}
	} else {
		st.ExpiresAt = schema.Millis(deadline.UnixMilli())
	}
	actor := cmp.Or(caller.Who.Name, localName)
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

// canNotifyAgent reports whether the agent can be told that it may wait longer.
func (s *snapshot) canNotifyAgent() bool {
	return s.URL != "" && s.Protocol >= 2 && s.blockedErr == nil
}
