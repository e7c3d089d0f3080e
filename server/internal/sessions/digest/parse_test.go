package digest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema/history"
)

// newEvent returns an event of session s1 of the app demo, received at 1000 ms.
func newEvent(typ, payload string) *Event {
	return &Event{
		ID: 7, At: 1000, App: "demo", Session: "s1", Type: typ, Payload: []byte(payload),
		Envelope: []byte(`"source_app":"demo","session_id":"s1","hook_event_type":"` + typ + `"`),
	}
}

// withEnvelope adds members to the envelope.
func (e *Event) withEnvelope(members string) *Event {
	e.Envelope = append(append(e.Envelope, ','), members...)
	return e
}

func (e *Event) withTranscript(chat string) *Event {
	e.Transcript = []byte(chat)
	return e
}

func (e *Event) withQuestion(question string) *Event {
	e.Question = []byte(question)
	return e
}

// expectedFacts returns the facts of a newEvent, modified by change.
func expectedFacts(change func(*EventFacts)) *EventFacts {
	f := &EventFacts{ID: 7, At: 1000, App: "demo", Session: "s1"}
	change(f)
	return f
}

// TestParse covers one fact per case, in the formats of the agents that send it.
func TestParse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		event *Event
		want  func(*EventFacts)
	}{
		"nothing": {newEvent("Notification", `{}`), func(*EventFacts) {}},
		"a prompt of Claude Code": {
			newEvent("UserPromptSubmit", `{"prompt":"  Drop the\told\norders table \n","cwd":"/home/dev/shop-api"}`),
			func(f *EventFacts) {
				f.Kind, f.Prompt, f.Cwd = Prompt, "Drop the old orders table", "/home/dev/shop-api"
			},
		},
		"a prompt of Copilot": {
			newEvent("userPromptSubmitted", `{"prompt":"Go"}`),
			func(f *EventFacts) { f.Kind, f.Prompt = Prompt, "Go" },
		},
		"the end of a background task, which no person typed": {
			newEvent("UserPromptSubmit", `{"prompt":"<task-notification>\n<task-id>a1</task-id>\n<summary>Agent \"Explore\" completed</summary>\n</task-notification>"}`), func(*EventFacts) {},
		},
		"a prompt of another event type": {
			newEvent("Stop", `{"prompt":"Go"}`), func(*EventFacts) {},
		},
		"a call begins": {
			newEvent("PreToolUse", `{"tool_name":"Bash","tool_use_id":"toolu_1","tool_input":{"command":"ls"}}`),
			func(f *EventFacts) { f.Kind, f.Tool, f.UseID = ToolStart, "Bash", "toolu_1" },
		},
		"a call of Copilot": {
			newEvent("preToolUse", `{"toolName":"bash","toolArgs":{}}`),
			func(f *EventFacts) { f.Kind, f.Tool = ToolStart, "bash" },
		},
		"a call of Gemini": {
			newEvent("BeforeTool", `{"tool_name":"run_shell_command"}`),
			func(f *EventFacts) { f.Kind, f.Tool = ToolStart, "run_shell_command" },
		},
		"a call of a subagent": {
			newEvent("PreToolUse", `{"tool_name":"Grep","agent_id":"a4d2","agent_type":"Explore"}`),
			func(f *EventFacts) { f.Kind, f.Tool, f.Agent, f.AgentType = ToolStart, "Grep", "a4d2", "Explore" },
		},
		"the envelope takes precedence": {
			newEvent("PreToolUse", `{"tool_use_id":"inner","agent_id":"inner","model":"inner"}`).withEnvelope(`"tool_use_id":"outer","agent_id":"outer","model_name":"outer"`),
			func(f *EventFacts) { f.Kind, f.UseID, f.Agent, f.Model = ToolStart, "outer", "outer", "outer" },
		},
		"a call ends": {
			newEvent("PostToolUse", `{"tool_name":"Bash","duration_ms":2418.9,"tool_response":{"interrupted":false}}`),
			func(f *EventFacts) { f.Kind, f.Tool, f.DurationMS = ToolEnd, "Bash", 2418 },
		},
		"a call fails": {
			newEvent("PostToolUseFailure", `{"tool_name":"Bash","error":"Exit code 1\nError: no express","is_interrupt":false}`),
			func(f *EventFacts) {
				f.Kind, f.Tool, f.Failed, f.Error = ToolEnd, "Bash", true, "Exit code 1 Error: no express"
			},
		},
		"a person interrupts": {
			newEvent("PostToolUseFailure", `{"error":"stopped","is_interrupt":true}`),
			func(f *EventFacts) { f.Kind, f.Interrupted, f.Error = ToolEnd, true, "stopped" },
		},
		"a person interrupts, in the envelope": {
			newEvent("PostToolUseFailure", `{}`).withEnvelope(`"is_interrupt":true`),
			func(f *EventFacts) { f.Kind, f.Interrupted = ToolEnd, true },
		},
		"a person interrupts, in the response": {
			newEvent("PostToolUse", `{"tool_response":{"interrupted":true}}`),
			func(f *EventFacts) { f.Kind, f.Interrupted = ToolEnd, true },
		},
		"a tool of MCP fails": {
			newEvent("PostToolUse", `{"tool_response":{"isError":true}}`),
			func(f *EventFacts) { f.Kind, f.Failed = ToolEnd, true },
		},
		"a tool without success": {
			newEvent("PostToolUse", `{"tool_response":{"success":false}}`),
			func(f *EventFacts) { f.Kind, f.Failed = ToolEnd, true },
		},
		"a response before the call ended": {
			newEvent("Notification", `{"tool_response":{"success":false}}`), func(*EventFacts) {},
		},
		"the agent itself fails": {
			newEvent("StopFailure", `{"error":"rate_limit"}`),
			func(f *EventFacts) { f.Failed, f.Error = true, "rate_limit" },
		},
		"an error anywhere": {
			newEvent("Notification", `{}`).withEnvelope(`"error":"out of memory"`),
			func(f *EventFacts) { f.Failed, f.Error = true, "out of memory" },
		},
		"an error object": {
			newEvent("ErrorOccurred", `{"error":{"message":"no network","name":"E"}}`),
			func(f *EventFacts) { f.Failed, f.Error = true, "no network" },
		},
		"no error": {
			newEvent("Notification", `{"error":""}`).withEnvelope(`"error":""`), func(*EventFacts) {},
		},
		"a session ends": {
			newEvent("SessionEnd", `{"reason":"exit"}`),
			func(f *EventFacts) { f.Kind = SessionEnd },
		},
		"a subagent": {
			newEvent("SubagentStart", `{}`).withEnvelope(`"agent_id":"a1","parent_session_id":"p1"`),
			func(f *EventFacts) { f.Kind, f.Agent, f.ParentSession = AgentStart, "a1", "p1" },
		},
		"a model object": {
			newEvent("Status", `{"model":{"id":"claude-opus-5","display_name":"Opus"}}`),
			func(f *EventFacts) { f.Model = "claude-opus-5" },
		},
		"a branch": {
			newEvent("SessionStart", `{"git_branch":"main","model":"gpt-5.5"}`),
			func(f *EventFacts) { f.Branch, f.Model = "main", "gpt-5.5" },
		},
		"usage of one event": {
			newEvent("Stop", `{"usage":{"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":3,"cache_creation_input_tokens":4}}`),
			func(f *EventFacts) { f.Tokens = &history.Tokens{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4} },
		},
		"usage with the names of another provider": {
			newEvent("Stop", `{"usage":{"prompt_tokens":5,"completion_tokens":6}}`),
			func(f *EventFacts) { f.Tokens = &history.Tokens{Input: 5, Output: 6} },
		},
		"usage of a message": {
			newEvent("Message", `{"message":{"id":"m1","model":"opus","usage":{"input_tokens":1}}}`),
			func(f *EventFacts) { f.MessageID, f.Model, f.Tokens = "m1", "opus", &history.Tokens{Input: 1} },
		},
		"a sum of Codex": {
			newEvent("token_count", `{"total_token_usage":{"input_tokens":10,"cached_input_tokens":8,"output_tokens":2},"last_token_usage":{"input_tokens":1}}`),
			func(f *EventFacts) { f.SessionTokens = &history.Tokens{Input: 2, Output: 2, CacheRead: 8} },
		},
		"the result of a run": {
			newEvent("Result", `{"total_cost_usd":0.42,"usage":{"input_tokens":9}}`),
			func(f *EventFacts) { f.CostUSD, f.Tokens = 0.42, &history.Tokens{Input: 9} },
		},
		"a status line": {
			newEvent("Status", `{"cost":{"total_cost_usd":1.5,"total_duration_ms":9}}`),
			func(f *EventFacts) { f.CostUSD = 1.5 },
		},
		"a permission": {
			newEvent("PermissionRequest", `{"tool_name":"Bash"}`).withQuestion(`{"type":"permission","question":"?","toolCall":{"name":"Bash","id":"t1"},"context":{"cwd":"/x","branch":"b"}}`),
			func(f *EventFacts) {
				f.HasQuestion, f.AsksPermission, f.Tool, f.UseID, f.Cwd, f.Branch = true, true, "Bash", "t1", "/x", "b"
			},
		},
		"a permission whose event names the call": {
			newEvent("PermissionRequest", `{"cwd":"/y"}`).withEnvelope(`"tool_use_id":"t2"`).withQuestion(`{"type":"permission","toolCall":{"name":"Bash","id":"t1"},"context":{"cwd":"/x"}}`),
			func(f *EventFacts) {
				f.HasQuestion, f.AsksPermission, f.Tool, f.UseID, f.Cwd = true, true, "Bash", "t2", "/y"
			},
		},
		"a question": {
			newEvent("Ask", `{}`).withQuestion(`{"type":"question","question":"?"}`),
			func(f *EventFacts) { f.HasQuestion = true },
		},
	} {
		got := Parse(c.event)
		got.InputHash = 0 // a hash; see TestFindCall_MatchesArguments
		require.Equal(t, expectedFacts(c.want), got, name)
	}
}

