package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
)

func (s suite) TestAlerts_KeepsOneOpenAlertPerScope(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	ctx := t.Context()
	a := control.Alert{Rule: 1, Kind: control.AlertErrors, SourceApp: "a", SessionID: "s", Evidence: "why", OpenedAt: 7}
	first, opened, err := b.OpenAlert(ctx, a)
	require.NoError(t, err)
	require.True(t, opened)
	_, opened, err = b.OpenAlert(ctx, a)
	require.NoError(t, err)
	require.False(t, opened, "it is open")
	person := control.Alert{Rule: 1, Kind: control.AlertSpend, Person: "ada", OpenedAt: 8}
	second, opened, err := b.OpenAlert(ctx, person)
	require.NoError(t, err)
	require.True(t, opened, "another scope")

	b.Reopen(t)
	open, err := b.Alerts(ctx, true, 9)
	require.NoError(t, err)
	a.ID, person.ID = first.ID, second.ID
	require.Equal(t, []control.Alert{person, a}, open, "the newest first")
	require.NoError(t, b.CloseAlert(ctx, first.ID, 20))
	require.NoError(t, b.CloseAlert(ctx, first.ID, 30))
	closed, err := b.Alerts(ctx, false, 9)
	require.NoError(t, err)
	a.ClosedAt = 20
	require.Equal(t, []control.Alert{a}, closed, "closed once")
	again, opened, err := b.OpenAlert(ctx, control.Alert{Rule: 1, Kind: control.AlertErrors, SourceApp: "a", SessionID: "s"})
	require.NoError(t, err)
	require.True(t, opened, "the earlier one is closed")
	require.Greater(t, again.ID, second.ID)
}

func (s suite) TestAlerts_KeepsTheNewestClosedOnes(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	var last int64
	for i := range store.MaxClosedAlerts + 2 {
		a, _, err := b.OpenAlert(t.Context(), control.Alert{Rule: 1})
		require.NoError(t, err)
		require.NoError(t, b.CloseAlert(t.Context(), a.ID, schema.Millis(i+1)))
		last = a.ID
	}
	closed, err := b.Alerts(t.Context(), false, 2*store.MaxClosedAlerts)
	require.NoError(t, err)
	require.Len(t, closed, store.MaxClosedAlerts)
	require.Equal(t, last, closed[0].ID)
}
