package digest

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
)

// recorder builds a session event by event. Times are in seconds.
type recorder struct {
	t    *testing.T
	s    Session
	last Step
	ids  schema.EventID
}

func (r *recorder) addEvent(at int64, typ, tool, payload string) *EventFacts {
	r.ids++
	e := newEvent(typ, payload)
	e.ID, e.At, e.Tool = r.ids, at*1000, tool
	return r.add(e)
}

func (r *recorder) addQuestion(at int64, tool, payload, question string) *EventFacts {
	r.ids++
	e := newEvent("PermissionRequest", payload).withQuestion(question)
	e.ID, e.At, e.Tool = r.ids, at*1000, tool
	return r.add(e)
}

// add adds an event like the projector does, with a JSON round trip of the session.
func (r *recorder) add(e *Event) *EventFacts {
	f := Parse(e)
	r.last = r.s.Add(f)
	stored, err := json.Marshal(&r.s)
	require.NoError(r.t, err)
	r.s = Session{}
	require.NoError(r.t, json.Unmarshal(stored, &r.s))
	return f
}

func (r *recorder) lastToolMS() int64 {
	require.NotNil(r.t, r.last.Ended)
	return r.last.Ended.MS
}

const permissionQuestion = `{"type":"permission","question":"?"}`

func TestSession_PairsCalls(t *testing.T) {
	t.Parallel()
	r := &recorder{t: t}
	r.addEvent(10, "PreToolUse", "Bash", `{"tool_use_id":"a"}`)
	r.addEvent(11, "PreToolUse", "Bash", `{"tool_use_id":"b"}`)
	r.addEvent(15, "PostToolUse", "Bash", `{"tool_use_id":"a"}`)
	require.EqualValues(t, 5000, r.lastToolMS(), "by id, although another call began later")
	r.addEvent(17, "PostToolUse", "Bash", `{"tool_use_id":"b"}`)
	require.EqualValues(t, 6000, r.lastToolMS())

	r.addEvent(20, "PreToolUse", "Read", `{}`)
	r.addEvent(21, "PreToolUse", "Read", `{"agent_id":"x"}`)
	r.addEvent(22, "PreToolUse", "Read", `{}`)
	r.addEvent(23, "PostToolUse", "Read", `{}`)
	require.EqualValues(t, 1000, r.lastToolMS(), "without ids, the latest of the same agent")
	r.addEvent(24, "PostToolUse", "Read", `{"agent_id":"x"}`)
	require.EqualValues(t, 3000, r.lastToolMS())
	r.addEvent(25, "PostToolUse", "Read", `{"tool_use_id":"late"}`)
	require.EqualValues(t, 5000, r.lastToolMS(), "only the end may have an id")

	r.addEvent(30, "PostToolUse", "Grep", `{}`)
	require.EqualValues(t, -1, r.lastToolMS(), "no start event")
	r.addEvent(31, "PostToolUse", "Grep", `{"duration_ms":77}`)
	require.EqualValues(t, 77, r.lastToolMS(), "measured by the agent")
	require.EqualValues(t, 7, r.s.Sum.Tools)
	require.Empty(t, r.s.OpenCalls)
}

