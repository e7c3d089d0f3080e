package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
)

// A rule about an MCP tool applies under the names that agents make of its server.
func TestRule_AppliesToSanitizedServers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, agent, tool string
		applies           bool
	}{
		{"mcp__my.server__delete", "claude-code", "mcp__my_server__delete", true},
		{"mcp__my server__delete", "gemini", "mcp_my_server_delete", true},
		{"mcp__my-server__delete", "codex", "mcp__my_server__delete", true},
		{"mcp__my_server__del*", "claude-code", "mcp__my-server__delete", true},
		{"mcp__my.server__delete", "opencode", "my_server_delete", true},
		{"mcp__io.github.x/y__delete", "copilot", "io-github-x-y-delete", true},
		{"mcp__github-mcp-server__*", "copilot", "mcp_github-mcp-se_delete_file", true},
		{"mcp__my.server__delete", "claude-code", "mcp__my_server__delete_all", false},
		{"mcp__my.server__delete", "claude-code", "mcp__mysserver__delete", false},
	} {
		p := mustParsePolicy(t, `{"rules": [{"tool": "`+c.rule+`", "then": "deny"}]}`)
		got := p.Evaluate(policy.Call{Agent: c.agent, Name: c.tool, Arguments: raw("{}")}).Effect
		require.Equal(t, c.applies, got == policy.Deny, "%+v", c)
		allow := mustParsePolicy(t, `{"rules": [{"tool": "`+c.rule+`", "then": "allow"}]}`)
		require.Empty(t, allow.Evaluate(policy.Call{Agent: c.agent, Name: c.tool, Arguments: raw("{}")}).Effect, "%+v", c)
	}
}

// later asks like any other rule that asks; only a hook knows more. It takes nothing away from a rule that denies.
func TestRule_LaterAsks(t *testing.T) {
	t.Parallel()
	p, err := policy.Parse("p.json", []byte(`{"rules": [
		{"tool": "Bash", "when": {"command": {"runs": "rm"}}, "then": "later", "reason": "Deletes."},
		{"tool": "Bash", "when": {"command": {"runs": "dd"}}, "then": "deny"}]}`))
	require.NoError(t, err)
	got := p.Evaluate(policy.Call{Name: "Bash", Arguments: raw(`{"command":"rm x"}`)})
	require.Equal(t, policy.Result{Effect: policy.Ask, Later: true, Reason: "Deletes.", Location: "p.json:2"}, got)
	require.Contains(t, p.Rules()[0].Sentence, "ask, and Claude Code")
	unread := p.Evaluate(policy.Call{Name: "Bash", Arguments: raw(`{"command":"$X y"}`)})
	require.Equal(t, policy.Ask, unread.Effect)
	require.False(t, unread.Later, "what can't be read waits for a person")
	both := policy.Any(p, policy.Tools("Bash")).Evaluate(policy.Call{Name: "Bash", Arguments: raw(`{"command":"rm x"}`)})
	require.Equal(t, policy.Ask, both.Effect)
	require.False(t, both.Later, "one of them waits for a person")
	managed := policy.Any(p, p).Evaluate(policy.Call{Name: "Bash", Arguments: raw(`{"command":"rm x"}`)})
	require.True(t, managed.Later, "both can wait")
	require.Equal(t, policy.Deny, p.Evaluate(policy.Call{Name: "Bash", Arguments: raw(`{"command":"dd"}`)}).Effect)
}

