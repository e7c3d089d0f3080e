package hub

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
)

// The reasons of questions that the agent's events close.
const (
	reasonRan       = "answered in the terminal: it ran"
	reasonFailed    = "answered in the terminal: it ran and failed"
	reasonAnswered  = "answered in the terminal"
	reasonContinued = "the agent continued: the call ran"
	reasonDropped   = "the agent continued without the call"
)

// hookEvent returns an event as a coding agent's hook sends it, with the ids of the
// payload copied to the event. members are merged into the payload.
func hookEvent(t testing.TB, name string, members ...string) schema.Event {
	t.Helper()
	payload := map[string]any{"session_id": "s", "prompt_id": "p1", "hook_event_name": name}
	for _, m := range members {
		var more map[string]any
		require.NoError(t, json.Unmarshal([]byte("{"+m+"}"), &more), m)
		maps.Copy(payload, more)
	}
	raw, err := json.Marshal(payload)
	require.NoError(t, err)
	text := func(name string) string { s, _ := payload[name].(string); return s }
	return schema.Event{
		SourceApp: "a", SessionID: "s", HookEventType: name, Payload: raw, Agent: "claude-code", ToolName: text("tool_name"),
		ToolUseID: text("tool_use_id"), AgentID: text("agent_id"),
	}
}

// withQuestion adds a permission question to the event.
func withQuestion(e schema.Event) schema.Event {
	e.HumanInTheLoop = &schema.HumanInTheLoop{Question: "May I?", Type: schema.Permission, ProtocolVersion: 2, ResponseWebSocketURL: listenerURL}
	return e
}

func (h *testHub) send(e schema.Event) schema.EventID {
	h.t.Helper()
	raw, err := json.Marshal(e)
	require.NoError(h.t, err)
	saved := h.post(string(raw))
	h.ResponseSent(saved.ID)
	return saved.ID
}

const (
	rmCall          = `"tool_name":"Bash","tool_input":{"command":"rm -r build","timeout":5}`
	rmCallReordered = `"tool_name":"Bash","tool_input":{ "timeout":5, "command":"rm -r build"}`
	lsCall          = `"tool_name":"Bash","tool_input":{"command":"ls"}`
	dialogCall      = `"tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"Which?"}]}`
	dialogAnswered  = `"tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"Which?"}],"answers":{"Which?":"this"}},"tool_use_id":"t9"`
	toolUse1        = `"tool_use_id":"t1"`
	toolUse2        = `"tool_use_id":"t2"`
	subagent1       = `"agent_id":"sub1"`
)