func TestToolDuration_ExcludesHumanWait(t *testing.T) {
	t.Parallel()
	r := &recorder{t: t}
	r.addEvent(0, "PreToolUse", "Bash", `{"tool_use_id":"a"}`)
	question := r.addQuestion(1, "Bash", `{}`, permissionQuestion)
	waited, blocked := r.s.ResolveQuestion(question, 61_000)
	require.Equal(t, []int64{60_000, 60_000}, []int64{waited, blocked})
	r.addEvent(63, "PostToolUse", "Bash", `{"tool_use_id":"a"}`)
	require.EqualValues(t, 3000, r.lastToolMS())
	require.EqualValues(t, 60_000, r.s.HumanWaitMS())

	// The question may also be the event that starts the call.
	r.ids++
	e := newEvent("PreToolUse", `{"tool_use_id":"b"}`).withQuestion(permissionQuestion)
	e.ID, e.At, e.Tool = r.ids, 100_000, "Bash"
	question = r.add(e)
	r.s.ResolveQuestion(question, 110_000)
	r.addEvent(112, "PostToolUse", "Bash", `{"tool_use_id":"b"}`)
	require.EqualValues(t, 2000, r.lastToolMS())

	// A question before the start of the call costs the call nothing.
	question = r.addQuestion(200, "Edit", `{"tool_use_id":"c"}`, permissionQuestion)
	r.addEvent(205, "PreToolUse", "Edit", `{"tool_use_id":"c"}`)
	r.s.ResolveQuestion(question, 206_000)
	r.addEvent(209, "PostToolUse", "Edit", `{"tool_use_id":"c"}`)
	require.EqualValues(t, 3000, r.lastToolMS(), "one second of the wait was during the call")

	waited, blocked = r.s.ResolveQuestion(question, 1)
	require.Equal(t, []int64{0, 0}, []int64{waited, blocked}, "the wait is not negative if the clock went back")
}

func TestSession_CountsRepeatsOnce(t *testing.T) {
	t.Parallel()
	r := &recorder{t: t}
	r.addEvent(0, "PreToolUse", "Bash", `{"tool_use_id":"a"}`)
	r.addEvent(1, "PreToolUse", "Bash", `{"tool_use_id":"a"}`)
	require.Len(t, r.s.OpenCalls, 1)
	r.addEvent(5, "PostToolUseFailure", "Bash", `{"tool_use_id":"a","error":"no"}`)
	require.True(t, r.last.Failed)
	r.addEvent(6, "PostToolUseFailure", "Bash", `{"tool_use_id":"a","error":"no"}`)
	require.Nil(t, r.last.Ended)
	require.False(t, r.last.Failed)
	require.Equal(t, []int64{1, 1, 4}, []int64{r.s.Sum.Tools, r.s.Sum.Failures, r.s.Sum.Events})
}

// Some models use the same id for a call of each turn.
func TestSession_CountsCallsWithTheSameID(t *testing.T) {
	t.Parallel()
	r := &recorder{t: t}
	call := func(command string) string {
		return fmt.Sprintf(`{"tool_use_id":"Bash:0","tool_input":{"command":%q}}`, command)
	}
	for i := range int64(5) {
		command := call(fmt.Sprint(i % 2))
		r.addEvent(10*i, "PreToolUse", "Bash", command)
		r.addEvent(10*i+i, "PostToolUse", "Bash", command)
		require.InDelta(t, 1000*i, r.lastToolMS(), 0)
		r.addEvent(10*i+i, "PostToolUse", "Bash", command) // reported twice
	}
	require.EqualValues(t, 5, r.s.Sum.Tools)

	denied := r.addQuestion(60, "Bash", call("rm -r /srv"), permissionQuestion)
	r.addEvent(60, "PreToolUse", "Bash", call("rm -r /srv"))
	r.s.ResolveQuestion(denied, 61_000)
	r.addEvent(70, "PreToolUse", "Bash", call("ls"))
	r.addEvent(71, "PostToolUse", "Bash", call("ls"))
	require.Nil(t, r.last.Execution, "the denied call did not run")
	require.EqualValues(t, 1000, r.lastToolMS())
	require.Empty(t, r.s.OpenCalls)
}

