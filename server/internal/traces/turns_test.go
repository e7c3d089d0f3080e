package traces_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// outline returns the spans of a take, one line per span, as "name < parent: outcome".
func outline(byName map[string][]sentSpan) []string {
	names := map[string]string{}
	var all []sentSpan
	for _, spans := range byName {
		for _, s := range spans {
			names[s.SpanID] = s.Name
			all = append(all, s)
		}
	}
	lines := make([]string, 0, len(all))
	for _, s := range all {
		line := s.Name
		if s.Parent != "" {
			line += " < " + names[s.Parent]
		}
		if outcome := s.attribute("hookback.tool.outcome") + s.attribute("hookback.outcome"); outcome != "" {
			line += ": " + outcome
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// TestTurn posts the events of one or more turns of session s. A step is a type and a payload, or one of
// the words ask, approve and deny.
func TestTurn(t *testing.T) {
	t.Parallel()
	const (
		bash   = `{"tool_use_id":"t1","tool_name":"Bash","tool_input":{"command":"a"}}`
		sameID = `{"tool_use_id":"t1","tool_name":"Bash","tool_input":{"command":"b"}}`
		call   = `,"toolCall":{"id":"t1","name":"Bash","arguments":{"command":"a"}}`
	)
	for name, c := range map[string]struct {
		steps [][2]string
		want  []string
	}{
		"the next prompt ends a turn": {
			[][2]string{{"UserPromptSubmit", `{}`}, {"PreToolUse", bash}, {"UserPromptSubmit", `{}`}},
			[]string{"execute_tool Bash < invoke_agent shop: unknown", "invoke_agent shop"},
		},
		"the end of the session ends a turn": {
			[][2]string{{"UserPromptSubmit", `{}`}, {"SessionEnd", `{}`}},
			[]string{"invoke_agent shop"},
		},
		"a failure of the agent ends a turn": {
			[][2]string{{"UserPromptSubmit", `{}`}, {"StopFailure", `{"error":"rate limit"}`}},
			[]string{"invoke_agent shop"},
		},
		"an interrupt ends a turn": {
			[][2]string{{"UserPromptSubmit", `{}`}, {"PreToolUse", bash}, {"Interrupt", `{}`}},
			[]string{"execute_tool Bash < invoke_agent shop: unknown", "invoke_agent shop"},
		},
		"a stop of a subagent does not": {
			[][2]string{{"UserPromptSubmit", `{}`}, {"Stop", `{"agent_id":"a1"}`}},
			[]string{},
		},
		"a notification of a finished task is no prompt": {
			[][2]string{{"UserPromptSubmit", `{}`}, {"UserPromptSubmit", `{"prompt":"<task-notification>done"}`}},
			[]string{},
		},
		"a call without a prompt begins a turn": {
			[][2]string{{"PreToolUse", bash}, {"PostToolUse", bash}, {"Stop", `{}`}},
			[]string{"execute_tool Bash < invoke_agent shop: ran", "invoke_agent shop"},
		},
		"the agent's reviewer refuses a call": {
			[][2]string{{"PreToolUse", bash}, {"PermissionDenied", bash}, {"Stop", `{}`}},
			[]string{"execute_tool Bash < invoke_agent shop: refused", "invoke_agent shop"},
		},
		"a call that a person interrupted did not fail": {
			[][2]string{{"PreToolUse", bash}, {"PostToolUseFailure", `{"tool_use_id":"t1","tool_name":"Bash","error":"stopped","is_interrupt":true}`}, {"Stop", `{}`}},
			[]string{"execute_tool Bash < invoke_agent shop: interrupted", "invoke_agent shop"},
		},
		"calls without ids are matched by their arguments": {
			[][2]string{
				{"PreToolUse", `{"tool_name":"Bash","tool_input":{"command":"a"}}`}, {"PreToolUse", `{"tool_name":"Bash","tool_input":{"command":"b"}}`},
				{"PostToolUseFailure", `{"tool_name":"Bash","tool_input":{"command":"b"},"error":"no"}`}, {"PostToolUse", `{"tool_name":"Bash","tool_input":{"command":"a"}}`},
				{"Stop", `{}`},
			},
			[]string{"execute_tool Bash < invoke_agent shop: failed", "execute_tool Bash < invoke_agent shop: ran", "invoke_agent shop"},
		},
		"a start that is reported twice is one call": {
			[][2]string{{"PreToolUse", bash}, {"PreToolUse", bash}, {"PostToolUse", bash}, {"Stop", `{}`}},
			[]string{"execute_tool Bash < invoke_agent shop: ran", "invoke_agent shop"},
		},
		"calls with the same id are several calls": {
			[][2]string{{"PreToolUse", bash}, {"PostToolUse", bash}, {"PreToolUse", bash}, {"PreToolUse", sameID}, {"PostToolUse", sameID}, {"Stop", `{}`}},
			[]string{"execute_tool Bash < invoke_agent shop: ran", "execute_tool Bash < invoke_agent shop: ran", "execute_tool Bash < invoke_agent shop: unknown", "invoke_agent shop"},
		},
		"subagents are nested": {
			[][2]string{
				{"UserPromptSubmit", `{}`}, {"SubagentStart", `{"agent_id":"a1","agent_type":"lead"}`},
				{"SubagentStart", `{"agent_id":"a2","agent_type":"scout","parent_agent_id":"a1"}`},
				{"PreToolUse", `{"agent_id":"a2","tool_use_id":"t1","tool_name":"Read"}`}, {"SubagentStop", `{"agent_id":"a2"}`},
				{"SubagentStop", `{"agent_id":"a1"}`}, {"Stop", `{}`},
			},
			[]string{"execute_tool Read < invoke_agent scout: unknown", "invoke_agent lead < invoke_agent shop", "invoke_agent scout < invoke_agent lead", "invoke_agent shop"},
		},
		"a turn waits for its question": {
			[][2]string{{"UserPromptSubmit", `{}`}, {"ask", ""}, {"Stop", `{}`}, {"approve", ""}},
			[]string{"hookback.wait_for_human < invoke_agent shop: approve", "invoke_agent shop"},
		},
		"a call that waits for a later approval does not hold its turn": {
			[][2]string{{"PreToolUse", bash}, {"ask", call + `,"appeal":{"by":"the Hookback policy","later":true}`}, {"Stop", `{}`}},
			[]string{"execute_tool Bash < invoke_agent shop: unknown", "invoke_agent shop"},
		},
		"a question that is not answered by the next prompt": {
			[][2]string{{"UserPromptSubmit", `{}`}, {"ask", ""}, {"Stop", `{}`}, {"UserPromptSubmit", `{}`}},
			[]string{"hookback.wait_for_human < invoke_agent shop: unanswered", "invoke_agent shop"},
		},
		"a denied call": {
			[][2]string{{"PreToolUse", bash}, {"ask", call}, {"deny", ""}, {"Stop", `{}`}},
			[]string{"execute_tool Bash < invoke_agent shop: denied", "hookback.wait_for_human < execute_tool Bash: deny", "invoke_agent shop"},
		},
		"an agent that reports requests and results only": {
			[][2]string{{"ask", call}, {"approve", ""}, {"PostToolUse", bash}},
			[]string{"execute_tool Bash < invoke_agent shop: ran", "hookback.wait_for_human < execute_tool Bash: approve", "invoke_agent shop"},
		},
		"reports begin no turn": {
			[][2]string{{"SessionStart", `{}`}, {"ApiRequest", `{}`}, {"StatusLine", `{}`}, {"PostToolUse", bash}, {"Stop", `{}`}},
			[]string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newFixture(t)
			var question schema.EventID
			for _, step := range c.steps {
				switch step[0] {
				case "ask":
					question = x.ask("s", step[1])
				case "approve", "deny":
					x.answer(question, step[0] == "approve")
				default:
					x.post("s", step[0], step[1])
				}
			}
			x.steps()
			require.Equal(t, c.want, outline(x.take()))
		})
	}
}

// TestFollower_AnyRestartSendsTheSame posts turns of several sessions at random, and compares the spans of a
// follower that runs through with those of one that is restarted and refused in between.
func TestFollower_AnyRestartSendsTheSame(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1))
			x := newFixture(t)
			begin, _, err := x.db.TraceCursor(t.Context())
			require.NoError(t, err)
			var interrupted []string
			take := func() {
				for _, spans := range x.take() {
					for _, s := range spans {
						interrupted = append(interrupted, describe(&s))
					}
				}
			}
			for range 250 {
				x.postRandom(random)
				switch random.IntN(12) {
				case 0:
					x.restart()
				case 1:
					x.set(http.StatusBadGateway, "")
					_, _ = x.Step(t.Context()) // refused if there is anything to send
					x.set(0, "")
					x.restart()
				case 2, 3:
					x.steps()
					take()
				}
			}
			x.steps()
			take()
			require.NoError(t, x.db.SetTraceCursor(t.Context(), begin))
			x.restart()
			x.steps()
			var whole []string
			for _, spans := range x.take() {
				for _, s := range spans {
					whole = append(whole, describe(&s))
				}
			}
			slices.Sort(interrupted)
			slices.Sort(whole)
			require.NotEmpty(t, whole)
			require.Equal(t, whole, interrupted, "each span once, with equal ids, times and attributes")
		})
	}
}