func TestRule_Consequence(t *testing.T) {
	t.Parallel()
	number := func(n int64) *int64 { return &n }
	call := func(c *schema.Consequence) policy.Call {
		return policy.Call{Name: "Bash", Arguments: raw(`{"command":"rm x"}`), Consequence: func() *schema.Consequence { return c }}
	}
	loses, keeps := &schema.Consequence{Unrecoverable: number(2)}, &schema.Consequence{Unrecoverable: number(0)}
	atLeast, some := &schema.Consequence{Unrecoverable: number(2), Partial: true}, &schema.Consequence{Unrecoverable: number(0), Partial: true}
	outside := &schema.Consequence{Outside: true, Partial: true}
	for _, test := range []struct {
		name, when, then string
		consequence      *schema.Consequence
		want             policy.Effect
	}{
		{"more", `{"unrecoverable": {"greater": 0}}`, "deny", loses, policy.Deny},
		{"none", `{"unrecoverable": {"greater": 0}}`, "deny", keeps, ""},
		{"a lower bound that is enough", `{"unrecoverable": {"greater": 0}}`, "deny", atLeast, policy.Deny},
		{"a lower bound that is not", `{"unrecoverable": {"greater": 0}}`, "deny", some, policy.Ask},
		{"unknown", `{"unrecoverable": {"greater": 0}}`, "deny", nil, policy.Ask},
		{"another number", `{"unrecoverable": {"greater": 0}}`, "deny", &schema.Consequence{Files: number(3)}, policy.Ask},
		{"outside", `{"outside": {"equals": true}}`, "deny", outside, policy.Deny},
		{"perhaps outside", `{"outside": {"equals": true}}`, "deny", some, policy.Ask},
		{"inside", `{"outside": {"equals": true}}`, "deny", keeps, ""},
		{"allowed", `{"unrecoverable": {"less": 1}}`, "allow", keeps, policy.Allow},
		{"not allowed", `{"unrecoverable": {"less": 1}}`, "allow", loses, ""},
		{"a lower bound allows nothing", `{"unrecoverable": {"less": 1}}`, "allow", some, ""},
		{"unknown allows nothing", `{"unrecoverable": {"less": 1}}`, "allow", nil, ""},
	} {
		when := `"consequence": ` + test.when
		if test.then == "allow" {
			when += `, "command": {"equals": "rm x"}`
		}
		p, err := policy.Parse("p.json", []byte(`{"rules": [{"tool": "Bash", "when": {`+when+`}, "then": "`+test.then+`"}]}`))
		require.NoError(t, err, test.name)
		require.Equal(t, test.want, p.Evaluate(call(test.consequence)).Effect, test.name)
	}
	p, err := policy.Parse("p.json", []byte(`{"rules": [{"tool": "Bash", "when": {"consequence.files": {"greater": 9}}, "then": "ask"}]}`))
	require.NoError(t, err)
	require.Contains(t, p.Rules()[0].Sentence, "consequence.files")
	require.Equal(t, policy.Ask, p.Evaluate(policy.Call{Name: "Bash", Arguments: raw(`{"command":"ls"}`)}).Effect, "nothing computes it")
	_, err = policy.Parse("p.json", []byte(`{"rules": [{"tool": "Bash", "when": {"consequence": {"fils": {"greater": 0}}}, "then": "ask"}]}`))
	require.ErrorContains(t, err, "consequence can have files, bytes, unrecoverable")
	p, err = policy.Parse("p.json", []byte(`{"rules": [{"tool": "trial", "when": {"consequence": {"equals": "bad"}}, "then": "deny"}]}`))
	require.NoError(t, err)
	require.Equal(t, policy.Deny, p.Evaluate(policy.Call{Name: "trial", Arguments: raw(`{"consequence":"bad"}`)}).Effect, "an argument of that name")
}

// ask names who decides. The fewer people and the more approvals of two rules count.
func TestRule_AskNamesOwnersAndQuorum(t *testing.T) {
	t.Parallel()
	parse := func(ask, then string) (*policy.File, error) {
		return policy.Parse("p.json", []byte(`{"rules": [{"tool": "Edit", "then": "`+then+`", "ask": `+ask+`}]}`))
	}
	edit := policy.Call{Name: "Edit", Arguments: raw(`{"file_path":"x"}`)}
	owners, err := parse(`{"owners": true}`, "ask")
	require.NoError(t, err)
	require.Equal(t, policy.Result{Effect: policy.Ask, Owners: true, Location: "p.json:1"}, owners.Evaluate(edit))
	require.Contains(t, owners.Rules()[0].Sentence, "the owners of the files decide")
	two, err := parse(`{"quorum": 2}`, "later")
	require.NoError(t, err)
	require.Contains(t, two.Rules()[0].Sentence, "2 people have to agree")
	both := policy.Any(policy.Always(), owners, two).Evaluate(edit)
	require.True(t, both.Owners)
	require.Equal(t, 2, both.Quorum)
	require.Equal(t, policy.Deny, policy.Any(owners, mustParsePolicy(t, singleRulePolicy("Edit", "deny"))).Evaluate(edit).Effect)
	for ask, want := range map[string]string{
		`{}`: "requires owners or quorum", `true`: "must be an object", `{"owners": false}`: "owners must be true", `{"quorum": 1}`: "from 2 to 20",
		`{"quorum": 21}`: "from 2 to 20", `{"quorum": "2"}`: "from 2 to 20", `{"quorum": 2.5}`: "from 2 to 20", `{"people": 1}`: "no member",
	} {
		_, err := parse(ask, "ask")
		require.ErrorContains(t, err, want, ask)
	}
	for _, then := range []string{"allow", "deny"} {
		_, err := parse(`{"owners": true}`, then)
		require.ErrorContains(t, err, "ask goes with then: ask or later")
	}
}
