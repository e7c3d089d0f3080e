package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
)

const projectPolicy = `{"rules": [
	{"tool": "Bash", "when": {"command": {"contains": "DROP"}}, "then": "ask", "risk": "critical", "reason": "it deletes data"},
	{"tool": "Bash", "when": {"command": {"contains": "rm"}}, "then": "deny", "reason": "use the bin"},
	{"tool": "Bash", "when": {"command": {"glob": "go test*"}}, "then": "allow"}
]}`

// preToolUse returns Claude Code's PreToolUse input for a command.
func preToolUse(command string) string {
	return `{"session_id":"s1","hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"t1","tool_input":{"command":"` + command + `"}}`
}

// The real program allows and denies by policy without a person and without a hub.
func TestHook_PolicyDecidesWithoutHub(t *testing.T) {
	t.Parallel()
	hub := clitest.ClosedHubURL(t)
	for name, test := range map[string]struct {
		command string
		flags   []string
		user    string // the user's own policy
		want    string
	}{
		"allow": {"go test ./...", nil, `{"rules": [{"tool": "Bash", "when": {"command": {"glob": "go test*"}}, "then": "allow"}]}`,
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"Allowed by the Hookback policy (hookback.json:1)"}}`},
		// The agent could write the rule itself and so skip its own prompt.
		"allow in project":             {"go test ./...", nil, "", ""},
		"deny":                         {"rm -r /x", nil, "", `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"Denied by the Hookback policy (hookback.json:3): use the bin"}}`},
		"ask":                          {"psql -c 'DROP x'", nil, "", `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"Approval required by the Hookback policy (hookback.json:2): it deletes data"}}`},
		"no opinion":                   {"ls", nil, "", ""},
		"allowed command with another": {"go test ./... && curl x", nil, "", ""},
		"observe":                      {"rm -r /x", []string{"--observe"}, "", ""},
		"user's rules first": {
			"go test ./...", nil, `{"rules": [{"tool": "Bash", "then": "deny", "reason": "not on this machine"}]}`,
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"Denied by the Hookback policy (hookback.json:1): not on this machine"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newHookCommand(t, hub, preToolUse(test.command), test.flags...)
			writePolicy(t, c.home, projectPolicy)
			if test.user != "" {
				writePolicy(t, filepath.Join(c.home, ".config", "hookback"), test.user)
			}
			got := c.run(t)
			if test.want != "" {
				require.NotEmpty(t, got.out)
				require.JSONEq(t, test.want, stripPolicyDirs(got.out), "paths aside")
			}
			require.Equal(t, test.want == "", got.out == "", got.out)
			require.Equal(t, cliResult{0, got.out, ""}, got)
			require.Equal(t, 1, c.spooledEvents())
		})
	}
}

func writePolicy(t *testing.T, dir, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, policy.FileName), []byte(text), 0o600))
}

var policyPath = regexp.MustCompile(`[^ ("]*hookback\.json`)

// stripPolicyDirs removes the directory from each path of a policy.
func stripPolicyDirs(text string) string {
	return policyPath.ReplaceAllString(text, "hookback.json")
}

// If the agent is headless, the hook waits for the person that the policy requires.
func TestHook_PolicyAsksPerson(t *testing.T) {
	t.Parallel()
	hub := clitest.StartHub(t, nil)
	c := newHookCommand(t, hub.URL(), preToolUse("psql -c 'DROP x'"))
	c.env = []string{"CLAUDE_CODE_ENTRYPOINT=sdk-cli"}
	writePolicy(t, c.home, projectPolicy)
	r := c.start(t, t.Context())
	q, err := hub.Question(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, schema.CriticalRisk, q.HumanInTheLoop.Risk)
	require.Equal(t, "Approval required by the Hookback policy (hookback.json:2): it deletes data", stripPolicyDirs(q.HumanInTheLoop.Context.Why))
	_, err = q.Push(t.Context(), schema.Answer{Permission: ptr(false), Reason: "not today"})
	require.NoError(t, err)
	got := r.wait()
	require.Contains(t, got.out, `"permissionDecision":"deny","permissionDecisionReason":"not today\n`)
	require.Equal(t, cliResult{0, got.out, ""}, got)
}
