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
	// deliveryLease is how long a new delivery is reserved for this process.
	deliveryLease = 30 * time.Second
	// deadlineGrace is how long after a question's deadline delivery of its answer is
	// attempted: the agent's clock may be behind.
	deadlineGrace = 60 * time.Second
	// noDeadlineRetryWindow is how long delivery is attempted for a question without a
	// deadline.
	noDeadlineRetryWindow = 24 * time.Hour
	// maxAnswerBytes leaves room in a frame for the members that identify the answer.
	maxAnswerBytes = schema.MaxFrame - 64<<10
	// maxConflictRetries limits the attempts of a change that loses the
	// compare-and-swap.
	maxConflictRetries = 16
)

// snapshot is a question row as read and decoded, the input of a transition.
type snapshot struct {
	*store.Question
	hitl           schema.HumanInTheLoop
	status         schema.Status
	voters         []string       // recipients who may still vote
	awaitingBefore []string       // awaited recipients as read; status may be modified in place
	undoableAnswer *schema.Answer // answer in its undo window; nil if none
	duplicates     []duplicate    // other questions of the group it leads; loaded by transition
	blockedErr     error          // why the callback URL may not be dialed; nil if it may
	signer         signer
}

func (h *Hub) readSnapshot(ctx context.Context, id schema.EventID) (*snapshot, error) {
	q, err := h.Store.Question(ctx, id)
	if err != nil {
		return nil, err
	}
	return h.decodeSnapshot(q)
}

// decodeSnapshot decodes a question that was read.
func (h *Hub) decodeSnapshot(q *store.Question) (*snapshot, error) {
	id := q.ID
	s := &snapshot{Question: q, signer: signer{h.Store.HubID(), h.Store.Identity().Sign}}
	if err := json.Unmarshal(q.Event.Question, &s.hitl); err != nil {
		return nil, fmt.Errorf("read stored question %d: %w", id, err)
	}
	if err := json.Unmarshal(q.Status, &s.status); err != nil {
		return nil, fmt.Errorf("read stored status of question %d: %w", id, err)
	}
	s.awaitingBefore = awaitedRecipients(&s.status)
	s.voters = h.currentVoters(s, &s.status)
	if s.UndoWindow != nil {
		if err := json.Unmarshal(s.UndoWindow.Answer, &s.undoableAnswer); err != nil {
			return nil, fmt.Errorf("read undoable answer of question %d: %w", id, err)
		}
	}
	if s.URL != "" {
		s.blockedErr = h.CheckURL(s.URL)
	}
	return s, nil
}

// resolution is the terminal transition of a question.
type resolution struct {
	state        schema.State
	outcome      schema.Outcome
	source       schema.EndedBy
	reason       string
	by           *schema.Responder
	answer       schema.Answer // content of a person's or rule's answer; otherwise empty
	seenRevision int64         // revision that the responder saw; duplicates up to it are settled, too
	rule         *schema.Rule  // rule that decided; nil if none
	silent       bool          // don't notify the agent
	// votes replace the status's votes, the deciding one last. Nil keeps them.
	votes []schema.Vote
}

// transition changes a question with optimistic concurrency and returns the resulting
// event. decide computes the change of a snapshot, or nil if no change is needed. It
// must have no side effects: it is called again with a new snapshot if another writer
// committed first.
func (h *Hub) transition(ctx context.Context, id schema.EventID, decide func(*snapshot) (*store.Change, error)) (*store.Event, error) {
	for attempt := range maxConflictRetries {
		if attempt == 1 {
			// Serialize retries per question: however many people vote at the same
			// time, a retry loses only to first attempts.
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
	return nil, fmt.Errorf("%w: too many concurrent changes of question %d", schema.ErrBusy, id)
}

// change returns the row change to status st, with the next revision.
func (s *snapshot) change(st schema.Status) (*store.Change, error) {
	st.Revision = s.Version + 1
	status, err := json.Marshal(st)
	if err != nil {
		return nil, fmt.Errorf("encode status: %w", err)
	}
	c := &store.Change{Event: &s.Event, Version: s.Version, State: st.Status, Status: status}
	if awaited := awaitedRecipients(&st); !slices.Equal(awaited, s.awaitingBefore) {
		c.Awaiting = awaited
	}
	return c, nil
}

// change returns the row change that settles question s, and its answered duplicates
// with it.
func (res *resolution) change(s *snapshot, now time.Time) (*store.Change, error) {
	answer, encoded, err := res.finalAnswer(s, now)
	if err != nil {
		return nil, err
	}
	st := s.status
	if requiresVotes(&st) {
		setVotes(&st, res.votes)
	}
	delivery := res.newDelivery(s, answer.AnswerID, now)
	st.Status, st.Outcome, st.Source = res.state, res.outcome, res.source
	st.Reason, st.RespondedBy, st.RespondedAt = res.reason, answer.RespondedBy, answer.RespondedAt
	display := *answer
	// The status has its own fields for these.
	display.RespondedBy, display.Votes, display.Awaiting, display.RequiredApprovals = nil, nil, nil, 0
	st.Response, st.Held, st.Rule = &display, nil, answer.Rule
	st.Delivery = &schema.Delivery{State: delivery.State, LastError: blockedReason(s, delivery)}

	signed, err := s.signResolution(answer, &st)
	if err != nil {
		return nil, err
	}
	c, err := s.change(st)
	if err != nil {
		return nil, err
	}
	c.Answer, c.Receipt, c.Delivery, c.Ends = encoded, signed.envelope, delivery, true
	if res.rule != nil {
		c.Rule = res.rule.ID
	}
	c.Ledger = res.ledgerRecords(s, answer, &signed)
	if s.UndoWindow != nil {
		c.UndoWindow = &store.UndoWindow{}
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

// finalAnswer returns the answer that settles question s, and its encoded form.
func (res *resolution) finalAnswer(s *snapshot, now time.Time) (*schema.Answer, []byte, error) {
	answerID, err := uuid.NewV7()
	if err != nil {
		return nil, nil, fmt.Errorf("generate answer id: %w", err)
	}
	answer := res.answer
	answer.RespondedAt, answer.RespondedBy = schema.Millis(now.UnixMilli()), res.by
	answer.Outcome, answer.Source, answer.Reason = res.outcome, res.source, res.reason
	answer.AnswerID = answerID.String()
	if s.hitl.Type == schema.Permission && answer.Permission == nil {
		no := false
		answer.Permission = &no
	}
	if res.outcome == schema.NoQuorum { // the last voter did not decide it
		answer.RespondedBy = nil
	}
	if st := s.status; requiresVotes(&st) {
		setVotes(&st, res.votes)
		answer.Votes, answer.Awaiting, answer.RequiredApprovals = st.Votes, st.Awaiting, max(st.RequiredApprovals, 1)
	}
	answer.Guidance = guidanceText(&s.hitl, &answer)
	res.setRuleGuidance(&answer)
	encoded, err := json.Marshal(answer)
	if err != nil {
		return nil, nil, fmt.Errorf("encode answer: %w", err)
	}
	if len(encoded) > maxAnswerBytes {
		return nil, nil, &schema.FieldError{Detail: fmt.Sprintf("is too long: the encoded answer exceeds %d bytes", maxAnswerBytes), Cause: schema.ErrWrongAnswer}
	}
	return &answer, encoded, nil
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
	d.Sent = res.silent // prevents delivery to a URL that a repeated POST names, too
	return d
}

func blockedReason(s *snapshot, d *store.Delivery) string {
	if d.State != schema.Blocked {
		return ""
	}
	return s.blockedErr.Error()
}
