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

// A question may be put to certain people (Status.Recipients, as they were when it was
// asked), and may need several of them to agree (Status.RequiredApprovals). The first
// choice with that many votes wins; when all have voted and none has, nobody does.
//
// A vote that decides can be held like any other answer. Until it counts it is no vote:
// it stands in Status.Held alone, nobody else can vote meanwhile, and undoing it leaves
// the votes as they were. Any other vote counts at once; it can be changed anyway.

// requiresVotes reports whether the question is put to certain people, or needs several.
func requiresVotes(st *schema.Status) bool { return st.RequiredApprovals > 1 || len(st.Recipients) > 0 }

// voteRecord is what the ledger keeps of a vote.
type voteRecord struct {
	Choice   string `json:"choice"`
	Comment  string `json:"comment,omitempty"`
	Revision int64  `json:"revision"`          // of the status with this vote
	Before   string `json:"before,omitempty"`  // the same person's choice until now
	Decides  bool   `json:"decides,omitempty"` // the question ended with it
	Passkey  bool   `json:"passkey,omitempty"` // it came with the proof of one
}

// editRecord is what the ledger keeps of an edit: the votes that were about something
// else. The arguments themselves stand with the question.
type editRecord struct {
	Revision int64         `json:"revision"`
	Cleared  []schema.Vote `json:"cleared,omitempty"`
}

// requireRecipient refuses whoever is none of those who were asked.
func (s *snapshot) requireRecipient(by *schema.Responder) error {
	switch {
	case !requiresVotes(&s.status):
		return nil
	case !by.Verified:
		return &schema.HintError{Err: schema.ErrSignIn, Hint: "This question is put to certain people: open your sign-in link, or send a token of yours."}
	case len(s.status.Recipients) > 0 && !slices.Contains(s.status.Recipients, by.Name):
		return &schema.HintError{Err: schema.ErrNotAllowed, Hint: "This question is put to " + strings.Join(s.status.Recipients, ", ") + "."}
	default:
		return nil
	}
}

// addVote is the votes with v, which takes the place of the same person's earlier one.
func addVote(votes []schema.Vote, v schema.Vote) []schema.Vote {
	others := slices.DeleteFunc(slices.Clone(votes), func(old schema.Vote) bool { return old.User == v.User })
	return append(others, v)
}

// winner is the choice that as many people agree on as have to; empty: none is yet. The
// last vote decides, so there is never more than one.
func winner(votes []schema.Vote, need int) string {
	counts := map[string]int{}
	for _, v := range votes {
		if counts[v.Choice]++; counts[v.Choice] >= need {
			return v.Choice
		}
	}
	return ""
}

// pendingVoters are the recipients who have not voted.
func pendingVoters(recipients []string, votes []schema.Vote) []string {
	return slices.DeleteFunc(slices.Clone(recipients), func(name string) bool {
		return slices.ContainsFunc(votes, func(v schema.Vote) bool { return v.User == name })
	})
}

// toVote is the vote that an answer is.
func (s *snapshot) toVote(r *schema.Response, by *schema.Responder, now time.Time) schema.Vote {
	comment := r.Reason
	if comment == "" || r.Comment != "" {
		comment = strings.TrimPrefix(r.Reason+"\n", "\n") + r.Comment
	}
	return schema.Vote{User: by.Name, Choice: string(s.hitl.Outcome(r)), Comment: comment, At: schema.Millis(now.UnixMilli()), Passkey: by.Passkey}
}

// hasVote reports whether v is among the votes already.
func hasVote(votes []schema.Vote, v schema.Vote) bool {
	return slices.ContainsFunc(votes, func(old schema.Vote) bool {
		return old.User == v.User && old.Choice == v.Choice && old.Comment == v.Comment
	})
}

// vote is the change that an answer makes of a question that needs several. r has been
// checked, and by may vote.
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
	pending := pendingVoters(next.status.Recipients, votes)
	choice := winner(votes, s.status.RequiredApprovals)
	if choice != "" || len(s.status.Recipients) > 0 && len(pending) == 0 {
		res := next.voteResolution(r, choice, by)
		res.votes = votes
		if until := s.undoableUntil(now, r); !until.IsZero() && s.undoableAnswer == nil {
			return res.openUndoWindow(&next, now, until)
		}
		return res.change(&next, now)
	}
	return next.tallyChange(votes, append(records, s.voteLedgerRecord(v, false))...)
}

