package sqlite

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/identity"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// Both tables are read in the order of their primary keys.
const querySignedLedger = `SELECT l.n, l.hash, l.entry, h.envelope
	FROM ledger l LEFT JOIN ledger_heads h ON h.n = l.n ORDER BY l.n`

// CheckLedger verifies the hash chain of the ledger in the database at path and compares it with
// the heads that the hub signed. Its error names the first defect. A hub may have the database
// open.
//
// Without the key file the heads are checked with the public key in the database, which the
// program that changed the database may have replaced: the reader must compare KeyID.
func CheckLedger(ctx context.Context, path string) (state store.LedgerState, err error) {
	db, err := openExisting(path)
	if err != nil {
		return state, err
	}
	defer func() { _ = db.Close() }()
	t, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true}) // one snapshot of both tables
	if err != nil {
		return state, err
	}
	defer func() { _ = t.Rollback() }()
	var has int
	err = t.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master WHERE name = 'ledger_heads'`).Scan(&has)
	if err != nil || has == 0 {
		return state, err // of a version without signed heads
	}
	check := ledgerCheck{}
	if err := t.QueryRowContext(ctx, `SELECT id, public_key FROM hub`).Scan(&check.hubID, (*[]byte)(&check.key)); err != nil {
		return state, err
	}
	if len(check.key) > 0 {
		file, err := databasePath(path)
		if err != nil {
			return state, err
		}
		if state.HasKey, err = identity.Check(identity.File(file), check.key); err != nil {
			return state, err
		}
		state.KeyID = schema.KeyID(check.key)
	}
	if err := check.run(ctx, t); err != nil {
		return state, fmt.Errorf("the audit log was changed: %w", err)
	}
	state.Entries, state.Signed = check.chain.N, check.signed
	return state, nil
}

// ledgerCheck compares a ledger with its signed heads.
type ledgerCheck struct {
	hubID  string
	key    ed25519.PublicKey // empty: the heads are not signed yet
	chain  sign.LedgerCheck
	first  int64 // first entry with a head
	signed int64 // newest entry with a head by key
}

func (c *ledgerCheck) run(ctx context.Context, t *sql.Tx) error {
	rows, err := t.QueryContext(ctx, querySignedLedger)
	err = eachRow(rows, err, func(rows tables.Rows) error {
		var n int64
		var hash string
		var entry, head []byte
		if err := rows.Scan(&n, &hash, &entry, &head); err != nil {
			return err
		}
		if err := c.chain.Next(entry); err != nil {
			return err
		}
		if n != c.chain.N || hash != c.chain.Head {
			return fmt.Errorf("the number or hash in the row of entry %d differs from the entry", c.chain.N)
		}
		return c.checkHead(head)
	})
	if err != nil {
		return err
	}
	var newest int64
	if err := t.QueryRowContext(ctx, `SELECT coalesce(max(n), 0) FROM ledger_heads`).Scan(&newest); err != nil {
		return err
	}
	switch {
	case newest > c.chain.N:
		return fmt.Errorf("it ends at entry %d, but the hub signed entry %d: the end was removed", c.chain.N, newest)
	case len(c.key) > 0 && c.chain.N >= tables.SignEvery && c.signed == 0:
		return errors.New("no head is signed by the hub's key: the heads were removed or replaced")
	}
	return nil
}

// checkHead checks the head of the last entry read; nil: it has none.
func (c *ledgerCheck) checkHead(envelope []byte) error {
	n := c.chain.N
	if envelope == nil {
		if c.first > 0 && n%tables.SignEvery == 0 {
			return fmt.Errorf("the signed head of entry %d is missing", n)
		}
		return nil
	}
	if c.first == 0 {
		c.first = n
	}
	var e schema.Envelope
	var head sign.LedgerHead
	err := json.Unmarshal(envelope, &e)
	if err == nil {
		err = json.Unmarshal(e.Payload, &head)
	}
	if err != nil {
		return fmt.Errorf("the signed head of entry %d is not readable: %w", n, err)
	}
	switch err := e.Verify(schema.HeadPayload, c.key); {
	case err == nil:
		c.signed = n
	case !errors.Is(err, schema.ErrUnsigned) || c.signed > 0:
		// Heads of an earlier key come before all heads of this one.
		return fmt.Errorf("the head of entry %d is not signed by the hub's key: %w", n, err)
	}
	if head.Hub != c.hubID || head.N != n || head.Hash != c.chain.Head {
		return fmt.Errorf("entry %d is %.8s, but the hub signed %.8s for entry %d: it was replaced", n, c.chain.Head, head.Hash, head.N)
	}
	return nil
}
