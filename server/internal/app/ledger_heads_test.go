package app

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/sqlite"
)

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
