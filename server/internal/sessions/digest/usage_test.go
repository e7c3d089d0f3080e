package digest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
)

func requestEvent(model, agent string, input int, cost float64) *Event {
	return newEvent("ApiRequest", fmt.Sprintf(
		`{"model":%q,"usage":{"input_tokens":%d,"output_tokens":10},"cost_usd":%g,"duration_ms":100}`, model, input, cost),
	).withEnvelope(fmt.Sprintf(`"agent_id":%q`, agent))
}

func usageEvent(input int, cost float64, total string) *Event {
	return newEvent("ApiUsage", fmt.Sprintf(`{"series":[{"model":"opus","usage":{"input_tokens":%d},"cost_usd":%g,"total":%q}]}`, input, cost, total))
}

// statedEvent returns an event with the usage of the session's transcript, such as "opus 100 0.5": a model, its input
// tokens and its cost.
func statedEvent(typ string, models ...string) *Event {
	var list []schema.ModelUsage
	for _, m := range models {
		var u schema.ModelUsage
		_, _ = fmt.Sscan(m, &u.Model, &u.Tokens.Input, &u.CostUSD)
		list = append(list, u)
	}
	text, _ := json.Marshal(list)
	return newEvent(typ, `{}`).withEnvelope(`"modelUsage":` + string(text))
}

// TestUsage_CountsOneSource: usage that several sources report counts once.
func TestUsage_CountsOneSource(t *testing.T) {
	t.Parallel()
	chat := func(n int) string { return fmt.Sprintf(`[{"message":{"id":"m","usage":{"input_tokens":%d}}}]`, n) }
	for name, c := range map[string]struct {
		events []*Event
		input  int64
		cost   float64
	}{
		"log records": {[]*Event{requestEvent("opus", "", 100, 0.5), requestEvent("haiku", "", 20, 0.25)}, 120, 0.75},
		"metrics":     {[]*Event{usageEvent(100, 0.5, ""), usageEvent(50, 0.25, "")}, 150, 0.75},
		"cumulative metrics, late and repeated": {[]*Event{
			usageEvent(100, 0.5, "s1"), usageEvent(300, 1.5, "s1"), usageEvent(200, 1, "s1"), usageEvent(300, 1.5, "s1"),
		}, 300, 1.5},
		"metrics after a restart": {[]*Event{usageEvent(100, 0.5, "s1"), usageEvent(30, 0.25, "s2")}, 130, 0.75},
		"log records and metrics of the same requests": {[]*Event{
			requestEvent("opus", "", 100, 0.5), usageEvent(100, 0.5, ""), requestEvent("opus", "", 50, 0.25), usageEvent(50, 0.25, ""),
		}, 150, 0.75},
		"log records enabled late": {[]*Event{newEvent("Stop", `{}`).withTranscript(chat(5000)), requestEvent("opus", "", 100, 0.5)}, 5000, 0.5},
		"a transcript without its subagents": {[]*Event{
			requestEvent("opus", "", 100, 0.5), requestEvent("opus", "a", 400, 0.5), newEvent("Stop", `{}`).withTranscript(chat(100)),
		}, 500, 1},
		"the status line's cost": {[]*Event{
			requestEvent("opus", "", 100, 0.5), newEvent("StatusLine", `{"cost":{"total_cost_usd":3.25}}`), requestEvent("opus", "", 1, 0.5),
		}, 101, 3.25},
		"a status line before the last request": {[]*Event{
			newEvent("StatusLine", `{"cost":{"total_cost_usd":0.5}}`), requestEvent("opus", "", 100, 0.5), requestEvent("opus", "", 1, 0.5),
		}, 101, 1},
		"everything": {[]*Event{
			newEvent("PostToolUse", `{"usage":{"input_tokens":9}}`), requestEvent("opus", "", 100, 0.5), usageEvent(60, 0.3, ""),
			newEvent("Stop", `{}`).withTranscript(chat(90)), newEvent("StatusLine", `{"cost":{"total_cost_usd":0.75}}`),
		}, 100, 0.75},
		"a transcript by model, late and repeated": {[]*Event{
			statedEvent("Stop", "opus 100 0"), statedEvent("SessionEnd", "haiku 20 0.25", "opus 100 0.5"), statedEvent("SessionEnd", "haiku 20 0.25", "opus 100 0.5"),
		}, 120, 0.75},
		"log records of the same requests as a transcript": {[]*Event{
			requestEvent("opus", "", 100, 0.5), requestEvent("haiku", "", 20, 0.25), statedEvent("SessionEnd", "haiku 20 0.25", "opus 100 0.5"),
		}, 120, 0.75},
		"a transcript with more than its log records": {[]*Event{requestEvent("opus", "", 100, 0.5), statedEvent("SessionEnd", "haiku 20 0.25", "opus 100 0.5")}, 120, 0.75},
		"a transcript after the status line":          {[]*Event{newEvent("StatusLine", `{"cost":{"total_cost_usd":0.75}}`), statedEvent("SessionEnd", "opus 100 0.5")}, 100, 0.75},
		"the agent's own sum": {[]*Event{
			requestEvent("gpt", "", 500, 0), newEvent("T", `{"total_token_usage":{"input_tokens":90,"cached_input_tokens":30}}`),
		}, 60, 0},
	} {
		rng := rand.New(rand.NewPCG(1, 2))
		for range 20 { // in any order
			r := &recorder{t: t}
			var tokens history.Tokens
			cost := 0.0
			for _, e := range c.events {
				r.add(e)
				tokens, cost = addTokens(tokens, r.last.Tokens, 1), cost+r.last.Cost
			}
			require.Equal(t, c.input, r.s.Sum.Tokens.Input, name)
			require.InDelta(t, c.cost, r.s.Sum.CostUSD, 1e-9, name)
			require.Equal(t, *r.s.Sum.Tokens, tokens, "%s: the changes add up", name)
			require.InDelta(t, c.cost, cost, 1e-9, name)
			rng.Shuffle(len(c.events), func(i, j int) { c.events[i], c.events[j] = c.events[j], c.events[i] })
		}
	}
}

