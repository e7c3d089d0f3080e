package digest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestParkedTimeIsCountedOnce: however many questions wait at once, and those that wait
// still.
func TestParkedTimeIsCountedOnce(t *testing.T) {
	t.Parallel()
	y := &story{t: t}
	y.tell(0, "SessionStart", "", `{}`)
	first := y.ask(10, "Bash", `{"tool_use_id":"a"}`, mayI)
	second := y.ask(20, "Read", `{"tool_use_id":"b"}`, mayI)
	y.s.ResolveQuestion(first, 40_000)
	y.s.ResolveQuestion(second, 70_000)
	require.EqualValues(t, 80_000, y.s.Sum.WaitedMS, "each question's own")
	require.EqualValues(t, 60_000, y.s.HumanWaitMS(), "from 10 s to 70 s")
	y.tell(80, "Stop", "", `{}`)
	y.ask(90, "Bash", `{"tool_use_id":"c"}`, mayI)
	require.EqualValues(t, 60_000, y.s.HumanWaitMS())
	y.tell(100, "Notification", "", `{}`)
	require.EqualValues(t, 70_000, y.s.HumanWaitMS(), "it waits still")
}

// TestParkedTimeIsNoCalls: a call's duration is its own, whether several questions were
// about it, one of them at once, or somebody answered elsewhere and nobody knows when.
func TestParkedTimeIsNoCalls(t *testing.T) {
	t.Parallel()
	y := &story{t: t}
	y.tell(0, "PreToolUse", "Bash", `{"tool_use_id":"a"}`)
	one := y.ask(1, "Bash", `{"tool_use_id":"a"}`, mayI)
	two := y.ask(2, "Bash", `{"tool_use_id":"a"}`, mayI)
	y.s.ResolveQuestion(one, 60_000)
	y.s.ResolveQuestion(two, 61_000)
	y.tell(65, "PostToolUse", "Bash", `{"tool_use_id":"a"}`)
	require.EqualValues(t, 5000, y.took(), "of 65 s a person took 60")

	y.tell(100, "PreToolUse", "Bash", `{"tool_use_id":"b"}`)
	y.ask(101, "Bash", `{"tool_use_id":"b"}`, mayI)
	y.tell(700, "PostToolUse", "Bash", `{"tool_use_id":"b"}`)
	require.EqualValues(t, -1, y.took(), "answered in the terminal: not ten minutes")

	y.tell(800, "PreToolUse", "Bash", `{"tool_use_id":"c"}`)
	y.ask(801, "Bash", `{"tool_use_id":"c"}`, mayI)
	y.tell(900, "PostToolUse", "Bash", `{"tool_use_id":"c","duration_ms":1234}`)
	require.EqualValues(t, 1234, y.took(), "the agent itself knows")
}
