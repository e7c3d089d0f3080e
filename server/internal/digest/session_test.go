package digest

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// recorder builds a session event by event. Times are in seconds.
type recorder struct {
	t    *testing.T
	s    Session
	last Step
	ids  schema.EventID
}

func (y *recorder) addEvent(at int64, typ, tool, payload string) *EventFacts {
	y.ids++
	e := newEvent(typ, payload)
	e.ID, e.At, e.Tool = y.ids, at*1000, tool
	return y.add(e)
}

func (y *recorder) addQuestion(at int64, tool, payload, question string) *EventFacts {
	y.ids++
	e := newEvent("PermissionRequest", payload).withQuestion(question)
	e.ID, e.At, e.Tool = y.ids, at*1000, tool
	return y.add(e)
}

// add adds an event like the projector does, with a JSON round trip of the session.
func (y *recorder) add(e *Event) *EventFacts {
	f := Parse(e)
	y.last = y.s.Add(f)
	kept, err := json.Marshal(&y.s)
	require.NoError(y.t, err)
	y.s = Session{}
	require.NoError(y.t, json.Unmarshal(kept, &y.s))
	return f
}

func (y *recorder) lastToolMS() int64 {
	require.NotNil(y.t, y.last.Ended)
	return y.last.Ended.MS
}

const permissionQuestion = `{"type":"permission","question":"?"}`

func TestSession_PairsCalls(t *testing.T) {
	t.Parallel()
	y := &recorder{t: t}
	y.addEvent(10, "PreToolUse", "Bash", `{"tool_use_id":"a"}`)
	y.addEvent(11, "PreToolUse", "Bash", `{"tool_use_id":"b"}`)
	y.addEvent(15, "PostToolUse", "Bash", `{"tool_use_id":"a"}`)
	require.EqualValues(t, 5000, y.lastToolMS(), "by their id, though another began later")
	y.addEvent(17, "PostToolUse", "Bash", `{"tool_use_id":"b"}`)
	require.EqualValues(t, 6000, y.lastToolMS())

	y.addEvent(20, "PreToolUse", "Read", `{}`)
	y.addEvent(21, "PreToolUse", "Read", `{"agent_id":"x"}`)
	y.addEvent(22, "PreToolUse", "Read", `{}`)
	y.addEvent(23, "PostToolUse", "Read", `{}`)
	require.EqualValues(t, 1000, y.lastToolMS(), "without ids the last of the same agent")
	y.addEvent(24, "PostToolUse", "Read", `{"agent_id":"x"}`)
	require.EqualValues(t, 3000, y.lastToolMS())
	y.addEvent(25, "PostToolUse", "Read", `{"tool_use_id":"late"}`)
	require.EqualValues(t, 5000, y.lastToolMS(), "the id may come with the end only")

	y.addEvent(30, "PostToolUse", "Grep", `{}`)
	require.EqualValues(t, -1, y.lastToolMS(), "a beginning was never told")
	y.addEvent(31, "PostToolUse", "Grep", `{"duration_ms":77}`)
	require.EqualValues(t, 77, y.lastToolMS(), "but the agent measured")
	require.EqualValues(t, 7, y.s.Sum.Tools)
	require.Empty(t, y.s.OpenCalls)
}

func TestToolDuration_ExcludesHumanWait(t *testing.T) {
	t.Parallel()
	y := &recorder{t: t}
	y.addEvent(0, "PreToolUse", "Bash", `{"tool_use_id":"a"}`)
	asked := y.addQuestion(1, "Bash", `{}`, permissionQuestion)
	require.EqualValues(t, 60_000, y.s.ResolveQuestion(asked, 61_000))
	y.addEvent(63, "PostToolUse", "Bash", `{"tool_use_id":"a"}`)
	require.EqualValues(t, 3000, y.lastToolMS())
	require.EqualValues(t, 60_000, y.s.Sum.WaitedMS)

	// The question may also be the event that starts the call.
	y.ids++
	e := newEvent("PreToolUse", `{"tool_use_id":"b"}`).withQuestion(permissionQuestion)
	e.ID, e.At, e.Tool = y.ids, 100_000, "Bash"
	asked = y.add(e)
	y.s.ResolveQuestion(asked, 110_000)
	y.addEvent(112, "PostToolUse", "Bash", `{"tool_use_id":"b"}`)
	require.EqualValues(t, 2000, y.lastToolMS())

	// A question before the start of the call costs the call nothing.
	asked = y.addQuestion(200, "Edit", `{"tool_use_id":"c"}`, permissionQuestion)
	y.addEvent(205, "PreToolUse", "Edit", `{"tool_use_id":"c"}`)
	y.s.ResolveQuestion(asked, 206_000)
	y.addEvent(209, "PostToolUse", "Edit", `{"tool_use_id":"c"}`)
	require.EqualValues(t, 3000, y.lastToolMS(), "one second of the wait was the call's")

	require.EqualValues(t, 0, y.s.ResolveQuestion(asked, 1), "a clock that went back waited for nobody")
}

