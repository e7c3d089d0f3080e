package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/hubtest"
)

// startHubWithLedger starts a hub with an audit log of n entries. The first is the hub's own: it records
// the sign-in link of its start.
func startHubWithLedger(t *testing.T, n int) *hubtest.Hub {
	t.Helper()
	hub := hubtest.Start(t)
	for i := range n - 1 {
		postEvent(t, hub.URL()+schema.PathEvents, `{"source_app":"a","session_id":"s","hook_event_type":"PermissionRequest","payload":{},
			"humanInTheLoop":{"question":"May I?","type":"permission"}}`)
		postEvent(t, hub.URL()+schema.At(schema.PathCancel, schema.EventID(2*i+1)), `{"reason":"Not <now> & never."}`)
	}
	return hub
}

func postEvent(t *testing.T, address, body string) {
	t.Helper()
	res, err := http.Post(address, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusOK, res.StatusCode, "%s", text)
}

// verifyLedger runs the command for an account with this home directory.
func verifyLedger(t *testing.T, home, hub, stdin string, args ...string) cliResult {
	t.Helper()
	var out, stderr bytes.Buffer
	env := func(name string) string { return map[string]string{"HOME": home, "HOOKBACK_URL": hub}[name] }
	status := run(t.Context(), append([]string{"verify"}, args...), env, cli.Streams{In: strings.NewReader(stdin), Out: &out, Err: &stderr})
	return cliResult{status, out.String(), stderr.String()}
}

func TestVerify_ChecksLedgerAndExport(t *testing.T) {
	t.Parallel()
	hub, home := startHubWithLedger(t, 4), t.TempDir()
	intact := verifyLedger(t, home, hub.URL(), "")
	require.Equal(t, cli.ExitOK, intact.status, intact.err)
	require.Contains(t, intact.out, "intact: the hash chain of entries 1 to 4 has no gap")
	_, head, _ := strings.Cut(strings.TrimSpace(intact.out), "head: ")

	res, err := http.Get(hub.URL() + schema.PathLedger + "?format=ndjson")
	require.NoError(t, err)
	export, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	file := filepath.Join(t.TempDir(), "ledger.ndjson")
	require.NoError(t, os.WriteFile(file, export, 0o600))
	require.Equal(t, intact, verifyLedger(t, home, "", "", file, "--head", head), "no hub is needed")
	require.Equal(t, intact, verifyLedger(t, home, "", strings.ReplaceAll(string(export), "\n", "\r\n"), "-"))

	lines := strings.SplitAfter(string(export), "\n")
	require.Equal(t, cli.ExitOK, verifyLedger(t, home, "", strings.Join(lines[:3], ""), "-").status, "a shorter chain is intact")
	for name, tc := range map[string]struct{ file, want string }{
		"end cut off":       {strings.Join(lines[:3], ""), "the hash chain of entries 1 to 3 is intact, but no entry has the hash " + head},
		"empty file":        {"", "no entry has the hash"},
		"cut within a line": {string(export[:len(export)-9]), "entry 4 is not readable"},
		"changed line":      {strings.Replace(string(export), "never", "later", 1), "entry 2 was changed"},
		"removed line":      {lines[0] + lines[2] + lines[3], "entry 2 is missing"},
		"too long line":     {lines[0] + strings.Repeat(" ", 8<<20) + lines[1], "entry 2 is longer"},
	} {
		got := verifyLedger(t, home, "", tc.file, "-", "--head", head)
		require.Equal(t, cli.ExitProblem, got.status, name)
		require.True(t, strings.HasPrefix(got.out, "broken: "), name)
		require.Contains(t, got.out, tc.want, name)
	}
	postEvent(t, hub.URL()+schema.PathEvents, `{"source_app":"a","session_id":"s","hook_event_type":"SessionEnd","payload":{}}`)
	require.Equal(t, cli.ExitOK, verifyLedger(t, home, hub.URL(), "", "--head", head).status, "the audit log has grown")
}

// A user with write access to the database can change a row, but not without detection.
func TestVerify_DetectsDatabaseChange(t *testing.T) {
	t.Parallel()
	hub := startHubWithLedger(t, 5)
	hub.Stop()
	db, err := sql.Open("sqlite", hub.DB())
	require.NoError(t, err)
	_, err = db.Exec(`UPDATE ledger SET entry = CAST(replace(CAST(entry AS TEXT), 'local user', 'ada') AS BLOB) WHERE n = 3`)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	hub.Restart()
	got := verifyLedger(t, t.TempDir(), hub.URL(), "")
	require.Equal(t, cli.ExitProblem, got.status, got.err)
	require.Contains(t, got.out, "entry 3 was changed")
}

func TestVerify_ReportsErrors(t *testing.T) {
	t.Parallel()
	hub, home := hubtest.Start(t), t.TempDir()
	got := verifyLedger(t, home, "", "", "-")
	require.Equal(t, cliResult{cli.ExitOK, "the audit log has no entries\n", ""}, got)
	require.Contains(t, verifyLedger(t, home, hub.URL(), "").out, "intact: the hash chain of entries 1 to 1 has")
	for _, args := range [][]string{{"--head", "abc"}, {"--head", strings.Repeat("x", 64)}, {"a", "b"}, {"--nonsense"}, {"no/such/file"}} {
		got := verifyLedger(t, home, hub.URL(), "", args...)
		require.Equal(t, cli.ExitError, got.status, fmt.Sprint(args))
		require.NotEmpty(t, got.err)
	}
	hub.Stop()
	got = verifyLedger(t, home, hub.URL(), "")
	require.Equal(t, cli.ExitError, got.status)
	require.Contains(t, got.err, "no hub can be reached")
}