// TestParse_SumsTranscript adds up transcripts.
func TestParse_SumsTranscript(t *testing.T) {
	t.Parallel()
	line := func(id string, input, output int) string {
		return fmt.Sprintf(`{"type":"assistant","gitBranch":"main","message":{"id":%q,"model":"opus","usage":{"input_tokens":%d,"output_tokens":%d}}}`, id, input, output)
	}
	for name, c := range map[string]struct {
		chat []string
		want *history.Tokens
	}{
		"empty": {nil, nil},
		"one":   {[]string{line("m1", 1, 2)}, &history.Tokens{Input: 1, Output: 2}},
		"a message over three lines counts once": {
			[]string{line("m1", 1, 2), line("m1", 1, 2), line("m1", 1, 2)}, &history.Tokens{Input: 1, Output: 2},
		},
		"the last usage of a message counts": {
			[]string{line("m1", 1, 2), line("m2", 10, 20), line("m1", 1, 5)}, &history.Tokens{Input: 11, Output: 25},
		},
		"without ids each line counts": {
			[]string{line("", 1, 2), line("", 1, 2)}, &history.Tokens{Input: 2, Output: 4},
		},
		"other values are ignored": {
			[]string{`null`, `7`, `"text"`, `[]`, `{"message":[]}`, `{"message":{"usage":7}}`, line("m1", 1, 2), `{"message":{"usage":{"input_tokens":"9"}}}`},
			&history.Tokens{Input: 1, Output: 2},
		},
	} {
		f := Parse(newEvent("Stop", `{}`).withTranscript("[" + strings.Join(c.chat, ",") + "]"))
		require.Equal(t, c.want, f.TranscriptTokens, name)
		require.True(t, f.HasTranscript)
	}
	f := Parse(newEvent("Stop", `{}`).withTranscript("[" + line("m1", 1, 1) + `,{"type":"cost-state","totalCostUSD":0.7},{"message":{"model":"<synthetic>"}}]`))
	require.Equal(t, []any{"opus", "main", 0.7}, []any{f.Model, f.Branch, f.CostUSD})
	f = Parse(newEvent("Stop", `{"model":"own","total_cost_usd":2}`).withTranscript("[" + line("m1", 1, 1) + `,{"totalCostUSD":0.7}]`))
	require.Equal(t, []any{"own", 2.0}, []any{f.Model, f.CostUSD}, "the event takes precedence")
}

