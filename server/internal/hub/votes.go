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
func (a *snapshot) requireRecipient(by *schema.Responder) error {
	switch {
	case !requiresVotes(&a.status):
		return nil
	case !by.Verified:
		return &schema.HintError{Err: schema.ErrSignIn, Hint: "This question is put to certain people: open your sign-in link, or send a token of yours."}
	case len(a.status.Recipients) > 0 && !slices.Contains(a.status.Recipients, by.Name):
		return &schema.HintError{Err: schema.ErrNotAllowed, Hint: "This question is put to " + strings.Join(a.status.Recipients, ", ") + "."}
	default:
		return nil
	}
}

// addVote is the votes with v, which takes the place of the same person's earlier one.
func addVote(votes []schema.Vote, v schema.Vote) []schema.Vote {
	rest := slices.DeleteFunc(slices.Clone(votes), func(old schema.Vote) bool { return old.User == v.User })
	return append(rest, v)
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
func (a *snapshot) toVote(r *schema.Response, by *schema.Responder, now time.Time) schema.Vote {
	comment := r.Reason
	if comment == "" || r.Comment != "" {
		comment = strings.TrimPrefix(r.Reason+"\n", "\n") + r.Comment
	}
	return schema.Vote{User: by.Name, Choice: string(a.hitl.Outcome(r)), Comment: comment, At: schema.Millis(now.UnixMilli()), Passkey: by.Passkey}
}

// hasVote reports whether v is among the votes already.
func hasVote(votes []schema.Vote, v schema.Vote) bool {
	return slices.ContainsFunc(votes, func(old schema.Vote) bool {
		return old.User == v.User && old.Choice == v.Choice && old.Comment == v.Comment
	})
}

// vote is the change that an answer makes of a question that needs several. r has been
// checked, and by may vote.
func (a *snapshot) vote(r *schema.Response, by *schema.Responder, now time.Time) (*store.Change, error) {
	if err := a.checkVote(r); err != nil {
		return nil, err
	}
	v := a.toVote(r, by, now)
	edits := r.ModifiedArguments != nil && !equalJSON(r.ModifiedArguments, a.arguments())
	if a.undoableAnswer != nil && (edits || !hasVote(a.undoableAnswer.Votes, v) || a.status.Held.By.Name != by.Name) {
		return nil, &schema.StatusError{Err: schema.ErrHeld, Status: a.status}
	}
	if again := hasVote(a.status.Votes, v) && !edits; again || a.undoableAnswer != nil && r.HoldMS > 0 {
		return nil, nil
	}
	next := *a
	var acts []store.LedgerRecord
	if edits {
		acts = append(acts, next.applyEdit(r.ModifiedArguments, &v))
	}
	votes := addVote(next.status.Votes, v)
	left := pendingVoters(next.status.Recipients, votes)
	choice := winner(votes, a.status.RequiredApprovals)
	if choice != "" || len(a.status.Recipients) > 0 && len(left) == 0 {
		end := next.voteResolution(r, choice, by)
		end.votes = votes
		if until := a.undoableUntil(now, r); !until.IsZero() && a.undoableAnswer == nil {
			return end.openUndoWindow(&next, now, until)
		}
		return end.change(&next, now)
	}
	return next.tallyChange(votes, append(acts, a.voteLedgerRecord(v, false))...)
}

// checkVote refuses what a vote can't be, beside what no answer can.
func (a *snapshot) checkVote(r *schema.Response) error {
	room := maxAnswerBytes / 2 / max(len(a.status.Recipients), 1)
	said, err := json.Marshal(r.Reason + r.Comment)
	switch edited := a.status.Edited; {
	case err != nil:
		return err
	case edited != nil && r.Revision < edited.Revision:
		// Who votes must have seen what would run.
		return &schema.StatusError{Err: schema.ErrStale, Status: a.status}
	case r.Remember != nil:
		return invalidAnswer("remember", "can't be given where several people have to agree")
	case len(r.ModifiedArguments) > maxAnswerBytes/4:
		return invalidAnswer("modifiedArguments", "is longer than %d bytes, which is the most where several people have to agree", maxAnswerBytes/4)
	case len(said) > room:
		return invalidAnswer("comment", "is longer than %d bytes: those of all who vote must fit into one answer", room)
	default:
		return nil
	}
}

func invalidAnswer(field, detail string, args ...any) error {
	return &schema.FieldError{Field: field, Detail: fmt.Sprintf(detail, args...), Cause: schema.ErrWrongAnswer}
}

// arguments are those that a yes is for, as things stand; nil: the question is about
// no call.
func (a *snapshot) arguments() json.RawMessage {
	switch {
	case a.status.Edited != nil:
		return a.status.Edited.Arguments
	case a.hitl.ToolCall != nil:
		return a.hitl.ToolCall.Arguments
	default:
		return nil
	}
}

// applyEdit makes the question one about a call with these arguments. The votes so far were
// about another.
func (a *snapshot) applyEdit(arguments json.RawMessage, by *schema.Vote) store.LedgerRecord {
	cleared := a.status.Votes
	a.status.Votes = nil
	a.status.Edited = &schema.EditedCall{Arguments: arguments, By: by.User, At: by.At, Revision: a.Version + 1}
	if c, ok := toolCallOf(&store.EventDraft{Event: a.Event}, &a.hitl); ok {
		c.arguments = arguments
		assessCall(&a.status, &a.hitl, c)
	}
	return store.LedgerRecord{Action: "question.edited", Actor: by.User, QuestionID: a.ID, Data: editRecord{Revision: a.Version + 1, Cleared: cleared}}
}

// voteResolution is the end that the votes make: the choice that won, or none.
func (a *snapshot) voteResolution(r *schema.Response, choice string, by *schema.Responder) *resolution {
	if choice == "" {
		return &resolution{state: outcomeState(schema.NoQuorum), outcome: schema.NoQuorum, source: schema.ByQuorum, by: by}
	}
	end := &resolution{
		state: schema.Responded, outcome: schema.Outcome(choice), source: schema.ByQuorum, reason: r.Reason, by: by,
		answer: schema.Answer{Permission: r.Permission, Choice: r.Choice, Comment: r.Comment},
	}
	if a.status.Edited != nil && end.outcome == schema.Approve && a.hitl.Type == schema.Permission {
		end.answer.ModifiedArguments = a.status.Edited.Arguments
	}
	return end
}

// voteLedgerRecord is what the ledger is to tell of a vote.
func (a *snapshot) voteLedgerRecord(v schema.Vote, decides bool) store.LedgerRecord {
	act := voteRecord{Choice: v.Choice, Comment: v.Comment, Revision: a.Version + 1, Decides: decides, Passkey: v.Passkey}
	if i := slices.IndexFunc(a.status.Votes, func(old schema.Vote) bool { return old.User == v.User }); i >= 0 {
		act.Before = a.status.Votes[i].Choice
	}
	return store.LedgerRecord{Action: "question.voted", Actor: v.User, QuestionID: a.ID, Data: act}
}

// setVotes makes votes those of the status; nil: those that it has.
func setVotes(st *schema.Status, votes []schema.Vote) {
	if votes != nil {
		st.Votes = votes
	}
	st.Awaiting = pendingVoters(st.Recipients, st.Votes)
}

// closeUndoWindow makes the answer that was held count.
func (a *snapshot) closeUndoWindow(now time.Time) (*store.Change, error) {
	end := a.undoableResolution()
	if last := len(end.votes) - 1; end.outcome == schema.NoQuorum && len(pendingVoters(a.status.Recipients, end.votes)) > 0 {
		// Somebody was asked meanwhile: not all have voted any more.
		return a.tallyChange(end.votes, a.voteLedgerRecord(end.votes[last], false))
	}
	return end.change(a, now)
}

// tallyChange is the change that counts the votes while none of them decides.
func (a *snapshot) tallyChange(votes []schema.Vote, acts ...store.LedgerRecord) (*store.Change, error) {
	st := a.status
	st.Held = nil
	setVotes(&st, votes)
	c, err := a.change(st)
	if err != nil {
		return nil, err
	}
	if a.UndoWindow != nil {
		c.UndoWindow = &store.UndoWindow{}
	}
	c.Ledger = acts
	return c, nil
}

// outcomeState is the state of a question that people gave this outcome.
func outcomeState(outcome schema.Outcome) schema.State {
	if outcome == schema.NoQuorum {
		return schema.Failed
	}
	return schema.Responded
}
