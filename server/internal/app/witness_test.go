package app

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/sqlite"
)

// requireHead verifies an envelope and returns its head.
func requireHead(t *testing.T, a *App, envelope []byte) (head sign.LedgerHead) {
	t.Helper()
	var e schema.Envelope
	require.NoError(t, json.Unmarshal(envelope, &e))
	require.NoError(t, e.Verify(schema.HeadPayload, a.store.Identity().Public()))
	require.NoError(t, json.Unmarshal(e.Payload, &head))
	return head
}

func TestWitness_ReceivesSignedHead(t *testing.T) {
	t.Parallel()
	posted := make(chan []byte, 10)
	status := http.StatusServiceUnavailable
	witness := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		posted <- body
		w.WriteHeader(status)
	}))
	t.Cleanup(witness.Close)
	cfg := testConfig(t)
	cfg.Witness = witness.URL + "/?key=hidden"
	_, err := SignIn(t.Context(), cfg, "ada") // the first entry of the ledger
	require.NoError(t, err)
	a, err := New(t.Context(), cfg)
	require.NoError(t, err)
	require.ErrorContains(t, a.postHead(t.Context()), "not allowed", "this machine is not allowed")
	require.NoError(t, a.Close())

	cfg.NotifyAllow = []string{"127.0.0.1"}
	a, err = New(t.Context(), cfg)
	require.NoError(t, err)
	err = a.postHead(t.Context())
	require.ErrorContains(t, err, "503")
	<-posted
	status = http.StatusTemporaryRedirect
	require.ErrorContains(t, a.postHead(t.Context()), "307", "redirects are not followed")
	<-posted
	status = http.StatusOK
	require.NoError(t, a.Close())

	a, stop := startHub(t, cfg)
	head := requireHead(t, a, <-posted)
	require.Equal(t, a.store.HubID(), head.Hub)
	require.Positive(t, head.N)
	stop()
	witness.Close()
	require.NotPanics(t, func() { err = a.postHead(t.Context()) })
	require.NotContains(t, err.Error(), "hidden")
}

func TestConfig_RefusesOtherWitnesses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"witness.example.com", "ftp://witness.example.com", "https://"} {
		cfg := testConfig(t)
		cfg.Witness = address
		_, err := New(t.Context(), cfg)
		require.ErrorContains(t, err, "-witness "+address)
	}
}

// TestApp_SignsLedgerHeadAtStop: an entry of the last minute is signed when the hub stops, and check
// reports a ledger that is shorter than that.
func TestApp_SignsLedgerHeadAtStop(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	out := &output{}
	cfg.Stdout = out
	a, stop := startHub(t, cfg)
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "Ctrl-C") }, time.Minute, time.Millisecond)
	require.Contains(t, out.String(), "Key         "+a.store.Identity().ID())
	require.NoError(t, a.store.AppendLedger(t.Context(), store.LedgerRecord{Action: "rule.made", Actor: "ada"}))
	stop()
	state, err := sqlite.CheckLedger(t.Context(), cfg.DB)
	require.NoError(t, err)
	require.Positive(t, state.Entries)
	require.Equal(t, state.Entries, state.Signed)
	report, err := Check(t.Context(), cfg)
	require.NoError(t, err)
	require.Contains(t, report, "intact hash chain")
}
