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

// story tells a session event by event; times are seconds.
type story struct {
	t    *testing.T
	s    Session
	last Step
	ids  schema.EventID
}

func (y *story) tell(at int64, typ, tool, payload string) *EventFacts {
	y.ids++
	e := event(typ, payload)
	e.ID, e.At, e.Tool = y.ids, at*1000, tool
	return y.add(e)
}

func (y *story) ask(at int64, tool, payload, question string) *EventFacts {
	y.ids++
	e := event("PermissionRequest", payload).asking(question)
	e.ID, e.At, e.Tool = y.ids, at*1000, tool
	return y.add(e)
}

// add takes an event as a follower does: what was kept before is read again.
func (y *story) add(e *Event) *EventFacts {
	f := Parse(e)
	y.last = y.s.Add(f)
	kept, err := json.Marshal(&y.s)
	require.NoError(y.t, err)
	y.s = Session{}
	require.NoError(y.t, json.Unmarshal(kept, &y.s))
	return f
}

func (y *story) took() int64 {
	require.NotNil(y.t, y.last.Ended)
	return y.last.Ended.MS
}

const mayI = `{"type":"permission","question":"?"}`

func TestCallsArePaired(t *testing.T) {
	t.Parallel()
	y := &story{t: t}
	y.tell(10, "PreToolUse", "Bash", `{"tool_use_id":"a"}`)
	y.tell(11, "PreToolUse", "Bash", `{"tool_use_id":"b"}`)
	y.tell(15, "PostToolUse", "Bash", `{"tool_use_id":"a"}`)
	require.EqualValues(t, 5000, y.took(), "by their id, though another began later")
	y.tell(17, "PostToolUse", "Bash", `{"tool_use_id":"b"}`)
	require.EqualValues(t, 6000, y.took())

	y.tell(20, "PreToolUse", "Read", `{}`)
	y.tell(21, "PreToolUse", "Read", `{"agent_id":"x"}`)
	y.tell(22, "PreToolUse", "Read", `{}`)
	y.tell(23, "PostToolUse", "Read", `{}`)
	require.EqualValues(t, 1000, y.took(), "without ids the last of the same agent")
	y.tell(24, "PostToolUse", "Read", `{"agent_id":"x"}`)
	require.EqualValues(t, 3000, y.took())
	y.tell(25, "PostToolUse", "Read", `{"tool_use_id":"late"}`)
	require.EqualValues(t, 5000, y.took(), "the id may come with the end only")

	y.tell(30, "PostToolUse", "Grep", `{}`)
	require.EqualValues(t, -1, y.took(), "a beginning was never told")
	y.tell(31, "PostToolUse", "Grep", `{"duration_ms":77}`)
	require.EqualValues(t, 77, y.took(), "but the agent measured")
	require.EqualValues(t, 7, y.s.Sum.Tools)
	require.Empty(t, y.s.Open)
}

func TestTimeAPersonTookIsNotTheTools(t *testing.T) {
	t.Parallel()
	y := &story{t: t}
	y.tell(0, "PreToolUse", "Bash", `{"tool_use_id":"a"}`)
	asked := y.ask(1, "Bash", `{}`, mayI)
	require.EqualValues(t, 60_000, y.s.ResolveQuestion(asked, 61_000))
	y.tell(63, "PostToolUse", "Bash", `{"tool_use_id":"a"}`)
	require.EqualValues(t, 3000, y.took())
	require.EqualValues(t, 60_000, y.s.Sum.WaitedMS)

	// The question may be the beginning of the call itself.
	y.ids++
	e := event("PreToolUse", `{"tool_use_id":"b"}`).asking(mayI)
	e.ID, e.At, e.Tool = y.ids, 100_000, "Bash"
	asked = y.add(e)
	y.s.ResolveQuestion(asked, 110_000)
	y.tell(112, "PostToolUse", "Bash", `{"tool_use_id":"b"}`)
	require.EqualValues(t, 2000, y.took())

	// Or come before it, which costs the call nothing.
	asked = y.ask(200, "Edit", `{"tool_use_id":"c"}`, mayI)
	y.tell(205, "PreToolUse", "Edit", `{"tool_use_id":"c"}`)
	y.s.ResolveQuestion(asked, 206_000)
	y.tell(209, "PostToolUse", "Edit", `{"tool_use_id":"c"}`)
	require.EqualValues(t, 3000, y.took(), "one second of the wait was the call's")

	require.EqualValues(t, 0, y.s.ResolveQuestion(asked, 1), "a clock that went back waited for nobody")
}

func TestWhatIsToldTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	y := &story{t: t}
	y.tell(0, "PreToolUse", "Bash", `{"tool_use_id":"a"}`)
	y.tell(1, "PreToolUse", "Bash", `{"tool_use_id":"a"}`)
	require.Len(t, y.s.Open, 1)
	y.tell(5, "PostToolUseFailure", "Bash", `{"tool_use_id":"a","error":"no"}`)
	require.True(t, y.last.Failed)
	y.tell(6, "PostToolUseFailure", "Bash", `{"tool_use_id":"a","error":"no"}`)
	require.Nil(t, y.last.Ended)
	require.False(t, y.last.Failed)
	require.Equal(t, []int64{1, 1, 4}, []int64{y.s.Sum.Tools, y.s.Sum.Failures, y.s.Sum.Events})
}

func TestWhatASessionIs(t *testing.T) {
	t.Parallel()
	y := &story{t: t}
	y.tell(1, "SessionStart", "", `{"cwd":"/one","model":"old","git_branch":"main"}`)
	require.True(t, y.last.New)
	y.tell(2, "UserPromptSubmit", "", `{"prompt":"The first","cwd":"/two"}`)
	require.False(t, y.last.New)
	y.tell(3, "UserPromptSubmit", "", `{"prompt":"The second","model":"new","git_branch":"topic"}`)
	y.tell(4, "SubagentStart", "", `{"agent_id":"a"}`)
	y.tell(5, "SubagentStop", "", `{"agent_id":"a"}`)
	y.tell(6, "PreToolUse", "Bash", `{"agent_id":"b"}`)
	y.tell(7, "SessionEnd", "", `{}`)
	require.Empty(t, y.s.Open, "nothing runs on")
	want := schema.Session{
		SourceApp: "demo", SessionID: "s1", Title: "The first", Cwd: "/one", Branch: "topic", Model: "new",
		StartedAt: 1000, LastAt: 7000, Ended: true, FirstID: 1, LastID: 7, Events: 7, Agents: 2,
	}
	require.Equal(t, want, y.s.Sum)
	y.tell(8, "Notification", "", `{}`)
	require.False(t, y.s.Sum.Ended, "it was taken up again")
}

func TestWhatBecameOfACall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		typ, payload string
		want         schema.Execution
	}{
		"succeeded":   {"PostToolUse", `{"tool_use_id":"a"}`, schema.Execution{State: schema.Succeeded}},
		"failed":      {"PostToolUseFailure", `{"tool_use_id":"a","error":"no such file"}`, schema.Execution{State: schema.ToolFailed, Error: "no such file"}},
		"interrupted": {"PostToolUseFailure", `{"tool_use_id":"a","is_interrupt":true}`, schema.Execution{State: schema.Interrupted}},
	} {
		y := &story{t: t}
		asked := y.ask(1, "Bash", `{"tool_use_id":"a"}`, mayI)
		y.ask(2, "Bash", `{"tool_use_id":"b"}`, mayI)
		y.ask(3, "Bash", `{"tool_use_id":"a"}`, `{"type":"question","question":"?"}`)
		y.tell(4, "PostToolUse", "Bash", `{}`)
		require.Nil(t, y.last.Execution, "nobody knows which")
		y.tell(5, c.typ, "Bash", c.payload)
		c.want.EventID = y.ids
		require.Equal(t, &ExecutionOutcome{Question: asked.ID, At: 5000, Execution: c.want}, y.last.Execution, name)
		y.tell(6, c.typ, "Bash", c.payload)
		require.Nil(t, y.last.Execution, "once")
		require.Equal(t, []PermissionCall{{2, "b"}}, y.s.Asked)
	}
}

