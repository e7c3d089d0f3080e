package sqlite

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/identity"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// newLedger returns a stopped store with n entries, the last of which is signed.
func newLedger(t *testing.T, n int) *testStore {
	t.Helper()
	b := newTestStore(t)
	for i := range n {
		require.NoError(t, b.Store.AppendLedger(t.Context(), store.LedgerRecord{Action: "rule.made", Actor: "ada", Data: map[string]int{"n": i}}))
	}
	require.NoError(t, b.Store.SignLedgerHead(t.Context()))
	return b
}

// head decodes and verifies the newest head.
func (b *testStore) head(t *testing.T) (head sign.LedgerHead) {
	t.Helper()
	text, err := b.Store.LedgerHead(t.Context())
	require.NoError(t, err)
	var e schema.Envelope
	require.NoError(t, json.Unmarshal(text, &e))
	require.NoError(t, e.Verify(schema.HeadPayload, b.Store.Identity().Public()))
	require.NoError(t, json.Unmarshal(e.Payload, &head))
	return head
}

func (b *testStore) headNumbers(t *testing.T) (numbers []int64) {
	t.Helper()
	require.NoError(t, b.Read(t.Context(), func(rows tables.Rows) error {
		numbers = append(numbers, 0)
		return rows.Scan(&numbers[len(numbers)-1])
	}, `SELECT n FROM ledger_heads ORDER BY n`))
	return numbers
}

func TestLedgerHead_IsSignedRegularly(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	require.NoError(t, b.Store.SignLedgerHead(t.Context()))
	_, err := b.Store.LedgerHead(t.Context())
	require.ErrorIs(t, err, schema.ErrNotFound, "an empty ledger has no head")
	for i := range 2*tables.SignEvery + 1 {
		require.NoError(t, b.Store.AppendLedger(t.Context(), store.LedgerRecord{Action: "rule.made", Actor: "ada"}))
		if i == 9 {
			require.NoError(t, b.Store.SignLedgerHead(t.Context()))
			require.Equal(t, int64(10), b.head(t).N)
		}
	}
	head := b.head(t)
	entries := b.LedgerEntries(t)
	require.Equal(t, sign.LedgerHead{
		Hub: b.Store.HubID(), N: 2 * tables.SignEvery, Hash: entries[2*tables.SignEvery-1].Hash,
		At: schema.Millis(conformance.ClockStart.UnixMilli()),
	}, head, "every 100th entry is signed with it")
	require.Equal(t, []int64{tables.SignEvery, 2 * tables.SignEvery}, b.headNumbers(t), "a later head replaces those in between")
	b.Reopen(t)
	require.NoError(t, b.Store.SignLedgerHead(t.Context()))
	require.NoError(t, b.Store.SignLedgerHead(t.Context()))
	require.Equal(t, []int64{tables.SignEvery, 2 * tables.SignEvery, 2*tables.SignEvery + 1}, b.headNumbers(t))

	_, err = b.Store.ChangePeople(t.Context(), &store.PeopleChange{
		SetLocked: true, People: store.People{Locked: true}, LedgerRecords: []store.LedgerRecord{{Action: "hub.locked", Actor: "ada"}},
	})
	require.NoError(t, err)
	require.Equal(t, int64(2*tables.SignEvery+2), b.head(t).N, "the lock is signed with its entry")
}

// rewrite changes entry n and seals it and all later entries again, as a program that can write
// the file would. With a key it signs the heads again, too.
func rewrite(t *testing.T, db *sql.DB, n int64, key *identity.Key) {
	t.Helper()
	for {
		var line, previous []byte
		err := db.QueryRowContext(t.Context(), `SELECT entry FROM ledger WHERE n = ?`, n).Scan(&line)
		if errors.Is(err, sql.ErrNoRows) {
			return
		}
		require.NoError(t, err)
		var e, before sign.LedgerEntry
		require.NoError(t, json.Unmarshal(line, &e))
		require.NoError(t, db.QueryRowContext(t.Context(), `SELECT entry FROM ledger WHERE n = ?`, n-1).Scan(&previous))
		require.NoError(t, json.Unmarshal(previous, &before))
		e.Actor = "eve"
		require.NoError(t, e.Seal(before.N, before.Hash))
		line, err = json.Marshal(e)
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), `UPDATE ledger SET hash = ?, entry = ? WHERE n = ?`, e.Hash, line, n)
		require.NoError(t, err)
		if key != nil {
			var hub string
			require.NoError(t, db.QueryRowContext(t.Context(), `SELECT id FROM hub`).Scan(&hub))
			payload, err := json.Marshal(sign.LedgerHead{Hub: hub, N: n, Hash: e.Hash, At: e.At})
			require.NoError(t, err)
			head, err := json.Marshal(key.Sign(schema.HeadPayload, payload))
			require.NoError(t, err)
			_, err = db.ExecContext(t.Context(), `UPDATE ledger_heads SET envelope = ? WHERE n = ?`, head, n)
			require.NoError(t, err)
		}
		n++
	}
}

