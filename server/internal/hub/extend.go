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
func (h *Hub) Extend(ctx context.Context, id schema.EventID, x *schema.Extend, by Caller) ([]byte, error) {
	if err := h.People.RequireOperator(by.Who); err != nil {
		return nil, err
	}
	if x.Seconds < 0 || x.Seconds > schema.MaxTimeout.Seconds() {
		return nil, invalidField("seconds", "must be 0 (no limit) or seconds up to %.0f", schema.MaxTimeout.Seconds())
	}
	h.detectClockStep(context.WithoutCancel(ctx)) // before the new deadline is reckoned
	tells := false
	var same []duplicate
	e, err := h.transition(ctx, id, func(a *snapshot) (*store.Change, error) {
		c, err := h.extend(a, x, by)
		same = a.duplicates
		tells = err == nil && c != nil && a.canNotifyAgent()
		return c, err
	})
	if err == nil && tells {
		h.Control(id)
	}
	if err == nil {
		wake(h.deadlineChanged)
		h.extendDuplicates(ctx, same, x, by)
	}
	return eventJSON(e, err)
}

func (h *Hub) extend(a *snapshot, x *schema.Extend, by Caller) (*store.Change, error) {
	now := h.Clock()
	switch {
	case a.status.Settled():
		return nil, a.settledError()
	case a.URL != "" && a.Protocol < 2:
		return nil, &schema.HintError{
			Err:  &schema.FieldError{Field: "seconds", Detail: "can't be added: this agent has a limit of its own", Cause: schema.ErrWrongAnswer},
			Hint: "It speaks version 1 of the protocol, in which nobody can tell it to wait longer. Answer before its time is up; ask its author for protocolVersion 2.",
		}
	case a.Deadline.IsZero():
		return nil, nil // it has all the time there is
	}
	st, timers, deadline := a.status, a.Timers, time.Time{}
	if x.Seconds > 0 {
		deadline = a.Deadline.Add(seconds(x.Seconds))
		if deadline.After(now.Add(schema.MaxTimeout)) {
			return nil, invalidField("seconds", "would make the deadline more than %.0f days away", schema.MaxTimeout.Hours()/24)
		}
	}
	st.ExpiresAt = 0
	if deadline.IsZero() {
		timers.Remind = time.Time{} // its own reminders go with its limit
		if every, most := h.reminderSchedule(&a.hitl, deadline); st.Reminders < most {
			timers.Remind = now.Add(every)
		}
	} else {
		st.ExpiresAt = schema.Millis(deadline.UnixMilli())
	}
	who := cmp.Or(by.Who.Name, localName)
	st.Extended = &schema.DeadlineExtension{By: who, At: schema.Millis(now.UnixMilli()), Agent: schema.NoDelivery}
	if a.canNotifyAgent() {
		st.Extended.Agent = schema.Queued
	}
	c, err := a.change(st)
	if err != nil {
		return nil, err
	}
	c.Deadline, c.NoDeadline, c.Timers = deadline, deadline.IsZero(), &timers
	c.Ledger = []store.LedgerRecord{{Action: "question.extended", Actor: who, QuestionID: a.ID, Data: struct {
		ExpiresAt schema.Millis `json:"expiresAt,omitempty"`
	}{st.ExpiresAt}}}
	return c, nil
}

// canNotifyAgent reports whether the agent can be told that it may wait longer.
func (a *snapshot) canNotifyAgent() bool {
	return a.URL != "" && a.Protocol >= 2 && a.blockedErr == nil
}
