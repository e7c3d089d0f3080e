package notify

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/postgres"
	"github.com/hookback/hookback/server/internal/store/sqlite"
	"github.com/hookback/hookback/server/internal/storetest"
)

type everyoneIsAdmin struct{ fakeAccounts }

func (everyoneIsAdmin) IdentityOf(name, via string) (auth.Identity, bool) {
	return auth.Identity{Name: name, Role: schema.Admin, Via: via}, true
}

func (everyoneIsAdmin) CreatedAt(string) (at time.Time, ok bool) { return at, true }

// TestStolenDatabase_ForgesNothing: a thief runs a hub on a copy of the database. The copy needs a
// new key, so its links and signatures are worth nothing at the real hub.
func TestStolenDatabase_ForgesNothing(t *testing.T) {
	t.Parallel()
	h := newHarness(t, ada)
	h.addChannel(startServer(t).URL)
	id := h.askQuestion("May I?")
	steal := stealSQLite
	if storetest.IsPostgres() {
		steal = stealPostgres
	}
	stolen := steal(t, h.db)
	t.Cleanup(func() { require.NoError(t, stolen.Close()) })

	thief := New(Config{Store: stolen, Base: "https://hub.example.com", Clock: h.now, Accounts: everyoneIsAdmin{}})
	q, err := thief.readQuestion(t.Context(), id)
	require.NoError(t, err)
	address, _, err := thief.signedLink(q, ada.Name)
	require.NoError(t, err)
	_, forged, _ := strings.Cut(address, "#")
	_, err = thief.OpenLink(t.Context(), id, forged, "")
	require.NoError(t, err, "it is a valid link of the thief's hub")
	_, err = h.OpenLink(t.Context(), id, forged, "")
	require.ErrorContains(t, err, "another hub")
	require.ErrorIs(t, h.vote(id, forged), schema.ErrNotAllowed)

	receipt := stolen.Identity().Sign(schema.StatementPayload, []byte(`{}`))
	require.ErrorIs(t, receipt.Verify(schema.StatementPayload, h.Store.Identity().Public()), schema.ErrUnsigned)
}

// stealSQLite returns the store of a thief who has a copy of the database. Its channels are lost with
// the key.
func stealSQLite(t *testing.T, database string) store.Store {
	t.Helper()
	copied := sqlite.Config{Path: filepath.Join(t.TempDir(), "stolen.db"), ReserveFileBytes: -1}
	require.NoError(t, sqlite.Backup(t.Context(), database, copied.Path))
	_, err := sqlite.Open(t.Context(), copied)
	require.ErrorContains(t, err, "key is missing")
	require.NoError(t, sqlite.ChangeKey(t.Context(), copied, &store.KeyChange{}))
	stolen, err := sqlite.Open(t.Context(), copied)
	require.NoError(t, err)
	channels, err := stolen.Channels(t.Context())
	require.NoError(t, err)
	require.Empty(t, channels)
	return stolen
}

// stealPostgres is stealSQLite for a thief who reads all tables. There is no command that replaces the
// key, but a thief can remove it from the copy, and then everything that the new one can't decrypt.
func stealPostgres(t *testing.T, database string) store.Store {
	t.Helper()
	from, to := storetest.OpenSQL(t, database), storetest.NewFile(t)
	copied, tables := storetest.OpenSQL(t, to), strings.Fields(textOf(t, from, `SELECT string_agg(quote_ident(table_name), ' ') FROM information_schema.tables WHERE table_schema = 'public'`))
	require.Greater(t, len(tables), 50)
	for _, table := range tables {
		rows := textOf(t, from, `SELECT coalesce(json_agg(r), '[]') FROM `+table+` r`)
		require.NotContains(t, rows, "http://127.0.0.1", "%s: the address of the channel is a secret", table)
		_, err := copied.ExecContext(t.Context(), `DELETE FROM `+table)
		require.NoError(t, err)
		_, err = copied.ExecContext(t.Context(), `INSERT INTO `+table+` OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::`+table+`, $1)`, rows)
		require.NoError(t, err, table)
	}
	open := func() (store.Store, error) {
		return postgres.Open(t.Context(), postgres.Config{DSN: to, KeyFile: filepath.Join(storetest.DataDir(to), "postgres.key")})
	}
	_, err := open()
	require.ErrorContains(t, err, "is missing or belongs to another hub")
	_, err = copied.ExecContext(t.Context(), `UPDATE hub SET public_key = ''`)
	require.NoError(t, err)
	_, err = open()
	require.ErrorContains(t, err, "decrypt channels.url")
	_, err = copied.ExecContext(t.Context(), `DELETE FROM channels; UPDATE notifier SET push = ''`)
	require.NoError(t, err)
	stolen, err := open()
	require.NoError(t, err)
	return stolen
}

func textOf(t *testing.T, db *sql.DB, query string) (text string) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), query).Scan(&text), query)
	return text
}
