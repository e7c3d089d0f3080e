package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
)

func (s suite) TestDocuments_AreReplaced(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	read := func(name string) (settings store.AlertSettings) {
		require.NoError(t, b.Document(t.Context(), name, &settings))
		return settings
	}
	require.Zero(t, read(store.AlertRules))
	want := store.AlertSettings{LastID: 4, Rules: []control.AlertRule{{ID: 4, Kind: control.AlertSpend, USD: 2.5, Minutes: 60, Per: control.PerApp}}}
	require.NoError(t, b.SetDocument(t.Context(), store.AlertRules, store.AlertSettings{LastID: 3}, "ada"))
	require.NoError(t, b.SetDocument(t.Context(), store.AlertRules, want, "ada"))
	b.Reopen(t)
	require.Equal(t, want, read(store.AlertRules))
	require.Zero(t, read(store.SafetyLimits), "another document")
	entries, err := b.Ledger(t.Context(), store.LedgerPage{Limit: 1})
	require.NoError(t, err)
	require.Contains(t, string(entries[0]), `"alerts.changed"`)
	require.Contains(t, string(entries[0]), `"lastId":4`)
}
