package main

import (
	"bytes"
	"crypto/ed25519"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/hubtest"
)

// witness is an account that verifies a hub from time to time.
type witness struct {
	t    *testing.T
	hub  *hubtest.Hub
	home string
}

func (w *witness) verify(args ...string) cliResult {
	var out, stderr bytes.Buffer
	args = append([]string{"verify", "--hub", w.hub.URL(), "--known-hubs", filepath.Join(w.home, "known_hubs")}, args...)
	status := run(w.t.Context(), args, func(string) string { return "" }, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &stderr})
	return cliResult{status, out.String(), stderr.String()}
}

// exec changes the database file while the hub is stopped.
func (w *witness) exec(statements ...string) {
	w.t.Helper()
	w.hub.Stop()
	db, err := sql.Open("sqlite", w.hub.DB())
	require.NoError(w.t, err)
	for _, s := range statements {
		_, err = db.Exec(s)
		require.NoError(w.t, err, s)
	}
	require.NoError(w.t, db.Close())
	w.hub.Restart()
}

// TestVerify_RemembersNewestEntry removes the end of the audit log together with its signed heads, which
// the hub itself can't notice.
func TestVerify_RemembersNewestEntry(t *testing.T) {
	t.Parallel()
	w := &witness{t, startHubWithLedger(t, 5), t.TempDir()}
	first := w.verify()
	require.Equal(t, cli.ExitOK, first.status, first.out+first.err)
	require.Equal(t, first, w.verify(), "an unchanged log")
	lines, err := os.ReadFile(filepath.Join(w.home, "ledger_heads"))
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(lines), "\n"))

	w.exec(`DELETE FROM ledger WHERE n > 3`, `DELETE FROM ledger_heads`)
	cut := w.verify()
	require.Equal(t, cli.ExitProblem, cut.status, cut.out+cut.err)
	require.Contains(t, cut.out, "broken: the audit log went back: it ends with entry 4, and entry 5 was ",
		"entry 4 is that of the hub's new start")
	require.Equal(t, cut, w.verify(), "the finding is not forgotten")

	stranger := &witness{t, w.hub, t.TempDir()}
	require.Equal(t, cli.ExitOK, stranger.verify().status, "who has not verified before can't know")

	forgotten := w.verify("--forget")
	require.Equal(t, cli.ExitOK, forgotten.status, forgotten.out+forgotten.err)
	require.Equal(t, cli.ExitOK, w.verify().status)
}

// TestVerify_ComparesExportWithStoredEntry gives the account an export whose end was cut off, and one
// that was written again: the hash chain of both is intact.
func TestVerify_ComparesExportWithStoredEntry(t *testing.T) {
	t.Parallel()
	w := &witness{t, startHubWithLedger(t, 5), t.TempDir()}
	client := agentclient.New(agentclient.Options{KnownHubs: filepath.Join(w.home, "known_hubs")})
	defer client.Close()
	pin, err := client.Identify(t.Context(), w.hub.URL())
	require.NoError(t, err)
	pinLine := func(origin string) string { return origin + " ed25519 " + sign.FormatPublicKey(pin.Key) + "\n" }
	trust := func(lines ...string) {
		require.NoError(t, os.WriteFile(filepath.Join(w.home, "known_hubs"), []byte(strings.Join(lines, "")), 0o600))
	}
	trust(pinLine(pin.Origin))
	stored := w.verify()
	require.Equal(t, cli.ExitOK, stored.status, stored.out+stored.err)
	export := func(hub *hubtest.Hub, entries int) string {
		res, err := http.Get(hub.URL() + schema.PathLedger + "?format=ndjson")
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		file := filepath.Join(t.TempDir(), "ledger.ndjson")
		lines := strings.SplitAfter(string(text), "\n")
		require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines[:entries], "")), 0o600))
		return file
	}
	whole, cut, other := export(w.hub, 5), export(w.hub, 4), export(startHubWithLedger(t, 6), 6)
	require.Equal(t, stored, w.verify(whole))
	for file, want := range map[string]string{
		cut:   "broken: the audit log went back: it ends with entry 4, and entry 5 was ",
		other: "broken: the audit log was changed: entry 5 is ",
	} {
		got := w.verify(file)
		require.Equal(t, cli.ExitProblem, got.status, got.out+got.err)
		require.Contains(t, got.out, want)
	}
	var older sign.LedgerCheck
	text, err := os.ReadFile(cut)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		require.NoError(t, older.Next([]byte(line)))
	}
	require.Equal(t, cli.ExitOK, w.verify(cut, "--head", older.Head).status, "an older export that ends where the person says")
	require.Equal(t, cli.ExitProblem, w.verify(other, "--head", older.Head).status)
	require.Equal(t, cli.ExitError, w.verify(cut, "--forget").status, "only the hub's own log replaces the stored entry")
	require.Equal(t, stored, w.verify(whole), "no file was stored")

	_, another, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	trust(pinLine(pin.Origin), "http://127.0.0.1:1 ed25519 "+sign.FormatPublicKey(another.Public().(ed25519.PublicKey))+"\n")
	require.Equal(t, cli.ExitOK, w.verify(cut).status, "an export does not name its hub")
}

// TestVerify_TrustsNoHub: reading a log must not decide whose answers count.
func TestVerify_TrustsNoHub(t *testing.T) {
	t.Parallel()
	w := &witness{t, startHubWithLedger(t, 2), t.TempDir()}
	result := w.verify()
	require.Equal(t, cli.ExitOK, result.status, result.out+result.err)
	require.NoFileExists(t, filepath.Join(w.home, "known_hubs"))
}

// TestVerify_FindsCutSignedHead removes the end of the audit log and keeps the heads.
func TestVerify_FindsCutSignedHead(t *testing.T) {
	t.Parallel()
	w := &witness{t, startHubWithLedger(t, 5), t.TempDir()}
	w.hub.Stop() // signs the newest head
	w.hub.Restart()
	w.exec(`DELETE FROM ledger WHERE n > 3`)
	got := w.verify()
	require.Equal(t, cli.ExitProblem, got.status, got.out+got.err)
	require.Contains(t, got.out, "broken: the audit log went back")
}

func TestLedgerMemory_FindsHubByKeyAndAddress(t *testing.T) {
	t.Parallel()
	w := &witness{t, startHubWithLedger(t, 2), t.TempDir()}
	require.Equal(t, cli.ExitOK, w.verify().status)
	file := filepath.Join(w.home, "ledger_heads")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	fields := strings.Fields(string(text))
	for name, changed := range map[string]string{
		"another key":     fmt.Sprintf("%s %s 9 %s\n", strings.Repeat("0", 16), fields[1], fields[3]),
		"another address": fmt.Sprintf("%s http://127.0.0.1:1 9 %s\n", fields[0], fields[3]),
	} {
		require.NoError(t, os.WriteFile(file, []byte(changed), 0o600))
		got := w.verify()
		require.Equal(t, cli.ExitProblem, got.status, name)
		require.Contains(t, got.out, "entry 9 was", name)
	}
	require.NoError(t, os.WriteFile(file, []byte("what is this\n"), 0o600))
	damaged := w.verify()
	require.Equal(t, cli.ExitError, damaged.status)
	require.Contains(t, damaged.err, "is damaged; remove it to start again")
}
