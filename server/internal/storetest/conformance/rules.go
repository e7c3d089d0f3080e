package conformance

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/store"
)

func (b *Harness) makeRule(t testing.TB, change func(*schema.Rule)) store.Rule {
	t.Helper()
	r := schema.Rule{
		Then: schema.ThenAllow, Text: "Allow it", Tool: "Bash", CreatedBy: "ada", From: 1,
		CreatedAt: schema.Millis(b.Clock.Now().UnixMilli()), ExpiresAt: schema.Millis(b.Clock.Now().Add(time.Hour).UnixMilli()),
	}
	if change != nil {
		change(&r)
	}
	made, err := b.CreateRule(t.Context(), r)
	require.NoError(t, err)
	return made
}

func (b *Harness) liveRuleIDs(t testing.TB) (ids []int64) {
	t.Helper()
	list, err := b.LiveRules(t.Context(), b.Clock.Now())
	require.NoError(t, err)
	for _, r := range list {
		ids = append(ids, r.ID)
	}
	return ids
}

// The decision and its count are stored together, and a revoked rule decides nothing.
func (s suite) TestRule_UseIsCountedWithDecision(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	r := b.makeRule(t, nil)
	one, two := b.MustAppend(t, NewQuestionDraft("s", time.Time{})).ID, b.MustAppend(t, NewQuestionDraft("s", time.Time{})).ID
	c := b.resolution(t, one)
	c.Rule = r.ID
	require.NoError(t, b.Apply(t.Context(), c))
	require.ErrorIs(t, b.Apply(t.Context(), c), store.ErrConflict)
	list, err := b.Rules(t.Context(), 9)
	require.NoError(t, err)
	require.Equal(t, int64(1), list[0].Uses, "one use per decision")
	require.Equal(t, schema.Millis(b.Clock.Now().UnixMilli()), list[0].LastUseAt)

	revoked, err := b.RevokeRule(t.Context(), r.ID, "bob", b.Clock.Now())
	require.NoError(t, err)
	require.Equal(t, "bob", revoked.RevokedBy)
	c = b.resolution(t, two)
	c.Rule = r.ID
	head := b.Head()
	require.ErrorIs(t, b.Apply(t.Context(), c), store.ErrRuleEnded)
	require.Equal(t, head, b.Head())
	require.Equal(t, schema.Pending, b.statusOf(t, two).Status, "the question stays pending")
	again, err := b.RevokeRule(t.Context(), r.ID, "eve", b.Clock.Now().Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, revoked, again)
	_, err = b.RevokeRule(t.Context(), 99, "eve", b.Clock.Now())
	require.ErrorIs(t, err, schema.ErrNotFound)

	entries, err := b.Ledger(t.Context(), store.LedgerPage{Limit: 9, Oldest: true})
	require.NoError(t, err)
	var acts []string
	for _, raw := range entries {
		var e sign.LedgerEntry
		require.NoError(t, json.Unmarshal(raw, &e))
		acts = append(acts, e.Action+" by "+e.Actor+" "+string(e.Data))
	}
	require.Equal(t, []string{`rule.made by ada {"rule":1,"text":"Allow it"}`, `rule.revoked by bob {"rule":1}`}, acts)
}

func (s suite) TestLiveRules_ExcludesEndedRules(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	short := b.makeRule(t, nil)
	ever := b.makeRule(t, func(r *schema.Rule) { r.ExpiresAt = 0 })
	ofS := b.makeRule(t, func(r *schema.Rule) { r.ExpiresAt, r.SourceApp, r.SessionID = 0, "app", "s" })
	ofT := b.makeRule(t, func(r *schema.Rule) { r.SourceApp, r.SessionID = "app", "t" })
	gone := b.makeRule(t, nil)
	_, err := b.RevokeRule(t.Context(), gone.ID, "bob", b.Clock.Now())
	require.NoError(t, err)
	require.Equal(t, []int64{short.ID, ever.ID, ofS.ID, ofT.ID}, b.liveRuleIDs(t))

	require.NoError(t, b.EndRules(t.Context(), "other", "s", b.Clock.Now()))
	require.NoError(t, b.EndRules(t.Context(), "app", "", b.Clock.Now()))
	require.Equal(t, []int64{short.ID, ever.ID, ofS.ID, ofT.ID}, b.liveRuleIDs(t), "another session")
	require.NoError(t, b.EndRules(t.Context(), "app", "s", b.Clock.Now()))
	require.Equal(t, []int64{short.ID, ever.ID, ofT.ID}, b.liveRuleIDs(t))

	b.Clock.Advance(-30 * time.Minute)
	require.NoError(t, b.ShiftRules(t.Context(), b.Clock.Now(), -30*time.Minute))
	b.Reopen(t)
	b.Clock.Advance(59 * time.Minute)
	require.Equal(t, []int64{short.ID, ever.ID, ofT.ID}, b.liveRuleIDs(t))
	b.Clock.Advance(2 * time.Minute)
	require.Equal(t, []int64{ever.ID}, b.liveRuleIDs(t), "an hour on the new clock")
	list, err := b.Rules(t.Context(), 2)
	require.NoError(t, err)
	require.Equal(t, []int64{5, 4}, []int64{list[0].ID, list[1].ID}, "newest first, including ended ones")
	require.Equal(t, int64(6), b.makeRule(t, nil).ID)
}

// A new allowance of a session ends the earlier one in the same commit. Other rules stay.
func (s suite) TestCreateRule_ReplacesAllowance(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	allowance := func(app, session, by string) func(*schema.Rule) {
		return func(r *schema.Rule) {
			r.Scope, r.Tool, r.SourceApp, r.SessionID, r.CreatedBy = schema.ScopeSession, "", app, session, by
			r.CreatedAt = schema.Millis(b.Clock.Now().UnixMilli())
		}
	}
	ofSession := b.makeRule(t, func(r *schema.Rule) { r.SourceApp, r.SessionID = "app", "s" })
	first := b.makeRule(t, allowance("app", "s", "ada"))
	others := []int64{b.makeRule(t, allowance("app", "t", "ada")).ID, b.makeRule(t, allowance("other", "s", "ada")).ID}
	second := b.makeRule(t, allowance("app", "s", "bob"))
	require.Equal(t, append(append([]int64{ofSession.ID}, others...), second.ID), b.liveRuleIDs(t))
	list, err := b.Rules(t.Context(), 9)
	require.NoError(t, err)
	require.Equal(t, first.ID, list[3].ID)
	require.Equal(t, "bob", list[3].RevokedBy)
	entries, err := b.Ledger(t.Context(), store.LedgerPage{Limit: 9, Oldest: true})
	require.NoError(t, err)
	require.Contains(t, string(entries[4]), `"rule.revoked"`)
	require.Contains(t, string(entries[5]), `"rule.made"`)
	require.Len(t, entries, 6)
}