// TestTokens: sums are replaced, single figures added, and one source counts.
func TestTokens(t *testing.T) {
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
			{event("Stop", `{}`).saying(chat(5)), schema.Tokens{Input: 6}, 0},
			{event("Stop", `{}`).saying(chat(9)), schema.Tokens{Input: 10}, 0},
			{event("Stop", `{}`), schema.Tokens{Input: 10}, 0},
			{event("SubagentStop", `{"agent_id":"a"}`).saying(chat(1)), schema.Tokens{Input: 12}, 0},
			{event("Stop", `{}`).saying(chat(2)), schema.Tokens{Input: 5}, 0},
		},
		"single figures": {
			{event("Stop", `{"usage":{"output_tokens":5}}`), schema.Tokens{Output: 5}, 0},
			{event("Stop", `{"usage":{"output_tokens":5}}`), schema.Tokens{Output: 10}, 0},
		},
		"a message told twice": {
			{event("M", `{"message":{"id":"m1","usage":{"output_tokens":5}}}`), schema.Tokens{Output: 5}, 0},
			{event("M", `{"message":{"id":"m2","usage":{"output_tokens":1}}}`), schema.Tokens{Output: 6}, 0},
			{event("M", `{"message":{"id":"m1","usage":{"output_tokens":7}}}`), schema.Tokens{Output: 8}, 0},
		},
		"an agent's own sum": {
			{event("T", `{"total_token_usage":{"input_tokens":5}}`), schema.Tokens{Input: 5}, 0},
			{event("T", `{"total_token_usage":{"input_tokens":9}}`), schema.Tokens{Input: 9}, 0},
		},
		"results of runs": {
			{event("M", `{"message":{"id":"m1","usage":{"output_tokens":5}}}`), schema.Tokens{Output: 5}, 0},
			{event("R", `{"total_cost_usd":0.5,"usage":{"output_tokens":5}}`), schema.Tokens{Output: 5}, 0.5},
			{event("R", `{"total_cost_usd":0.75,"usage":{"output_tokens":8}}`), schema.Tokens{Output: 8}, 0.75},
		},
		"the surest source counts alone": {
			{event("Stop", `{"usage":{"input_tokens":100}}`), schema.Tokens{Input: 100}, 0},
			{event("Stop", `{}`).saying(chat(5)), schema.Tokens{Input: 6}, 0},
			{event("Stop", `{"total_token_usage":{"input_tokens":7}}`), schema.Tokens{Input: 7}, 0},
			{event("Stop", `{}`).saying(chat(50)), schema.Tokens{Input: 7}, 0},
		},
		"no more than can be": {
			{event("Stop", `{"usage":{"input_tokens":1e12}}`), schema.Tokens{Input: maxTokens}, 0},
			{event("Stop", `{"usage":{"input_tokens":1e12}}`), schema.Tokens{Input: maxTokens}, 0},
		},
	} {
		y := &story{t: t}
		var sum schema.Tokens
		cost := 0.0
		for i, c := range tales {
			y.add(c.event)
			sum, cost = plus(sum, y.last.Tokens, 1), cost+y.last.Cost
			require.NotNil(t, y.s.Sum.Tokens, "%s %d", name, i)
			require.Equal(t, c.want, *y.s.Sum.Tokens, "%s %d", name, i)
			require.Equal(t, c.want, sum, "%s %d: the changes add up", name, i)
			require.InDelta(t, c.cost, cost, 1e-9, name)
		}
	}
}

// TestASessionRemembersLittle: whatever an agent does, what is kept stays small.
func TestASessionRemembersLittle(t *testing.T) {
	t.Parallel()
	var s Session
	for i := range 3000 {
		e := event("PreToolUse", fmt.Sprintf(`{"agent_id":"agent%d","tool_use_id":"use%d","message":{"id":"m%d","usage":{"input_tokens":1}}}`, i, i, i)).asking(mayI)
		e.ID = schema.EventID(i + 1)
		s.Add(Parse(e.saying(`[{"message":{"usage":{"input_tokens":1}}}]`)))
	}
	kept, err := json.Marshal(&s)
	require.NoError(t, err)
	require.Less(t, len(kept), 160<<10)
	require.Len(t, s.Open, maxOpen)
	require.Equal(t, "use2999", s.Open[maxOpen-1].UseID, "the oldest is forgotten")
	require.Len(t, s.Asked, maxOpen)
	require.EqualValues(t, maxAgents, s.Sum.Agents)
	require.EqualValues(t, 3000, s.Sum.Events)
}

// TestPercentiles: within 5 % of the true one, whatever the distribution.
func TestPercentiles(t *testing.T) {
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

// BenchmarkRead is what the follower spends on an event before it writes.
func BenchmarkRead(b *testing.B) {
	e := event("PostToolUse", `{"session_id":"f3a91c07-5b1e-4a52-9d57-0c8d6b0f3a91","transcript_path":"/home/mara/.claude/projects/payments/f3a91c07.jsonl",`+
		`"cwd":"/home/mara/src/payments-api","permission_mode":"default","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"go test ./..."},`+
		`"tool_response":{"stdout":"ok","stderr":"","interrupted":false},"tool_use_id":"toolu_01QkYp7dVn3cJ4w8XhZr2TbE"}`)
	b.ReportAllocs()
	for b.Loop() {
		var s Session
		s.Add(Parse(e))
	}
}

// An event that asks can't be the end of the very call it asks about.
func TestAnEventDoesNotAnswerItself(t *testing.T) {
	t.Parallel()
	y := &story{t: t}
	e := event("PostToolUse", `{"tool_use_id":"a"}`).asking(mayI)
	y.add(e)
	require.Nil(t, y.last.Execution)
	require.Equal(t, []PermissionCall{{e.ID, "a"}}, y.s.Asked)
}
