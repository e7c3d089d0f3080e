package digest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHumanWait_OverlapCountsOnce: overlapping waits count once, and pending questions count,
// too.
func TestHumanWait_OverlapCountsOnce(t *testing.T) {
	t.Parallel()
	r := &recorder{t: t}
	r.addEvent(0, "SessionStart", "", `{}`)
	first := r.addQuestion(10, "Bash", `{"tool_use_id":"a"}`, permissionQuestion)
	second := r.addQuestion(20, "Read", `{"tool_use_id":"b"}`, permissionQuestion)
	r.s.ResolveQuestion(first, 40_000)
	r.s.ResolveQuestion(second, 70_000)
	require.EqualValues(t, 60_000, r.s.HumanWaitMS(), "from 10 s to 70 s")
	require.EqualValues(t, 60_000, r.s.AgentTree[0].WaitedMS)
	r.addEvent(80, "Stop", "", `{}`)
	r.addQuestion(90, "Bash", `{"tool_use_id":"c"}`, permissionQuestion)
	require.EqualValues(t, 60_000, r.s.HumanWaitMS())
	r.addEvent(100, "Notification", "", `{}`)
	require.EqualValues(t, 70_000, r.s.HumanWaitMS(), "the pending question counts")
}

// The agent continues without a call that waits for a later approval: its session is not blocked.
func TestHumanWait_ExcludesLaterRequests(t *testing.T) {
	t.Parallel()
	const later = `{"type":"permission","question":"?","appeal":{"by":"the Hookback policy","later":true},"toolCall":{"name":"Bash","id":"a"}}`
	r := &recorder{t: t}
	r.addEvent(0, "PreToolUse", "Bash", `{"tool_use_id":"a","tool_input":{"command":"rm x"}}`)
	question := r.addQuestion(10, "Bash", `{"tool_use_id":"a","tool_input":{"command":"rm x"}}`, later)
	r.addEvent(50, "PreToolUse", "Read", `{"tool_use_id":"b"}`)
	require.Zero(t, r.s.HumanWaitMS())
	waited, blocked := r.s.ResolveQuestion(question, 60_000)
	require.Equal(t, []int64{50_000, 0}, []int64{waited, blocked})
	require.Zero(t, r.s.HumanWaitMS())
	require.Zero(t, r.s.AgentTree[0].WaitedMS)
	require.Zero(t, r.s.AgentTree[0].Pending)
	require.EqualValues(t, 1, r.s.Sum.Questions)

	// The approved call has another id, and is the same call.
	r.addEvent(70, "PreToolUse", "Bash", `{"tool_use_id":"c","tool_input":{"command":"rm y"}}`)
	r.addEvent(71, "PostToolUse", "Bash", `{"tool_use_id":"c","tool_input":{"command":"rm y"}}`)
	require.Nil(t, r.last.Execution, "another call")
	r.addEvent(80, "PreToolUse", "Bash", `{"tool_use_id":"d","tool_input":{"command":"rm x"}}`)
	r.addEvent(81, "PostToolUse", "Bash", `{"tool_use_id":"d","tool_input":{"command":"rm x"}}`)
	require.Equal(t, question.ID, r.last.Execution.Question)
}

// TestToolDuration_ExcludesOverlappingWaits: a call's duration excludes the waits of all its
// questions. It is unknown after an answer at the agent, whose time is unknown.
func TestToolDuration_ExcludesOverlappingWaits(t *testing.T) {
	t.Parallel()
	r := &recorder{t: t}
	r.addEvent(0, "PreToolUse", "Bash", `{"tool_use_id":"a"}`)
	one := r.addQuestion(1, "Bash", `{"tool_use_id":"a"}`, permissionQuestion)
	two := r.addQuestion(2, "Bash", `{"tool_use_id":"a"}`, permissionQuestion)
	r.s.ResolveQuestion(one, 60_000)
	r.s.ResolveQuestion(two, 61_000)
	r.addEvent(65, "PostToolUse", "Bash", `{"tool_use_id":"a"}`)
	require.EqualValues(t, 5000, r.lastToolMS(), "60 of 65 s were spent waiting")

	r.addEvent(100, "PreToolUse", "Bash", `{"tool_use_id":"b"}`)
	r.addQuestion(101, "Bash", `{"tool_use_id":"b"}`, permissionQuestion)
	r.addEvent(700, "PostToolUse", "Bash", `{"tool_use_id":"b"}`)
	require.EqualValues(t, -1, r.lastToolMS(), "answered in the terminal: the duration is unknown")

	r.addEvent(800, "PreToolUse", "Bash", `{"tool_use_id":"c"}`)
	r.addQuestion(801, "Bash", `{"tool_use_id":"c"}`, permissionQuestion)
	r.addEvent(900, "PostToolUse", "Bash", `{"tool_use_id":"c","duration_ms":1234}`)
	require.EqualValues(t, 1234, r.lastToolMS(), "the agent measured it")
}