// TestUsage_PerModelAndAgent covers the usage per model and per agent.
func TestUsage_PerModelAndAgent(t *testing.T) {
	t.Parallel()
	r := &recorder{t: t}
	r.add(newEvent("SessionStart", `{"model":"opus"}`))
	r.add(requestEvent("opus", "", 100, 0.5))
	r.add(requestEvent("haiku", "a", 20, 0.125))
	r.add(requestEvent("haiku", "a", 30, 0.125))
	require.Equal(t, []history.ModelUse{
		{Model: "opus", Requests: 1, DurationMS: 100, Tokens: history.Tokens{Input: 100, Output: 10}, CostUSD: 0.5},
		{Model: "haiku", Requests: 2, DurationMS: 200, Tokens: history.Tokens{Input: 50, Output: 20}, CostUSD: 0.25},
	}, r.s.Models())
	require.Equal(t, "opus", r.s.Sum.Model, "the model of a subagent is not the session's")
	agents := r.s.Agents()
	require.Equal(t, "haiku", agents[1].Model)
	require.Equal(t, &history.Tokens{Input: 50, Output: 20}, agents[1].Tokens)
	require.EqualValues(t, 2, agents[1].Requests)
	require.InDelta(t, 0.25, agents[1].CostUSD, 1e-9)
	require.Zero(t, agents[1].Events, "telemetry is not an event of the agent")

	for i := range 50 {
		r.add(requestEvent(fmt.Sprint("model", i), "", 1, 0))
	}
	models := r.s.Models()
	require.Len(t, models, maxModels+1, "including one for the rest")
	sum := int64(0)
	for _, m := range models {
		sum += m.Tokens.Input
	}
	require.EqualValues(t, 200, sum, "nothing is lost")
}