func TestCheckLedger_FindsChanges(t *testing.T) {
	t.Parallel()
	query := func(text string) func(*testing.T, *sql.DB) {
		return func(t *testing.T, db *sql.DB) {
			_, err := db.ExecContext(t.Context(), text)
			require.NoError(t, err)
		}
	}
	thief, err := identity.Prepare(filepath.Join(t.TempDir(), "key"))
	require.NoError(t, err)
	for name, c := range map[string]struct {
		change func(*testing.T, *sql.DB)
		defect string
	}{
		"tail cut":         {query(`DELETE FROM ledger WHERE n > 240`), "ends at entry 240, but the hub signed entry 250: the end was removed"},
		"all cut":          {query(`DELETE FROM ledger`), "ends at entry 0, but the hub signed entry 250"},
		"row deleted":      {query(`DELETE FROM ledger WHERE n = 120`), "entry 120 is missing"},
		"row changed":      {query(`UPDATE ledger SET entry = CAST(replace(entry, 'ada', 'eve') AS BLOB) WHERE n = 120`), "entry 120"},
		"row renumbered":   {query(`UPDATE ledger SET n = 1000 WHERE n = 250`), "row of entry 250"},
		"chain rewritten":  {func(t *testing.T, db *sql.DB) { rewrite(t, db, 120, nil) }, "for entry 200: it was replaced"},
		"other key":        {func(t *testing.T, db *sql.DB) { rewrite(t, db, 120, thief) }, "head of entry 200 is not signed by the hub's key"},
		"all by other key": {func(t *testing.T, db *sql.DB) { rewrite(t, db, 2, thief) }, "no head is signed by the hub's key"},
		"head deleted":     {query(`DELETE FROM ledger_heads WHERE n = 200`), "signed head of entry 200 is missing"},
		"heads deleted":    {query(`DELETE FROM ledger_heads`), "the heads were removed or replaced"},
		"head unreadable":  {query(`UPDATE ledger_heads SET envelope = X'00' WHERE n = 200`), "not readable"},
		"head moved":       {query(`UPDATE ledger_heads SET envelope = (SELECT envelope FROM ledger_heads WHERE n = 100) WHERE n = 200`), "for entry 100: it was replaced"},
		"signature changed": {query(`UPDATE ledger_heads SET envelope = CAST(replace(envelope, '"sig":"', '"sig":"AAAA') AS BLOB) WHERE n = 250`),
			"head of entry 250 is not signed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newLedger(t, 250)
			require.NoError(t, b.Close())
			state, err := CheckLedger(t.Context(), b.file)
			require.NoError(t, err)
			require.Equal(t, store.LedgerState{Entries: 250, Signed: 250, KeyID: b.Store.Identity().ID(), HasKey: true}, state)
			db, err := openExisting(b.file)
			require.NoError(t, err)
			c.change(t, db)
			require.NoError(t, db.Close())
			_, err = CheckLedger(t.Context(), b.file)
			require.ErrorContains(t, err, "the audit log was changed: ")
			require.ErrorContains(t, err, c.defect)
		})
	}
}

// TestLedgerHead_WitnessFindsRewriteWithKey: whoever has the key can rewrite everything in the
// file, but not a head that is kept elsewhere.
func TestLedgerHead_WitnessFindsRewriteWithKey(t *testing.T) {
	t.Parallel()
	b := newLedger(t, 150)
	witness := b.head(t)
	require.NoError(t, b.Close())
	db, err := openExisting(b.file)
	require.NoError(t, err)
	rewrite(t, db, 90, b.Store.Identity())
	require.NoError(t, db.Close())
	_, err = CheckLedger(t.Context(), b.file)
	require.NoError(t, err, "the file is consistent")
	b.Open(t)
	require.NotEqual(t, witness.Hash, b.LedgerEntries(t)[witness.N-1].Hash)
}

func TestCheckLedger_NeedsNoHub(t *testing.T) {
	t.Parallel()
	b := newLedger(t, 120)
	state, err := CheckLedger(t.Context(), b.file)
	require.NoError(t, err, "while the hub runs")
	require.Equal(t, int64(120), state.Signed)

	file := filepath.Join(t.TempDir(), "copy.db")
	require.NoError(t, Backup(t.Context(), b.file, file))
	state, err = CheckLedger(t.Context(), file)
	require.NoError(t, err, "a copy without its key")
	require.Equal(t, store.LedgerState{Entries: 120, Signed: 120, KeyID: b.Store.Identity().ID()}, state)
	other := newTestStore(t)
	copyKey(t, other.file, file)
	_, err = CheckLedger(t.Context(), file)
	require.ErrorIs(t, err, identity.ErrMismatch)
	require.NoError(t, os.Chmod(identity.File(file), 0o644))
	_, err = CheckLedger(t.Context(), file)
	require.ErrorContains(t, err, "chmod 600")

	empty := newTestStore(t)
	state, err = CheckLedger(t.Context(), empty.file)
	require.NoError(t, err)
	require.Zero(t, state.Entries)
	old := filepath.Join(t.TempDir(), "old.db")
	db, err := sql.Open("sqlite", old)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), fmt.Sprintf(`CREATE TABLE %s (id TEXT)`, "hub"))
	require.NoError(t, err)
	require.NoError(t, db.Close())
	_, err = CheckLedger(t.Context(), old)
	require.NoError(t, err, "a database of a version without heads")
}
