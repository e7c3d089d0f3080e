package hub

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// A question's timers are columns of its row, found by one index (store.DueQuestions):
// ten thousand of them cost one goroutine, and none is lost with the process. What is
// due only changes the status: Reminders and EscalatedAt grow, and whoever sends
// notices reads that from the log.

// maxReminders is how often anybody is reminded of a question without a limit.
const maxReminders = 3

// newTimers are those of a question that is asked now.
func (h *Hub) newTimers(q *schema.HumanInTheLoop, now, deadline time.Time) (t store.Timers) {
	if every, most := h.reminderSchedule(q, deadline); most > 0 {
		t.Remind = now.Add(every)
	}
	if q.EscalateAfterSeconds > 0 {
		t.Escalate = now.Add(seconds(q.EscalateAfterSeconds))
	}
	return t
}

// reminderSchedule is how often, and how many times, people are reminded of a question with
// such a deadline: as it says where it has one, else as the hub is set up.
func (h *Hub) reminderSchedule(q *schema.HumanInTheLoop, deadline time.Time) (every time.Duration, most int) {
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

// runTimers does what a question's timers are due for. What was missed while the hub was
// down is done once, and the next time is counted from now.
func (h *Hub) runTimers(a *snapshot, now time.Time) (*store.Change, error) {
	if a.status.Settled() {
		return nil, nil
	}
	st, timers := a.status, a.Timers
	var acts []store.LedgerRecord
	if st.SameAs != 0 { // the first of those that ask the same speaks for them; it may be gone then
		return a.deferTimers(now, h)
	}
	if isDue(timers.Escalate, now) {
		timers.Escalate = time.Time{}
		acts = append(acts, h.escalate(a, &st, now))
	}
	if isDue(timers.Remind, now) {
		timers.Remind = h.remind(a, &st, now)
	}
	if timers == a.Timers {
		return nil, nil
	}
	c, err := a.change(st)
	if err != nil {
		return nil, err
	}
	c.Timers, c.Ledger = &timers, acts
	return c, nil
}

func isDue(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

// remind counts a reminder to whoever has not voted, and returns when the next one is.
func (h *Hub) remind(a *snapshot, st *schema.Status, now time.Time) (next time.Time) {
	every, most := h.reminderSchedule(&a.hitl, a.Deadline)
	if st.Reminders >= most {
		return time.Time{}
	}
	if a.undoableAnswer != nil { // it is answered, unless that is undone
		return a.UndoWindow.Until.Add(every)
	}
	if len(awaitedRecipients(st)) > 0 {
		st.Reminders++
	}
	if st.Reminders >= most {
		return time.Time{}
	}
	return now.Add(every)
}

// deferTimers puts off what is due for a question that another one speaks for.
func (a *snapshot) deferTimers(now time.Time, h *Hub) (*store.Change, error) {
	timers := a.Timers
	if every, most := h.reminderSchedule(&a.hitl, a.Deadline); isDue(timers.Remind, now) {
		if timers.Remind = now.Add(every); most == 0 {
			timers.Remind = time.Time{}
		}
	}
	if isDue(timers.Escalate, now) {
		timers.Escalate = now.Add(seconds(a.hitl.EscalateAfterSeconds))
	}
	if timers == a.Timers {
		return nil, nil
	}
	c, err := a.change(a.status)
	if err == nil {
		c.Timers = &timers
	}
	return c, err
}

// checkEscalation refuses an escalation to people whom the hub does not know.
func (h *Hub) checkEscalation(q *schema.HumanInTheLoop) error {
	_, err := h.People.ResolveRecipients(q.EscalateTo)
	var field *schema.FieldError
	if errors.As(err, &field) {
		named := *field
		named.Field = strings.Replace(field.Field, ".recipients", ".escalateTo", 1)
		return &named
	}
	return err
}

// escalate puts the question to more people, once. How many have to agree stays. Where
// everyone may answer, that they should is what the notice tells.
func (h *Hub) escalate(a *snapshot, st *schema.Status, now time.Time) store.LedgerRecord {
	st.EscalatedAt = schema.Millis(now.UnixMilli())
	act := store.LedgerRecord{Action: "question.escalated", Actor: hubName, QuestionID: a.ID}
	if st.Recipients == nil {
		return act
	}
	added, err := h.People.ResolveRecipients(a.hitl.EscalateTo)
	if err != nil { // somebody is gone since
		h.Log.Error("whom a question is to be put to as well can't be found; it stays with those who have it", "event", a.ID, "err", err)
	}
	st.Recipients, st.Awaiting = slices.Clone(st.Recipients), slices.Clone(st.Awaiting)
	exclude := a.hitl.ExcludeRequester == nil || *a.hitl.ExcludeRequester
	added = slices.DeleteFunc(slices.Clone(added), func(name string) bool {
		return slices.Contains(st.Recipients, name) || exclude && name == a.Requester
	})
	st.Recipients, st.Awaiting = append(st.Recipients, added...), append(st.Awaiting, added...)
	act.Data = struct {
		To []string `json:"to"`
	}{nonNil(added)}
	return act
}
