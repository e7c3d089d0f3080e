package hub

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// A question's timers are columns of its row, found by one index (store.DueQuestions).
// Ten thousand of them need one goroutine, and none is lost in a restart. A due timer
// only changes the status: Reminders and EscalatedAt. The notifier reads those from the
// log.

// maxReminders limits the reminders of a question without a deadline.
const maxReminders = 3

// newTimers returns the timers of a question created at now.
func (h *Hub) newTimers(q *schema.HumanInTheLoop, now, deadline time.Time) (t store.Timers) {
	if every, limit := h.reminderSchedule(q, deadline); limit > 0 {
		t.Remind = now.Add(every)
	}
	if q.EscalateAfterSeconds > 0 {
		t.Escalate = now.Add(seconds(q.EscalateAfterSeconds))
	}
	return t
}

// reminderSchedule returns the interval and the number of reminders of a question: its
// own if it has a deadline, otherwise the configured ones.
func (h *Hub) reminderSchedule(q *schema.HumanInTheLoop, deadline time.Time) (every time.Duration, limit int) {
	switch {
	case q.RequiresResponse != nil && !*q.RequiresResponse:
		return 0, 0
	case !deadline.IsZero():
		return seconds(q.ReminderIntervalSeconds), q.ReminderMaxCount
	case h.NudgeAfter > 0:
		return h.NudgeAfter, maxReminders
	default:
		return 0, 0
	}
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// runTimers returns the change for the timers that are due. Occurrences missed while
// the hub was down are handled once, and the next interval starts now.
func (h *Hub) runTimers(s *snapshot, now time.Time) (*store.Change, error) {
	if s.status.IsSettled() {
		return nil, nil
	}
	st, timers := s.status, s.Timers
	var records []store.LedgerRecord
	if st.SameAs != 0 { // the group leader reminds and escalates; check again later, since it may be settled by then
		return s.deferTimers(now, h)
	}
	if isDue(timers.Escalate, now) {
		timers.Escalate = time.Time{}
		records = append(records, h.escalate(s, &st, now))
	}
	if isDue(timers.Remind, now) {
		timers.Remind = h.remind(s, &st, now)
	}
	if timers == s.Timers {
		return nil, nil
	}
	c, err := s.change(st)
	if err != nil {
		return nil, err
	}
	c.Timers, c.Ledger = &timers, records
	return c, nil
}

func isDue(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

// remind counts a reminder to the people who have not voted and returns the time of the
// next one.
func (h *Hub) remind(s *snapshot, st *schema.Status, now time.Time) (next time.Time) {
	every, limit := h.reminderSchedule(&s.hitl, s.Deadline)
	if st.Reminders >= limit {
		return time.Time{}
	}
	if s.undoableAnswer != nil { // answered, unless the answer is undone
		return s.UndoWindow.Until.Add(every)
	}
	if len(awaitedRecipients(st)) > 0 {
		st.Reminders++
	}
	if st.Reminders >= limit {
		return time.Time{}
	}
	return now.Add(every)
}

// deferTimers postpones the due timers of a duplicate.
func (s *snapshot) deferTimers(now time.Time, h *Hub) (*store.Change, error) {
	timers := s.Timers
	if every, limit := h.reminderSchedule(&s.hitl, s.Deadline); isDue(timers.Remind, now) {
		if timers.Remind = now.Add(every); limit == 0 {
			timers.Remind = time.Time{}
		}
	}
	if isDue(timers.Escalate, now) {
		timers.Escalate = now.Add(seconds(s.hitl.EscalateAfterSeconds))
	}
	if timers == s.Timers {
		return nil, nil
	}
	c, err := s.change(s.status)
	if err == nil {
		c.Timers = &timers
	}
	return c, err
}

// checkEscalation rejects an escalation to unknown people.
func (h *Hub) checkEscalation(q *schema.HumanInTheLoop) error {
	_, err := h.People.ResolveRecipients(q.EscalateTo)
	var field *schema.FieldError
	if errors.As(err, &field) {
		renamed := *field
		renamed.Field = strings.Replace(field.Field, ".recipients", ".escalateTo", 1)
		return &renamed
	}
	return err
}

// escalate addresses the question to more people, once. The required approvals don't
// change. If everyone may answer already, only the notification differs.
func (h *Hub) escalate(s *snapshot, st *schema.Status, now time.Time) store.LedgerRecord {
	st.EscalatedAt = schema.Millis(now.UnixMilli())
	record := store.LedgerRecord{Action: "question.escalated", Actor: hubName, QuestionID: s.ID}
	if st.Recipients == nil {
		return record
	}
	added, err := h.People.ResolveRecipients(s.hitl.EscalateTo)
	if err != nil { // such as a removed account
		h.Log.Error("escalation recipients not found; the question stays with its current recipients", "event", s.ID, "err", err)
	}
	st.Recipients, st.Awaiting = slices.Clone(st.Recipients), slices.Clone(st.Awaiting)
	exclude := s.hitl.ExcludeRequester == nil || *s.hitl.ExcludeRequester
	added = slices.DeleteFunc(slices.Clone(added), func(name string) bool {
		return slices.Contains(st.Recipients, name) || exclude && name == s.Requester
	})
	st.Recipients, st.Awaiting = append(st.Recipients, added...), append(st.Awaiting, added...)
	record.Data = struct {
		To []string `json:"to"`
	}{nonNil(added)}
	return record
}
