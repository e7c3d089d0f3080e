package digest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
)

// formatTree formats the agent tree as "parent(child child)".
func formatTree(agents []history.AgentNode) string {
	var below func(parent string, depth int) string
	below = func(parent string, depth int) (text string) {
		for _, n := range agents {
			if n.AgentID == "" || n.Parent != parent || depth > len(agents) {
				continue
			}
			if text != "" {
				text += " "
			}
			text += n.AgentID
			if inner := below(n.AgentID, depth+1); inner != "" {
				text += "(" + inner + ")"
			}
		}
		return text
	}
	return below("", 0)
}

// TestAgents_BuildsTree uses the hooks of Claude Code 2.1.330 for nested agents, in the order in
// which they ran. The first agent ran in the background, the nested one did not.
func TestAgents_BuildsTree(t *testing.T) {
	t.Parallel()
	r := &recorder{t: t}
	const asks = `"tool_input":{"description":"look","prompt":"look","subagent_type":"general-purpose"}`
	r.addEvent(1, "UserPromptSubmit", "", `{"prompt":"hi"}`)
	r.addEvent(2, "PreToolUse", "Agent", `{"tool_use_id":"t1",`+asks+`}`)
	r.addEvent(3, "SubagentStart", "", `{"agent_id":"a1","agent_type":"general-purpose"}`)
	require.Equal(t, "a1", formatTree(r.s.Agents()))
	r.addEvent(4, "PostToolUse", "Agent", `{"tool_use_id":"t1",`+asks+`,"tool_response":{"isAsync":true,"status":"async_launched","agentId":"a1"}}`)
	r.addEvent(5, "PreToolUse", "Agent", `{"tool_use_id":"t2","agent_id":"a1","agent_type":"general-purpose",`+asks+`}`)
	r.addEvent(6, "Stop", "", `{}`)
	r.addEvent(7, "SubagentStart", "", `{"agent_id":"a2","agent_type":"general-purpose"}`)
	require.Equal(t, "a1(a2)", formatTree(r.s.Agents()), "the parent is known before the call ends")
	r.addEvent(8, "PreToolUse", "Bash", `{"tool_use_id":"t3","agent_id":"a2","agent_type":"general-purpose"}`)
	r.addEvent(9, "PostToolUseFailure", "Bash", `{"tool_use_id":"t3","agent_id":"a2","agent_type":"general-purpose","error":"no"}`)
	r.addEvent(10, "SubagentStop", "", `{"agent_id":"a2","agent_type":"general-purpose"}`)
	r.addEvent(11, "PostToolUse", "Agent", `{"tool_use_id":"t2","agent_id":"a1",`+asks+`,"tool_response":{"status":"completed","agentId":"a2"}}`)

	agents := r.s.Agents()
	require.Equal(t, "a1(a2)", formatTree(agents))
	require.Len(t, agents, 3)
	require.Equal(t, history.AgentNode{
		FirstID: 1, LastID: 6, StartedAt: 1000, LastAt: 6000, Events: 4, Tools: 1,
	}, agents[0], "the main agent")
	require.Equal(t, history.AgentNode{
		AgentID: "a2", AgentType: "general-purpose", Parent: "a1",
		FirstID: 7, LastID: 10, StartedAt: 7000, LastAt: 10_000, Ended: true, Events: 4, Tools: 1, Failures: 1,
	}, agents[2])
	require.False(t, agents[1].Ended)
	r.addEvent(12, "SessionEnd", "", `{}`)
	require.True(t, r.s.Agents()[1].Ended, "it ended with the session")
	require.EqualValues(t, 2, r.s.Sum.Agents)
}