func TestSession_Summary(t *testing.T) {
	t.Parallel()
	r := &recorder{t: t}
	r.addEvent(1, "SessionStart", "", `{"cwd":"/one","model":"old","git_branch":"main"}`)
	require.True(t, r.last.New)
	r.addEvent(2, "UserPromptSubmit", "", `{"prompt":"The first","cwd":"/two"}`)
	require.False(t, r.last.New)
	r.addEvent(3, "UserPromptSubmit", "", `{"prompt":"The second","model":"new","git_branch":"topic"}`)
	r.addEvent(4, "SubagentStart", "", `{"agent_id":"a"}`)
	r.addEvent(5, "SubagentStop", "", `{"agent_id":"a"}`)
	r.addEvent(6, "PreToolUse", "Bash", `{"agent_id":"b"}`)
	r.addEvent(7, "SessionEnd", "", `{}`)
	require.Empty(t, r.s.OpenCalls, "no call stays open")
	want := history.Session{
		SourceApp: "demo", SessionID: "s1", Title: "The first", Cwd: "/one", Branch: "topic", Model: "new",
		StartedAt: 1000, LastAt: 7000, Ended: true, FirstID: 1, LastID: 7, Events: 7, Agents: 2,
	}
	require.Equal(t, want, r.s.Sum)
	r.addEvent(8, "Notification", "", `{}`)
	require.False(t, r.s.Sum.Ended, "the session was resumed")
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
		r := &recorder{t: t}
		question := r.addQuestion(1, "Bash", `{"tool_use_id":"a"}`, permissionQuestion)
		r.addQuestion(2, "Bash", `{"tool_use_id":"b"}`, permissionQuestion)
		r.addQuestion(3, "Bash", `{"tool_use_id":"a"}`, `{"type":"question","question":"?"}`)
		r.addEvent(4, "PostToolUse", "Bash", `{}`)
		require.Nil(t, r.last.Execution, "the call is ambiguous")
		r.addEvent(5, c.typ, "Bash", c.payload)
		c.want.EventID = r.ids
		require.Equal(t, &ExecutionOutcome{Question: question.ID, At: 5000, Execution: c.want}, r.last.Execution, name)
		r.addEvent(6, c.typ, "Bash", c.payload)
		require.Nil(t, r.last.Execution, "once")
		require.Equal(t, []PermissionCall{{ID: 2, UseID: "b", Tool: "Bash"}}, r.s.Permissions)
	}
}

// TestSession_ParallelCallsWithEqualIDs: some agents number the calls of each subagent from 1, so an
// id names a call of one agent only.
func TestSession_ParallelCallsWithEqualIDs(t *testing.T) {
	t.Parallel()
	r := &recorder{t: t}
	first := r.addQuestion(1, "Bash", `{"tool_use_id":"call_1","agent_id":"x"}`, permissionQuestion)
	second := r.addQuestion(2, "Bash", `{"tool_use_id":"call_1"}`, permissionQuestion)
	r.addEvent(3, "PostToolUse", "Read", `{"tool_use_id":"call_1","agent_id":"y"}`)
	require.Nil(t, r.last.Execution, "another tool of another agent")
	r.addEvent(4, "PostToolUse", "Bash", `{"tool_use_id":"call_1"}`)
	require.Equal(t, second.ID, r.last.Execution.Question)
	r.addEvent(5, "PostToolUse", "Bash", `{"tool_use_id":"call_1","agent_id":"x"}`)
	require.Equal(t, first.ID, r.last.Execution.Question)

	unnamed := r.addQuestion(6, "Bash", `{"tool_use_id":"call_2"}`, permissionQuestion)
	r.addEvent(7, "PostToolUse", "Bash", `{"tool_use_id":"call_2","agent_id":"x"}`)
	require.Equal(t, unnamed.ID, r.last.Execution.Question, "the question names no agent")
}

