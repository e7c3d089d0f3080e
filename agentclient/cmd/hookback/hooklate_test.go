package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/schema"
)

// TestAHookThatMayNotGoOn says no when nobody answers in time, whoever finds that out,
// and tells the agent to stop; without --on-timeout its own prompt has the word.
func TestAHookThatMayNotGoOn(t *testing.T) {
	t.Parallel()
	c := &hook.Call{HasPrompt: true, Point: hook.Prompt, Ask: &schema.HumanInTheLoop{Question: "Go?", Type: schema.Permission}}
	for name, late := range map[string]func(*hooking) hook.Verdict{
		"the hub": func(h *hooking) hook.Verdict {
			v, answered := h.unasked(c, plan{}, nil, agentclient.ErrTimedOut)
			require.True(t, answered)
			return v
		},
		"the hook itself": func(h *hooking) hook.Verdict {
			v, answered := h.unasked(c, plan{}, errLate, errLate)
			require.True(t, answered)
			return v
		},
		"the decision": func(h *hooking) hook.Verdict {
			return h.verdictOf(c, plan{}, agentclient.Decision{Kind: schema.Permission, Outcome: schema.Timeout, Source: schema.ByTimeout})
		},
	} {
		failing := &hooking{onTimeout: schema.FailRun, env: func(string) string { return "" }}
		v := late(failing)
		require.Equal(t, hook.Deny, v.Effect, name)
		require.Contains(t, v.Reason, "stop here", name)
		require.Equal(t, schema.FailRun, failing.question(c, plan{}).Event.HumanInTheLoop.OnTimeout, name)

		usual := &hooking{env: func(string) string { return "" }}
		require.NotEqual(t, hook.Deny, usual.verdictOf(c, plan{}, agentclient.Decision{Kind: schema.Permission, Outcome: schema.Timeout}).Effect, name)
		require.Empty(t, usual.question(c, plan{}).Event.HumanInTheLoop.OnTimeout, name)
	}
}