// The changes by model add up to what the transcript states.
func TestUsage_TranscriptByModel(t *testing.T) {
	t.Parallel()
	want := []history.ModelUse{
		{Model: "opus", Tokens: history.Tokens{Input: 1030}, CostUSD: 0.7},
		{Model: "haiku", Tokens: history.Tokens{Input: 71}, CostUSD: 0.1},
	}
	for name, events := range map[string][]*Event{
		"at the end":   {statedEvent("SessionEnd", "opus 1030 0.7", "haiku 71 0.1")},
		"at each turn": {statedEvent("Stop", "opus 30 0"), statedEvent("Stop", "opus 1030 0", "haiku 70 0"), statedEvent("SessionEnd", "opus 1030 0.7", "haiku 71 0.1")},
		"after some log records": {
			newEvent("ApiRequest", `{"model":"haiku","usage":{"input_tokens":70},"cost_usd":0.05}`), statedEvent("SessionEnd", "opus 1030 0.7", "haiku 71 0.1"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, got := &Session{}, UsageByModel{}
			for _, e := range append(events, newEvent("Notification", `{"modelUsage":[{"model":"gpt","tokens":{"input":5}}]}`)) {
				for _, part := range s.Add(Parse(e)).Spend {
					got.add(part.Model, Usage{Tokens: part.Tokens, CostUSD: part.Cost})
				}
			}
			require.Len(t, got, len(want))
			for i, m := range s.Models() {
				m.Requests = 0
				require.InDelta(t, want[i].CostUSD, m.CostUSD, 1e-9)
				require.InDelta(t, want[i].CostUSD, got[m.Model].CostUSD, 1e-9)
				require.Equal(t, want[i].Tokens, got[m.Model].Tokens)
				m.CostUSD = want[i].CostUSD
				require.Equal(t, want[i], m)
			}
		})
	}
}

// Hostile values are limited as those of telemetry.
func TestUsage_IgnoresImpossibleTranscript(t *testing.T) {
	t.Parallel()
	s := &Session{}
	for _, list := range []string{`5`, `{}`, `[5,"x",null,[]]`, `[{"model":7,"tokens":5,"costUsd":"1"},{"tokens":{"input":-1,"output":1e300},"costUsd":-1}]`} {
		s.Add(Parse(newEvent("Stop", `{}`).withEnvelope(`"modelUsage":` + list)))
	}
	require.Nil(t, s.Sum.Tokens)
	require.Zero(t, s.Sum.CostUSD)
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf("m%d 1000000000000 1000000", i))
	}
	s.Add(Parse(statedEvent("Stop", many...)))
	require.LessOrEqual(t, len(s.Models()), maxModels+1)
	require.LessOrEqual(t, s.Sum.CostUSD, maxCost)
}

// TestModels_UseOneSource: a cost in ten parts is not less than the same cost in one.
func TestModels_UseOneSource(t *testing.T) {
	t.Parallel()
	r := &recorder{t: t}
	for range 10 {
		r.add(requestEvent("opus", "", 100, 0.1))
	}
	r.add(usageEvent(1000, 1, ""))
	require.EqualValues(t, 10, r.s.Models()[0].Requests)
	r.add(usageEvent(500, 0.25, ""))
	require.Zero(t, r.s.Models()[0].Requests, "metrics counted more")
	require.EqualValues(t, 1500, r.s.Models()[0].Tokens.Input)
}

// TestSession_TelemetryAfterEnd: an exporter sends its last records after the agent has exited.
func TestSession_TelemetryAfterEnd(t *testing.T) {
	t.Parallel()
	r := &recorder{t: t}
	r.addEvent(1, "SessionEnd", "", `{}`)
	r.addEvent(5, "ApiRequest", "", `{"usage":{"input_tokens":5}}`)
	require.True(t, r.s.Sum.Ended)
	require.EqualValues(t, 1000, r.s.Sum.LastAt)
	require.EqualValues(t, 2, r.s.Sum.LastID)
	require.EqualValues(t, 5, r.s.Sum.Tokens.Input)
	r.addEvent(6, "SessionStart", "", `{}`)
	require.False(t, r.s.Sum.Ended)
}

