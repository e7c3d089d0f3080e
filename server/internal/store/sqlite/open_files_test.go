package sqlite

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// A hub whose database or write-ahead log is gone would acknowledge events that no one can read.
// It refuses them, and continues if the file comes back.
func TestOpenFiles_RemovedFileIsAFault(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{"", "-wal"} {
		log := new(messages)
		b, ctx := newTestStore(t, log.config), t.Context()
		acked := b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", "")).ID
		require.NoError(t, os.Rename(b.file+suffix, b.file+".moved"))
		b.Clock.Advance(2 * inspectInterval)
		for range 3 {
			_, err := b.Append(ctx, conformance.NewDraft("app", "s", "Stop", ""))
			require.ErrorIs(t, err, schema.ErrStorage, suffix)
			require.Contains(t, schema.ProblemOf(err).Hint, "hookback-server rescue FILE")
		}
		stats, err := b.Stats(ctx)
		require.NoError(t, err)
		require.Contains(t, stats.Fault, "was removed, moved or replaced")
		require.EqualValues(t, 3, stats.RefusedFault)
		_, _, err = b.Event(ctx, acked)
		require.NoError(t, err, "reads continue")

		require.NoError(t, os.WriteFile(b.file+suffix, nil, 0o600))
		b.Clock.Advance(2 * inspectInterval)
		_, err = b.Append(ctx, conformance.NewDraft("app", "s", "Stop", ""))
		require.ErrorIs(t, err, schema.ErrStorage, "another file of the name is not the database")

		require.NoError(t, os.Rename(b.file+".moved", b.file+suffix))
		b.Clock.Advance(2 * inspectInterval)
		b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", ""))
		require.Equal(t, []int{1, 1}, []int{log.count("database fault"), log.count("database fault over")})
		b.Reopen(t)
		require.EqualValues(t, 2, b.Head())
	}
}

func TestOpen_RefusesFilesWithoutDatabase(t *testing.T) {
	t.Parallel()
	for name, remaining := range map[string]struct {
		suffix  string
		isEmpty bool
	}{
		"log": {"-wal", false}, "lock": {lockSuffix, false}, "reserve": {reserveSuffix, false},
		"log of an empty database": {"-wal", true}, "reserve of an empty database": {reserveSuffix, true},
	} {
		cfg := testConfig(t)
		require.NoError(t, os.Remove(cfg.Path))
		require.NoError(t, os.WriteFile(cfg.Path+remaining.suffix, []byte("x"), 0o600))
		if remaining.isEmpty {
			require.NoError(t, os.WriteFile(cfg.Path, nil, 0o600))
		}
		_, err := Open(t.Context(), cfg)
		require.ErrorContains(t, err, cfg.Path+remaining.suffix, name)
		require.ErrorContains(t, err, "nothing was changed; ", name)
		require.ErrorContains(t, err, "restore a backup", name)
		if !remaining.isEmpty {
			require.NoFileExists(t, cfg.Path, name)
		}
		require.NoError(t, os.Remove(cfg.Path+remaining.suffix))
		s, err := Open(t.Context(), cfg)
		require.NoError(t, err, name)
		require.NoError(t, s.Close())
	}
}

// A hub that is killed while it creates its database leaves an empty file and a lock file.
func TestOpen_ContinuesAfterKillWhileCreating(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	require.NoError(t, os.WriteFile(cfg.Path, nil, 0o600))
	require.NoError(t, os.WriteFile(cfg.Path+lockSuffix, nil, 0o600))
	s, err := Open(t.Context(), cfg)
	require.NoError(t, err)
	require.NoError(t, s.Close())
}
