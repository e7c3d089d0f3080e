package hookrun

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/schema/control"
)

const (
	reviewedTurn = `{"type":"turn_context","payload":{"turn_id":"t2","approvals_reviewer":"REVIEWER"}}`
	refusedTurn  = `{"type":"turn_context","payload":{"turn_id":"t2","approvals_reviewer":"auto_review"}}
{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"rm -rf build\",\"justification\":\"Clean\"}","call_id":"call_1"}}
{"type":"response_item","payload":{"type":"function_call_output","call_id":"call_1","output":"This action was rejected due to unacceptable risk.\nReason: It deletes.\nThe agent must not attempt"}}`
)

// readCodexCall reads what Codex sends to a hook of a turn with that transcript.
func readCodexCall(t *testing.T, h *hookRun, event, transcript string) *hook.Call {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rollout.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(transcript), 0o600))
	input, err := json.Marshal(map[string]any{
		"session_id": "s1", "turn_id": "t2", "transcript_path": path, "cwd": h.workDir, "hook_event_name": event,
		"tool_name": "Bash", "tool_input": map[string]string{"command": "rm -rf build", "description": "Clean"},
	})
	require.NoError(t, err)
	h.std = cli.Streams{In: strings.NewReader(string(input))}
	h.agent, _ = hook.Find("codex")
	h.transcriptTimeout, h.appealWait = time.Minute, time.Minute
	c, _, err := h.readCall()
	require.NoError(t, err)
	return c
}

// If Codex's reviewer decides about prompts, no person is asked. The turn's own setting counts, then the
// configuration.
func TestCodexReviewer_DecidesInsteadOfPerson(t *testing.T) {
	t.Parallel()
	const auto, user = `approvals_reviewer = "auto_review"`, `approvals_reviewer = "user"`
	for name, test := range map[string]struct {
		turn, project, config string
		reviewed              bool
	}{
		"turn":                     {turn: "auto_review", reviewed: true},
		"earlier name":             {turn: "guardian_subagent", reviewed: true},
		"turn overrides config":    {turn: "user", config: auto},
		"config":                   {config: "model = \"x\"\n" + auto + " # mine\n[tools]\n", reviewed: true},
		"quoted":                   {config: `"approvals_reviewer" = 'auto_review'`, reviewed: true},
		"user":                     {config: user},
		"project overrides config": {project: user, config: auto},
		"project can't add one":    {project: auto},
		"table":                    {config: "[other]\n" + auto},
		"text over several lines":  {config: "x = \"\"\"\n" + auto + "\n\"\"\"\n"},
		"comment":                  {config: "# " + auto},
		"unknown":                  {config: `approvals_reviewer = "oracle"`},
		"none":                     {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, home := newHookRunIn(t, ""), t.TempDir()
			h.env = func(name string) string { return map[string]string{"CODEX_HOME": home, "HOME": "/nowhere"}[name] }
			for dir, text := range map[string]string{home: test.config, filepath.Join(h.workDir, ".codex"): test.project} {
				require.NoError(t, os.MkdirAll(dir, 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(dir, "config.toml"), []byte(text), 0o600))
			}
			turn := ""
			if test.turn != "" {
				turn = strings.Replace(reviewedTurn, "REVIEWER", test.turn, 1)
			}
			c := readCodexCall(t, h, "PermissionRequest", turn)
			require.Equal(t, test.reviewed, c.Reviewed)
			require.Equal(t, !test.reviewed, h.decide(c, false).ask)
		})
	}
}

func TestCodexReviewer_PolicyStillAsks(t *testing.T) {
	t.Parallel()
	h := newHookRunIn(t, `{"rules":[{"tool":"Bash","then":"ask"}]}`)
	c := readCodexCall(t, h, "PermissionRequest", strings.Replace(reviewedTurn, "REVIEWER", "auto_review", 1))
	require.True(t, c.Reviewed)
	require.True(t, h.decide(c, false).ask)
}