// TestUsage_IgnoresInvalidTelemetry: impossible values are ignored, and nothing overflows.
func TestUsage_IgnoresInvalidTelemetry(t *testing.T) {
	t.Parallel()
	r := &recorder{t: t}
	for _, payload := range []string{
		`{"usage":{"input_tokens":-5,"output_tokens":"9"},"cost_usd":-1}`, `{"usage":[],"cost_usd":"1"}`, `{"usage":{"input_tokens":1e400},"cost_usd":1e400}`,
		`{"model":{"id":7}}`, `{}`,
	} {
		r.add(newEvent("ApiRequest", payload))
	}
	require.Nil(t, r.s.Sum.Tokens)
	require.Zero(t, r.s.Sum.CostUSD)
	for range 5 {
		r.add(newEvent("ApiRequest", `{"usage":{"input_tokens":1e12},"cost_usd":1e6,"duration_ms":1e9}`))
		r.add(usageEvent(1e12, 1e6, ""))
	}
	require.Equal(t, int64(maxTokens), r.s.Sum.Tokens.Input)
	require.InDelta(t, maxCost, r.s.Sum.CostUSD, 0)
	for i := range 500 {
		r.add(usageEvent(1, 0, fmt.Sprint(i)))
	}
	require.Len(t, r.s.Counters, maxSeries)
	r.add(newEvent("ApiUsage", `{"series":[`+`{"usage":{"input_tokens":1}},"x",7,`+`null]}`))
	r.add(newEvent("ApiUsage", `{"series":{"model":1}}`))
}

// A rise counts from the moment of its event, never twice, and never for work before the first total.
func TestCostRises_CountOnce(t *testing.T) {
	t.Parallel()
	const minute = 60_000
	s := &Session{}
	add := func(at int64, e *Event) {
		e.At = at
		s.Add(Parse(e))
	}
	status := func(cost float64) *Event {
		return newEvent("StatusLine", fmt.Sprintf(`{"cost":{"total_cost_usd":%g}}`, cost))
	}
	const start = 1_000 * 60 * minute
	add(start, requestEvent("opus", "", 100, 1))
	add(start+minute, requestEvent("opus", "", 100, 2))
	require.InDelta(t, 3, s.SpentSince(start), 1e-9)
	add(start+2*minute, status(50)) // enabled late
	require.InDelta(t, 3, s.SpentSince(start), 1e-9)
	add(start+10*minute, status(52))
	add(start+20*minute, status(1)) // the agent restarted
	add(start+21*minute, status(52.5))
	require.InDelta(t, 5.5, s.SpentSince(start), 1e-9)
	require.InDelta(t, 2.5, s.SpentSince(start+minute), 1e-9)
	require.InDelta(t, 0.5, s.SpentSince(start+15*minute), 1e-9)
	require.Zero(t, s.SpentSince(start+30*minute))

	add(start+19*minute, status(53)) // received out of order
	require.InDelta(t, 1, s.SpentSince(start+15*minute), 1e-9)
	add(start, status(54)) // the clock was set back
	require.InDelta(t, 1, s.SpentSince(0), 1e-9)

	for i := range int64(1000) {
		add(start+i*10*minute, status(55+float64(i)))
	}
	require.LessOrEqual(t, len(s.CostRises), 24*6+1)
	require.InDelta(t, 6, s.SpentSince(start+999*10*minute-59*minute), 1e-9)
	before, err := json.Marshal(s)
	require.NoError(t, err)
	var stored Session
	require.NoError(t, json.Unmarshal(before, &stored))
	require.Equal(t, s.CostRises, stored.CostRises)
}

// Sessions that an older hub stored have a cost but no rises.
func TestCostRises_IgnoreCostBeforeUpgrade(t *testing.T) {
	t.Parallel()
	s := &Session{ReportedCost: 40}
	s.Sum.CostUSD, s.Sum.Events = 40, 10
	e := newEvent("StatusLine", `{"cost":{"total_cost_usd":41}}`)
	e.At = 3_600_000
	s.Add(Parse(e))
	require.InDelta(t, 1, s.SpentSince(0), 1e-9)
}
