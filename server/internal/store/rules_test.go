package store

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

func (b *bench) rule(t testing.TB, change func(*schema.Rule)) Rule {
	t.Helper()
	r := schema.Rule{
		Then: schema.ThenAllow, Text: "Allow it", Tool: "Bash", CreatedBy: "ada", From: 1,
		CreatedAt: schema.Millis(b.clock.now().UnixMilli()), ExpiresAt: schema.Millis(b.clock.now().Add(time.Hour).UnixMilli()),
	}
	if change != nil {
		change(&r)
	}
	made, err := b.MakeRule(t.Context(), r)
	require.NoError(t, err)
	return made
}

func (b *bench) live(t testing.TB) (ids []int64) {
	t.Helper()
	list, err := b.LiveRules(t.Context(), b.clock.now())
	require.NoError(t, err)
	for _, r := range list {
		ids = append(ids, r.ID)
	}
	return ids
}

// TestARuleIsCountedWithWhatItDecides: both or neither, and a revoked one decides
// nothing.
func TestARuleIsCountedWithWhatItDecides(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.rule(t, nil)
	one, two := b.append(t, question("s", time.Time{})).ID, b.append(t, question("s", time.Time{})).ID
	c := b.ending(t, one)
	c.Rule = r.ID
	require.NoError(t, b.Apply(t.Context(), c))
	require.ErrorIs(t, b.Apply(t.Context(), c), ErrConflict)
	list, err := b.Rules(t.Context(), 9)
	require.NoError(t, err)
	require.Equal(t, int64(1), list[0].Uses, "once for one decision")
	require.Equal(t, schema.Millis(b.clock.now().UnixMilli()), list[0].LastUseAt)

	revoked, err := b.RevokeRule(t.Context(), r.ID, "bob", b.clock.now())
	require.NoError(t, err)
	require.Equal(t, "bob", revoked.RevokedBy)
	c = b.ending(t, two)
	c.Rule = r.ID
	head := b.Head()
	require.ErrorIs(t, b.Apply(t.Context(), c), ErrRuleEnded)
	require.Equal(t, head, b.Head())
	require.Equal(t, schema.Pending, b.group(t, two).Status, "left to a person")
	again, err := b.RevokeRule(t.Context(), r.ID, "eve", b.clock.now().Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, revoked, again)
	_, err = b.RevokeRule(t.Context(), 99, "eve", b.clock.now())
	require.ErrorIs(t, err, schema.ErrNotFound)

	entries, err := b.Ledger(t.Context(), LedgerPage{Limit: 9, Oldest: true})
	require.NoError(t, err)
	var acts []string
	for _, raw := range entries {
		var e schema.LedgerEntry
		require.NoError(t, json.Unmarshal(raw, &e))
		acts = append(acts, e.Action+" by "+e.Actor+" "+string(e.Data))
	}
	require.Equal(t, []string{`rule.made by ada {"rule":1,"text":"Allow it"}`, `rule.revoked by bob {"rule":1}`}, acts)
}

func TestWhichRulesHold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	short := b.rule(t, nil)
	ever := b.rule(t, func(r *schema.Rule) { r.ExpiresAt = 0 })
	ofS := b.rule(t, func(r *schema.Rule) { r.ExpiresAt, r.SourceApp, r.SessionID = 0, "app", "s" })
	ofT := b.rule(t, func(r *schema.Rule) { r.SourceApp, r.SessionID = "app", "t" })
	gone := b.rule(t, nil)
	_, err := b.RevokeRule(t.Context(), gone.ID, "bob", b.clock.now())
	require.NoError(t, err)
	require.Equal(t, []int64{short.ID, ever.ID, ofS.ID, ofT.ID}, b.live(t))

	require.NoError(t, b.EndRules(t.Context(), "other", "s", b.clock.now()))
	require.NoError(t, b.EndRules(t.Context(), "app", "", b.clock.now()))
	require.Equal(t, []int64{short.ID, ever.ID, ofS.ID, ofT.ID}, b.live(t), "another session")
	require.NoError(t, b.EndRules(t.Context(), "app", "s", b.clock.now()))
	require.Equal(t, []int64{short.ID, ever.ID, ofT.ID}, b.live(t))

	b.clock.advance(-30 * time.Minute)
	require.NoError(t, b.MoveRules(t.Context(), b.clock.now(), -30*time.Minute))
	b.reopen(t)
	b.clock.advance(59 * time.Minute)
	require.Equal(t, []int64{short.ID, ever.ID, ofT.ID}, b.live(t))
	b.clock.advance(2 * time.Minute)
	require.Equal(t, []int64{ever.ID}, b.live(t), "an hour by the clock as it was set")
	list, err := b.Rules(t.Context(), 2)
	require.NoError(t, err)
	require.Equal(t, []int64{5, 4}, []int64{list[0].ID, list[1].ID}, "the newest, whether they hold or not")
	require.Equal(t, int64(6), b.rule(t, nil).ID)
}
