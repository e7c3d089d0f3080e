package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

func TestBackup_IsConsistentUnderLoad(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t), context.Background()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_, _ = b.Append(ctx, conformance.NewDraft("app", "s", "Stop", ""))
				}
			}
		})
	}
	b.MustAppend(t, conformance.NewQuestionDraft("s", time.Time{}))
	before := b.Head()
	file := filepath.Join(t.TempDir(), "copy.db")
	require.NoError(t, Backup(ctx, b.file, file))
	close(stop)
	wg.Wait()

	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	rest, err := filepath.Glob(filepath.Dir(file) + "/.*")
	require.NoError(t, err)
	require.Empty(t, rest, "no temporary file is left")

	copyKey(t, b.file, file)
	copied, err := openEngine(ctx, Config{Path: file, ReserveFileBytes: -1})
	require.NoError(t, err)
	defer func() { require.NoError(t, copied.Close()) }()
	require.GreaterOrEqual(t, copied.Head(), before)
	require.Equal(t, b.Store.HubID(), copied.HubID())
	require.Equal(t, b.Store.Identity().Public(), copied.Identity().Public())
	conformance.RequireDense(t, copied)
	var ok string
	_, err = copied.ReadOne(ctx, []any{&ok}, `PRAGMA integrity_check`)
	require.NoError(t, err)
	require.Equal(t, "ok", ok)
	_, err = b.After(ctx, copied.Head(), 1)
	require.NoError(t, err)
}

func TestBackup_OmitsFreePages(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t), context.Background()
	d := conformance.NewDraft("app", "s", "Stop", "")
	d.Payload = []byte(`{"secret":"` + strings.Repeat("battery-staple ", 1000) + `"}`)
	for range 100 {
		b.MustAppend(t, d)
	}
	b.Clock.Advance(time.Hour)
	_, err := b.Prune(ctx, store.RetentionPolicy{EventsBefore: b.Clock.Now()})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "copy.db")
	require.NoError(t, Backup(ctx, b.file, file))
	require.NoError(t, b.Close())
	require.Less(t, fileSize(file), fileSize(b.file)/2)
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, []byte{1, 1}, raw[18:20], "the copy has no write-ahead log")
}

// A page that followed the original kept the events that the restored copy does not have.
func TestBackup_ContinuesWithAnotherEpoch(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t), context.Background()
	b.MustAppend(t, conformance.NewDraft("app", "s", "Start", ""))
	file := filepath.Join(t.TempDir(), "copy.db")
	require.NoError(t, Backup(ctx, b.file, file))
	b.MustAppend(t, conformance.NewDraft("app", "s", "Lost", ""))
	copyKey(t, b.file, file)
	restored, err := openEngine(ctx, Config{Path: file, ReserveFileBytes: -1})
	require.NoError(t, err)
	defer func() { require.NoError(t, restored.Close()) }()
	_, err = restored.Append(ctx, conformance.NewDraft("app", "s", "Other", ""))
	require.NoError(t, err)
	require.Equal(t, b.Store.HubID(), restored.HubID(), "it is the same hub to agents and passkeys")
	require.Equal(t, b.Head(), restored.Head())
	require.True(t, restored.HasPosition(b.Store.Epoch(), 1))
	require.False(t, restored.HasPosition(b.Store.Epoch(), 2), "event 2 is another one")
}

func TestBackup_RefusesToOverwrite(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	file := filepath.Join(t.TempDir(), "precious")
	require.NoError(t, os.WriteFile(file, []byte("precious"), 0o600))
	require.ErrorIs(t, Backup(context.Background(), b.file, file), os.ErrExist)
	kept, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "precious", string(kept))

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	require.Error(t, Backup(ctx, b.file, filepath.Join(dir, "copy.db")))
	rest, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, rest, "a failed backup leaves no file")
}
