package tables

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/store"
)

// Chain is the end of the audit log, which the next entry is chained to.
type Chain struct {
	N      int64  // number of the last entry
	Hash   string // of the last entry
	Signed int64  // number of the newest entry with a signed head; 0: none
}

// QueryChain reads a Chain. $1 is sign.FirstPrev.
const QueryChain = `SELECT coalesce(max(n), 0), coalesce((SELECT hash FROM ledger ORDER BY n DESC LIMIT 1), $1),
	coalesce((SELECT max(n) FROM ledger_heads), 0) FROM ledger`

// SignEvery is the number of entries after which the hub signs the end of the audit log. Such a head is
// written in the transaction of its entry and kept.
const SignEvery = 100

func (t *Tables) AppendLedger(ctx context.Context, record store.LedgerRecord) error {
	return t.Write(ctx, Essential, func(w *Work) error { return w.AppendLedger(record) })
}

// AppendLedger appends records to the audit log in this transaction, each with the hash
// of its predecessor.
func (w *Work) AppendLedger(records ...store.LedgerRecord) error {
	chain := &w.Chain
	for _, record := range records {
		e := sign.LedgerEntry{At: schema.Millis(Millis(w.Now)), Action: record.Action, Actor: record.Actor, QuestionID: record.QuestionID}
		var err error
		if record.Data != nil {
			if e.Data, err = json.Marshal(record.Data); err != nil {
				return fmt.Errorf("encode the audit log data of %s: %w", record.Action, err)
			}
		}
		if err = e.Seal(chain.N, chain.Hash); err != nil {
			return err
		}
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if err := w.Exec(`INSERT INTO ledger (n, question, hash, entry) VALUES ($1, $2, $3, $4)`, e.N, e.QuestionID, e.Hash, line); err != nil {
			return err
		}
		chain.N, chain.Hash = e.N, e.Hash
		if e.N%SignEvery == 0 {
			if err := w.SignLedgerHead(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Tables) Ledger(ctx context.Context, p store.LedgerPage) ([]json.RawMessage, error) {
	if p.Before <= 0 {
		p.Before = math.MaxInt64
	}
	query, args := `SELECT entry FROM ledger WHERE n > $1 AND n < $2`, []any{p.After, p.Before, p.Limit}
	if p.QuestionID != 0 {
		query, args = query+` AND question > 0 AND question = $4`, append(args, p.QuestionID)
	}
	if p.Oldest {
		return collect(ctx, t, column[json.RawMessage], query+` ORDER BY n LIMIT $3`, args...)
	}
	entries, err := collect(ctx, t, column[json.RawMessage], query+` ORDER BY n DESC LIMIT $3`, args...)
	slices.Reverse(entries)
	return entries, err
}

func (t *Tables) LedgerHead(ctx context.Context) (envelope []byte, err error) {
	found, err := t.ReadOne(ctx, []any{&envelope}, `SELECT envelope FROM ledger_heads ORDER BY n DESC LIMIT 1`)
	return envelope, orNotFound(found, err)
}

func (t *Tables) SignLedgerHead(ctx context.Context) error {
	return t.Write(ctx, Essential, (*Work).SignLedgerHead)
}

// SignLedgerHead signs the last entry of the audit log in this transaction.
func (w *Work) SignLedgerHead() error {
	end := &w.Chain
	if end.N == end.Signed {
		return nil
	}
	payload, err := json.Marshal(sign.LedgerHead{Hub: w.t.ID, N: end.N, Hash: end.Hash, At: schema.Millis(Millis(w.Now))})
	if err != nil {
		return err
	}
	envelope, err := json.Marshal(w.t.Key.Sign(schema.HeadPayload, payload))
	if err != nil {
		return err
	}
	if err := w.Exec(`INSERT INTO ledger_heads (n, envelope) VALUES ($1, $2) ON CONFLICT (n) DO UPDATE SET envelope = excluded.envelope`, end.N, envelope); err != nil {
		return err
	}
	end.Signed = end.N
	if end.N%SignEvery != 0 {
		return nil
	}
	// The new head covers the entries of the heads in between.
	return w.Exec(`DELETE FROM ledger_heads WHERE n > $1 AND n < $2`, end.N-SignEvery, end.N)
}
