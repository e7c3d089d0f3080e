package question

import (
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// Extend moves the deadline of the question, or removes it. It fails for a version 1 listener,
// which can't be notified: the agent would stop waiting before the answer.
func (s *Snapshot) Extend(x *schema.Extend, from Actor, now time.Time) (*store.Change, error) {
	if err := s.requireRecipient(from.responder(nil)); err != nil {
		return nil, err
	}
	switch {
	case s.Status.IsSettled():
		return nil, SettledError(&s.Status)
	case s.URL != "" && s.Protocol < 2:
		return nil, &schema.HintError{
			Err:  &schema.FieldError{Field: "seconds", Detail: "can't be added: the agent has its own time limit", Cause: schema.ErrWrongAnswer},
			Hint: "Answer before the deadline. The agent uses protocol version 1, which can't extend a deadline; version 2 can.",
		}
	case s.Deadline.IsZero():
		return nil, nil // it has no deadline
	}
	st, timers, deadline := s.Status, s.Timers, time.Time{}
	if x.Seconds > 0 {
		deadline = s.Deadline.Add(seconds(x.Seconds))
		if deadline.After(now.Add(schema.MaxTimeout)) {
			return nil, invalidField("seconds", "would move the deadline more than %.0f days into the future", schema.MaxTimeout.Hours()/24)
		}
	}
	st.ExpiresAt = 0
	if deadline.IsZero() {
		timers.Remind = time.Time{} // the question's own reminders end with its deadline
		if every, limit := s.env.reminderSchedule(&s.Ask, deadline); st.Reminders < limit {
			timers.Remind = now.Add(every)
		}
	} else {
		st.ExpiresAt = schema.Millis(deadline.UnixMilli())
	}
	actor := from.name()
	st.Extended = &schema.DeadlineExtension{By: actor, At: schema.Millis(now.UnixMilli()), Agent: schema.NoDelivery}
	if s.CanNotifyAgent() {
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

// CanNotifyAgent reports whether the agent can be notified of a new deadline.
func (s *Snapshot) CanNotifyAgent() bool {
	return s.URL != "" && s.Protocol >= 2 && s.Blocked == nil
}

// Expire handles the due times: the end of the undo window, the deadline and the timers. It
// returns nil if nothing is: the question may have been settled, undone or extended in the
// meantime.
func (s *Snapshot) Expire(now time.Time) (*store.Change, error) {
	if s.undoable != nil && !now.Before(s.UndoWindow.Until) && !s.isHeldAnswerValid() {
		return s.dropHeldAnswer() // the responder lost the authority before the answer became final
	}
	if c, err := s.settleIfDue(now); c != nil || err != nil {
		return c, err
	}
	return s.runTimers(now)
}

// settleIfDue settles a question with the answer whose undo window has ended, or at its
// deadline. It returns nil if neither is due: the question may have been settled,
// undone or extended in the meantime.
func (s *Snapshot) settleIfDue(now time.Time) (*store.Change, error) {
	switch {
	case s.Status.IsSettled():
		return nil, nil
	case s.undoable != nil && !now.Before(s.UndoWindow.Until):
		return s.closeUndoWindow(now)
	case !s.Deadline.IsZero() && !now.Before(s.Deadline):
		res := resolution{state: schema.TimedOut, outcome: schema.Timeout, source: schema.ByTimeout}
		return res.change(s, now)
	default:
		return nil, nil
	}
}

// closeUndoWindow makes the answer in the undo window final.
func (s *Snapshot) closeUndoWindow(now time.Time) (*store.Change, error) {
	s.authority = store.OfAccounts
	res := s.undoableResolution()
	if last := len(res.votes) - 1; res.outcome == schema.NoQuorum &&
		s.isQuorumReachable(res.votes) && len(pendingVoters(s.voters, res.votes)) > 0 {
		// An escalation added recipients in the meantime.
		return s.tallyChange(res.votes, s.voteLedgerRecord(res.votes[last], false))
	}
	return res.change(s, now)
}

// EndUnreachable ends the question if its quorum is unreachable. A deciding vote in its undo
// window stays: it becomes final or is undone first.
func (s *Snapshot) EndUnreachable(now time.Time) (*store.Change, error) {
	if s.Status.IsSettled() || s.undoable != nil || !s.Timers.Escalate.IsZero() {
		return nil, nil
	}
	s.dropRevokedVotes()
	if s.isQuorumReachable(s.Status.Votes) {
		return nil, nil
	}
	return s.noQuorumResolution(s.Status.Votes).change(s, now)
}

// Shift moves the deadline, timers and undo window of a pending question by step.
func (s *Snapshot) Shift(step time.Duration) (*store.Change, error) {
	if s.Status.IsSettled() || s.Deadline.IsZero() && s.UndoWindow == nil && s.Timers == (store.Timers{}) {
		return nil, nil
	}
	st, deadline, window, timers := s.Status, s.Deadline, s.UndoWindow, s.Timers
	for _, at := range []*time.Time{&timers.Remind, &timers.Escalate} {
		if !at.IsZero() {
			*at = at.Add(step)
		}
	}
	if !deadline.IsZero() {
		deadline = deadline.Add(step)
		st.ExpiresAt = schema.Millis(deadline.UnixMilli())
	}
	if window != nil {
		window = &store.UndoWindow{Answer: window.Answer, Until: window.Until.Add(step)}
		pendingUndo := *st.Held
		pendingUndo.Until = schema.Millis(window.Until.UnixMilli())
		st.Held = &pendingUndo
	}
	c, err := s.change(st)
	if err != nil {
		return nil, err
	}
	c.Deadline, c.UndoWindow, c.Timers = deadline, window, &timers
	return c, nil
}
