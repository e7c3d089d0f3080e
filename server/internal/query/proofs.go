package query

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/store"
)

// Receipt returns the receipt of a settled question as JSON (sign.Receipt): the signed
// statement, the question's text, the passkey assertions of the people that it names, and
// the ledger entry of the resolution. It returns schema.ErrUndecided for a pending question,
// and schema.ErrNotFound for one that was asked before the hub signed decisions.
func (s *Service) Receipt(ctx context.Context, id schema.EventID) ([]byte, error) {
	q, st, err := s.question(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case !st.IsSettled():
		return nil, &schema.HintError{Err: &schema.StatusError{Err: schema.ErrUndecided, Status: *st}, Hint: "A question has a receipt once it has ended."}
	case q.Receipt == nil:
		return nil, &schema.HintError{Err: schema.ErrNotFound, Hint: "This question was asked before the hub signed decisions. It has no receipt."}
	}
	var receipt sign.Receipt
	if err := json.Unmarshal(q.Receipt, &receipt.Envelope); err != nil {
		return nil, fmt.Errorf("read stored receipt of question %d: %w", id, err)
	}
	var ask schema.HumanInTheLoop
	if err := json.Unmarshal(q.Event.Question, &ask); err != nil {
		return nil, fmt.Errorf("read stored question %d: %w", id, err)
	}
	receipt.Question = ask.Question
	if ask.ToolCall != nil {
		receipt.Consequence = ask.ToolCall.Consequence
	}
	if receipt.Proofs, err = question.CountedProofs(q, st); err != nil {
		return nil, err
	}
	if receipt.LedgerEntry, err = s.endedEntry(ctx, id); err != nil {
		return nil, err
	}
	return json.Marshal(receipt)
}

// maxEntriesAfterEnd is the number of newest ledger entries of a question among which
// endedEntry looks: a few actions, such as a redelivery, add one after the end.
const maxEntriesAfterEnd = 100

// endedEntry returns the ledger entry of the question's resolution, or nil if there is none.
func (s *Service) endedEntry(ctx context.Context, id schema.EventID) (*sign.LedgerEntry, error) {
	entries, err := s.Store.Ledger(ctx, store.LedgerPage{QuestionID: id, Limit: maxEntriesAfterEnd})
	if err != nil {
		return nil, err
	}
	for _, line := range slices.Backward(entries) {
		var entry sign.LedgerEntry
		if err := json.Unmarshal(line, &entry); err != nil {
			return nil, fmt.Errorf("read a ledger entry of question %d: %w", id, err)
		}
		if entry.Action == question.EndedAction {
			return &entry, nil
		}
	}
	return nil, nil
}

// HubKey returns the hub's identity as JSON (sign.HubKey). With a nonce it contains a proof that
// the hub holds its key now.
func (s *Service) HubKey(ctx context.Context, nonce string) ([]byte, error) {
	key := s.Store.Identity()
	hubKey := sign.HubKey{HubID: s.Store.HubID(), KeyID: key.ID(), PublicKey: sign.FormatPublicKey(key.Public())}
	var err error
	if hubKey.Rotations, err = s.Store.KeyRotations(ctx); err != nil {
		return nil, err
	}
	if nonce != "" {
		hello, err := json.Marshal(sign.HubHello{HubID: hubKey.HubID, KeyID: hubKey.KeyID, Nonce: nonce})
		if err != nil {
			return nil, err
		}
		proof := key.Sign(schema.HelloPayload, hello)
		hubKey.Proof = &proof
	}
	return json.Marshal(hubKey)
}

// Ledger returns a page of the ledger (the hash-chained audit log) as a JSON array,
// oldest first.
func (s *Service) Ledger(ctx context.Context, p store.LedgerPage) ([]byte, error) {
	entries, err := s.Store.Ledger(ctx, p)
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

// ledgerExportPage is the number of entries that an export reads at a time.
const ledgerExportPage = 500

// ExportLedger returns the entries after p.After, one per line, up to the last one at
// the time it is reached.
func (s *Service) ExportLedger(ctx context.Context, p store.LedgerPage) io.Reader {
	p.Oldest, p.Limit = true, ledgerExportPage
	return &ledgerExport{ctx: ctx, db: s.Store, page: p}
}

// ledgerExport is the io.Reader of ExportLedger.
type ledgerExport struct {
	ctx    context.Context // of the request that reads the export
	db     store.Ledger
	page   store.LedgerPage
	buffer []byte // encoded, not read yet
}

// Read implements io.Reader.
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
		var last sign.LedgerEntry
		if err := json.Unmarshal(entries[len(entries)-1], &last); err != nil {
			return 0, err
		}
		x.page.After = last.N
	}
	n := copy(b, x.buffer)
	x.buffer = x.buffer[n:]
	return n, nil
}
