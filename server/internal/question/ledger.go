package question

import (
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

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

// voteLedgerRecord returns the ledger record of a vote.
func (s *Snapshot) voteLedgerRecord(v schema.Vote, decides bool) store.LedgerRecord {
	record := voteRecord{Choice: v.Choice, Comment: v.Comment, Revision: s.Version + 1, Decides: decides, Passkey: v.Passkey}
	if i := slices.IndexFunc(s.Status.Votes, func(old schema.Vote) bool { return old.User == v.User }); i >= 0 {
		record.Before = s.Status.Votes[i].Choice
	}
	return store.LedgerRecord{Action: "question.voted", Actor: v.User, QuestionID: s.ID, Data: record}
}

// EndedAction is the action of the ledger record of a resolution.
const EndedAction = "question.ended"

// endedRecord is the ledger record of a resolution: who gave which answer, for which
// revision. The answer itself is stored with the question.
type endedRecord struct {
	Outcome  schema.Outcome `json:"outcome"`
	Source   schema.EndedBy `json:"source"`
	Revision int64          `json:"revision"`
	AnswerID string         `json:"answerId"`
	By       *responder     `json:"by,omitempty"`
	Reason   string         `json:"reason,omitempty"`
	Comment  string         `json:"comment,omitempty"`
	Votes    []schema.Vote  `json:"votes,omitempty"`
	Edited   bool           `json:"edited,omitempty"` // the approved arguments differ from the requested ones
	Ask      string         `json:"ask,omitempty"`    // digest of the question, hex
	// Statement is the SHA-256 of the signed statement, hex; see sign.Receipt.
	Statement string `json:"statement,omitempty"`
	Test      bool   `json:"test,omitempty"` // a test request: nothing ran
}
