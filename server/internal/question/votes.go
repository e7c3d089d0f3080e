package question

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// A question may be addressed to certain people (Status.Recipients, as resolved when it
// was created) and may need a quorum (Status.RequiredApprovals). The first choice with
// that many votes wins. If everyone has voted and no choice has won, or none can win any
// more (tally.go), the outcome is schema.NoQuorum.
//
// A deciding vote may have an undo window like any other answer. Until the window ends,
// the vote does not count: it appears only in Status.Held, no one else can vote, and
// undoing it does not change the votes. Other votes count immediately, because they can
// be changed anyway.

// toVote converts an answer to a vote.
func (s *Snapshot) toVote(r *schema.Response, by *responder, now time.Time) schema.Vote {
	comment := r.Reason
	if comment == "" || r.Comment != "" {
		comment = strings.TrimPrefix(r.Reason+"\n", "\n") + r.Comment
	}
	return schema.Vote{User: by.Name, Choice: string(s.Ask.Outcome(r)), Comment: comment, At: schema.Millis(now.UnixMilli()), Passkey: by.Passkey}
}

// vote returns the change that an answer makes to a question with a quorum. r is
// validated, and by is a recipient.
func (s *Snapshot) vote(r *schema.Response, by *responder, now time.Time) (*store.Change, error) {
	if err := s.checkVote(r); err != nil {
		return nil, err
	}
	v := s.toVote(r, by, now)
	edits := r.ModifiedArguments != nil && !schema.EqualJSON(r.ModifiedArguments, s.arguments())
	if s.undoable != nil && (edits || !hasVote(s.undoable.Votes, v) || s.Status.Held.By.Name != by.Name) {
		return nil, &schema.StatusError{Err: schema.ErrHeld, Status: s.Status}
	}
	if repeated := hasVote(s.Status.Votes, v) && !edits; repeated || s.undoable != nil && r.HoldMS > 0 {
		return nil, nil
	}
	next := *s
	if !edits {
		return s.countVote(&next, r, by, now)
	}
	edited := next.applyEdit(r.ModifiedArguments, &v)
	c, err := s.countVote(&next, r, by, now)
	if err != nil {
		return nil, err
	}
	c.Ledger = append([]store.LedgerRecord{edited}, c.Ledger...)
	return c, nil
}

// countVote returns the change that the vote makes to next, which is s after the edit that comes with the
// vote, if any.
func (s *Snapshot) countVote(next *Snapshot, r *schema.Response, by *responder, now time.Time) (*store.Change, error) {
	v := s.toVote(r, by, now)
	votes := addVote(next.Status.Votes, v)
	choice := winner(votes, s.Status.RequiredApprovals)
	if choice != "" || next.endsWithoutQuorum(votes) {
		res := next.voteResolution(r, choice, by)
		if choice == "" {
			res = next.noQuorumResolution(votes)
			res.by = by // of the vote in its undo window
		}
		res.votes = votes
		if until := s.undoableUntil(now, r); !until.IsZero() && s.undoable == nil {
			return res.openUndoWindow(next, now, until)
		}
		return res.change(next, now)
	}
	c, err := next.tallyChange(votes, s.voteLedgerRecord(v, false))
	if err == nil {
		c.Approves = approves(schema.Outcome(v.Choice))
	}
	return c, err
}

// checkVote validates what applies to votes in addition to other answers.
func (s *Snapshot) checkVote(r *schema.Response) error {
	limit := MaxAnswerBytes / 2 / max(len(s.Status.Recipients), 1)
	text, err := json.Marshal(r.Reason + r.Comment)
	switch edited := s.Status.Edited; {
	case err != nil:
		return err
	case edited != nil && r.Revision < edited.Revision:
		// Voters must have seen the arguments that would run.
		return &schema.StatusError{Err: schema.ErrStale, Status: s.Status}
	case r.Remember != nil:
		return invalidAnswer("remember", "can't be set if several people have to agree")
	case len(r.ModifiedArguments) > MaxAnswerBytes/4:
		return invalidAnswer("modifiedArguments", "is longer than %d bytes, the limit if several people have to agree", MaxAnswerBytes/4)
	case len(text) > limit:
		return invalidAnswer("comment", "is longer than %d bytes: the comments of all voters must fit into one answer", limit)
	default:
		return nil
	}
}

// applyEdit replaces the arguments of the call and clears the votes, which were for
// other arguments.
func (s *Snapshot) applyEdit(arguments json.RawMessage, by *schema.Vote) store.LedgerRecord {
	cleared := s.Status.Votes
	s.Status.Votes = nil
	s.Status.Edited = &schema.EditedCall{Arguments: arguments, By: by.User, At: by.At, Revision: s.Version + 1}
	if c := s.Call(); c.Exists() {
		c.With(arguments).assess(&s.Status, &s.Ask)
	}
	return store.LedgerRecord{Action: "question.edited", Actor: by.User, QuestionID: s.ID, Data: editRecord{Revision: s.Version + 1, Cleared: cleared}}
}

// endsWithoutQuorum reports whether the question ends with these votes, of which none
// decides: everyone has voted, or the others can't decide it.
func (s *Snapshot) endsWithoutQuorum(votes []schema.Vote) bool {
	hasAllVotes := len(s.Status.Recipients) > 0 && len(pendingVoters(s.voters, votes)) == 0
	return hasAllVotes || s.Timers.Escalate.IsZero() && !s.isQuorumReachable(votes)
}

// voteResolution returns the resolution for the winning choice.
func (s *Snapshot) voteResolution(r *schema.Response, choice string, by *responder) *resolution {
	res := &resolution{
		state: schema.Responded, outcome: schema.Outcome(choice), source: schema.ByQuorum, reason: r.Reason, by: by,
		answer: schema.Answer{Permission: r.Permission, Choice: r.Choice, Comment: r.Comment},
	}
	if s.Status.Edited != nil && res.outcome == schema.Approve && s.Ask.Type == schema.Permission {
		res.answer.ModifiedArguments = s.Status.Edited.Arguments
	}
	return res
}
