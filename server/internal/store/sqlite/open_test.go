package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

func TestOpen_RefusesSecondHub(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	_, err := Open(context.Background(), b.cfg)
	require.ErrorIs(t, err, store.ErrLocked)
	require.ErrorContains(t, err, fmt.Sprintf("process %d", os.Getpid()))
	b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", ""))
	b.Reopen(t)
	require.EqualValues(t, 1, b.Head())
}

func TestOpen_MakesFilesPrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/new/folder"
	b := newTestStore(t, func(c *Config) { c.Path, c.ReserveFileBytes = "sqlite:"+dir+"/hub.db", 1<<16 })
	b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", ""))
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	names := map[string]bool{}
	for _, f := range files {
		info, err := f.Info()
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), f.Name())
		names[f.Name()] = true
	}
	require.Equal(t, map[string]bool{"hub.db": true, "hub.db-wal": true, "hub.db-shm": true, "hub.db.lock": true, "hub.db.ballast": true, "hub.db.key": true}, names)

	// A restored copy that others can read is made private.
	require.NoError(t, b.Close())
	require.NoError(t, os.Chmod(dir+"/hub.db", 0o644))
	b.Open(t)
	info, err = os.Stat(dir + "/hub.db")
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestOpen_AcceptsUnusualFileNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"with space.db", "per%20cent.db", "quest?ion=1&x.db", "h#sh.db", "zoë.db"} {
		path := filepath.Join(t.TempDir(), name)
		s, err := openEngine(context.Background(), Config{Path: path, ReserveFileBytes: -1})
		require.NoError(t, err, name)
		_, err = s.Append(context.Background(), conformance.NewDraft("app", "s", "Stop", ""))
		require.NoError(t, err)
		require.NoError(t, s.Close())
		require.Positive(t, fileSize(path), name)
	}
}

func TestOpen_RefusesNonDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newTestStore(t)
	require.NoError(t, b.Close())
	link := filepath.Join(dir, "link.db")
	require.NoError(t, os.Symlink(b.file, link))
	text := filepath.Join(dir, "text.db")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("no database ", 100)), 0o600))
	for _, path := range []string{link, text, dir, ":memory:", "", "sqlite:"} {
		_, err := Open(context.Background(), Config{Path: path, ReserveFileBytes: -1})
		require.Error(t, err, path)
	}
	_, err := Open(context.Background(), Config{Path: dir + "/x.db", Synchronous: "OFF"})
	require.Error(t, err)
	kept, err := os.ReadFile(text)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("no database ", 100), string(kept))
}

// -db may name any file by mistake, such as a text file or another program's database.
func TestOpen_LeavesForeignFileUntouched(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text, foreign := filepath.Join(dir, "passwd"), filepath.Join(dir, "places.sqlite")
	require.NoError(t, os.WriteFile(text, []byte("root:x:0:0:root:/root:/bin/sh\n"), 0o644))
	db, err := sql.Open("sqlite", foreign)
	require.NoError(t, err)
	_, err = db.Exec(`CREATE TABLE bookmarks (url TEXT)`)
	require.NoError(t, errors.Join(err, db.Close(), os.Chmod(foreign, 0o644)))
	for _, file := range []string{text, foreign} {
		before, err := os.ReadFile(file)
		require.NoError(t, err)
		_, err = Open(t.Context(), Config{Path: file, ReserveFileBytes: -1})
		require.ErrorContains(t, err, "nothing was changed", file)
		after, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, before, after, file)
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o644), info.Mode(), "its other readers can still read %s", file)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2, "no other file was created")
}

func TestOpen_RefusesNewerSchema(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	b.execSQL(t, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)`)
	require.NoError(t, b.Close())
	_, err := Open(context.Background(), b.cfg)
	require.ErrorContains(t, err, "newer Hookback")
	require.ErrorContains(t, err, "restore a backup from before the upgrade")
}

// A schema from before the last one of the old chain can't be read any more.
func TestOpen_RefusesTooOldSchema(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	b.execSQL(t, `UPDATE goose_db_version SET version_id = 58 WHERE version_id > 0`)
	require.NoError(t, b.Close())
	before, err := os.ReadFile(b.file)
	require.NoError(t, err)
	_, err = Open(t.Context(), b.cfg)
	require.ErrorContains(t, err, "nothing was changed; start and stop the build of commit ff4c8f2b on it, then this one")
	after, err := os.ReadFile(b.file)
	require.NoError(t, err)
	require.Equal(t, before, after)
}

func TestOpen_ExplainsDamagedHeader(t *testing.T) {
	t.Parallel()
	for _, hasLock := range []bool{true, false} {
		b := newTestStore(t)
		require.NoError(t, b.Close())
		content, err := os.ReadFile(b.file)
		require.NoError(t, err)
		copy(content, strings.Repeat("x", 100))
		require.NoError(t, os.WriteFile(b.file, content, 0o600))
		if !hasLock {
			require.NoError(t, os.Remove(b.file+lockSuffix))
		}
		_, err = Open(t.Context(), b.cfg)
		require.ErrorContains(t, err, "nothing was changed")
		require.ErrorContains(t, err, "restore a backup")
		after, err := os.ReadFile(b.file)
		require.NoError(t, err)
		require.Equal(t, content, after)
	}
}

// Every pragma is in effect on both kinds of connections: a hub with any other value
// does not start.
func TestPragmas_AreReadBack(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t), context.Background()
	for _, readOnly := range []bool{false, true} {
		for _, s := range pragmas("FULL", readOnly) {
			good := dsn(b.file, "FULL", readOnly)
			other := map[string]string{"synchronous": "OFF", "journal_mode": "DELETE"}[s.name]
			if other == "" {
				other = map[string]string{"0": "1", "1": "0", "5000": "1", "1000": "1", "67108864": "1"}[s.value]
			}
			bad := strings.Replace(good, s.name+"%28"+s.value+"%29", s.name+"%28"+other+"%29", 1)
			require.NotEqual(t, good, bad, s.name)
			if s.name == "journal_mode" {
				continue // it belongs to the file, and the hub has it open
			}
			db, err := sql.Open("sqlite", bad)
			require.NoError(t, err)
			require.ErrorContains(t, checkPragmas(ctx, db, "FULL", readOnly), s.name)
			require.NoError(t, db.Close())
		}
	}
	require.Error(t, checkPragmas(ctx, b.readers.db, "NORMAL", true), "NORMAL is not FULL")
}

func TestReaders_CannotWrite(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	_, err := b.readers.db.Exec(`DELETE FROM events`)
	require.ErrorContains(t, err, "readonly")
	_, err = b.readers.db.Exec(`SELECT "no such column"`)
	require.ErrorContains(t, err, "no such column", "double quotes are names, never strings")
}

// _txlock=immediate can't be read back, so the test checks the lock of a transaction.
func TestWriter_LocksImmediately(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	db, err := sql.Open("sqlite", dsn(b.file, "FULL", false))
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	tx, err := db.Begin()
	require.NoError(t, err)
	other, err := sql.Open("sqlite", strings.Replace(dsn(b.file, "FULL", false), "busy_timeout=5000", "busy_timeout=1", 1))
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	_, err = other.Begin()
	require.True(t, isBusy(err), "%v", err)
	require.NoError(t, tx.Rollback())
}
