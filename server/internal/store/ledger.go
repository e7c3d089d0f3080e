package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/hookback/hookback/schema"
)

// LedgerRecord is something that was decided, for the ledger.
type LedgerRecord struct {
	Action     string         // such as question.voted
	Actor      string         // a person, an agent's token, a rule, or the hub
	QuestionID schema.EventID // the question; 0: none
	// Data is what else is to be kept, as JSON. The ledger outlives what it tells of:
	// no payload and no secret belongs here.
	Data any
}

// chainEnd is the ledger's end, which the next entry continues.
type chainEnd struct {
	n    int64
	hash string
}

// AppendLedger writes an act that changes no question to the ledger. One that goes with a
// change is written with it: Change.Ledger, or tx.note in the op that makes it.
func (s *Store) AppendLedger(ctx context.Context, act LedgerRecord) error {
	return s.writer.do(ctx, &op{essential: true, needsSavepoint: true, run: func(t *tx) error { return t.appendLedger(act) }})
}

// appendLedger appends acts to the ledger, in the transaction of what they tell.
func (t *tx) appendLedger(acts ...LedgerRecord) error {
	for _, act := range acts {
		e := schema.LedgerEntry{At: schema.Millis(toMillis(t.now)), Action: act.Action, Actor: act.Actor, QuestionID: act.QuestionID}
		if act.Data != nil {
			var err error
			if e.Data, err = json.Marshal(act.Data); err != nil {
				return fmt.Errorf("encoding what the ledger keeps of %s: %w", act.Action, err)
			}
		}
		if err := e.Seal(t.counters.chainEnd.n, t.counters.chainEnd.hash); err != nil {
			return err
		}
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if _, err := t.exec(`INSERT INTO ledger (stream_id, n, question, hash, entry) VALUES (1, ?, ?, ?, ?)`, e.N, e.QuestionID, e.Hash, line); err != nil {
			return err
		}
		t.counters.chainEnd = chainEnd{e.N, e.Hash}
	}
	return nil
}

// readChainEnd is the ledger's end as it was left.
func readChainEnd(ctx context.Context, conn *sql.Conn) (chainEnd, error) {
	end := chainEnd{hash: schema.FirstPrev}
	err := conn.QueryRowContext(ctx, `SELECT n, hash FROM ledger WHERE stream_id = 1 ORDER BY n DESC LIMIT 1`).Scan(&end.n, &end.hash)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return end, err
}

// LedgerPage selects entries of the ledger. Zero values select everything.
type LedgerPage struct {
	After, Before int64 // numbers, both exclusive
	QuestionID    schema.EventID
	Limit         int
	Oldest        bool // the oldest Limit entries rather than the newest
}

const (
	queryLedger                 = `SELECT entry FROM ledger WHERE stream_id = 1 AND n > ? AND n < ? ORDER BY n LIMIT ?`
	queryLedgerNewest           = `SELECT entry FROM ledger WHERE stream_id = 1 AND n > ? AND n < ? ORDER BY n DESC LIMIT ?`
	queryLedgerOfQuestion       = `SELECT entry FROM ledger WHERE stream_id = 1 AND question > 0 AND n > ? AND n < ? AND question = ?4 ORDER BY n LIMIT ?3`
	queryLedgerNewestOfQuestion = `SELECT entry FROM ledger WHERE stream_id = 1 AND question > 0 AND n > ? AND n < ? AND question = ?4 ORDER BY n DESC LIMIT ?3`
)

// Ledger returns entries of the ledger, the oldest first, as JSON: byte for byte what
// their hashes are of.
func (s *Store) Ledger(ctx context.Context, p LedgerPage) (entries []json.RawMessage, _ error) {
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
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var entry []byte
		if err := rows.Scan(&entry); err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	if !p.Oldest {
		slices.Reverse(entries)
	}
	return entries, rows.Err()
}
