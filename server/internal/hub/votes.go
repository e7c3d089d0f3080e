package hub

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// A question may be addressed to certain people (Status.Recipients, as resolved when it
// was created) and may need a quorum (Status.RequiredApprovals). The first choice with
// that many votes wins. If everyone has voted and no choice has won, or none can win any
// more (quorum.go), the outcome is schema.NoQuorum.
//
// A deciding vote may have an undo window like any other answer. Until the window ends,
// the vote does not count: it appears only in Status.Held, no one else can vote, and
// undoing it does not change the votes. Other votes count immediately, because they can
// be changed anyway.

// requiresVotes reports whether the question is addressed to certain people or needs
// several approvals.
func requiresVotes(st *schema.Status) bool { return st.RequiredApprovals > 1 || len(st.Recipients) > 0 }

// voteRecord is the ledger record of a vote.
type voteRecord struct {
	Choice   string `json:"choice"`
	Comment  string `json:"comment,omitempty"`
	Revision int64  `json:"revision"`          // status revision that includes this vote
	Before   string `json:"before,omitempty"`  // the person's previous choice
	Decides  bool   `json:"decides,omitempty"` // this vote settled the question
	Passkey  bool   `json:"passkey,omitempty"` // verified by a passkey assertion
}

// editRecord is the ledger record of an edit: the votes it cleared, which were for
// other arguments. The arguments themselves are stored with the question.
type editRecord struct {
	Revision int64         `json:"revision"`
	Cleared  []schema.Vote `json:"cleared,omitempty"`
}

// requireRecipient rejects a responder who is not a recipient.
func (s *snapshot) requireRecipient(by *schema.Responder) error {
	switch {
	case !requiresVotes(&s.status):
		return nil
	case !by.Verified:
		return &schema.HintError{Err: schema.ErrSignIn, Hint: "This question is addressed to certain people. Open your sign-in link, or send your own token."}
	case len(s.status.Recipients) > 0 && !slices.Contains(s.status.Recipients, by.Name):
		return &schema.HintError{Err: schema.ErrNotAllowed, Hint: "This question is addressed to " + strings.Join(s.status.Recipients, ", ") + "."}
	default:
		return nil
	}
}

// requireRecipientCaller is requireRecipient for an operation other than an answer.
func (s *snapshot) requireRecipientCaller(caller Caller) error {
	return s.requireRecipient(responder{identity: caller.Identity}.describe(nil))
}

// addVote returns the votes with v, which replaces the same person's earlier vote.
func addVote(votes []schema.Vote, v schema.Vote) []schema.Vote {
	others := slices.DeleteFunc(slices.Clone(votes), func(old schema.Vote) bool { return old.User == v.User })
	return append(others, v)
}

// winner returns the choice that has the required votes, or "". The last vote decides,
// so there is at most one.
func winner(votes []schema.Vote, need int) string {
	counts := map[string]int{}
	for _, v := range votes {
		if counts[v.Choice]++; counts[v.Choice] >= need {
			return v.Choice
		}
	}
	return ""
}

// pendingVoters returns the recipients who have not voted.
func pendingVoters(recipients []string, votes []schema.Vote) []string {
	return slices.DeleteFunc(slices.Clone(recipients), func(name string) bool {
		return slices.ContainsFunc(votes, func(v schema.Vote) bool { return v.User == name })
	})
}

// toVote converts an answer to a vote.
func (s *snapshot) toVote(r *schema.Response, by *schema.Responder, now time.Time) schema.Vote {
	comment := r.Reason
	if comment == "" || r.Comment != "" {
		comment = strings.TrimPrefix(r.Reason+"\n", "\n") + r.Comment
	}
	return schema.Vote{User: by.Name, Choice: string(s.hitl.Outcome(r)), Comment: comment, At: schema.Millis(now.UnixMilli()), Passkey: by.Passkey}
}

// hasVote reports whether votes contains v, regardless of its time.
func hasVote(votes []schema.Vote, v schema.Vote) bool {
	return slices.ContainsFunc(votes, func(old schema.Vote) bool {
		return old.User == v.User && old.Choice == v.Choice && old.Comment == v.Comment
	})
}

// vote returns the change that an answer makes to a question with a quorum. r is
// validated, and by is a recipient.
func (s *snapshot) vote(r *schema.Response, by *schema.Responder, now time.Time) (*store.Change, error) {
	if err := s.checkVote(r); err != nil {
		return nil, err
	}
	v := s.toVote(r, by, now)
	edits := r.ModifiedArguments != nil && !equalJSON(r.ModifiedArguments, s.arguments())
	if s.undoableAnswer != nil && (edits || !hasVote(s.undoableAnswer.Votes, v) || s.status.Held.By.Name != by.Name) {
		return nil, &schema.StatusError{Err: schema.ErrHeld, Status: s.status}
	}
	if repeated := hasVote(s.status.Votes, v) && !edits; repeated || s.undoableAnswer != nil && r.HoldMS > 0 {
		return nil, nil
	}
	next := *s
	var records []store.LedgerRecord
	if edits {
		records = append(records, next.applyEdit(r.ModifiedArguments, &v))
	}
	votes := addVote(next.status.Votes, v)
	choice := winner(votes, s.status.RequiredApprovals)
	if choice != "" || next.endsWithoutQuorum(votes) {
		res := next.voteResolution(r, choice, by)
		if choice == "" {
			res = next.noQuorumResolution(votes)
			res.by = by // of the vote in its undo window
		}
		res.votes = votes
		if until := s.undoableUntil(now, r); !until.IsZero() && s.undoableAnswer == nil {
			return res.openUndoWindow(&next, now, until)
		}
		return res.change(&next, now)
	}
	return next.tallyChange(votes, append(records, s.voteLedgerRecord(v, false))...)
}

