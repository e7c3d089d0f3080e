package transcript_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/internal/transcript"
)

// Lines that Codex 0.171.0 wrote, shortened.
const (
	turnContext  = `{"type":"turn_context","payload":{"turn_id":"turn-2","cwd":"/src","approval_policy":"on-request","approvals_reviewer":"auto_review"}}`
	userMessage  = `{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Go"}]}}`
	escalated    = `{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"echo ran >> lines.txt\",\"sandbox_permissions\":\"require_escalated\",\"justification\":\"Leave a trace\"}","call_id":"call_1"}}`
	refused      = `{"type":"response_item","payload":{"type":"function_call_output","call_id":"call_1","output":"exec_command failed: CreateProcess { message: \"Rejected(\\\"This action was rejected due to unacceptable risk.\\\\nReason: Writes \\\\\\\"outside\\\\\\\" the task.\\\\nThe agent must not attempt to achieve the same outcome via workaround.\\\")\" }"}}`
	secondCall   = `{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"ls\"}","call_id":"call_2"}}`
	secondRan    = `{"type":"response_item","payload":{"type":"function_call_output","call_id":"call_2","output":"lines.txt"}}`
	patch        = `{"type":"response_item","payload":{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin Patch","call_id":"call_1"}}`
	patchRefused = `{"type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"call_1","output":"This action was rejected due to unacceptable risk.\nReason: No."}}`
	lastWords    = `{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"It was refused."}]}}`
)

func TestReadCodexTurn_FindsRefusedCall(t *testing.T) {
	t.Parallel()
	reviewed := transcript.CodexTurn{ID: "turn-2", Reviewer: "auto_review"}
	withRefusal := reviewed
	withRefusal.Refused = &transcript.RefusedCall{
		ID: "call_1", Tool: "exec_command", Call: `{"cmd":"echo ran >> lines.txt","sandbox_permissions":"require_escalated","justification":"Leave a trace"}`,
		Reason: `Writes "outside" the task.`,
	}
	withPatch := reviewed
	withPatch.Refused = &transcript.RefusedCall{ID: "call_1", Tool: "apply_patch", Call: "*** Begin Patch", Reason: "No."}
	for name, test := range map[string]struct {
		lines []string
		want  transcript.CodexTurn
	}{
		"refused":                     {[]string{turnContext, userMessage, escalated, refused, lastWords}, withRefusal},
		"patch":                       {[]string{turnContext, userMessage, patch, patchRefused}, withPatch},
		"another call ran afterwards": {[]string{turnContext, userMessage, escalated, refused, secondCall, secondRan, lastWords}, reviewed},
		"before the newest prompt":    {[]string{turnContext, userMessage, escalated, refused, userMessage, lastWords}, reviewed},
		"earlier turn":                {[]string{turnContext, userMessage, escalated, refused, `{"type":"turn_context","payload":{"turn_id":"turn-3"}}`, userMessage}, transcript.CodexTurn{ID: "turn-3"}},
		"unreadable lines":            {[]string{turnContext, "{", escalated, `{"type":7}`, refused, "null", `[]`}, withRefusal},
		"no turn":                     {[]string{oldPrompt, oldReply}, transcript.CodexTurn{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, transcript.ReadCodexTurn(t.Context(), write(t, test.lines...)))
		})
	}
	require.Equal(t, transcript.CodexTurn{}, transcript.ReadCodexTurn(t.Context(), ""))
}

func TestRepeatsRefusedCall_ComparesAllArguments(t *testing.T) {
	t.Parallel()
	pending := func(arguments string) string {
		return strings.NewReplacer("call_2", "call_3", `{\"cmd\":\"ls\"}`, strings.ReplaceAll(arguments, `"`, `\"`)).Replace(secondCall)
	}
	const same = `{"justification":"Leave a trace","cmd":"echo ran >> lines.txt","sandbox_permissions":"require_escalated"}`
	elsewhere := strings.Replace(same, `{`, `{"workdir":"/",`, 1)
	for name, test := range map[string]struct {
		lines []string
		want  bool
	}{
		"same":              {[]string{turnContext, escalated, refused, secondCall, secondRan, userMessage, pending(same)}, true},
		"another directory": {[]string{turnContext, escalated, refused, pending(elsewhere)}, false},
		"not refused":       {[]string{turnContext, secondCall, secondRan, pending(`{"cmd":"ls"}`)}, false},
		"two pending":       {[]string{turnContext, escalated, refused, secondCall, pending(same)}, false},
		"none pending":      {[]string{turnContext, escalated, refused}, false},
		"empty":             {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, transcript.RepeatsRefusedCall(t.Context(), write(t, test.lines...)))
			if name != "not refused" { // the reviewer's words are a text like any other
				require.Equal(t, test.want, transcript.RepeatsCall(t.Context(), write(t, test.lines...), "rejected"))
			}
			require.False(t, transcript.RepeatsCall(t.Context(), write(t, test.lines...), "A person was asked (request 7)."))
		})
	}
}
