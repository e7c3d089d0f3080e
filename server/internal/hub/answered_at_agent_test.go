package hub

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

// hookEvent is an event of a coding agent's hook: of its payload's name, with the
// payload's ids lifted as hooks do. Members are laid over the payload.
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

// asks makes the event one that asks.
func asks(e schema.Event) schema.Event {
	e.HumanInTheLoop = &schema.HumanInTheLoop{Question: "May I?", Type: schema.Permission, ProtocolVersion: 2, ResponseWebSocketURL: listenerURL}
	return e
}

func (b *bench) send(e schema.Event) schema.EventID {
	b.t.Helper()
	raw, err := json.Marshal(e)
	require.NoError(b.t, err)
	saved := b.post(string(raw))
	b.ResponseSent(saved.ID)
	return saved.ID
}

const (
	rm      = `"tool_name":"Bash","tool_input":{"command":"rm -r build","timeout":5}`
	rmAgain = `"tool_name":"Bash","tool_input":{ "timeout":5, "command":"rm -r build"}`
	ls      = `"tool_name":"Bash","tool_input":{"command":"ls"}`
	which   = `"tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"Which?"}]}`
	chosen  = `"tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"Which?"}],"answers":{"Which?":"this"}},"tool_use_id":"t9"`
	t1      = `"tool_use_id":"t1"`
	t2      = `"tool_use_id":"t2"`
	sub     = `"agent_id":"sub1"`
)

func TestACardClosesWhenItWasAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		asked  schema.Event
		later  schema.Event
		reason string // "": it stays open
	}{
		"it ran":                             {hookEvent(t, "PermissionRequest", rm), hookEvent(t, "PostToolUse", rmAgain, t1), reasonRan},
		"it ran and failed":                  {hookEvent(t, "PermissionRequest", rm), hookEvent(t, "PostToolUseFailure", rm, t1), reasonFailed},
		"it was refused":                     {hookEvent(t, "PermissionRequest", rm), hookEvent(t, "PermissionDenied", rm, t1), reasonDropped},
		"another call ran":                   {hookEvent(t, "PermissionRequest", rm), hookEvent(t, "PostToolUse", ls, t1), ""},
		"another prompt's call":              {hookEvent(t, "PermissionRequest", rm), hookEvent(t, "PostToolUse", rm, t1, `"prompt_id":"p2"`), ""},
		"a version without prompt ids":       {hookEvent(t, "PermissionRequest", rm), hookEvent(t, "PostToolUse", rm, t1, `"prompt_id":null`), reasonRan},
		"a subagent's same call":             {hookEvent(t, "PermissionRequest", rm), hookEvent(t, "PostToolUse", rm, t1, sub), ""},
		"the subagent's own call":            {hookEvent(t, "PermissionRequest", rm, sub), hookEvent(t, "PostToolUse", rm, t1, sub), reasonRan},
		"by its id, its hook gave up":        {hookEvent(t, "PreToolUse", rm, t1), hookEvent(t, "PostToolUse", rm, t1), reasonContinued},
		"the same call by another id":        {hookEvent(t, "PreToolUse", rm, t1), hookEvent(t, "PostToolUse", rm, t2), ""},
		"a question answered in its dialog":  {hookEvent(t, "PermissionRequest", which), hookEvent(t, "PostToolUse", chosen), reasonAnswered},
		"another tool is no answer to it":    {hookEvent(t, "PermissionRequest", which), hookEvent(t, "PostToolUse", ls, t1), ""},
		"the turn is over":                   {hookEvent(t, "PermissionRequest", rm), hookEvent(t, "Stop"), reasonDropped},
		"the turn failed":                    {hookEvent(t, "PermissionRequest", rm), hookEvent(t, "StopFailure"), reasonDropped},
		"the next prompt":                    {hookEvent(t, "PermissionRequest", rm), hookEvent(t, "UserPromptSubmit", `"prompt_id":"p2"`), reasonDropped},
		"the main agent stops":               {hookEvent(t, "PermissionRequest", rm, sub), hookEvent(t, "Stop"), ""},
		"the subagent stops":                 {hookEvent(t, "PermissionRequest", rm, sub), hookEvent(t, "SubagentStop", sub), reasonDropped},
		"another subagent stops":             {hookEvent(t, "PermissionRequest", rm, sub), hookEvent(t, "SubagentStop", `"agent_id":"sub2"`), ""},
		"a subagent stops, the main asks":    {hookEvent(t, "PermissionRequest", rm), hookEvent(t, "SubagentStop", sub), ""},
		"a call of the same agent begins":    {hookEvent(t, "PermissionRequest", rm), hookEvent(t, "PreToolUse", rm, t1), ""},
		"a notification":                     {hookEvent(t, "PermissionRequest", rm), hookEvent(t, "Notification"), ""},
		"what is of no known type is no tie": {hookEvent(t, "PermissionRequest", rm), hookEvent(t, "PostToolUse", `"tool_name":7,"tool_input":"x","tool_use_id":{}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			id := b.send(asks(c.asked))
			b.send(c.later)
			st := b.status(id)
			if c.reason == "" {
				require.Equal(t, schema.Pending, st.Status, st.Reason)
				return
			}
			require.Equal(t, schema.Failed, st.Status)
			require.Equal(t, schema.Cancelled, st.Outcome)
			require.Equal(t, schema.ByAgent, st.Source)
			require.Equal(t, c.reason, st.Reason)
			require.False(t, *st.Response.Permission)
			require.Contains(t, st.Response.Guidance, "Nothing was approved here")
			require.Nil(t, st.RespondedBy)
			require.Equal(t, []schema.EventID{id}, b.dispatched, "the hook that waits is told")
		})
	}
}

func TestWhatIsNotClosedElsewhere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	program := asks(hookEvent(t, "PermissionRequest", rm))
	program.Agent = ""
	other := asks(hookEvent(t, "PermissionRequest", rm))
	other.SessionID = "other"
	app := asks(hookEvent(t, "PermissionRequest", rm))
	app.SourceApp = "other"
	late := asks(hookEvent(t, "PermissionRequest", rm))
	late.Timestamp = 2000
	open := []schema.EventID{b.send(program), b.send(other), b.send(app), b.send(late)}
	before := hookEvent(t, "PostToolUse", rm, t1)
	before.Timestamp = 1000 // kept back for want of a hub, and sent later
	b.send(before)
	stop := hookEvent(t, "Stop")
	stop.Timestamp, stop.IdempotencyKey = 1000, "stop"
	b.send(stop)
	b.send(stop)
	for _, id := range open {
		require.Equal(t, schema.Pending, b.status(id).Status)
	}
	b.send(hookEvent(t, "PostToolUse", rm, t1))
	b.send(hookEvent(t, "Stop"))
	for _, id := range open[:3] {
		require.Equal(t, schema.Pending, b.status(id).Status)
	}
	require.Equal(t, schema.ByAgent, b.status(open[3]).Source)
	b.send(hookEvent(t, "SessionEnd"))
	require.Equal(t, schema.BySessionEnd, b.status(open[0]).Source, "as for everyone")
}

// TestOneRunClosesOneCard: the same call asked about twice is two questions.
func TestOneRunClosesOneCard(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, second := b.send(asks(hookEvent(t, "PermissionRequest", rm))), b.send(asks(hookEvent(t, "PermissionRequest", rm)))
	b.send(hookEvent(t, "PostToolUse", rm, t1))
	require.Equal(t, schema.ByAgent, b.status(first).Source)
	require.Equal(t, schema.Pending, b.status(second).Status)
	again := hookEvent(t, "PostToolUse", rm, t1)
	again.IdempotencyKey = "k"
	b.send(again)
	require.Equal(t, schema.ByAgent, b.status(second).Source)
	third := b.send(asks(hookEvent(t, "PermissionRequest", rm)))
	b.send(again)
	require.Equal(t, schema.Pending, b.status(third).Status, "a repeat tells nothing new")
	_, err := b.Respond(t.Context(), third, yes(), Caller{})
	require.NoError(t, err)
	b.send(hookEvent(t, "PostToolUse", rm, t2))
	require.Equal(t, schema.Approve, b.status(third).Outcome)
	require.Empty(t, b.pending, "nothing is left behind")
}

// TestACardClosesAfterARestart: what is open is known from the database, too.
func TestACardClosesAfterARestart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.send(asks(hookEvent(t, "PermissionRequest", rm)))
	require.NoError(t, b.Store.Close())
	b = open(t, b.path)
	b.send(hookEvent(t, "PostToolUse", rm, t1))
	require.Equal(t, reasonRan, b.status(id).Reason)
}

// TestManyCardsOfOneSession: an event looks at a bounded number of them.
func TestManyCardsOfOneSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	raw, err := json.Marshal(asks(hookEvent(t, "PermissionRequest", rm)))
	require.NoError(t, err)
	batch := "[" + strings.Repeat(string(raw)+",", maxPendingCalls+4) + string(raw) + "]"
	_, ids, err := b.IngestBatch(t.Context(), []byte(batch), Caller{})
	require.NoError(t, err)
	b.send(hookEvent(t, "Stop"))
	require.Equal(t, schema.ByAgent, b.status(ids[maxPendingCalls-1]).Source)
	require.Equal(t, schema.Pending, b.status(ids[maxPendingCalls]).Status)
	b.send(hookEvent(t, "Stop"))
	require.Equal(t, schema.ByAgent, b.status(ids[maxPendingCalls+4]).Source)
}

// BenchmarkNotice is what an event costs that may close a question, beside the
// BenchmarkDraft of the same event: in a session that asks nothing, as nearly all
// are, and in one that asks something else.
func BenchmarkNotice(b *testing.B) {
	for _, asking := range []int{0, 1, 20, 300} {
		b.Run(fmt.Sprintf("asking=%d", asking), func(b *testing.B) {
			s, err := store.Open(b.Context(), store.Config{Path: filepath.Join(b.TempDir(), "hub.db"), ReserveFileBytes: -1})
			require.NoError(b, err)
			defer func() { require.NoError(b, s.Close()) }()
			h := New(Config{Store: s, Feed: feed.New(0, 64, 1<<20)})
			d, _, err := h.draft(b.Context(), toolEvent, Caller{})
			require.NoError(b, err)
			for range asking {
				e := asks(hookEvent(b, "PermissionRequest", rm))
				e.SourceApp, e.SessionID = d.App, d.Session
				raw, err := json.Marshal(e)
				require.NoError(b, err)
				_, err = h.Ingest(b.Context(), raw, Caller{})
				require.NoError(b, err)
			}
			d.ID = 1000
			b.ReportAllocs()
			for b.Loop() {
				h.detectAnswerAtAgent(b.Context(), &d.Event)
			}
		})
	}
}