func TestSession_CountsRepeatsOnce(t *testing.T) {
	t.Parallel()
	y := &recorder{t: t}
	y.addEvent(0, "PreToolUse", "Bash", `{"tool_use_id":"a"}`)
	y.addEvent(1, "PreToolUse", "Bash", `{"tool_use_id":"a"}`)
	require.Len(t, y.s.OpenCalls, 1)
	y.addEvent(5, "PostToolUseFailure", "Bash", `{"tool_use_id":"a","error":"no"}`)
	require.True(t, y.last.Failed)
	y.addEvent(6, "PostToolUseFailure", "Bash", `{"tool_use_id":"a","error":"no"}`)
	require.Nil(t, y.last.Ended)
	require.False(t, y.last.Failed)
	require.Equal(t, []int64{1, 1, 4}, []int64{y.s.Sum.Tools, y.s.Sum.Failures, y.s.Sum.Events})
}

func TestSession_Summary(t *testing.T) {
	t.Parallel()
	y := &recorder{t: t}
	y.addEvent(1, "SessionStart", "", `{"cwd":"/one","model":"old","git_branch":"main"}`)
	require.True(t, y.last.New)
	y.addEvent(2, "UserPromptSubmit", "", `{"prompt":"The first","cwd":"/two"}`)
	require.False(t, y.last.New)
	y.addEvent(3, "UserPromptSubmit", "", `{"prompt":"The second","model":"new","git_branch":"topic"}`)
	y.addEvent(4, "SubagentStart", "", `{"agent_id":"a"}`)
	y.addEvent(5, "SubagentStop", "", `{"agent_id":"a"}`)
	y.addEvent(6, "PreToolUse", "Bash", `{"agent_id":"b"}`)
	y.addEvent(7, "SessionEnd", "", `{}`)
	require.Empty(t, y.s.OpenCalls, "nothing runs on")
	want := schema.Session{
		SourceApp: "demo", SessionID: "s1", Title: "The first", Cwd: "/one", Branch: "topic", Model: "new",
		StartedAt: 1000, LastAt: 7000, Ended: true, FirstID: 1, LastID: 7, Events: 7, Agents: 2,
	}
	require.Equal(t, want, y.s.Sum)
	y.addEvent(8, "Notification", "", `{}`)
	require.False(t, y.s.Sum.Ended, "it was taken up again")
}

func TestSession_ExecutionOutcome(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		typ, payload string
		want         schema.Execution
	}{
		"succeeded":   {"PostToolUse", `{"tool_use_id":"a"}`, schema.Execution{State: schema.Succeeded}},
		"failed":      {"PostToolUseFailure", `{"tool_use_id":"a","error":"no such file"}`, schema.Execution{State: schema.ToolFailed, Error: "no such file"}},
		"interrupted": {"PostToolUseFailure", `{"tool_use_id":"a","is_interrupt":true}`, schema.Execution{State: schema.Interrupted}},
	} {
		y := &recorder{t: t}
		asked := y.addQuestion(1, "Bash", `{"tool_use_id":"a"}`, permissionQuestion)
		y.addQuestion(2, "Bash", `{"tool_use_id":"b"}`, permissionQuestion)
		y.addQuestion(3, "Bash", `{"tool_use_id":"a"}`, `{"type":"question","question":"?"}`)
		y.addEvent(4, "PostToolUse", "Bash", `{}`)
		require.Nil(t, y.last.Execution, "nobody knows which")
		y.addEvent(5, c.typ, "Bash", c.payload)
		c.want.EventID = y.ids
		require.Equal(t, &ExecutionOutcome{Question: asked.ID, At: 5000, Execution: c.want}, y.last.Execution, name)
		y.addEvent(6, c.typ, "Bash", c.payload)
		require.Nil(t, y.last.Execution, "once")
		require.Equal(t, []PermissionCall{{2, "b"}}, y.s.Permissions)
	}
}

