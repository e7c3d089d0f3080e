package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// deliveryLease is how long a new delivery is ours before anyone else may take it.
	deliveryLease = 30 * time.Second
	// deadlineGrace is how long after its deadline a question's answer is still tried:
	// the agent's own clock may be behind.
	deadlineGrace = 60 * time.Second
	// noDeadlineRetryWindow is how long an answer to a question without deadline is tried.
	noDeadlineRetryWindow = 24 * time.Hour
	// maxAnswerBytes leaves room in a frame to the agent for what it tells answers apart by.
	maxAnswerBytes = schema.MaxFrame - 64<<10
	// maxConflictRetries bounds the retries of a change that others were faster with.
	maxConflictRetries = 16
)

// snapshot is a question as read, decoded for a decision.
type snapshot struct {
	*store.Question
	hitl           schema.HumanInTheLoop
	status         schema.Status
	awaitingBefore []string       // whom it waits for, as read: status may be changed in place
	undoableAnswer *schema.Answer // nil: none is
	duplicates     []duplicate    // who ask the same as it, the first of them; read for a transition
	blockedErr     error          // why its address may not be dialled
}

func (h *Hub) readSnapshot(ctx context.Context, id schema.EventID) (*snapshot, error) {
	q, err := h.Store.Question(ctx, id)
	if err != nil {
		return nil, err
	}
	a := &snapshot{Question: q}
	if err := json.Unmarshal(q.Event.Question, &a.hitl); err != nil {
		return nil, fmt.Errorf("reading stored question %d: %w", id, err)
	}
	if err := json.Unmarshal(q.Status, &a.status); err != nil {
		return nil, fmt.Errorf("reading stored status of %d: %w", id, err)
	}
	a.awaitingBefore = awaitedRecipients(&a.status)
	if a.UndoWindow != nil {
		if err := json.Unmarshal(a.UndoWindow.Answer, &a.undoableAnswer); err != nil {
			return nil, fmt.Errorf("reading the held answer of %d: %w", id, err)
		}
	}
	if a.URL != "" {
		a.blockedErr = h.Blocked(a.URL)
	}
	return a, nil
}

// resolution is how a question is to end.
type resolution struct {
	state        schema.State
	outcome      schema.Outcome
	source       schema.EndedBy
	reason       string
	by           *schema.Responder
	answer       schema.Answer // the fields of a person's answer; empty otherwise
	seenRevision int64         // by which revision: it ends who asked the same by then, too
	rule         *schema.Rule  // that decided; nil: none did
	silent       bool          // the agent is told nothing: it took the question back
	// votes are all that count, the deciding one last; nil: those that there are.
	votes []schema.Vote
}

// transition changes a question. decide is a pure function from the question as
// read to its change, nil when it is just so already; it is asked again whenever
// somebody else changed the question first.
func (h *Hub) transition(ctx context.Context, id schema.EventID, decide func(*snapshot) (*store.Change, error)) (*store.Event, error) {
	for attempt := range maxConflictRetries {
		if attempt == 1 {
			// However many vote at once, each loses to those few at most who come just now.
			lock := &h.raceLocks[uint64(id)%uint64(len(h.raceLocks))]
			lock.Lock()
			defer lock.Unlock()
		}
		s, err := h.readSnapshot(ctx, id)
		if err != nil {
			return nil, err
		}
		if s.duplicates, err = h.duplicates(ctx, s); err != nil {
			return nil, err
		}
		change, err := decide(s)
		if err != nil {
			return nil, err
		}
		if change == nil {
			return &s.Event, nil
		}
		err = h.Store.Apply(ctx, *change)
		if errors.Is(err, store.ErrConflict) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, c := range append(change.Duplicates, *change) {
			if d := c.Delivery; d != nil && d.State == schema.Queued {
				h.Dispatch(d.ID)
			}
		}
		if change.UndoWindow != nil {
			wake(h.deadlineChanged)
		}
		event := s.Event
		event.Status = change.Status
		return &event, nil
	}
	return nil, fmt.Errorf("%w: question %d changes too fast", schema.ErrBusy, id)
}

