package hookrun

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
	"github.com/hookback/hookback/schema"
)

// With --on-timeout fail_run, every kind of timeout denies the call and instructs the agent to
// stop. Without it, the agent's own prompt decides.
func TestHookRun_FailRunDeniesOnTimeout(t *testing.T) {
	t.Parallel()
	c := &hook.Call{HasPrompt: true, Point: hook.Prompt, Ask: &schema.HumanInTheLoop{Question: "Go?", Type: schema.Permission}}
	for name, timeOut := range map[string]func(*hookRun) hook.Verdict{
		"the hub": func(h *hookRun) hook.Verdict {
			v, answered := h.errorVerdict(c, hookDecision{}, nil, agentclient.ErrTimedOut)
			require.True(t, answered)
			return v
		},
		"the hook itself": func(h *hookRun) hook.Verdict {
			v, answered := h.errorVerdict(c, hookDecision{}, errDeadline, errDeadline)
			require.True(t, answered)
			return v
		},
		"the decision": func(h *hookRun) hook.Verdict {
			return h.verdictFor(c, hookDecision{}, agentclient.Decision{Kind: schema.Permission, Outcome: schema.Timeout, Source: schema.ByTimeout})
		},
	} {
		failRun := &hookRun{onTimeout: schema.FailRun, env: clitest.NoEnv}
		v := timeOut(failRun)
		require.Equal(t, hook.Deny, v.Effect, name)
		require.Contains(t, v.Reason, "stop here", name)
		require.Equal(t, schema.FailRun, failRun.buildRequest(c, hookDecision{}).Event.HumanInTheLoop.OnTimeout, name)

		normal := &hookRun{env: clitest.NoEnv}
		timeout := agentclient.Decision{Kind: schema.Permission, Outcome: schema.Timeout}
		require.NotEqual(t, hook.Deny, normal.verdictFor(c, hookDecision{}, timeout).Effect, name)
		require.Empty(t, normal.buildRequest(c, hookDecision{}).Event.HumanInTheLoop.OnTimeout, name)
	}
}
