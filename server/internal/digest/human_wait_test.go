package digest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHumanWait_OverlapCountsOnce: overlapping waits count once, and pending questions count,
// too.
func TestHumanWait_OverlapCountsOnce(t *testing.T) {
	t.Parallel()
	y := &recorder{t: t}
	y.addEvent(0, "SessionStart", "", `{}`)
	first := y.addQuestion(10, "Bash", `{"tool_use_id":"a"}`, permissionQuestion)
	second := y.addQuestion(20, "Read", `{"tool_use_id":"b"}`, permissionQuestion)
	y.s.ResolveQuestion(first, 40_000)
	y.s.ResolveQuestion(second, 70_000)
	require.EqualValues(t, 80_000, y.s.Sum.WaitedMS, "each question's own")
	require.EqualValues(t, 60_000, y.s.HumanWaitMS(), "from 10 s to 70 s")
	y.addEvent(80, "Stop", "", `{}`)
	y.addQuestion(90, "Bash", `{"tool_use_id":"c"}`, permissionQuestion)
	require.EqualValues(t, 60_000, y.s.HumanWaitMS())
	y.addEvent(100, "Notification", "", `{}`)
	require.EqualValues(t, 70_000, y.s.HumanWaitMS(), "it waits still")
}

// TestToolDuration_ExcludesOverlappingWaits: a call's duration excludes the waits of all its
// questions. It is unknown after an answer at the agent, whose time is unknown.
func TestToolDuration_ExcludesOverlappingWaits(t *testing.T) {
	t.Parallel()
	y := &recorder{t: t}
	y.addEvent(0, "PreToolUse", "Bash", `{"tool_use_id":"a"}`)
	one := y.addQuestion(1, "Bash", `{"tool_use_id":"a"}`, permissionQuestion)
	two := y.addQuestion(2, "Bash", `{"tool_use_id":"a"}`, permissionQuestion)
	y.s.ResolveQuestion(one, 60_000)
	y.s.ResolveQuestion(two, 61_000)
	y.addEvent(65, "PostToolUse", "Bash", `{"tool_use_id":"a"}`)
	require.EqualValues(t, 5000, y.lastToolMS(), "of 65 s a person took 60")

	y.addEvent(100, "PreToolUse", "Bash", `{"tool_use_id":"b"}`)
	y.addQuestion(101, "Bash", `{"tool_use_id":"b"}`, permissionQuestion)
	y.addEvent(700, "PostToolUse", "Bash", `{"tool_use_id":"b"}`)
	require.EqualValues(t, -1, y.lastToolMS(), "answered in the terminal: not ten minutes")

	y.addEvent(800, "PreToolUse", "Bash", `{"tool_use_id":"c"}`)
	y.addQuestion(801, "Bash", `{"tool_use_id":"c"}`, permissionQuestion)
	y.addEvent(900, "PostToolUse", "Bash", `{"tool_use_id":"c","duration_ms":1234}`)
	require.EqualValues(t, 1234, y.lastToolMS(), "the agent itself knows")
}