// change is the row change that gives question a the status st.
func (s *snapshot) change(st schema.Status) (*store.Change, error) {
	st.Revision = s.Version + 1
	status, err := json.Marshal(st)
	if err != nil {
		return nil, fmt.Errorf("encoding the status: %w", err)
	}
	c := &store.Change{Event: &s.Event, Version: s.Version, State: st.Status, Status: status}
	if awaits := awaitedRecipients(&st); !slices.Equal(awaits, s.awaitingBefore) {
		c.Awaiting = awaits
	}
	return c, nil
}

// change is the row change that ends question a.
func (res *resolution) change(s *snapshot, now time.Time) (*store.Change, error) {
	answerID, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("making an answer id: %w", err)
	}
	answer := res.answer
	answer.RespondedAt, answer.RespondedBy = schema.Millis(now.UnixMilli()), res.by
	answer.Outcome, answer.Source, answer.Reason = res.outcome, res.source, res.reason
	answer.AnswerID = answerID.String()
	if s.hitl.Type == schema.Permission && answer.Permission == nil {
		no := false
		answer.Permission = &no
	}
	if res.outcome == schema.NoQuorum { // nobody's answer, whoever voted last
		answer.RespondedBy = nil
	}
	st := s.status
	if requiresVotes(&st) {
		setVotes(&st, res.votes)
		answer.Votes, answer.Awaiting, answer.RequiredApprovals = st.Votes, st.Awaiting, max(st.RequiredApprovals, 1)
	}
	answer.Guidance = guidanceText(&s.hitl, &answer)
	res.setRuleGuidance(&answer)

	delivery := res.newDelivery(s, answer.AnswerID, now)
	st.Status, st.Outcome, st.Source = res.state, res.outcome, res.source
	st.Reason, st.RespondedBy, st.RespondedAt = res.reason, answer.RespondedBy, answer.RespondedAt
	display := answer
	// These stand beside it.
	display.RespondedBy, display.Votes, display.Awaiting, display.RequiredApprovals = nil, nil, nil, 0
	st.Response, st.Held, st.Rule = &display, nil, answer.Rule
	st.Delivery = &schema.Delivery{State: delivery.State, LastError: blockedReason(s, delivery)}

	c, err := s.change(st)
	if err != nil {
		return nil, err
	}
	c.Delivery, c.Ends = delivery, true
	if res.rule != nil {
		c.Rule = res.rule.ID
	}
	c.Ledger = res.ledgerRecords(s, &answer)
	if s.UndoWindow != nil {
		c.UndoWindow = &store.UndoWindow{}
	}
	if c.Answer, err = json.Marshal(answer); err != nil {
		return nil, fmt.Errorf("encoding the answer: %w", err)
	}
	if len(c.Answer) > maxAnswerBytes {
		return nil, &schema.FieldError{Detail: fmt.Sprintf("is too long: an answer may have %d bytes in all", maxAnswerBytes), Cause: schema.ErrWrongAnswer}
	}
	for _, dup := range s.answeredDuplicates(res.seenRevision) {
		change, err := res.change(dup, now)
		if err != nil {
			return nil, err
		}
		c.Duplicates = append(c.Duplicates, *change)
	}
	return c, nil
}

func (res *resolution) newDelivery(s *snapshot, answerID string, now time.Time) *store.Delivery {
	d := &store.Delivery{ID: s.ID, AnswerID: answerID, State: schema.Queued, Due: now, Leased: now.Add(deliveryLease)}
	d.Until = now.Add(noDeadlineRetryWindow)
	if !s.Deadline.IsZero() {
		d.Until = s.Deadline.Add(deadlineGrace)
		if latest := now.Add(deadlineGrace); latest.After(d.Until) { // the hub was down at the deadline
			d.Until = latest
		}
	}
	switch {
	case res.silent || s.URL == "":
		d.State = schema.NoDelivery
	case s.blockedErr != nil:
		d.State = schema.Blocked
	}
	d.Sent = res.silent // not even to an address that a repeat names
	return d
}

func blockedReason(s *snapshot, d *store.Delivery) string {
	if d.State != schema.Blocked {
		return ""
	}
	return s.blockedErr.Error()
}