// TestSession_Tokens: totals replace each other, single values add up, and only one source
// counts.
func TestSession_Tokens(t *testing.T) {
	t.Parallel()
	chat := func(n int) string {
		return fmt.Sprintf(`[{"message":{"id":"m1","usage":{"input_tokens":1}}},{"message":{"id":"m2","usage":{"input_tokens":%d}}}]`, n)
	}
	type tale struct {
		event *Event
		want  schema.Tokens
		cost  float64
	}
	for name, tales := range map[string][]tale{
		"successive transcripts": {
			{newEvent("Stop", `{}`).withTranscript(chat(5)), schema.Tokens{Input: 6}, 0},
			{newEvent("Stop", `{}`).withTranscript(chat(9)), schema.Tokens{Input: 10}, 0},
			{newEvent("Stop", `{}`), schema.Tokens{Input: 10}, 0},
			{newEvent("SubagentStop", `{"agent_id":"a"}`).withTranscript(chat(1)), schema.Tokens{Input: 12}, 0},
			{newEvent("Stop", `{}`).withTranscript(chat(2)), schema.Tokens{Input: 5}, 0},
		},
		"single figures": {
			{newEvent("Stop", `{"usage":{"output_tokens":5}}`), schema.Tokens{Output: 5}, 0},
			{newEvent("Stop", `{"usage":{"output_tokens":5}}`), schema.Tokens{Output: 10}, 0},
		},
		"a message told twice": {
			{newEvent("M", `{"message":{"id":"m1","usage":{"output_tokens":5}}}`), schema.Tokens{Output: 5}, 0},
			{newEvent("M", `{"message":{"id":"m2","usage":{"output_tokens":1}}}`), schema.Tokens{Output: 6}, 0},
			{newEvent("M", `{"message":{"id":"m1","usage":{"output_tokens":7}}}`), schema.Tokens{Output: 8}, 0},
		},
		"an agent's own sum": {
			{newEvent("T", `{"total_token_usage":{"input_tokens":5}}`), schema.Tokens{Input: 5}, 0},
			{newEvent("T", `{"total_token_usage":{"input_tokens":9}}`), schema.Tokens{Input: 9}, 0},
		},
		"results of runs": {
			{newEvent("M", `{"message":{"id":"m1","usage":{"output_tokens":5}}}`), schema.Tokens{Output: 5}, 0},
			{newEvent("R", `{"total_cost_usd":0.5,"usage":{"output_tokens":5}}`), schema.Tokens{Output: 5}, 0.5},
			{newEvent("R", `{"total_cost_usd":0.75,"usage":{"output_tokens":8}}`), schema.Tokens{Output: 8}, 0.75},
		},
		"the surest source counts alone": {
			{newEvent("Stop", `{"usage":{"input_tokens":100}}`), schema.Tokens{Input: 100}, 0},
			{newEvent("Stop", `{}`).withTranscript(chat(5)), schema.Tokens{Input: 6}, 0},
			{newEvent("Stop", `{"total_token_usage":{"input_tokens":7}}`), schema.Tokens{Input: 7}, 0},
			{newEvent("Stop", `{}`).withTranscript(chat(50)), schema.Tokens{Input: 7}, 0},
		},
		"no more than can be": {
			{newEvent("Stop", `{"usage":{"input_tokens":1e12}}`), schema.Tokens{Input: maxTokens}, 0},
			{newEvent("Stop", `{"usage":{"input_tokens":1e12}}`), schema.Tokens{Input: maxTokens}, 0},
		},
	} {
		y := &recorder{t: t}
		var sum schema.Tokens
		cost := 0.0
		for i, c := range tales {
			y.add(c.event)
			sum, cost = addTokens(sum, y.last.Tokens, 1), cost+y.last.Cost
			require.NotNil(t, y.s.Sum.Tokens, "%s %d", name, i)
			require.Equal(t, c.want, *y.s.Sum.Tokens, "%s %d", name, i)
			require.Equal(t, c.want, sum, "%s %d: the changes add up", name, i)
			require.InDelta(t, c.cost, cost, 1e-9, name)
		}
	}
}