// TestParse_IgnoresInvalidValues covers wrong types and numbers out of range.
func TestParse_IgnoresInvalidValues(t *testing.T) {
	t.Parallel()
	members := []string{
		"prompt", "cwd", "model", "git_branch", "tool_name", "tool_use_id", "agent_id", "agent_type", "parent_agent_id", "teammate_name", "series", "parent_session_id", "error",
		"message", "usage", "cost", "total_cost_usd", "total_token_usage", "duration_ms", "tool_response", "is_interrupt", "message_id",
	}
	for _, value := range []string{
		`null`, `[]`, `[[[]]]`, `{}`, `{"id":{},"usage":[],"model":7,"message":{}}`, `-1`, `1e999`, `-1e999`, `1e300`, `0`, `false`, `""`,
		`{"input_tokens":-5,"output_tokens":1e300,"cache_read_input_tokens":"9","total_cost_usd":-1}`,
	} {
		var all []string
		for _, m := range members {
			all = append(all, fmt.Sprintf("%q:%s", m, value))
		}
		object := "{" + strings.Join(all, ",") + "}"
		e := newEvent("UserPromptSubmit", object).withQuestion(object).withTranscript("[" + value + "," + object + "]")
		f := Parse(e)
		f.HasTranscript, f.HasQuestion = false, false
		f.Model = "" // neither 7 nor {"id":{}} is a model
		require.Equal(t, expectedFacts(func(f *EventFacts) { f.Kind = Prompt }), f, value)
	}
}

