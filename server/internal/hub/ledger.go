package hub

import (
	"context"
	"encoding/json"
	"io"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// hubName is who acts, to the ledger, where no person, agent or rule does: a deadline.
const hubName = "hub"

// endedRecord is what the ledger keeps of the end of a question. The answer itself
// stands with the question; here is who gave which, by which revision.
type endedRecord struct {
	Outcome  schema.Outcome    `json:"outcome"`
	Source   schema.EndedBy    `json:"source"`
	Revision int64             `json:"revision"`
	AnswerID string            `json:"answerId"`
	By       *schema.Responder `json:"by,omitempty"`
	Reason   string            `json:"reason,omitempty"`
	Comment  string            `json:"comment,omitempty"`
	Votes    []schema.Vote     `json:"votes,omitempty"`
	Edited   bool              `json:"edited,omitempty"` // the arguments are not those that were asked about
}

// ledgerRecords are what the ledger is to tell of the end, with the answer as it goes out: the
// vote that decided it first, where one did.
func (res *resolution) ledgerRecords(s *snapshot, answer *schema.Answer) (records []store.LedgerRecord) {
	if n := len(res.votes); n > 0 {
		records = append(records, s.voteLedgerRecord(res.votes[n-1], true))
	}
	actor := hubName
	switch {
	case answer.RespondedBy != nil:
		actor = answer.RespondedBy.Name
	case res.source == schema.ByAgent:
		actor = s.App
	}
	return append(records, store.LedgerRecord{Action: "question.ended", Actor: actor, QuestionID: s.ID, Data: endedRecord{
		Outcome: res.outcome, Source: res.source, Revision: s.Version + 1, AnswerID: answer.AnswerID, By: answer.RespondedBy,
		Reason: answer.Reason, Comment: answer.Comment, Votes: answer.Votes, Edited: answer.ModifiedArguments != nil,
	}})
}

// Ledger returns entries of the ledger, the oldest first.
func (h *Hub) Ledger(ctx context.Context, p store.LedgerPage) ([]byte, error) {
	entries, err := h.Store.Ledger(ctx, p)
	if err != nil {
		return nil, err
	}
	dst := []byte{'['}
	for i, entry := range entries {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, entry...)
	}
	return append(dst, ']'), nil
}

// ledgerExportPage is how many entries an export of the ledger reads at a time.
const ledgerExportPage = 500

// ExportLedger reads the ledger's entries behind p.After, one per line, to the last
// there is when it gets there.
func (h *Hub) ExportLedger(ctx context.Context, p store.LedgerPage) io.Reader {
	p.Oldest, p.Limit = true, ledgerExportPage
	return &ledgerExport{ctx: ctx, db: h.Store, page: p}
}

// ledgerExport is the ledger as it is being read.
type ledgerExport struct {
	ctx    context.Context // of the one request that reads it
	db     *store.Store
	page   store.LedgerPage
	buffer []byte // not read yet
}

// Read gives what is in the buffer, which it fills when it is empty.
func (x *ledgerExport) Read(b []byte) (int, error) {
	if len(x.buffer) == 0 {
		entries, err := x.db.Ledger(x.ctx, x.page)
		if err != nil {
			return 0, err
		}
		if len(entries) == 0 {
			return 0, io.EOF
		}
		x.buffer = x.buffer[:0]
		for _, entry := range entries {
			x.buffer = append(append(x.buffer, entry...), '\n')
		}
		var last schema.LedgerEntry
		if err := json.Unmarshal(entries[len(entries)-1], &last); err != nil {
			return 0, err
		}
		x.page.After = last.N
	}
	n := copy(b, x.buffer)
	x.buffer = x.buffer[n:]
	return n, nil
}