// TestSession_Tokens: totals replace each other, single values add up, and only one source
// counts.
func TestSession_Tokens(t *testing.T) {
	t.Parallel()
	chat := func(n int) string {
		return fmt.Sprintf(`[{"message":{"id":"m1","usage":{"input_tokens":1}}},{"message":{"id":"m2","usage":{"input_tokens":%d}}}]`, n)
	}
	type step struct {
		event *Event
		want  history.Tokens
		cost  float64
	}
	for name, steps := range map[string][]step{
		"successive transcripts": {
			{newEvent("Stop", `{}`).withTranscript(chat(5)), history.Tokens{Input: 6}, 0},
			{newEvent("Stop", `{}`).withTranscript(chat(9)), history.Tokens{Input: 10}, 0},
			{newEvent("Stop", `{}`), history.Tokens{Input: 10}, 0},
			{newEvent("SubagentStop", `{"agent_id":"a"}`).withTranscript(chat(1)), history.Tokens{Input: 12}, 0},
			{newEvent("Stop", `{}`).withTranscript(chat(2)), history.Tokens{Input: 5}, 0},
		},
		"single values": {
			{newEvent("Stop", `{"usage":{"output_tokens":5}}`), history.Tokens{Output: 5}, 0},
			{newEvent("Stop", `{"usage":{"output_tokens":5}}`), history.Tokens{Output: 10}, 0},
		},
		"a message reported twice": {
			{newEvent("M", `{"message":{"id":"m1","usage":{"output_tokens":5}}}`), history.Tokens{Output: 5}, 0},
			{newEvent("M", `{"message":{"id":"m2","usage":{"output_tokens":1}}}`), history.Tokens{Output: 6}, 0},
			{newEvent("M", `{"message":{"id":"m1","usage":{"output_tokens":7}}}`), history.Tokens{Output: 8}, 0},
		},
		"an agent's own sum": {
			{newEvent("T", `{"total_token_usage":{"input_tokens":5}}`), history.Tokens{Input: 5}, 0},
			{newEvent("T", `{"total_token_usage":{"input_tokens":9}}`), history.Tokens{Input: 9}, 0},
		},
		"results of runs": {
			{newEvent("M", `{"message":{"id":"m1","usage":{"output_tokens":5}}}`), history.Tokens{Output: 5}, 0},
			{newEvent("R", `{"total_cost_usd":0.5,"usage":{"output_tokens":5}}`), history.Tokens{Output: 5}, 0.5},
			{newEvent("R", `{"total_cost_usd":0.75,"usage":{"output_tokens":8}}`), history.Tokens{Output: 8}, 0.75},
		},
		"only the most reliable source counts": {
			{newEvent("Stop", `{"usage":{"input_tokens":100}}`), history.Tokens{Input: 100}, 0},
			{newEvent("Stop", `{}`).withTranscript(chat(5)), history.Tokens{Input: 6}, 0},
			{newEvent("Stop", `{"total_token_usage":{"input_tokens":7}}`), history.Tokens{Input: 7}, 0},
			{newEvent("Stop", `{}`).withTranscript(chat(50)), history.Tokens{Input: 7}, 0},
		},
		"limited to the maximum": {
			{newEvent("Stop", `{"usage":{"input_tokens":1e12}}`), history.Tokens{Input: maxTokens}, 0},
			{newEvent("Stop", `{"usage":{"input_tokens":1e12}}`), history.Tokens{Input: maxTokens}, 0},
		},
	} {
		r := &recorder{t: t}
		var sum history.Tokens
		cost := 0.0
		for i, c := range steps {
			r.add(c.event)
			sum, cost = addTokens(sum, r.last.Tokens, 1), cost+r.last.Cost
			require.NotNil(t, r.s.Sum.Tokens, "%s %d", name, i)
			require.Equal(t, c.want, *r.s.Sum.Tokens, "%s %d", name, i)
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
	stored, err := json.Marshal(&s)
	require.NoError(t, err)
	require.Less(t, len(stored), 160<<10)
	require.Len(t, s.OpenCalls, maxOpenCalls)
	require.Equal(t, "use2999", s.OpenCalls[maxOpenCalls-1].UseID, "the oldest is dropped")
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
		require.LessOrEqual(t, math.Abs(float64(middle-ms)), 0.05*float64(ms), "%d ms is represented as %d", ms, middle)
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
	r := &recorder{t: t}
	e := newEvent("PostToolUse", `{"tool_use_id":"a"}`).withQuestion(permissionQuestion)
	r.add(e)
	require.Nil(t, r.last.Execution)
	require.Equal(t, []PermissionCall{{ID: e.ID, UseID: "a"}}, r.s.Permissions)
}