// postRandom posts an event of one of three sessions, or answers none.
func (x *fixture) postRandom(random *rand.Rand) {
	session := fmt.Sprintf("s%d", random.IntN(3))
	call := fmt.Sprintf(`{"tool_use_id":"t%d","tool_name":"Bash"}`, random.IntN(5))
	switch random.IntN(10) {
	case 0:
		x.post(session, "UserPromptSubmit", `{"prompt":"p"}`)
	case 1:
		x.post(session, "Stop", `{}`)
	case 2:
		x.answer(x.ask(session, ""), random.IntN(2) == 0)
	case 3:
		x.post(session, "SubagentStart", `{"agent_id":"a1","agent_type":"scout"}`)
	case 4:
		x.post(session, "SubagentStop", `{"agent_id":"a1"}`)
	case 5, 6:
		x.post(session, "PostToolUse", call)
	case 7:
		x.now = x.now.Add(time.Duration(random.IntN(40)) * time.Minute)
		x.post(session, "Notification", `{}`)
	default:
		x.post(session, "PreToolUse", call)
	}
}

// describe returns the content of a span as text.
func describe(s *sentSpan) string {
	var b strings.Builder
	fmt.Fprint(&b, s.TraceID, s.SpanID, s.Parent, s.Name, s.Start, s.End, s.Status.Code)
	for _, a := range s.Attributes {
		fmt.Fprint(&b, " ", a.Key, "=", s.attribute(a.Key))
	}
	return b.String()
}
