package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// Rescue copies everything that was acknowledged, also what only the write-ahead log has, and
// without the files' folder.
func TestRescue_CopiesRemovedDatabase(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t, func(c *Config) { c.Path = filepath.Join(t.TempDir(), "data", "hub.db") }), t.Context()
	q := b.MustAppend(t, conformance.NewQuestionDraft("s", b.Clock.Now())).ID
	for range 20 {
		b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", ""))
	}
	b.Answer(t, q)
	require.Positive(t, fileSize(b.file+"-wal"))
	copied := filepath.Join(t.TempDir(), "rescued.db")
	_, err := Rescue(ctx, b.file, copied)
	require.ErrorContains(t, err, "hookback-server backup", "a database in its place needs none")
	require.NoFileExists(t, copied)

	key, err := os.ReadFile(b.file + ".key")
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(filepath.Dir(b.file)))
	require.NoError(t, os.WriteFile(copied, []byte("mine"), 0o600))
	_, err = Rescue(ctx, b.file, copied)
	require.ErrorIs(t, err, os.ErrExist, "it never overwrites")
	require.NoError(t, os.Remove(copied))
	report, err := Rescue(ctx, b.file, copied)
	require.NoError(t, err)
	require.Equal(t, RescueReport{PID: os.Getpid(), Events: 21, Newest: 21}, report)
	info, err := os.Stat(copied)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	entries, err := os.ReadDir(filepath.Dir(copied))
	require.NoError(t, err)
	require.Len(t, entries, 1, "no other file is left behind")

	require.NoError(t, os.WriteFile(copied+".key", key, 0o600))
	s, err := openEngine(ctx, Config{Path: copied, ReserveFileBytes: -1})
	require.NoError(t, err)
	require.Equal(t, b.Head(), s.Head())
	conformance.RequireDense(t, s)
	require.NoError(t, s.Close())
}

func TestRescue_NeedsARunningHub(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := Rescue(t.Context(), filepath.Join(dir, "hub.db"), filepath.Join(dir, "copy.db"))
	require.ErrorContains(t, err, "nothing was written")
	require.NoFileExists(t, filepath.Join(dir, "copy.db"))
}

// Through a hard link the file has another name, another lock file and another write-ahead log:
// two hubs would damage it.
func TestOpen_RefusesSecondHubThroughHardLink(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	other := b.cfg
	other.Path = filepath.Join(t.TempDir(), "other.db")
	require.NoError(t, os.Link(b.file, other.Path))
	_, err := Open(t.Context(), other)
	require.ErrorIs(t, err, store.ErrLocked)
	require.ErrorContains(t, err, fmt.Sprintf("(process %d), under another name of the same file", os.Getpid()))
	b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", ""))
	require.NoError(t, b.Close())
	key, err := os.ReadFile(b.file + ".key")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(other.Path+".key", key, 0o600))
	s, err := Open(t.Context(), other)
	require.NoError(t, err, "the lock ends with the first hub")
	require.NoError(t, s.Close())
}
