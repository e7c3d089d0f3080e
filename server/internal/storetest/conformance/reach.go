package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
)

func (s suite) TestReach_StoresAddress(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	got, err := b.ReachSettings(t.Context())
	require.NoError(t, err)
	require.Zero(t, got)
	want := control.ReachSettings{PublicURL: "https://hub.example.com"}
	require.NoError(t, b.SetReachSettings(t.Context(), control.ReachSettings{PublicURL: "https://old.example.com"}, "ada"))
	require.NoError(t, b.SetReachSettings(t.Context(), want, "ada"))
	b.Reopen(t)
	got, err = b.ReachSettings(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, got)
	entries, err := b.Ledger(t.Context(), store.LedgerPage{Limit: 1})
	require.NoError(t, err)
	require.Contains(t, string(entries[0]), "reach.changed")
}
