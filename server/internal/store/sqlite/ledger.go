package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"math"
	"slices"

	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

func (s *engine) AppendLedger(ctx context.Context, record store.LedgerRecord) error {
	return s.writer.do(ctx, &op{essential: true, needsSavepoint: true, run: func(t *tx) error { return t.appendLedger(record) }})
}

// appendLedger appends records to the audit log in this transaction, each with the hash
// of its predecessor.
func (t *tx) appendLedger(records ...store.LedgerRecord) error {
	for _, record := range records {
		e, line, err := t.counters.chainEnd.Next(&record, t.now)
		if err != nil {
			return err
		}
		if _, err := t.exec(`INSERT INTO ledger (n, question, hash, entry) VALUES (?, ?, ?, ?)`, e.N, e.QuestionID, e.Hash, line); err != nil {
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

// readChainEnd reads the audit log's last entry.
func readChainEnd(ctx context.Context, conn *sql.Conn) (kit.ChainEnd, error) {
	end := kit.ChainEnd{Hash: sign.FirstPrev}
	err := conn.QueryRowContext(ctx, `SELECT n, hash FROM ledger ORDER BY n DESC LIMIT 1`).Scan(&end.N, &end.Hash)
	return end, ignoreNoRows(err)
}

const (
	queryLedger                 = `SELECT entry FROM ledger WHERE n > ? AND n < ? ORDER BY n LIMIT ?`
	queryLedgerNewest           = `SELECT entry FROM ledger WHERE n > ? AND n < ? ORDER BY n DESC LIMIT ?`
	queryLedgerOfQuestion       = `SELECT entry FROM ledger WHERE question > 0 AND n > ? AND n < ? AND question = ?4 ORDER BY n LIMIT ?3`
	queryLedgerNewestOfQuestion = `SELECT entry FROM ledger WHERE question > 0 AND n > ? AND n < ? AND question = ?4 ORDER BY n DESC LIMIT ?3`
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
