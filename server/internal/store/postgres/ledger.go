package postgres

import (
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

func (s *engine) AppendLedger(ctx context.Context, record store.LedgerRecord) error {
	return s.writer.do(ctx, &op{run: func(t *tx) error { return t.appendLedger(record) }})
}

// appendLedger appends records to the audit log in this transaction, each with the hash
// of its predecessor.
func (t *tx) appendLedger(records ...store.LedgerRecord) error {
	for _, record := range records {
		e, line, err := t.counters.chainEnd.Next(&record, t.now)
		if err != nil {
			return err
		}
		if err := t.exec(`INSERT INTO ledger (n, question, hash, entry) VALUES ($1, $2, $3, $4)`, e.N, e.QuestionID, e.Hash, line); err != nil {
			return err
		}
		t.counters.chainEnd = kit.ChainEnd{N: e.N, Hash: e.Hash}
		if e.N%kit.SignEvery == 0 {
			if err := t.signLedgerHead(); err != nil {
				return err
			}
		}
	}
	return nil
}

const (
	queryLedger                 = `SELECT entry FROM ledger WHERE n > $1 AND n < $2 ORDER BY n LIMIT $3`
	queryLedgerNewest           = `SELECT entry FROM ledger WHERE n > $1 AND n < $2 ORDER BY n DESC LIMIT $3`
	queryLedgerOfQuestion       = `SELECT entry FROM ledger WHERE question > 0 AND n > $1 AND n < $2 AND question = $4 ORDER BY n LIMIT $3`
	queryLedgerNewestOfQuestion = `SELECT entry FROM ledger WHERE question > 0 AND n > $1 AND n < $2 AND question = $4 ORDER BY n DESC LIMIT $3`
)

func (s *engine) Ledger(ctx context.Context, p store.LedgerPage) (entries []json.RawMessage, _ error) {
	if p.Before <= 0 {
		p.Before = math.MaxInt64
	}
	args := []any{p.After, p.Before, p.Limit}
	query := queryLedgerNewest
	switch {
	case p.QuestionID != 0 && p.Oldest:
		query, args = queryLedgerOfQuestion, append(args, p.QuestionID)
	case p.QuestionID != 0:
		query, args = queryLedgerNewestOfQuestion, append(args, p.QuestionID)
	case p.Oldest:
		query = queryLedger
	}
	rows, err := s.readers.query(ctx, query, args...)
	if entries, err = collect(rows, err, scanColumn[json.RawMessage]); !p.Oldest {
		slices.Reverse(entries)
	}
	return entries, err
}
