package sqlite

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/identity"
	"github.com/hookback/hookback/server/internal/store"
)

// addSecrets stores every kind of secret that the hub must be able to read again. Each contains
// HIDDEN.
func addSecrets(t *testing.T, b *testStore) {
	t.Helper()
	require.NoError(t, b.Store.AddChannel(t.Context(), &store.Channel{Name: "ops", Kind: "webhook", URL: "https://chat.example/HIDDEN-url", Secret: "whsec_HIDDEN"}, 10))
	require.NoError(t, b.Store.SetPushKeys(t.Context(), "HIDDEN-push", "public"))
}

func requireSecrets(t *testing.T, b *testStore) {
	t.Helper()
	channels, err := b.Store.Channels(t.Context())
	require.NoError(t, err)
	require.Len(t, channels, 1)
	require.Equal(t, "https://chat.example/HIDDEN-url", channels[0].URL)
	require.Equal(t, "whsec_HIDDEN", channels[0].Secret)
	private, public, err := b.Store.PushKeys(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"HIDDEN-push", "public"}, []string{private, public})
}

// requireNotInFile fails if the database or its write-ahead log contains text.
func requireNotInFile(t *testing.T, database, text string) {
	t.Helper()
	for _, file := range []string{database, database + "-wal"} {
		b, err := os.ReadFile(file)
		if !os.IsNotExist(err) {
			require.NoError(t, err)
		}
		require.NotContains(t, string(b), text, file)
	}
}

// TestStolenDatabase_RevealsNoSecret: a copy of the database without the key file contains no
// secret that the hub can read, no key, and does not open with a key of the thief.
func TestStolenDatabase_RevealsNoSecret(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	addSecrets(t, b)
	requireSecrets(t, b)
	requireNotInFile(t, b.file, "HIDDEN")
	requireNotInFile(t, b.file, string(b.Store.Identity().Subkey("signed links")))
	seed, err := os.ReadFile(identity.File(b.file))
	require.NoError(t, err)
	requireNotInFile(t, b.file, string(seed[60:90]))

	stolen := filepath.Join(t.TempDir(), "stolen.db")
	require.NoError(t, Backup(t.Context(), b.file, stolen))
	requireNotInFile(t, stolen, "HIDDEN")
	db, err := sql.Open("sqlite", dsn(stolen, "FULL", true))
	require.NoError(t, err)
	require.NoError(t, db.Close())

	_, err = Open(t.Context(), Config{Path: stolen, ReserveFileBytes: -1})
	require.ErrorContains(t, err, "stolen.db.key is missing or belongs to another hub")
	require.NoFileExists(t, identity.File(stolen), "a hub never gets another key by itself")
	_, err = identity.Prepare(identity.File(stolen))
	require.NoError(t, err)
	require.NoError(t, identity.Commit(identity.File(stolen)))
	_, err = Open(t.Context(), Config{Path: stolen, ReserveFileBytes: -1})
	require.ErrorContains(t, err, `run "hookback-server key new"`)
}

// TestOpen_CompletesInterruptedFirstStart: the hub was killed after it stored the public key and
// before the key file got its name.
func TestOpen_CompletesInterruptedFirstStart(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	id := b.Store.Identity().ID()
	require.NoError(t, b.Close())
	file := identity.File(b.file)
	require.NoError(t, os.Rename(file, file+".new"))
	b.Open(t)
	require.Equal(t, id, b.Store.Identity().ID())
	require.FileExists(t, file)
}

// copyKey puts the hub's key next to a copy of its database.
func copyKey(t *testing.T, from, to string) {
	t.Helper()
	key, err := os.ReadFile(identity.File(from))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(identity.File(to), key, 0o600))
}

func TestBackup_WithKeyKeepsIdentity(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	addSecrets(t, b)
	file := filepath.Join(t.TempDir(), "copy.db")
	require.NoError(t, Backup(context.Background(), b.file, file))
	copyKey(t, b.file, file)
	restored := newTestStore(t, func(c *Config) { c.Path = file })
	requireSecrets(t, restored)
	require.Equal(t, b.Store.Identity().ID(), restored.Store.Identity().ID())
}
