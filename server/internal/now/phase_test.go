package now_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
)

// The state follows what the last event says, not only its age.
func TestReport_StateFollowsTheTurn(t *testing.T) {
	t.Parallel()
	const allowed, denied = `"hook":{"verdict":"allow","by":"policy"}`, `"hook":{"verdict":"deny","by":"policy"}`
	type step func(h *testHub)
	post := func(typ, payload string, members ...string) step {
		return func(h *testHub) { h.post("s", typ, payload, members...) }
	}
	note := func(kind string) step { return post("Notification", `{"notification_type":"`+kind+`"}`) }
	prompt, stop, asks := post("UserPromptSubmit", `{"prompt":"Go"}`), post("Stop", `{}`), post("PermissionRequest", makeCall)
	call := post("PreToolUse", makeCall, `"tool_use_id":"1"`)
	asked := func(answer ...bool) step {
		return func(h *testHub) {
			id := h.ask("s")
			for _, approve := range answer {
				h.answer(id, approve)
			}
		}
	}
	decides := func(h *testHub) {
		h.answer(h.post("s", "DecisionPoint", `{}`, `"humanInTheLoop":{"type":"permission","question":"Deploy?"}`), true)
	}
	expires := func(h *testHub) {
		h.changeStatus(h.ask("s"), func(st *schema.Status) {
			st.Status, st.Outcome, st.Source = schema.TimedOut, schema.Timeout, schema.ByTimeout
		})
	}
	for name, c := range map[string]struct {
		steps []step
		want  history.LaneState
		phase history.TurnPhase
	}{
		"a session starts":                   {[]step{post("SessionStart", `{"source":"startup"}`)}, history.LaneIdle, history.PhaseNoTurn},
		"a prompt":                           {[]step{post("SessionStart", `{}`), prompt}, history.LaneWorking, ""},
		"a compaction within a turn":         {[]step{prompt, post("SessionStart", `{"source":"compact"}`)}, history.LaneWorking, ""},
		"a turn ends":                        {[]step{prompt, call, stop}, history.LaneIdle, history.PhaseTurnEnded},
		"it waits for a prompt":              {[]step{prompt, stop, note("idle_prompt")}, history.LaneIdle, history.PhaseTurnEnded},
		"an older version waits":             {[]step{post("Notification", `{"message":"Claude is waiting for your input"}`)}, history.LaneIdle, history.PhaseTurnEnded},
		"other events after a turn":          {[]step{prompt, stop, post("ConfigChange", `{}`), note("auth_success")}, history.LaneIdle, history.PhaseTurnEnded},
		"the next turn":                      {[]step{prompt, stop, prompt}, history.LaneWorking, ""},
		"a subagent's turn ends":             {[]step{prompt, post("Stop", `{}`, `"agent_id":"a1"`), post("SubagentStop", `{}`, `"agent_id":"a1"`)}, history.LaneWorking, ""},
		"a subagent works in the background": {[]step{prompt, stop, post("PreToolUse", makeCall, `"agent_id":"a1"`)}, history.LaneWorking, ""},
		"a call waits in the terminal":       {[]step{prompt, call, asks}, history.LaneTerminal, history.PhaseTerminal},
		"a notification says so":             {[]step{prompt, call, note("permission_prompt")}, history.LaneTerminal, history.PhaseTerminal},
		"a notification of Gemini CLI":       {[]step{prompt, note("ToolPermission")}, history.LaneTerminal, history.PhaseTerminal},
		"a form in the terminal":             {[]step{prompt, post("Elicitation", `{}`)}, history.LaneTerminal, history.PhaseTerminal},
		"answered in the terminal":           {[]step{prompt, asks, post("PostToolUse", makeCall)}, history.LaneWorking, ""},
		"the policy allowed it":              {[]step{prompt, post("PermissionRequest", makeCall, allowed)}, history.LaneWorking, ""},
		"the policy denied it":               {[]step{prompt, post("PermissionRequest", makeCall, denied)}, history.LaneWorking, ""},
		"a person is asked":                  {[]step{prompt, asked(), note("permission_prompt")}, history.LaneNeedsYou, ""},
		"a person approved":                  {[]step{prompt, asked(true)}, history.LaneWorking, ""},
		"a program only asks":                {[]step{decides, decides}, history.LaneIdle, history.PhaseNoTurn},
		"it reports work, too":               {[]step{decides, call}, history.LaneWorking, ""},
		"an agent at work asks":              {[]step{prompt, decides}, history.LaneWorking, ""},
		"no one answered":                    {[]step{prompt, expires}, history.LaneTerminal, history.PhaseTerminal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newTestHub(t)
			for _, step := range c.steps {
				step(h)
			}
			lane := h.lane()
			require.Equal(t, c.want, lane.State)
			require.Equal(t, c.phase, lane.Phase)
		})
	}
}