func TestParse_ReadsTopLevelMembersOnly(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"prompt":"first"`)
	for i := range 10_000 {
		fmt.Fprintf(&b, `,"k%d":{"prompt":"inner","error":"inner"}`, i)
	}
	b.WriteString(`}`)
	f := Parse(newEvent("UserPromptSubmit", b.String()))
	require.Equal(t, "first", f.Prompt)
	require.False(t, f.Failed, "nested members do not count")
}

func TestShorten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"", ""}, {"  \n\t ", ""}, {"a\u0000b\u202ec\u200bd", "abcd"}, {" a \n b ", "a b"},
		{"12345678901", "123456789…"}, {"123456789", "123456789"}, {"äöüäöüäöüäöü", "äöüäöüäöü…"},
	} {
		require.Equal(t, c.want, shorten(c.in, 10), "%q", c.in)
	}
	long := strings.Repeat("x", 5000)
	f := Parse(newEvent("UserPromptSubmit", `{"prompt":"`+long+`","cwd":"`+long+`","model":"`+long+`","error":"`+long+`"}`))
	require.Len(t, []rune(f.Prompt), titleLength)
	require.Len(t, []rune(f.Cwd), pathLength)
	require.Len(t, []rune(f.Model), textLength)
	require.Len(t, []rune(f.Error), textLength)
}

// FuzzParse: no input from an agent stops the projector, and every session survives a JSON round
// trip.
func FuzzParse(f *testing.F) {
	f.Add("PostToolUse", `"tool_use_id":"t"`, `{"tool_response":{"interrupted":true}}`, `[{"message":{"id":"m","usage":{"input_tokens":1}}}]`, `{"type":"permission"}`)
	f.Add("UserPromptSubmit", ``, `{"prompt":"\ud800"}`, `7`, `[]`)
	f.Add("x", `"a":`, `{"usage":{"input_tokens":1e12}}`, `[`, `{`)
	f.Fuzz(func(t *testing.T, typ, envelope, payload, chat, question string) {
		e := &Event{ID: 1, At: 5, App: "a", Session: "s", Type: typ, Envelope: []byte(envelope), Payload: []byte(payload), Transcript: []byte(chat), Question: []byte(question)}
		var s Session
		for i := range 3 {
			e.ID++
			e.At += int64(i)
			facts := Parse(e)
			s.Add(facts)
			s.ResolveQuestion(facts, e.At+5)
		}
		stored, err := json.Marshal(&s)
		require.NoError(t, err)
		var restored Session
		require.NoError(t, json.Unmarshal(stored, &restored))
		require.EqualValues(t, 3, restored.Sum.Events)
		if tokens := restored.Sum.Tokens; tokens != nil {
			for _, n := range []int64{tokens.Input, tokens.Output, tokens.CacheRead, tokens.CacheWrite} {
				require.True(t, n >= 0 && n <= maxTokens, "%d", n)
			}
		}
		require.True(t, restored.Sum.CostUSD >= 0 && restored.Sum.CostUSD <= maxCost)
	})
}
