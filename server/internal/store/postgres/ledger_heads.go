package postgres

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/store/kit"
)

const queryLedgerHead = `SELECT envelope FROM ledger_heads ORDER BY n DESC LIMIT 1`

func (s *engine) LedgerHead(ctx context.Context) (envelope []byte, err error) {
	err = s.readers.get(ctx, []any{&envelope}, queryLedgerHead)
	if errors.Is(err, pgx.ErrNoRows) {
		err = schema.ErrNotFound
	}
	return envelope, err
}

func (s *engine) SignLedgerHead(ctx context.Context) error {
	return s.writer.do(ctx, &op{run: (*tx).signLedgerHead})
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
	if err := t.exec(`INSERT INTO ledger_heads (n, envelope) VALUES ($1, $2) ON CONFLICT (n) DO UPDATE SET envelope = excluded.envelope`, end.N, envelope); err != nil {
		return err
	}
	t.counters.signedHead = end.N
	if end.N%kit.SignEvery != 0 {
		return nil
	}
	// The new head covers the entries of the heads in between.
	err = t.exec(`DELETE FROM ledger_heads WHERE n > $1 AND n < $2`, end.N-kit.SignEvery, end.N)
	return err
}
