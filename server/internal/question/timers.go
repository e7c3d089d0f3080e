package question

import (
	"slices"
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
func (env *Environment) newTimers(q *schema.HumanInTheLoop, now, deadline time.Time) (t store.Timers) {
	if every, limit := env.reminderSchedule(q, deadline); limit > 0 {
		t.Remind = now.Add(every)
	}
	if q.EscalateAfterSeconds > 0 {
		t.Escalate = now.Add(seconds(q.EscalateAfterSeconds))
	}
	return t
}

// reminderSchedule returns the interval and the number of reminders of a question: its
// own if it has a deadline, otherwise the configured ones.
func (env *Environment) reminderSchedule(q *schema.HumanInTheLoop, deadline time.Time) (every time.Duration, limit int) {
	switch {
	case q.RequiresResponse != nil && !*q.RequiresResponse:
		return 0, 0
	case !deadline.IsZero():
		return seconds(q.ReminderIntervalSeconds), q.ReminderMaxCount
	case env.NudgeAfter > 0:
		return env.NudgeAfter, maxReminders
	default:
		return 0, 0
	}
}

// runTimers returns the change for the timers that are due. Occurrences missed while
// the hub was down are handled once, and the next interval starts now.
func (s *Snapshot) runTimers(now time.Time) (*store.Change, error) {
	if s.Status.IsSettled() {
		return nil, nil
	}
	st, timers := s.Status, s.Timers
	var records []store.LedgerRecord
	if st.SameAs != 0 { // the group leader reminds and escalates; check again later, since it may be settled by then
		return s.deferTimers(now)
	}
	if isDue(timers.Escalate, now) {
		timers.Escalate = time.Time{}
		records = append(records, s.escalate(&st, now))
	}
	if isDue(timers.Remind, now) {
		timers.Remind = s.remind(&st, now)
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
func (s *Snapshot) remind(st *schema.Status, now time.Time) (next time.Time) {
	every, limit := s.env.reminderSchedule(&s.Ask, s.Deadline)
	if st.Reminders >= limit {
		return time.Time{}
	}
	if s.undoable != nil { // answered, unless the answer is undone
		return s.UndoWindow.Until.Add(every)
	}
	if st.Recipients == nil || len(st.Awaiting) > 0 {
		st.Reminders++
	}
	if st.Reminders >= limit {
		return time.Time{}
	}
	return now.Add(every)
}

// deferTimers postpones the due timers of a duplicate.
func (s *Snapshot) deferTimers(now time.Time) (*store.Change, error) {
	timers := s.Timers
	if every, limit := s.env.reminderSchedule(&s.Ask, s.Deadline); isDue(timers.Remind, now) {
		if timers.Remind = now.Add(every); limit == 0 {
			timers.Remind = time.Time{}
		}
	}
	if isDue(timers.Escalate, now) {
		timers.Escalate = now.Add(seconds(s.Ask.EscalateAfterSeconds))
	}
	if timers == s.Timers {
		return nil, nil
	}
	c, err := s.change(s.Status)
	if err == nil {
		c.Timers = &timers
	}
	return c, err
}

// escalate addresses the question to more people, once. The required approvals don't
// change. If everyone may answer already, only the notification differs.
func (s *Snapshot) escalate(st *schema.Status, now time.Time) store.LedgerRecord {
	st.EscalatedAt = schema.Millis(now.UnixMilli())
	record := store.LedgerRecord{Action: "question.escalated", Actor: HubActor, QuestionID: s.ID}
	if st.Recipients == nil {
		return record
	}
	added, _ := s.env.Accounts.ResolveRecipients(s.Ask.EscalateTo) // none after an error (EscalationError)
	st.Recipients, st.Awaiting = slices.Clone(st.Recipients), slices.Clone(st.Awaiting)
	exclude := excludesRequester(&s.Ask)
	added = slices.DeleteFunc(slices.Clone(added), func(name string) bool {
		return slices.Contains(st.Recipients, name) || exclude && name == s.Requester
	})
	st.Recipients, st.Awaiting = append(st.Recipients, added...), append(st.Awaiting, added...)
	record.Data = struct {
		To []string `json:"to"`
	}{append([]string{}, added...)}
	return record
}

// EscalationError returns why the question can't be escalated to more people if its escalation
// is due, such as a removed account. The question then stays with its current recipients.
func (s *Snapshot) EscalationError(now time.Time) error {
	if s.Status.IsSettled() || s.Status.SameAs != 0 || s.Status.Recipients == nil || !isDue(s.Timers.Escalate, now) {
		return nil
	}
	_, err := s.env.Accounts.ResolveRecipients(s.Ask.EscalateTo)
	return err
}
