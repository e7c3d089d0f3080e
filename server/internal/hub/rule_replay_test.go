package hub

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
)

func (h *testHub) replay(d *schema.RuleDraft) *history.Replay {
	h.t.Helper()
	got, err := h.ReplayRule(h.t.Context(), d)
	require.NoError(h.t, err)
	require.True(h.t, got.Complete)
	require.Equal(h.t, got.Looked, got.Allowed+got.Denied+got.Asked+got.Unmatched)
	return got
}

func TestReplayRule_ComparesWithPeople(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	answer := func(event string, r *schema.Response) schema.EventID {
		id := h.post(event).ID
		_, err := h.Respond(t.Context(), id, r, Caller{})
		require.NoError(t, err)
		return id
	}
	yes := answer(bashRequest("s", "npm test"), approval())
	no := answer(bashRequest("s", "npm test x"), denial())
	answer(bashRequest("s", "npm test", `"risk":"high"`), approval()) // too risky for a rule
	answer(bashRequest("s", "npm run lint"), denial())
	canceled := h.post(bashRequest("s2", "npm test c")).ID
	_, err := h.Cancel(t.Context(), canceled, schema.Cancel{}, Caller{})
	require.NoError(t, err)
	h.post(strings.Replace(bashRequest("s", "npm test"), `"type":"permission"`, `"type":"question"`, 1)) // no permission

	got := h.replay(newRuleDraft(yes, schema.ThenAllow))
	require.Equal(t, []int64{5, 3, 0, 2, 1}, []int64{got.Looked, got.Allowed, got.Denied, got.Unmatched, got.Opposed})
	var events []string
	for _, e := range got.Examples {
		events = append(events, fmt.Sprint(e.Event, " ", e.Effect, " ", e.Decided, " ", e.Outcome, " ", e.Opposed))
	}
	require.Equal(t, []string{
		fmt.Sprint(no, " allow person refused true"), fmt.Sprint(canceled, " allow person open false"), fmt.Sprint(yes, " allow person open false"),
	}, events)
	got = h.replay(newRuleDraft(yes, schema.ThenDeny))
	require.Equal(t, []int64{0, 3, 1}, []int64{got.Allowed, got.Denied, got.Opposed})
	require.Equal(t, yes, got.Examples[0].Event)

	d := newRuleDraft(no, schema.ThenAllow)
	d.Reach = schema.ReachSession
	require.EqualValues(t, 2, h.replay(d).Allowed, "other sessions are outside the reach")
	d.Scope, d.When = schema.ScopeCall, nil
	require.EqualValues(t, 1, h.replay(d).Allowed, "exactly this call")
}

// The decisions of rules are no decisions of people.
func TestReplayRule_NamesDeciderAndOutcome(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.makeRule(schema.ThenAllow)
	byRule := h.post(bashRequest("s", "npm test by a rule")).ID
	got := h.replay(newRuleDraft(byRule, schema.ThenDeny))
	require.Equal(t, byRule, got.Examples[0].Event)
	require.Equal(t, history.DecidedByRule, got.Examples[0].Decided)
	require.Zero(t, got.Opposed)
	for _, c := range []struct {
		state string
		want  history.CallOutcome
	}{{schema.Executing, history.CallOpen}, {schema.ToolFailed, history.CallFailed}} {
		saved := h.post(bashRequest("s", "npm test "+c.state))
		secret := decodeEvent(t, saved.JSON).RequestSecret
		_, err := h.ReportExecution(t.Context(), saved.ID, &schema.CallReport{State: c.state, RequestSecret: secret})
		require.NoError(t, err)
		require.Equal(t, c.want, h.replay(newRuleDraft(byRule, schema.ThenDeny)).Examples[0].Outcome)
	}
}

func TestReplayRule_RefusesWhatCannotBeCreated(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	risky := h.post(bashRequest("s", "rm -rf /")).ID
	for _, d := range []*schema.RuleDraft{
		newRuleDraft(risky, schema.ThenAllow),
		{Tool: "Bash", Then: schema.ThenAllow, Scope: schema.ScopeTool, Reach: schema.ReachEverywhere},
		{Tool: "Bash", Then: schema.ThenDeny, Scope: schema.ScopeWhen, Reach: schema.ReachEverywhere, When: []schema.Condition{{Argument: "command", Is: "equals", Value: json.RawMessage(`"rm -rf /"`)}}},
	} {
		_, err := h.ReplayRule(t.Context(), d)
		require.ErrorIs(t, err, schema.ErrNoRule)
	}
	_, err := h.ReplayRule(t.Context(), newRuleDraft(99, schema.ThenAllow))
	require.ErrorIs(t, err, schema.ErrNotFound)
	_, err = h.ReplayRule(t.Context(), &schema.RuleDraft{})
	require.ErrorIs(t, err, schema.ErrInvalid)
}