// TestAnswerAtAgent_ClosesQuestion uses a session per case, because opening a hub per case
// would take longer than the cases.
func TestAnswerAtAgent_ClosesQuestion(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	for name, c := range map[string]struct {
		asked  schema.Event
		later  schema.Event
		reason string // empty: the question stays pending
	}{
		"the call ran":                              {hookEvent(t, "PermissionRequest", rmCall), hookEvent(t, "PostToolUse", rmCallReordered, toolUse1), reasonRan},
		"the call failed":                           {hookEvent(t, "PermissionRequest", rmCall), hookEvent(t, "PostToolUseFailure", rmCall, toolUse1), reasonFailed},
		"the call was denied":                       {hookEvent(t, "PermissionRequest", rmCall), hookEvent(t, "PermissionDenied", rmCall, toolUse1), reasonDropped},
		"another call ran":                          {hookEvent(t, "PermissionRequest", rmCall), hookEvent(t, "PostToolUse", lsCall, toolUse1), ""},
		"a call of another prompt":                  {hookEvent(t, "PermissionRequest", rmCall), hookEvent(t, "PostToolUse", rmCall, toolUse1, `"prompt_id":"p2"`), ""},
		"a version without prompt ids":              {hookEvent(t, "PermissionRequest", rmCall), hookEvent(t, "PostToolUse", rmCall, toolUse1, `"prompt_id":null`), reasonRan},
		"the same call in a subagent":               {hookEvent(t, "PermissionRequest", rmCall), hookEvent(t, "PostToolUse", rmCall, toolUse1, subagent1), ""},
		"the call of the subagent":                  {hookEvent(t, "PermissionRequest", rmCall, subagent1), hookEvent(t, "PostToolUse", rmCall, toolUse1, subagent1), reasonRan},
		"same tool use id after the hook gave up":   {hookEvent(t, "PreToolUse", rmCall, toolUse1), hookEvent(t, "PostToolUse", rmCall, toolUse1), reasonContinued},
		"the same call with another id":             {hookEvent(t, "PreToolUse", rmCall, toolUse1), hookEvent(t, "PostToolUse", rmCall, toolUse2), ""},
		"a question answered in the agent's dialog": {hookEvent(t, "PermissionRequest", dialogCall), hookEvent(t, "PostToolUse", dialogAnswered), reasonAnswered},
		"another tool does not answer a dialog":     {hookEvent(t, "PermissionRequest", dialogCall), hookEvent(t, "PostToolUse", lsCall, toolUse1), ""},
		"the turn ends":                             {hookEvent(t, "PermissionRequest", rmCall), hookEvent(t, "Stop"), reasonDropped},
		"a person interrupts the turn":              {hookEvent(t, "PermissionRequest", rmCall), hookEvent(t, "Interrupt"), "dismissed in the agent"},
		"a person interrupts the main agent":        {hookEvent(t, "PermissionRequest", rmCall, subagent1), hookEvent(t, "Interrupt"), ""},
		"the turn fails":                            {hookEvent(t, "PermissionRequest", rmCall), hookEvent(t, "StopFailure"), reasonDropped},
		"the next prompt":                           {hookEvent(t, "PermissionRequest", rmCall), hookEvent(t, "UserPromptSubmit", `"prompt_id":"p2"`), reasonDropped},
		"the main agent stops":                      {hookEvent(t, "PermissionRequest", rmCall, subagent1), hookEvent(t, "Stop"), ""},
		"the subagent stops":                        {hookEvent(t, "PermissionRequest", rmCall, subagent1), hookEvent(t, "SubagentStop", subagent1), reasonDropped},
		"another subagent stops":                    {hookEvent(t, "PermissionRequest", rmCall, subagent1), hookEvent(t, "SubagentStop", `"agent_id":"sub2"`), ""},
		"a subagent stops, the main agent waits":    {hookEvent(t, "PermissionRequest", rmCall), hookEvent(t, "SubagentStop", subagent1), ""},
		"a call of the same agent begins":           {hookEvent(t, "PermissionRequest", rmCall), hookEvent(t, "PreToolUse", rmCall, toolUse1), ""},
		"a notification":                            {hookEvent(t, "PermissionRequest", rmCall), hookEvent(t, "Notification"), ""},
		"members of unexpected types do not match":  {hookEvent(t, "PermissionRequest", rmCall), hookEvent(t, "PostToolUse", `"tool_name":7,"tool_input":"x","tool_use_id":{}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.asked.SessionID, c.later.SessionID = name, name
			h.forgetDispatched()
			id := h.send(withQuestion(c.asked))
			h.send(c.later)
			st := h.status(id)
			if c.reason == "" {
				require.Equal(t, schema.Pending, st.Status, st.Reason)
				require.Empty(t, h.dispatched())
				return
			}
			require.Equal(t, schema.Failed, st.Status)
			require.Equal(t, schema.Cancelled, st.Outcome)
			source, guidance := schema.ByAgent, "Nothing was approved here"
			if c.reason == schema.ReasonDismissed {
				source, guidance = schema.ByDismissal, "A person dismissed this in the agent without an answer. Nothing was approved."
			}
			require.Equal(t, source, st.Source)
			require.Equal(t, c.reason, st.Reason)
			require.False(t, *st.Response.Permission)
			require.Contains(t, st.Response.Guidance, guidance)
			require.Nil(t, st.RespondedBy)
			require.Equal(t, []schema.EventID{id}, h.dispatched(), "the waiting hook gets the result")
		})
	}
}

func TestAnswerAtAgent_KeepsUnrelatedQuestions(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	program := withQuestion(hookEvent(t, "PermissionRequest", rmCall))
	program.Agent = ""
	other := withQuestion(hookEvent(t, "PermissionRequest", rmCall))
	other.SessionID = "other"
	app := withQuestion(hookEvent(t, "PermissionRequest", rmCall))
	app.SourceApp = "other"
	late := withQuestion(hookEvent(t, "PermissionRequest", rmCall))
	late.Timestamp = 2000
	open := []schema.EventID{h.send(program), h.send(other), h.send(app), h.send(late)}
	before := hookEvent(t, "PostToolUse", rmCall, toolUse1)
	before.Timestamp = 1000 // queued while no hub ran, and sent late
	h.send(before)
	stop := hookEvent(t, "Stop")
	stop.Timestamp, stop.IdempotencyKey = 1000, "stop"
	h.send(stop)
	h.send(stop)
	for _, id := range open {
		require.Equal(t, schema.Pending, h.status(id).Status)
	}
	h.send(hookEvent(t, "PostToolUse", rmCall, toolUse1))
	h.send(hookEvent(t, "Stop"))
	for _, id := range open[:3] {
		require.Equal(t, schema.Pending, h.status(id).Status)
	}
	require.Equal(t, schema.ByAgent, h.status(open[3]).Source)
	h.send(hookEvent(t, "SessionEnd"))
	require.Equal(t, schema.BySessionEnd, h.status(open[0]).Source, "the end of the session closes the rest")
}

// TestAnswerAtAgent_OneCallClosesOneQuestion: two questions about equal calls need two
// executions.
func TestAnswerAtAgent_OneCallClosesOneQuestion(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	first, second := h.send(withQuestion(hookEvent(t, "PermissionRequest", rmCall))), h.send(withQuestion(hookEvent(t, "PermissionRequest", rmCall)))
	h.send(hookEvent(t, "PostToolUse", rmCall, toolUse1))
	require.Equal(t, schema.ByAgent, h.status(first).Source)
	require.Equal(t, schema.Pending, h.status(second).Status)
	again := hookEvent(t, "PostToolUse", rmCall, toolUse1)
	again.IdempotencyKey = "k"
	h.send(again)
	require.Equal(t, schema.ByAgent, h.status(second).Source)
	third := h.send(withQuestion(hookEvent(t, "PermissionRequest", rmCall)))
	h.send(again)
	require.Equal(t, schema.Pending, h.status(third).Status, "a replayed event closes nothing")
	_, err := h.Respond(t.Context(), third, approval(), Caller{})
	require.NoError(t, err)
	h.send(hookEvent(t, "PostToolUse", rmCall, toolUse2))
	require.Equal(t, schema.Approve, h.status(third).Outcome)
	require.Empty(t, h.pending.keys)
	require.Empty(t, h.calls, "no pending call is leaked")
}

// TestAnswerAtAgent_WorksAfterRestart: pending calls are reloaded from the database.
func TestAnswerAtAgent_WorksAfterRestart(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id := h.send(withQuestion(hookEvent(t, "PermissionRequest", rmCall)))
	require.NoError(t, h.Store.(store.Store).Close())
	h = openTestHub(t, h.path)
	h.send(hookEvent(t, "PostToolUse", rmCall, toolUse1))
	require.Equal(t, reasonRan, h.status(id).Reason)
}

// TestAnswerAtAgent_ExaminesBoundedNumber: one event closes at most maxPendingCalls
// questions. The calls differ, because updating a group of that many duplicates once per
// question would take most of the package's CPU time.
func TestAnswerAtAgent_ExaminesBoundedNumber(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	events := make([]schema.Event, maxPendingCalls+5)
	for i := range events {
		call := fmt.Sprintf(`"tool_name":"Bash","tool_input":{"command":"ls %d"}`, i)
		events[i] = withQuestion(hookEvent(t, "PermissionRequest", call))
	}
	batch, err := json.Marshal(events)
	require.NoError(t, err)
	_, ids, err := h.IngestBatch(t.Context(), batch, Caller{})
	require.NoError(t, err)
	h.send(hookEvent(t, "Stop"))
	require.Equal(t, schema.ByAgent, h.status(ids[maxPendingCalls-1]).Source)
	require.Equal(t, schema.Pending, h.status(ids[maxPendingCalls]).Status)
	h.send(hookEvent(t, "Stop"))
	require.Equal(t, schema.ByAgent, h.status(ids[maxPendingCalls+4]).Source)
}

// BenchmarkDetectAnswerAtAgent measures the check whether an event closes a question. It
// comes on top of BenchmarkDraft of the same event. Nearly all sessions have no pending
// question; the other cases have pending questions about other calls.
func BenchmarkDetectAnswerAtAgent(b *testing.B) {
	for _, asking := range []int{0, 1, 20, 300} {
		b.Run(fmt.Sprintf("asking=%d", asking), func(b *testing.B) {
			s := storetest.Open(b, storetest.Options{})
			defer func() { require.NoError(b, s.Close()) }()
			h := New(Config{Store: s, Feed: feed.New(0, 64, 1<<20)})
			d, err := h.draft(b.Context(), toolEvent, Caller{})
			require.NoError(b, err)
			for range asking {
				e := withQuestion(hookEvent(b, "PermissionRequest", rmCall))
				e.SourceApp, e.SessionID = d.App, d.Session
				raw, err := json.Marshal(e)
				require.NoError(b, err)
				_, err = h.Ingest(b.Context(), raw, Caller{})
				require.NoError(b, err)
			}
			d.ID = 1000
			b.ReportAllocs()
			for b.Loop() {
				h.detectAnswerAtAgent(b.Context(), &postedEvent{Arrival: d, event: &d.Event})
			}
		})
	}
}