// checkVote validates what applies to votes in addition to other answers.
func (s *snapshot) checkVote(r *schema.Response) error {
	limit := maxAnswerBytes / 2 / max(len(s.status.Recipients), 1)
	text, err := json.Marshal(r.Reason + r.Comment)
	switch edited := s.status.Edited; {
	case err != nil:
		return err
	case edited != nil && r.Revision < edited.Revision:
		// Voters must have seen the arguments that would run.
		return &schema.StatusError{Err: schema.ErrStale, Status: s.status}
	case r.Remember != nil:
		return invalidAnswer("remember", "can't be set if several people have to agree")
	case len(r.ModifiedArguments) > maxAnswerBytes/4:
		return invalidAnswer("modifiedArguments", "is longer than %d bytes, the limit if several people have to agree", maxAnswerBytes/4)
	case len(text) > limit:
		return invalidAnswer("comment", "is longer than %d bytes: the comments of all voters must fit into one answer", limit)
	default:
		return nil
	}
}

func invalidAnswer(field, detail string, args ...any) error {
	return &schema.FieldError{Field: field, Detail: fmt.Sprintf(detail, args...), Cause: schema.ErrWrongAnswer}
}

// arguments returns the arguments that an approval would run now, or nil if the
// question is not about a tool call.
func (s *snapshot) arguments() json.RawMessage {
	switch {
	case s.status.Edited != nil:
		return s.status.Edited.Arguments
	case s.hitl.ToolCall != nil:
		return s.hitl.ToolCall.Arguments
	default:
		return nil
	}
}

// applyEdit replaces the arguments of the call and clears the votes, which were for
// other arguments.
func (s *snapshot) applyEdit(arguments json.RawMessage, by *schema.Vote) store.LedgerRecord {
	cleared := s.status.Votes
	s.status.Votes = nil
	s.status.Edited = &schema.EditedCall{Arguments: arguments, By: by.User, At: by.At, Revision: s.Version + 1}
	if c, ok := toolCallOf(&store.EventDraft{Event: s.Event}, &s.hitl); ok {
		c.arguments = arguments
		assessCall(&s.status, &s.hitl, c)
	}
	return store.LedgerRecord{Action: "question.edited", Actor: by.User, QuestionID: s.ID, Data: editRecord{Revision: s.Version + 1, Cleared: cleared}}
}

// endsWithoutQuorum reports whether the question ends with these votes, of which none
// decides: everyone has voted, or the others can't decide it.
func (s *snapshot) endsWithoutQuorum(votes []schema.Vote) bool {
	hasAllVotes := len(s.status.Recipients) > 0 && len(pendingVoters(s.voters, votes)) == 0
	return hasAllVotes || s.Timers.Escalate.IsZero() && !s.isQuorumReachable(votes)
}

// voteResolution returns the resolution for the winning choice.
func (s *snapshot) voteResolution(r *schema.Response, choice string, by *schema.Responder) *resolution {
	res := &resolution{
		state: schema.Responded, outcome: schema.Outcome(choice), source: schema.ByQuorum, reason: r.Reason, by: by,
		answer: schema.Answer{Permission: r.Permission, Choice: r.Choice, Comment: r.Comment},
	}
	if s.status.Edited != nil && res.outcome == schema.Approve && s.hitl.Type == schema.Permission {
		res.answer.ModifiedArguments = s.status.Edited.Arguments
	}
	return res
}

// voteLedgerRecord returns the ledger record of a vote.
func (s *snapshot) voteLedgerRecord(v schema.Vote, decides bool) store.LedgerRecord {
	record := voteRecord{Choice: v.Choice, Comment: v.Comment, Revision: s.Version + 1, Decides: decides, Passkey: v.Passkey}
	if i := slices.IndexFunc(s.status.Votes, func(old schema.Vote) bool { return old.User == v.User }); i >= 0 {
		record.Before = s.status.Votes[i].Choice
	}
	return store.LedgerRecord{Action: "question.voted", Actor: v.User, QuestionID: s.ID, Data: record}
}

// setVotes sets the votes of a status (nil keeps them) and updates who is awaited.
func setVotes(st *schema.Status, votes []schema.Vote) {
	if votes != nil {
		st.Votes = votes
	}
	st.Awaiting = pendingVoters(st.Recipients, st.Votes)
}

// closeUndoWindow makes the answer in the undo window final.
func (s *snapshot) closeUndoWindow(now time.Time) (*store.Change, error) {
	res := s.undoableResolution()
	if last := len(res.votes) - 1; res.outcome == schema.NoQuorum && s.isQuorumReachable(res.votes) && len(pendingVoters(s.voters, res.votes)) > 0 {
		// An escalation added recipients in the meantime.
		return s.tallyChange(res.votes, s.voteLedgerRecord(res.votes[last], false))
	}
	return res.change(s, now)
}

// tallyChange returns the change that stores the votes while no choice wins.
func (s *snapshot) tallyChange(votes []schema.Vote, records ...store.LedgerRecord) (*store.Change, error) {
	st := s.status
	st.Held = nil
	setVotes(&st, votes)
	c, err := s.change(st)
	if err != nil {
		return nil, err
	}
	if s.UndoWindow != nil {
		c.UndoWindow = &store.UndoWindow{}
	}
	c.Ledger = records
	return c, nil
}

// outcomeState returns the state of a question that people settled with this outcome.
func outcomeState(outcome schema.Outcome) schema.State {
	if outcome == schema.NoQuorum {
		return schema.Failed
	}
	return schema.Responded
}
