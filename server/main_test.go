package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/server/hubtest"
	"github.com/hookback/hookback/server/internal/app"
)

func TestMain(m *testing.M) {
	var ignored []goleak.Option
	for _, name := range hubtest.Goroutines() {
		ignored = append(ignored, goleak.IgnoreAnyFunction(name))
	}
	goleak.VerifyTestMain(m, ignored...)
}

func TestRun_Commands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := filepath.Join(dir, "hub.db")
	none := func(string) string { return "" }
	for _, c := range []struct {
		args        []string
		code        int
		out, errOut string
	}{
		{[]string{"-version"}, 0, "dev", ""},
		{[]string{"-help"}, 0, "HOOKBACK_ADDR", ""},
		{[]string{"-db", db, "dance"}, 1, "", "dance"},
		{[]string{"-db", db, "backup"}, 1, "", "-help"},
		{[]string{"-db", db, "backup", filepath.Join(dir, "copy.db")}, 1, "", "back up "},
		{[]string{"-db", db, "key", "rotate"}, 1, "", "find the database"},
		{[]string{"-db", db, "key"}, 1, "", "key new"},
		{[]string{"-retention", "x"}, 1, "", "-retention"},
	} {
		var out, errOut hubtest.Output
		code := app.Command(t.Context(), c.args, none, &out, &errOut)
		require.Equal(t, c.code, code, "%v: %s", c.args, errOut.String())
		require.Contains(t, out.String(), c.out)
		require.Contains(t, errOut.String(), c.errOut)
		if c.code == 0 {
			require.Empty(t, errOut.String())
		}
	}
	_, err := os.Stat(db)
	require.ErrorIs(t, err, os.ErrNotExist, "no command created a database")
}

func TestRun_StopsOnSignal(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "hub.db")
	ctx, signal := context.WithCancel(t.Context())
	var out, errOut hubtest.Output
	code := make(chan int, 1)
	go func() {
		code <- app.Command(ctx, []string{"-addr", "127.0.0.1:0", "-socket", "off"}, func(name string) string {
			return map[string]string{"HOOKBACK_DB": db}[name]
		}, &out, &errOut)
	}()
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "Dashboard   http://localhost:") }, time.Minute, time.Millisecond)
	require.Contains(t, out.String(), db)
	var second hubtest.Output
	require.Equal(t, 1, app.Command(ctx, []string{"-addr", "127.0.0.1:0", "-socket", "off", "-db", db}, func(string) string { return "" }, &out, &second))
	require.Contains(t, second.String(), "another hub has this database open")
	copied := filepath.Join(t.TempDir(), "copy.db")
	require.Equal(t, 0, app.Command(ctx, []string{"-db", db, "backup", copied}, func(string) string { return "" }, &out, &second), second.String())
	require.Contains(t, out.String(), "another place")
	require.NoFileExists(t, copied+".key", "a backup cannot sign")
	signal()
	require.Equal(t, 0, <-code, errOut.String())
}
