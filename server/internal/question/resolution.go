package question

import (
	"encoding/json"
	"fmt"
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
	// MaxAnswerBytes is the maximum length of an encoded answer. It leaves room in a frame for
	// the members that identify the answer.
	MaxAnswerBytes = schema.MaxFrame - 64<<10
)

// resolution is the terminal transition of a question.
type resolution struct {
	state        schema.State
	outcome      schema.Outcome
	source       schema.EndedBy
	reason       string
	by           *responder
	answer       schema.Answer // content of a person's or rule's answer; otherwise empty
	seenRevision int64         // revision that the responder saw; duplicates up to it are settled, too
	rule         *schema.Rule  // rule that decided; nil if none
	silent       bool          // don't notify the agent
	// votes replace the status's votes, the deciding one last. Nil keeps them.
	votes []schema.Vote
}

// GrantLifetime is how long the approval of an appeal allows the call, and LaterGrantLifetime that of a call without
// which the agent has continued.
const (
	GrantLifetime      = 5 * time.Minute
	LaterGrantLifetime = time.Hour
)

// change returns the row change that settles question s, and its answered duplicates
// with it.
func (res *resolution) change(s *Snapshot, now time.Time) (*store.Change, error) {
	if res.approves() {
		if err := s.requireDenial(res.outcome); err != nil {
			return nil, err
		}
	}
	answer, encoded, err := res.finalAnswer(s, now)
	if err != nil {
		return nil, err
	}
	st := s.Status
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
	c.Approves = res.approves()
	if res.rule != nil {
		c.Rule = res.rule.ID
	}
	c.Grant = res.grant(s, answer)
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

// grant returns how an appeal ends; nil if the question is none. Only people grant a call.
func (res *resolution) grant(s *Snapshot, answer *schema.Answer) *store.GrantChange {
	if s.Ask.Appeal == nil {
		return nil
	}
	isApproved := res.outcome == schema.Approve && answer.Permission != nil && *answer.Permission
	if !isApproved || res.source != schema.ByHuman && res.source != schema.ByQuorum {
		return &store.GrantChange{}
	}
	g := &store.GrantChange{GrantedAt: time.UnixMilli(int64(answer.RespondedAt))}
	g.ExpiresAt = g.GrantedAt.Add(GrantLifetime)
	if s.Ask.Appeal.Later {
		g.ExpiresAt = g.GrantedAt.Add(LaterGrantLifetime)
	}
	for _, vote := range answer.Votes {
		if vote.Choice == string(schema.Approve) {
			g.By = append(g.By, vote.User)
		}
	}
	if len(g.By) == 0 && answer.RespondedBy != nil {
		g.By = []string{answer.RespondedBy.Name}
	}
	return g
}

// approves reports whether the resolution is an answer that lets the agent continue.
func (res *resolution) approves() bool { return res.state == schema.Responded && approves(res.outcome) }

// finalAnswer returns the answer that settles question s, and as the agent receives it, encoded.
func (res *resolution) finalAnswer(s *Snapshot, now time.Time) (*schema.Answer, []byte, error) {
	answerID, err := uuid.NewV7()
	if err != nil {
		return nil, nil, fmt.Errorf("generate answer id: %w", err)
	}
	answer := res.answer
	answer.RespondedAt, answer.RespondedBy = schema.Millis(now.UnixMilli()), res.by.public()
	answer.Outcome, answer.Source, answer.Reason = res.outcome, res.source, res.reason
	answer.AnswerID = answerID.String()
	if s.Ask.Type == schema.Permission && answer.Permission == nil {
		no := false
		answer.Permission = &no
	}
	if res.outcome == schema.NoQuorum { // the last voter did not decide it
		answer.RespondedBy = nil
	}
	if st := s.Status; requiresVotes(&st) {
		setVotes(&st, res.votes)
		answer.Votes, answer.Awaiting, answer.RequiredApprovals = st.Votes, st.Awaiting, max(st.RequiredApprovals, 1)
	}
	answer.Guidance = guidanceText(&s.Ask, &answer)
	if res.rule != nil {
		setRuleGuidance(&answer, res.rule)
	}
	sent := answer
	if takesChoiceAsText(&s.Ask) {
		sent.Choice = answer.Response
	}
	encoded, err := json.Marshal(sent)
	if err != nil {
		return nil, nil, fmt.Errorf("encode answer: %w", err)
	}
	if len(encoded) > MaxAnswerBytes {
		return nil, nil, &schema.FieldError{Detail: fmt.Sprintf("is too long: the encoded answer exceeds %d bytes", MaxAnswerBytes), Cause: schema.ErrWrongAnswer}
	}
	return &answer, encoded, nil
}

func (res *resolution) newDelivery(s *Snapshot, answerID string, now time.Time) *store.Delivery {
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
	case s.Blocked != nil:
		d.State = schema.Blocked
	}
	d.Sent = res.silent // prevents delivery to a URL that a repeated POST names, too
	return d
}

func blockedReason(s *Snapshot, d *store.Delivery) string {
	if d.State != schema.Blocked {
		return ""
	}
	return s.Blocked.Error()
}

// ledgerRecords returns the ledger records of the resolution: the deciding vote, if
// any, then the end of the question.
func (res *resolution) ledgerRecords(s *Snapshot, answer *schema.Answer, signed *signedStatement) (records []store.LedgerRecord) {
	if n := len(res.votes); n > 0 {
		records = append(records, s.voteLedgerRecord(res.votes[n-1], true))
	}
	actor, by := HubActor, (*responder)(nil)
	switch {
	case answer.RespondedBy != nil:
		actor, by = answer.RespondedBy.Name, res.by
	case res.source == schema.ByAgent, res.source == schema.ByDismissal:
		actor = s.App
	}
	return append(records, store.LedgerRecord{Action: EndedAction, Actor: actor, QuestionID: s.ID, Data: endedRecord{
		Outcome: res.outcome, Source: res.source, Revision: s.Version + 1, AnswerID: answer.AnswerID, By: by,
		Reason: answer.Reason, Comment: answer.Comment, Votes: answer.Votes, Edited: answer.ModifiedArguments != nil,
		Ask: signed.ask, Statement: signed.digest, Test: s.Status.Test,
	}})
}

// noQuorumResolution returns the resolution of a question that no one can decide.
func (s *Snapshot) noQuorumResolution(votes []schema.Vote) *resolution {
	return &resolution{
		state: outcomeState(schema.NoQuorum), outcome: schema.NoQuorum, source: schema.ByQuorum,
		reason: s.shortageReason(votes),
	}
}

// answeredDuplicates returns the pending duplicates that an answer to the leader at the
// given revision covers. A duplicate whose own answer is in its undo window keeps that
// answer.
func (s *Snapshot) answeredDuplicates(revision int64) (list []*Snapshot) {
	for _, m := range s.Duplicates {
		if m.Joined <= revision && !m.Status.IsSettled() && m.undoable == nil {
			list = append(list, m.Snapshot)
		}
	}
	return list
}
