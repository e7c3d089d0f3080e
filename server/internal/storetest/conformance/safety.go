package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
)

func (s suite) TestAutomaticFreezes_AreFiltered(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	for i, f := range []control.Freeze{
		{SessionID: "s", Rule: control.RuleSpend, CostUSD: 12.4},
		{SessionID: "s", Rule: control.RuleFailures},
		{SessionID: "s2", Rule: control.RuleSpend, CostUSD: 3},
		{SessionID: "s"},
	} {
		f.Scope, f.SourceApp, f.By = control.FreezeSession, "a", "Hookback"
		stored, created, err := b.CreateFreeze(t.Context(), f)
		require.NoError(t, err)
		require.True(t, created, i)
		_, err = b.LiftFreeze(t.Context(), stored.ID, "ada", b.Clock.Now())
		require.NoError(t, err)
	}
	b.Reopen(t)
	for name, c := range map[string]struct {
		filter store.AutomaticFreezeFilter
		ids    []int64
	}{
		"all":     {store.AutomaticFreezeFilter{Limit: 9}, []int64{3, 2, 1}},
		"limit":   {store.AutomaticFreezeFilter{Limit: 1}, []int64{3}},
		"rule":    {store.AutomaticFreezeFilter{Limit: 9, Rule: control.RuleSpend}, []int64{3, 1}},
		"session": {store.AutomaticFreezeFilter{Limit: 9, Rule: control.RuleSpend, App: "a", Session: "s"}, []int64{1}},
		"other":   {store.AutomaticFreezeFilter{Limit: 9, App: "b", Session: "s"}, nil},
	} {
		list, err := b.AutomaticFreezes(t.Context(), c.filter)
		require.NoError(t, err)
		var ids []int64
		for i := range list {
			ids = append(ids, list[i].ID)
			require.NotZero(t, list[i].LiftedAt)
		}
		require.Equal(t, c.ids, ids, name)
	}
	list, err := b.AutomaticFreezes(t.Context(), store.AutomaticFreezeFilter{Limit: 9, Session: "s", App: "a", Rule: control.RuleSpend})
	require.NoError(t, err)
	require.InDelta(t, 12.4, list[0].CostUSD, 1e-9)
}
