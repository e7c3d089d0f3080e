package hook_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/schema/control"
)

func TestCall_ApplyKeepsThePrecedence(t *testing.T) {
	t.Parallel()
	c := parseClaude(t, `{"session_id":"s1","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}`)
	grant := &control.Grant{Question: 1, Digest: control.Digest("Bash", c.Tool.Arguments), By: "Ada"}
	freeze := &control.FreezeNotice{ID: 1, By: "Ada"}
	deny, ask := hook.Verdict{Effect: hook.Deny, Reason: "policy"}, hook.Verdict{Effect: hook.Ask}

	require.Equal(t, ask, c.Apply(nil, ask))
	require.Equal(t, hook.Allow, c.Apply(&control.Directive{Grant: grant}, ask).Effect)
	require.Equal(t, hook.Allow, c.Apply(&control.Directive{Grant: grant}, hook.Verdict{}).Effect)
	require.Equal(t, deny, c.Apply(&control.Directive{Grant: grant}, deny), "a denial of the policy overrules a grant")
	require.Equal(t, hook.Deny, c.Apply(&control.Directive{Freeze: freeze, Grant: grant}, hook.Verdict{}).Effect)
	other := &control.Grant{Digest: control.Digest("Bash", []byte(`{"command":"id"}`))}
	require.Equal(t, ask, c.Apply(&control.Directive{Grant: other}, ask), "a grant of another call")
}
