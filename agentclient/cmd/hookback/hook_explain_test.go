package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
	"github.com/hookback/hookback/agentclient/policy"
)

// The event of a call that the policy stopped has the reason.
func TestHook_ReportsPolicyReason(t *testing.T) {
	t.Parallel()
	hub := clitest.StartHub(t, nil)
	c := newHookCommand(t, hub.URL(), readSample(t, "claude-code-PreToolUse-Bash"))
	require.NoError(t, os.WriteFile(filepath.Join(c.home, policy.FileName), []byte("{"), 0o600))
	got := c.run(t)
	require.Contains(t, got.out, `"permissionDecision":"ask"`)
	c.deliverSpooled()
	require.Contains(t, hub.Events()[0].Reason, "Approval required by the Hookback policy: the policy can't be read: ")
}

func TestHook_ExplainSendsNothing(t *testing.T) {
	t.Parallel()
	hub := clitest.StartHub(t, nil)
	c := newHookCommand(t, hub.URL(), readSample(t, "claude-code-PermissionRequest-Bash"), "--explain", "--limit", "65s")
	got := c.run(t)
	require.Equal(t, cliResult{0, got.out, ""}, got)
	for _, want := range []string{
		"Claude Code · PermissionRequest of session ",
		"The agent asks its user for permission, so a person is asked through the hub.",
		`"hook_event_type": "PermissionRequest"`, `"humanInTheLoop": {`,
		"It would wait for at most 1m0s after its start.",
		"approved                       exit 0, stdout " + allowed + "\n",
		"no hub                         exit 0, stdout nothing\n",
	} {
		require.Contains(t, got.out, want)
	}
	require.Empty(t, hub.Events(), "nothing is sent")
	for sample, want := range map[string]string{
		stopEvent: "Nothing is decided at this event: it is only reported to the hub.",
		readSample(t, "claude-code-PreToolUse-Bash"): "The policy has no opinion: the agent behaves as without a hook.",
	} {
		c = newHookCommand(t, hub.URL(), sample, "--explain")
		require.Contains(t, c.run(t).out, want)
	}
	c = newHookCommand(t, hub.URL(), stopEvent, "--explain", "--observe")
	require.Contains(t, c.run(t).out, "Observe only (--observe)")
	for input, want := range map[string]string{"garbage": "The hook would print nothing, exit 0 and log this to hook.log", "": "The hook would print nothing"} {
		c = newHookCommand(t, hub.URL(), input, "--explain")
		got := c.run(t)
		require.Equal(t, cliResult{0, got.out, ""}, got)
		require.Contains(t, got.out, want)
	}
	c = newHookCommand(t, hub.URL(), "", "--explain", "--event", "PreToolUse")
	require.NoError(t, os.WriteFile(filepath.Join(c.home, policy.FileName), []byte(`{"rules":[{"tool":"Bash","then":"ask"}]}`), 0o600))
	got = c.run(t)
	require.Contains(t, got.out, "The input can't be read: ")
	require.NotContains(t, got.out, "too long")
	c = newHookCommand(t, hub.URL(), `{"session_id":"s","hook_event_name":"Stop","last_assistant_message":"a < b && c > \\u003c"}`, "--explain")
	require.Contains(t, c.run(t).out, `"last_assistant_message": "a < b && c > \\u003c"`)
	c = newHookCommand(t, hub.URL(), "", "--help")
	require.Contains(t, c.run(t).out, "--on-unreachable answer")
}

// Versions of Claude Code send a plan's file or nothing in place of the plan.
func TestHook_ShowsPlanOfItsFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plan, other, transcript := filepath.Join(dir, "plans", "wild-fox.md"), filepath.Join(dir, "notes.md"), filepath.Join(dir, "t.jsonl")
	require.NoError(t, os.Mkdir(filepath.Dir(plan), 0o700))
	require.NoError(t, os.WriteFile(plan, []byte("# Move it"), 0o600))
	require.NoError(t, os.WriteFile(other, []byte("# Secret"), 0o600))
	line := `{"type":"assistant","message":{"content":[{"type":"tool_use","name":"ExitPlanMode","input":{"plan":"# Drop it"}}]}}`
	require.NoError(t, os.WriteFile(transcript, []byte(line+"\n"), 0o600))
	for input, want := range map[string]string{
		`{"planFilePath":"` + plan + `"}`:  `"question": "Go ahead with this plan?\n\n# Move it"`,
		`{}`:                               `"question": "Go ahead with this plan?\n\n# Drop it"`,
		`{"planFilePath":"` + other + `"}`: `"question": "The plan is only in the terminal.`,
		`{"planFilePath":"/none.md"}`:      `"question": "The plan is only in the terminal.`,
	} {
		for _, isUsualPlace := range []bool{true, false} {
			c := newHookCommand(t, "", `{"session_id":"s","transcript_path":"`+transcript+
				`","hook_event_name":"PermissionRequest","tool_name":"ExitPlanMode","tool_input":`+input+`}`, "--explain")
			if isUsualPlace {
				require.NoError(t, os.Symlink(dir, filepath.Join(c.home, ".claude")))
			} else {
				c.env = []string{"CLAUDE_CONFIG_DIR=" + dir}
			}
			require.Contains(t, c.run(t).out, want)
		}
	}
}