// TestAgents_FindsParent: without a named parent it is inferred, and the end of the call
// corrects it.
func TestAgents_FindsParent(t *testing.T) {
	t.Parallel()
	call := func(use, agent, typ string) string {
		return fmt.Sprintf(`{"tool_use_id":%q,"agent_id":%q,"tool_input":{"subagent_type":%q}}`, use, agent, typ)
	}
	started := func(use, agent, is string) string {
		return fmt.Sprintf(`{"tool_use_id":%q,"agent_id":%q,"tool_response":{"agentId":%q}}`, use, agent, is)
	}
	type step struct{ typ, payload string }
	for name, c := range map[string]struct {
		steps []step
		want  string
	}{
		"two concurrent calls, by type": {[]step{
			{"PreToolUse", call("1", "", "Explore")}, {"SubagentStart", `{"agent_id":"a","agent_type":"Explore"}`},
			{"PreToolUse", call("2", "", "Plan")}, {"PreToolUse", call("3", "a", "Explore")},
			{"SubagentStart", `{"agent_id":"b","agent_type":"Explore"}`}, {"SubagentStart", `{"agent_id":"c","agent_type":"Plan"}`},
		}, "a(b) c"},
		"the guess was wrong": {[]step{
			{"PreToolUse", call("1", "", "Plan")}, {"SubagentStart", `{"agent_id":"a","agent_type":"Plan"}`},
			{"PreToolUse", call("2", "", "Plan")}, {"PreToolUse", call("3", "a", "Plan")},
			{"SubagentStart", `{"agent_id":"b","agent_type":"Plan"}`}, {"SubagentStart", `{"agent_id":"c","agent_type":"Plan"}`},
			{"PostToolUse", started("3", "a", "b")}, {"PostToolUse", started("2", "", "c")},
		}, "a(b) c"},
		"the event names the parent": {[]step{
			{"SubagentStart", `{"agent_id":"a"}`}, {"SubagentStart", `{"agent_id":"b","parent_agent_id":"a"}`},
		}, "a(b)"},
		"the end of the call before the agent": {[]step{
			{"SubagentStart", `{"agent_id":"a"}`}, {"PostToolUse", started("1", "a", "b")}, {"SubagentStart", `{"agent_id":"b"}`},
		}, "a(b)"},
		"no agent is its own ancestor": {[]step{
			{"SubagentStart", `{"agent_id":"a"}`}, {"SubagentStart", `{"agent_id":"b","parent_agent_id":"a"}`},
			{"PostToolUse", started("1", "b", "a")}, {"PostToolUse", started("2", "a", "a")},
		}, "a(b)"},
		"teammates": {[]step{
			{"TaskCreated", `{"task_id":"1","teammate_name":"tester","team_name":"ship"}`}, {"TeammateIdle", `{"teammate_name":"writer"}`},
			{"TaskCompleted", `{"task_id":"1","teammate_name":"tester"}`},
		}, "tester writer"},
		"no start event": {[]step{
			{"PreToolUse", call("1", "", "Explore")}, {"PreToolUse", `{"agent_id":"a","agent_type":"Explore"}`},
		}, "a"},
	} {
		r := &recorder{t: t}
		for i, s := range c.steps {
			tool := ""
			if s.typ == "PreToolUse" || s.typ == "PostToolUse" {
				tool = "Agent"
			}
			r.addEvent(int64(i), s.typ, tool, s.payload)
		}
		require.Equal(t, c.want, formatTree(r.s.Agents()), name)
	}
}

// TestAgents_CountOwnWaits: questions and wait times belong to the agent that asked.
func TestAgents_CountOwnWaits(t *testing.T) {
	t.Parallel()
	r := &recorder{t: t}
	r.addEvent(0, "SubagentStart", "", `{"agent_id":"a"}`)
	question := r.addQuestion(1, "Bash", `{"agent_id":"a"}`, permissionQuestion)
	r.addQuestion(2, "Bash", `{}`, permissionQuestion)
	agents := r.s.Agents()
	require.Equal(t, []int64{1, 1, 1, 1}, []int64{agents[0].Questions, agents[0].Pending, agents[1].Questions, agents[1].Pending})
	r.s.ResolveQuestion(question, 31_000)
	agents = r.s.Agents()
	require.Equal(t, []int64{1, 0, 0, 30_000}, []int64{agents[0].Pending, agents[1].Pending, agents[0].WaitedMS, agents[1].WaitedMS})
}

// TestAgents_LimitsTreeSize: the tree is limited to maxAgents, the count is not.
func TestAgents_LimitsTreeSize(t *testing.T) {
	t.Parallel()
	var s Session
	for i := range 3000 {
		e := newEvent("SubagentStart", fmt.Sprintf(`{"agent_id":"a%016d","agent_type":"general-purpose"}`, i))
		e.ID = schema.EventID(i + 1)
		s.Add(Parse(e))
	}
	require.EqualValues(t, 3000, s.Sum.Agents)
	s.Add(Parse(newEvent("Stop", `{}`)))
	agents := s.Agents()
	require.Len(t, agents, maxAgents+1)
	require.Empty(t, agents[0].AgentID, "a slot is reserved for the main agent")
	stored, err := json.Marshal(&s)
	require.NoError(t, err)
	require.Less(t, len(stored), 160<<10)
}

// TestFindCall_MatchesArguments: hooks without call ids end the call with the same arguments,
// and a question without an id belongs to that call.
func TestFindCall_MatchesArguments(t *testing.T) {
	t.Parallel()
	r := &recorder{t: t}
	r.addEvent(0, "PreToolUse", "Bash", `{"tool_input":{"command":"sleep 9"}}`)
	r.addEvent(1, "PreToolUse", "Bash", `{"tool_input":{"command":"ls"}}`)
	question := r.addQuestion(2, "Bash", `{"tool_input":{"command":"sleep 9"}}`, permissionQuestion)
	r.s.ResolveQuestion(question, 5000)
	r.addEvent(9, "PostToolUse", "Bash", `{"tool_input":{"command":"sleep 9"}}`)
	require.EqualValues(t, 6000, r.lastToolMS(), "without the wait for a person")
	r.addEvent(10, "PostToolUse", "Bash", `{"tool_input":{"command":"ls"}}`)
	require.EqualValues(t, 9000, r.lastToolMS())
}
