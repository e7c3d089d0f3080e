package app

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/pgtest"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/postgres"
)

// runCommandLine returns the exit status and the output of hookback-server.
func runCommandLine(ctx context.Context, env func(string) string, args ...string) (status int, stdout, stderr string) {
	var out, errs strings.Builder
	status = Command(ctx, args, env, &out, &errs)
	return status, out.String(), errs.String()
}

func TestCopyCommand_MovesHub(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.Socket = noSocket
	dsn := pgtest.New(t, postgres.Template) + "&password=secret"
	env := envOf("XDG_DATA_HOME", t.TempDir(), "HOOKBACK_DB", dsn)
	a, stop := startHub(t, cfg)
	postEvent(t, a, "Start")
	key := hubKey(t, a)

	status, _, errs := runCommandLine(t.Context(), env, "copy", "-from", cfg.DB)
	require.Equal(t, 1, status)
	require.Contains(t, errs, "stop the hub first")
	stop()
	status, out, errs := runCommandLine(t.Context(), env, "copy", "-from", cfg.DB)
	require.Equal(t, 0, status, errs)
	require.Contains(t, out, "Copied 1 events and ")
	require.Contains(t, out, "No hub starts on "+cfg.DB+" any more.")
	require.NotContains(t, out+errs, "secret")

	_, err := New(t.Context(), cfg)
	require.ErrorContains(t, err, "this hub moved to postgres:///test_")
	require.ErrorContains(t, err, "start the hub with -db and that address")
	require.NotContains(t, err.Error(), "secret")
	status, _, errs = runCommandLine(t.Context(), env, "copy", "-from", cfg.DB)
	require.Equal(t, 1, status)
	require.Contains(t, errs, "this hub moved to")

	moved, err := Config{Addr: "127.0.0.1:0", Socket: noSocket, DB: dsn + "&pool_max_conns=4"}.withDefaults(env)
	require.NoError(t, err)
	b, _ := startHub(t, moved)
	require.EqualValues(t, 1, b.store.Head())
	after := hubKey(t, b)
	require.Equal(t, key.PublicKey, after.PublicKey)
	require.Equal(t, key.HubID, after.HubID)
}

func TestCopyCommand_RefusesArguments(t *testing.T) {
	t.Parallel()
	env := envOf("XDG_DATA_HOME", t.TempDir())
	for want, args := range map[string][]string{
		"-to is missing":                  {},
		"there is no copy back":           {"-from", "postgres://h/db", "-to", "hub.db"},
		"use hookback-server backup FILE": {"-from", "hub.db", "-to", "other.db"},
		`unknown argument "more"`:         {"more"},
		"see hookback-server copy -help":  {"-colour"},
		"none.db":                         {"-from", filepath.Join(t.TempDir(), "none.db"), "-to", "postgres://127.0.0.1:1/db"},
		"hookback.db":                     {"-to", "postgres://127.0.0.1:1/db"},
	} {
		status, _, errs := runCommandLine(t.Context(), env, append([]string{"copy"}, args...)...)
		require.Equal(t, 1, status, want)
		require.Contains(t, errs, want)
	}
	status, out, _ := runCommandLine(t.Context(), env, "copy", "-help")
	require.Equal(t, 0, status)
	require.Equal(t, copyHelp, out)
	entries, err := os.ReadDir(env("XDG_DATA_HOME"))
	require.NoError(t, err)
	require.Empty(t, entries, "nothing was created")
}

func TestCopyProgress_ShowsRows(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	p := copyProgress{out: &out, next: time.Now().Add(time.Hour)}
	p.show(store.CopyProgress{Table: "events", Rows: 1000, Total: 2_000_000})
	require.Empty(t, out.String(), "it is not time for a line")
	p.next = time.Now()
	p.show(store.CopyProgress{Table: "events", Rows: 1_234_000, Total: 2_000_000})
	require.Equal(t, "events: 1,234,000 of 2,000,000 rows copied\n", out.String())
	p.next = time.Now()
	p.show(store.CopyProgress{Table: "ledger", IsCheck: true, Rows: 2000})
	require.True(t, strings.HasSuffix(out.String(), "\nledger: 2,000 rows compared\n"))
}
