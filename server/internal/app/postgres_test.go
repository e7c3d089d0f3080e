package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/pgtest"
	"github.com/hookback/hookback/server/internal/store/postgres"
)

func postgresConfig(t *testing.T) Config {
	t.Helper()
	dsn := pgtest.New(t, postgres.Template) + "&pool_max_conns=4&password=secret"
	return Config{Addr: "127.0.0.1:0", Socket: noSocket, DB: dsn, DataDir: filepath.Join(t.TempDir(), "data")}
}

func TestApp_RunsOnPostgreSQL(t *testing.T) {
	t.Parallel()
	cfg := postgresConfig(t)
	out := &output{}
	cfg.Stdout, cfg.Stderr = out, out
	a, stop := startHub(t, cfg)
	require.Eventually(t, func() bool { return strings.Contains(out.String(), a.URL()) }, time.Minute, time.Millisecond)
	require.Contains(t, out.String(), "postgres:///test_")
	require.Contains(t, out.String(), "Bus         notify\n")
	postEvent(t, a, "Start")
	info, err := os.Stat(filepath.Join(cfg.DataDir, "postgres.key"))
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077)

	b, _ := startHub(t, cfg) // next to the first
	require.EqualValues(t, 1, b.store.Head())
	postEvent(t, b, "Stop")
	require.Eventually(t, func() bool { return a.feed.Head() == 2 && len(a.store.Members()) == 2 }, time.Minute, time.Millisecond)
	stop()
	_, err = b.store.Lead(t.Context())
	require.NoError(t, err)
	require.NotContains(t, out.String(), "secret")
}

func TestCommands_NameTheToolsOfPostgreSQL(t *testing.T) {
	t.Parallel()
	cfg := Config{DB: "postgres://ada:secret@db.example/hub", DataDir: "data"}
	_, errCheck := Check(t.Context(), cfg)
	_, errRescue := Rescue(t.Context(), cfg, "copy.db")
	_, errKey := ChangeKey(t.Context(), cfg, true)
	for want, err := range map[string]error{
		"pg_dump --format=custom --file=copy.dump 'postgres://ada:xxxxx@db.example/hub'": Backup(t.Context(), cfg, "copy.dump"),
		"pg_amcheck 'postgres://ada:xxxxx@db.example/hub'":                               errCheck,
		"belong to its server":  errRescue,
		"can't be replaced yet": errKey,
	} {
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestConfig_Databases(t *testing.T) {
	t.Parallel()
	_, err := Config{DB: "mysql://ada:secret@h/db"}.withDefaults(envOf())
	require.EqualError(t, err, `-db: "mysql://…" is not supported; use a file or postgres://`)
	cfg, err := Config{DB: "postgresql://h/db"}.withDefaults(envOf("XDG_DATA_HOME", "/data"))
	require.NoError(t, err)
	require.Zero(t, cfg.RetentionSize, "no limit: the database server has its own disk")
	require.Equal(t, filepath.FromSlash("/data/hookback/postgres.key"), KeyFile(cfg))
}

func TestBus_IsOpenUnlessOff(t *testing.T) {
	t.Parallel()
	cfg, err := testConfig(t).withDefaults(envOf())
	require.NoError(t, err)
	require.Empty(t, cfg.Bus, "one SQLite file has one hub")
	cfg = postgresConfig(t)
	isUp := func(a *App) bool {
		stats, err := a.store.Stats(t.Context())
		return err == nil && stats.Hubs.IsBusUp
	}
	with, _ := startHub(t, cfg)
	require.Equal(t, "notify", with.cfg.Bus)
	require.Eventually(t, func() bool { return isUp(with) }, time.Minute, time.Millisecond)
	cfg.Bus = "none"
	without, _ := startHub(t, cfg)
	require.False(t, isUp(without))
}