// checkVote refuses what a vote can't be, beside what no answer can.
func (s *snapshot) checkVote(r *schema.Response) error {
	limit := maxAnswerBytes / 2 / max(len(s.status.Recipients), 1)
	text, err := json.Marshal(r.Reason + r.Comment)
	switch edited := s.status.Edited; {
	case err != nil:
		return err
	case edited != nil && r.Revision < edited.Revision:
		// Who votes must have seen what would run.
		return &schema.StatusError{Err: schema.ErrStale, Status: s.status}
	case r.Remember != nil:
		return invalidAnswer("remember", "can't be given where several people have to agree")
	case len(r.ModifiedArguments) > maxAnswerBytes/4:
		return invalidAnswer("modifiedArguments", "is longer than %d bytes, which is the most where several people have to agree", maxAnswerBytes/4)
	case len(text) > limit:
		return invalidAnswer("comment", "is longer than %d bytes: those of all who vote must fit into one answer", limit)
	default:
		return nil
	}
}

func invalidAnswer(field, detail string, args ...any) error {
	return &schema.FieldError{Field: field, Detail: fmt.Sprintf(detail, args...), Cause: schema.ErrWrongAnswer}
}

// arguments are those that a yes is for, as things stand; nil: the question is about
// no call.
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

// applyEdit makes the question one about a call with these arguments. The votes so far were
// about another.
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

// voteResolution is the end that the votes make: the choice that won, or none.
func (s *snapshot) voteResolution(r *schema.Response, choice string, by *schema.Responder) *resolution {
	if choice == "" {
		return &resolution{state: outcomeState(schema.NoQuorum), outcome: schema.NoQuorum, source: schema.ByQuorum, by: by}
	}
	res := &resolution{
		state: schema.Responded, outcome: schema.Outcome(choice), source: schema.ByQuorum, reason: r.Reason, by: by,
		answer: schema.Answer{Permission: r.Permission, Choice: r.Choice, Comment: r.Comment},
	}
	if s.status.Edited != nil && res.outcome == schema.Approve && s.hitl.Type == schema.Permission {
		res.answer.ModifiedArguments = s.status.Edited.Arguments
	}
	return res
}

// voteLedgerRecord is what the ledger is to tell of a vote.
func (s *snapshot) voteLedgerRecord(v schema.Vote, decides bool) store.LedgerRecord {
	record := voteRecord{Choice: v.Choice, Comment: v.Comment, Revision: s.Version + 1, Decides: decides, Passkey: v.Passkey}
	if i := slices.IndexFunc(s.status.Votes, func(old schema.Vote) bool { return old.User == v.User }); i >= 0 {
		record.Before = s.status.Votes[i].Choice
	}
	return store.LedgerRecord{Action: "question.voted", Actor: v.User, QuestionID: s.ID, Data: record}
}

// setVotes makes votes those of the status; nil: those that it has.
func setVotes(st *schema.Status, votes []schema.Vote) {
	if votes != nil {
		st.Votes = votes
	}
	st.Awaiting = pendingVoters(st.Recipients, st.Votes)
}

// closeUndoWindow makes the answer that was held count.
func (s *snapshot) closeUndoWindow(now time.Time) (*store.Change, error) {
	res := s.undoableResolution()
	if last := len(res.votes) - 1; res.outcome == schema.NoQuorum && len(pendingVoters(s.status.Recipients, res.votes)) > 0 {
		// Somebody was asked meanwhile: not all have voted any more.
		return s.tallyChange(res.votes, s.voteLedgerRecord(res.votes[last], false))
	}
	return res.change(s, now)
}

// tallyChange is the change that counts the votes while none of them decides.
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

// outcomeState is the state of a question that people gave this outcome.
func outcomeState(outcome schema.Outcome) schema.State {
	if outcome == schema.NoQuorum {
		return schema.Failed
	}
	return schema.Responded
}
