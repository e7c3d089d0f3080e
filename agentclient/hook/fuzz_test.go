package hook_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/schema"
)

// FuzzParse_AllAgents passes any text to every agent, and renders every verdict for the
// parsed call.
func FuzzParse_AllAgents(f *testing.F) {
	samples, err := filepath.Glob("testdata/*.json")
	require.NoError(f, err)
	for _, path := range samples {
		text, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(text, "", false)
	}
	for _, text := range []string{
		``, `null`, `{}`, `[]`, "\xef\xbb\xbf{}", `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"` + strings.Repeat("x", 5000) + `"}`,
		`{"session_id":"s","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"` + strings.Repeat(`\u0000\ud800`, 999) + `"}}`,
		`{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":` + strings.Repeat(`{"a":`, 500) + `1` + strings.Repeat(`}`, 500) + `}`,
		`{"session_id":"s","hook_event_name":"PermissionRequest","tool_name":"AskUserQuestion","tool_input":{"questions":[{}]},"permission_suggestions":[{}]}`,
		`{"session_id":"s","hook_event_name":"Elicitation","requested_schema":{"properties":{"":{"type":"string","enum":[null,{},"",1]}}}}`,
		`{"session_id":"s","hook_event_name":"Elicitation","requested_schema":{"properties":{"n":{"type":"number"},"n":{"type":"array","items":{"enum":["__x__"]}}}}}`,
		"{\"session_id\":\"\u202e\",\"hook_event_name\":\"\xff\",\"cwd\":\"/\"}",
	} {
		f.Add([]byte(text), "Stop", true)
		f.Add([]byte(text), "", false)
	}
	f.Fuzz(func(t *testing.T, stdin []byte, event string, headless bool) {
		env := func(name string) string {
			if name == "CLAUDE_CODE_ENTRYPOINT" && headless {
				return "sdk-cli"
			}
			return ""
		}
		for _, a := range hook.Agents {
			in := hook.Input{Stdin: stdin, Event: event, Env: env, Dir: "/home/dev/here"}
			c, err := a.Agent.Parse(in)
			if err != nil {
				continue
			}
			requireValidCall(t, in, &c)
			for _, v := range sampleVerdicts(&c) {
				requireValidReply(t, &c, v, a.Agent.Render(&c, v))
			}
			requireEditNotLost(t, a.Agent, &c)
		}
	})
}

// sampleVerdicts returns valid and invalid verdicts for a call.
func sampleVerdicts(c *hook.Call) []hook.Verdict {
	all := []hook.Verdict{
		{},
		{Effect: hook.Allow, Reason: "approved"},
		{Effect: hook.Deny},
		{Effect: hook.Deny, Reason: strings.Repeat("“no” \x00\xff\n", 5000)},
		{Effect: hook.Ask, Reason: "\u2028"},
		{Effect: hook.Allow, Arguments: json.RawMessage(`{"command":"<&>"}`)},
		{Effect: hook.Allow, Arguments: json.RawMessage(`{`)},
		{Effect: hook.Allow, Remember: json.RawMessage(`[`), Answers: map[string][]string{"": nil}},
		{Effect: "perhaps"},
	}
	if c.Ask == nil {
		return all
	}
	for _, s := range c.Ask.Suggestions {
		all = append(all, hook.Verdict{Effect: hook.Allow, Remember: s})
	}
	first, text := map[string][]string{}, map[string][]string{}
	for _, q := range c.Ask.Questions {
		text[q.ID] = []string{"7", "\x00"}
		first[q.ID] = text[q.ID][:1]
		if len(q.Options) > 0 {
			first[q.ID] = []string{q.Options[0].Label}
		}
	}
	return append(all, hook.Verdict{Effect: hook.Allow, Answers: first}, hook.Verdict{Effect: hook.Allow, Answers: text})
}

// requireEditNotLost asserts that approving an edit that can't be applied doesn't run the
// original call.
func requireEditNotLost(t *testing.T, a hook.Agent, c *hook.Call) {
	t.Helper()
	if c.Tool == nil || c.Point == hook.Observe || !c.Capabilities.Has(hook.CanAllow) || c.Capabilities.Has(hook.CanEdit) {
		return
	}
	original := a.Render(c, hook.Verdict{Effect: hook.Allow})
	edited := a.Render(c, hook.Verdict{Effect: hook.Allow, Arguments: json.RawMessage(`{"changed":"by a person"}`)})
	if !c.Capabilities.Has(hook.CanAnswer) { // questions can't be approved, so both replies are empty
		require.NotEqual(t, original, edited, "%s %s", c.Event.Agent, c.Event.Payload)
	}
}

// Questions and plans of any size must fit the limits of one hub question.
func TestClaude_LargeQuestionsFitHubLimits(t *testing.T) {
	t.Parallel()
	claude, _ := hook.Find("claude-code")
	var options []string
	for range schema.MaxChoices + 5 {
		options = append(options, `{"label":"`+strings.Repeat("é", len(options)+1)+`"}`)
	}
	ask := `{"question":"?","options":[` + strings.Join(options, ",") + `]}`
	many := strings.Repeat(ask+",", schema.MaxQuestions) + ask
	for name, input := range map[string]string{
		"too many labels":    `"AskUserQuestion","tool_input":{"questions":[` + ask + `]}`,
		"too many questions": `"AskUserQuestion","tool_input":{"questions":[` + many + `]}`,
		"a long plan":        `"ExitPlanMode","tool_input":{"plan":"` + strings.Repeat("§ ", schema.MaxQuestionBytes) + `"}`,
		"a long command":     `"Bash","tool_input":{"command":"` + strings.Repeat("echo ü;", 1<<13) + `"}`,
	} {
		for _, event := range []string{"PreToolUse", "PermissionRequest"} {
			in := hook.Input{
				Stdin: []byte(`{"session_id":"s1","hook_event_name":"` + event + `","tool_name":` + input + `}`),
				Env:   func(string) string { return "" },
			}
			c, err := claude.Agent.Parse(in)
			require.NoError(t, err, name)
			requireValidCall(t, in, &c)
			require.NotNil(t, c.Ask, name)
			for _, v := range sampleVerdicts(&c) {
				requireValidReply(t, &c, v, claude.Agent.Render(&c, v))
			}
		}
	}
}