// The appeal is for the call as Codex's hooks get it, so that a grant fits the next prompt.
func TestCodexReviewer_RefusalIsAppealed(t *testing.T) {
	t.Parallel()
	h := newHookRunIn(t, "")
	stop := readCodexCall(t, h, "Stop", refusedTurn)
	appeal := h.refusedCall(stop)
	require.NotNil(t, appeal)
	require.Equal(t, hook.Appeal, appeal.Point)
	require.Equal(t, "PermissionDenied", appeal.Event.HookEventType)
	require.Equal(t, stop.Event.SessionID, appeal.Event.SessionID)
	require.Equal(t, "It deletes.", appeal.Ask.Appeal.Reason)
	require.True(t, h.decide(appeal, false).ask)
	prompt := readCodexCall(t, h, "PermissionRequest", refusedTurn)
	require.JSONEq(t, string(prompt.Tool.Arguments), string(appeal.Ask.ToolCall.Arguments))
	require.Equal(t, prompt.Event.ToolName, appeal.Event.ToolName)
	require.True(t, prompt.Accepts().Grant)
	require.Contains(t, string(h.agent.Agent.Render(appeal, hook.Verdict{Effect: hook.Allow}).Stdout), `{"decision":"block","reason":"A person approved`)
	require.Equal(t, hook.Reply{}, h.agent.Agent.Render(appeal, hook.Verdict{Effect: hook.Deny, Reason: "No."}))

	denied := newHookRunIn(t, `{"rules":[{"tool":"Bash","then":"deny"}]}`)
	require.False(t, denied.decide(denied.refusedCall(readCodexCall(t, denied, "Stop", refusedTurn)), false).ask, "the policy denies the call anyway")
}

func TestCodexReviewer_NothingToAppeal(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		event, turn string
		change      func(h *hookRun)
	}{
		"other event":  {"SessionStart", refusedTurn, func(*hookRun) {}},
		"other turn":   {"Stop", strings.Replace(refusedTurn, `"t2"`, `"t1"`, 1), func(*hookRun) {}},
		"no refusal":   {"Stop", strings.Replace(refusedTurn, "was rejected", "ran", 1), func(*hookRun) {}},
		"observe":      {"Stop", refusedTurn, func(h *hookRun) { h.observe = true }},
		"appeals off":  {"Stop", refusedTurn, func(h *hookRun) { h.appealWait = 0 }},
		"other agent":  {"Stop", refusedTurn, func(h *hookRun) { h.agent, _ = hook.Find("claude-code") }},
		"nothing read": {"Stop", "", func(*hookRun) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHookRunIn(t, "")
			c := readCodexCall(t, h, test.event, test.turn)
			test.change(h)
			require.Nil(t, h.refusedCall(c))
		})
	}
}

// A grant counts for the refused call only, in all of its arguments.
func TestCodexReviewer_GrantNeedsRepeatedCall(t *testing.T) {
	t.Parallel()
	h := newHookRunIn(t, "")
	pending := func(arguments string) string {
		return refusedTurn + `
{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"` + strings.ReplaceAll(arguments, `"`, `\"`) + `","call_id":"call_2"}}`
	}
	require.NoError(t, h.checkRepeatedCall(readCodexCall(t, h, "PermissionRequest", pending(`{"justification":"Clean","cmd":"rm -rf build"}`)), &control.Grant{}))
	for _, turn := range []string{"", refusedTurn, pending(`{"cmd":"rm -rf build","justification":"Clean","workdir":"/"}`)} {
		require.ErrorContains(t, h.checkRepeatedCall(readCodexCall(t, h, "PermissionRequest", turn), &control.Grant{}), "not exactly the one that was refused")
	}
	h.agent, _ = hook.Find("claude-code")
	require.NoError(t, h.checkRepeatedCall(newCall(hook.Gate, allCapabilities), &control.Grant{}), "Claude Code's hook gets the whole call")
}