// TestSession_BoundsStoredSize: no sequence of events makes the stored session large.
func TestSession_BoundsStoredSize(t *testing.T) {
	t.Parallel()
	var s Session
	for i := range 3000 {
		e := newEvent("PreToolUse", fmt.Sprintf(`{"agent_id":"agent%d","tool_use_id":"use%d","message":{"id":"m%d","usage":{"input_tokens":1}}}`, i, i, i)).withQuestion(permissionQuestion)
		e.ID = schema.EventID(i + 1)
		s.Add(Parse(e.withTranscript(`[{"message":{"usage":{"input_tokens":1}}}]`)))
	}
	kept, err := json.Marshal(&s)
	require.NoError(t, err)
	require.Less(t, len(kept), 160<<10)
	require.Len(t, s.OpenCalls, maxOpenCalls)
	require.Equal(t, "use2999", s.OpenCalls[maxOpenCalls-1].UseID, "the oldest is forgotten")
	require.Len(t, s.Permissions, maxOpenCalls)
	require.EqualValues(t, maxAgents, s.Sum.Agents)
	require.EqualValues(t, 3000, s.Sum.Events)
}

// TestHistogram_Percentile: within 5 % of the true value, for any distribution.
func TestHistogram_Percentile(t *testing.T) {
	t.Parallel()
	require.Zero(t, Histogram{}.Percentile(0.5))
	for ms := int64(0); ms < 40*24*3600*1000; ms += 1 + ms/500 {
		middle := BucketMidpoint(Bucket(ms))
		require.LessOrEqual(t, math.Abs(float64(middle-ms)), 0.05*float64(ms), "%d ms stands as %d", ms, middle)
		require.GreaterOrEqual(t, Bucket(ms+1), Bucket(ms))
	}
	seed := uint64(42)
	for range 50 {
		var all []int64
		times := Histogram{}
		for range 500 {
			seed = seed*6364136223846793005 + 1442695040888963407
			ms := int64(seed>>33) >> (seed >> 59)
			all = append(all, ms)
			times[Bucket(ms)]++
		}
		slices.Sort(all)
		for _, p := range []float64{0, 0.01, 0.5, 0.9, 0.95, 1} {
			want := all[max(1, int(math.Ceil(p*500)))-1]
			require.InDelta(t, want, times.Percentile(p), 0.05*float64(want), "%v of %v", p, all)
		}
	}
	require.EqualValues(t, 7, Histogram{7: 1}.Percentile(0.95))
	require.EqualValues(t, 0, Histogram{0: 19, 60: 1}.Percentile(0.95))
	require.EqualValues(t, 0, BucketMidpoint(Bucket(-5)))
}

// BenchmarkParse measures the cost of an event in the projector before it writes.
func BenchmarkParse(b *testing.B) {
	e := newEvent("PostToolUse", `{"session_id":"f3a91c07-5b1e-4a52-9d57-0c8d6b0f3a91","transcript_path":"/home/mara/.claude/projects/payments/f3a91c07.jsonl",`+
		`"cwd":"/home/mara/src/payments-api","permission_mode":"default","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"go test ./..."},`+
		`"tool_response":{"stdout":"ok","stderr":"","interrupted":false},"tool_use_id":"toolu_01QkYp7dVn3cJ4w8XhZr2TbE"}`)
	b.ReportAllocs()
	for b.Loop() {
		var s Session
		s.Add(Parse(e))
	}
}

// An event that asks a question can't also end the call that it asks about.
func TestSession_EventDoesNotEndOwnCall(t *testing.T) {
	t.Parallel()
	y := &recorder{t: t}
	e := newEvent("PostToolUse", `{"tool_use_id":"a"}`).withQuestion(permissionQuestion)
	y.add(e)
	require.Nil(t, y.last.Execution)
	require.Equal(t, []PermissionCall{{e.ID, "a"}}, y.s.Permissions)
}
