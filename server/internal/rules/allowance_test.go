package rules

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

func sampleCall(change func(*Call)) *Call {
	c := &Call{
		ID: 9, Kind: schema.Permission, Tool: "mcp__db__query", Arguments: json.RawMessage(`{"sql":"select 1"}`), Hash: []byte("h"),
		App: "shop", Session: "s-1", Class: schema.ClassHarmless,
	}
	if change != nil {
		change(c)
	}
	return c
}

func newAllowance(t *testing.T) *schema.Rule {
	t.Helper()
	r, err := Compile(&schema.RuleDraft{From: 7, Then: schema.ThenAllow, Scope: schema.ScopeSession, Reach: schema.ReachSession}, sampleCall(nil), "ada", 1000)
	require.NoError(t, err)
	return r
}

func TestAllowance_CoversHarmlessCalls(t *testing.T) {
	t.Parallel()
	r := newAllowance(t)
	require.Equal(t, "Allow harmless calls, in the session s-1 of shop, for 15 minutes or until the session ends", r.Text)
	require.Equal(t, schema.Millis(1000+15*60*1000), r.ExpiresAt)
	for name, c := range map[string]struct {
		change func(*Call)
		covers bool
	}{
		"harmless":              {func(*Call) {}, true},
		"harmless with finding": {func(c *Call) { c.HasFindings, c.HubRisk = true, schema.LowRisk }, true},
		"another tool":          {func(c *Call) { c.Tool = "Bash" }, true},
		"low by the agent":      {func(c *Call) { c.AgentRisk = schema.LowRisk }, true},

		"no class":              {func(c *Call) { c.Class = "" }, false},
		"unknown":               {func(c *Call) { c.Class = schema.ClassUnknown }, false},
		"risky":                 {func(c *Call) { c.Class = schema.ClassRisky }, false},
		"medium by the agent":   {func(c *Call) { c.AgentRisk = schema.MediumRisk }, false},
		"medium by the hub":     {func(c *Call) { c.HubRisk = schema.MediumRisk }, false},
		"high by the hub":       {func(c *Call) { c.HubRisk = schema.HighRisk }, false},
		"critical by the agent": {func(c *Call) { c.AgentRisk = schema.CriticalRisk }, false},
		"a policy asked":        {func(c *Call) { c.PolicyAsked = true }, false},
		"redacted":              {func(c *Call) { c.Redacted = true }, false},
		"recipients":            {func(c *Call) { c.IsRestricted = true }, false},
		"a plan":                {func(c *Call) { c.Tool = "ExitPlanMode" }, false},
		"a plan, respelled":     {func(c *Call) { c.Tool = "exit_plan-mode" }, false},
		"a choice":              {func(c *Call) { c.Kind = schema.Choice }, false},
		"a text":                {func(c *Call) { c.Kind = schema.FreeText }, false},
		"no call":               {func(c *Call) { c.Hash = nil }, false},
		"no arguments":          {func(c *Call) { c.Arguments = nil }, false},
		"a list":                {func(c *Call) { c.Arguments = json.RawMessage(`["ls"]`) }, false},
		"an argument twice":     {func(c *Call) { c.Arguments = json.RawMessage(`{"a":1,"A":2}`) }, false},
		"not JSON":              {func(c *Call) { c.Arguments = json.RawMessage(`{"a":`) }, false},
		"another session":       {func(c *Call) { c.Session = "s-2" }, false},
		"another application":   {func(c *Call) { c.App = "other" }, false},
		"session and app moved": {func(c *Call) { c.App, c.Session = "s-1", "shop" }, false},
	} {
		require.Equal(t, c.covers, Match(r, sampleCall(c.change)), name)
	}
}

