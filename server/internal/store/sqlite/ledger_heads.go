package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/store/kit"
)

const queryLedgerHead = `SELECT envelope FROM ledger_heads ORDER BY n DESC LIMIT 1`

func (s *engine) LedgerHead(ctx context.Context) (envelope []byte, err error) {
	err = s.readers.get(ctx, []any{&envelope}, queryLedgerHead)
	if errors.Is(err, sql.ErrNoRows) {
		err = schema.ErrNotFound
	}
	return envelope, err
}

func (s *engine) SignLedgerHead(ctx context.Context) error {
	return s.writer.do(ctx, &op{essential: true, needsSavepoint: true, run: (*tx).signLedgerHead})
}

func (t *tx) signLedgerHead() error {
	end := t.counters.chainEnd
	if end.N == t.counters.signedHead {
		return nil
	}
	payload, err := json.Marshal(sign.LedgerHead{Hub: t.w.store.hubID, N: end.N, Hash: end.Hash, At: schema.Millis(kit.Millis(t.now))})
	if err != nil {
		return err
	}
	envelope, err := json.Marshal(t.w.store.identity.Sign(schema.HeadPayload, payload))
	if err != nil {
		return err
	}
	if _, err := t.exec(`INSERT OR REPLACE INTO ledger_heads (n, envelope) VALUES (?, ?)`, end.N, envelope); err != nil {
		return err
	}
	t.counters.signedHead = end.N
	if end.N%kit.SignEvery != 0 {
		return nil
	}
	// The new head covers the entries of the heads in between.
	_, err = t.exec(`DELETE FROM ledger_heads WHERE n > ? AND n < ?`, end.N-kit.SignEvery, end.N)
	return err
}

// readSignedHead reads the number of the newest signed entry; 0: none.
func readSignedHead(ctx context.Context, conn *sql.Conn) (n int64, err error) {
	err = conn.QueryRowContext(ctx, `SELECT coalesce(max(n), 0) FROM ledger_heads`).Scan(&n)
	return n, err
}