func TestAllowance_ExpiresAndYieldsToDenials(t *testing.T) {
	t.Parallel()
	r := newAllowance(t)
	r.ID = 2
	set, err := NewSet([]StoredRule{{Rule: *r, Since: 1000, After: 8}})
	require.NoError(t, err)
	require.Equal(t, 1, set.Len())
	require.True(t, set.HasSessionRule("shop", "s-1"))
	require.NotNil(t, set.Decide(sampleCall(nil), r.ExpiresAt-1))
	require.Nil(t, set.Decide(sampleCall(nil), r.ExpiresAt))
	require.Nil(t, set.Decide(sampleCall(func(c *Call) { c.ID = 8 }), 2000), "asked before it was created")

	deny := schema.Rule{ID: 3, Then: schema.ThenDeny, Tool: "mcp__db__query", SourceApp: "shop", CreatedAt: 1000}
	set, err = NewSet([]StoredRule{{Rule: *r, Since: 1000}, {Rule: deny, Since: 1000}})
	require.NoError(t, err)
	require.Equal(t, int64(3), set.Decide(sampleCall(nil), 2000).ID)
	deny.When = []schema.Condition{{Argument: "sql", Is: "at_most", Value: json.RawMessage("1")}}
	set, err = NewSet([]StoredRule{{Rule: *r, Since: 1000}, {Rule: deny, Since: 1000}})
	require.NoError(t, err)
	require.Nil(t, set.Decide(sampleCall(func(c *Call) { c.Arguments = json.RawMessage(`{"sql":["x"]}`) }), 2000), "a denial may apply")
	allow := schema.Rule{ID: 4, Then: schema.ThenAllow, Tool: "mcp__db__query", SourceApp: "shop", CreatedAt: 1000}
	set, err = NewSet([]StoredRule{{Rule: *r, Since: 1000}, {Rule: allow, Since: 1000}})
	require.NoError(t, err)
	require.Equal(t, int64(4), set.Decide(sampleCall(nil), 2000).ID, "the rule for the tool is more specific")
}

func TestAllowance_RejectsOtherDrafts(t *testing.T) {
	t.Parallel()
	for field, change := range map[string]func(*schema.RuleDraft){
		"then":       func(d *schema.RuleDraft) { d.Then = schema.ThenDeny },
		"reach":      func(d *schema.RuleDraft) { d.Reach = schema.ReachAgent },
		"ttlSeconds": func(d *schema.RuleDraft) { d.TTLSeconds = new(int64) },
		"when": func(d *schema.RuleDraft) {
			d.When = []schema.Condition{{Argument: "a", Is: "equals", Value: json.RawMessage(`1`)}}
		},
	} {
		d := &schema.RuleDraft{From: 7, Then: schema.ThenAllow, Scope: schema.ScopeSession, Reach: schema.ReachSession}
		change(d)
		_, err := Compile(d, sampleCall(nil), "ada", 1000)
		var invalid *schema.FieldError
		require.ErrorAs(t, err, &invalid, field)
		require.Equal(t, field, invalid.Field)
	}
	_, err := Compile(&schema.RuleDraft{From: 7, Then: schema.ThenAllow, Scope: schema.ScopeSession, Reach: schema.ReachSession}, sampleCall(func(c *Call) { c.Session = "" }), "ada", 1000)
	require.ErrorContains(t, err, "did not report its session")
}

// TestAllowance_RiskyQuestionNamesOnlySession: an allowance can be created from a request that it
// never answers.
func TestAllowance_RiskyQuestionNamesOnlySession(t *testing.T) {
	t.Parallel()
	risky := sampleCall(func(c *Call) { c.Class, c.HubRisk, c.IsRestricted = schema.ClassRisky, schema.CriticalRisk, true })
	r, err := Compile(&schema.RuleDraft{From: 7, Then: schema.ThenAllow, Scope: schema.ScopeSession, Reach: schema.ReachSession}, risky, "ada", 1000)
	require.NoError(t, err)
	require.Empty(t, r.Tool)
	require.Empty(t, r.Command)
	require.False(t, Match(r, risky))
}
