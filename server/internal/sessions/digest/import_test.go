package digest

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
)

// received is when the events of these tests were received, Unix ms.
const received = 1_795_262_400_000

// importEvent returns an event of a session that was imported.
func importEvent(id schema.EventID, in history.ImportedSession) *Event {
	payload, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	return &Event{
		ID: id, At: received, App: "shop", Session: "s", Type: history.EventSessionImported, Payload: payload,
		Envelope: []byte(`"source_app":"shop","os_user":"mara"`), Transcript: []byte(`[{"message":{"id":"m","usage":{"input_tokens":999999}},"totalCostUSD":99}]`),
	}
}

func shopImport(hash string, output int64) history.ImportedSession {
	return history.ImportedSession{
		Hash: hash, Title: "Add paging", Cwd: "/src/shop", Branch: "main", Model: "opus", StartedAt: received - 5000_000, EndedAt: received - 1000_000, Agents: 2,
		Usage: []history.ImportedUsage{
			{At: received - 5000_000, Model: "opus", Requests: 2, Tokens: history.Tokens{Input: 10, Output: output, CacheRead: 1, CacheWrite: 2}, CostUSD: 0.5},
			{At: received - 1000_000, Model: "haiku", Requests: 1, Tokens: history.Tokens{Input: 3}},
		},
		Tools: []history.ImportedTool{{Tool: "Bash", Calls: 3, Failures: 1}, {Tool: "Edit", Calls: 1}},
	}
}

func TestSession_ImportHasItsOwnTimes(t *testing.T) {
	t.Parallel()
	var s Session
	step := s.Add(Parse(importEvent(7, shopImport("h1", 20))))
	require.True(t, step.New)
	require.Zero(t, step.Tokens, "the change is in the import")
	require.Zero(t, step.Cost)
	require.Empty(t, step.Spend)
	require.Equal(t, &ImportStep{At: received - 1000_000, Usage: []history.ImportedUsage{
		{At: received - 5000_000, Model: "opus", Tokens: history.Tokens{Input: 10, Output: 20, CacheRead: 1, CacheWrite: 2}, CostUSD: 0.5},
		{At: received - 1000_000, Model: "haiku", Tokens: history.Tokens{Input: 3}},
	}, Tools: []history.ImportedTool{{Tool: "Bash", Calls: 3, Failures: 1}, {Tool: "Edit", Calls: 1}}}, step.Import)
	require.Equal(t, history.Session{
		SourceApp: "shop", SessionID: "s", Title: "Add paging", Cwd: "/src/shop", Branch: "main", Model: "opus",
		Person: "mara", PersonSource: history.PersonOfSystem,
		StartedAt: received - 5000_000, LastAt: received - 1000_000, Ended: true, FirstID: 7, LastID: 7, Events: 1, Tools: 4, Failures: 1, Agents: 2,
		Tokens: &history.Tokens{Input: 13, Output: 20, CacheRead: 1, CacheWrite: 2}, CostUSD: 0.5, Transcript: 7, Imported: "h1",
	}, s.Sum)
	require.Equal(t, []history.ModelUse{
		{Model: "opus", Requests: 2, Tokens: history.Tokens{Input: 10, Output: 20, CacheRead: 1, CacheWrite: 2}, CostUSD: 0.5},
		{Model: "haiku", Requests: 1, Tokens: history.Tokens{Input: 3}},
	}, s.Models())
	require.Empty(t, s.Agents())
	require.False(t, s.IsTelemetryOnly())
	require.Zero(t, s.SpentSince(0), "no rule about spending counts it")
}

// The sum of all steps is the last import.
func TestSession_LaterImportReplaces(t *testing.T) {
	t.Parallel()
	var s Session
	var tokens history.Tokens
	var cost float64
	calls := map[string]int64{}
	for i, output := range []int64{20, 500, 500, 7} {
		in := shopImport(fmt.Sprint("h", i), output)
		if i == 3 {
			in.Tools, in.Usage[0].CostUSD = in.Tools[:1], 0.25
		}
		step := s.Add(Parse(importEvent(schema.EventID(i+1), in)))
		require.Equal(t, i == 0, step.New)
		for _, u := range step.Import.Usage {
			tokens, cost = tokens.Add(u.Tokens), cost+u.CostUSD
		}
		for _, tool := range step.Import.Tools {
			calls[tool.Tool] += tool.Calls
		}
		require.Equal(t, *s.Sum.Tokens, tokens)
		require.InDelta(t, s.Sum.CostUSD, cost, 1e-9)
	}
	require.Equal(t, map[string]int64{"Bash": 3, "Edit": 0}, calls)
	require.Equal(t, history.Tokens{Input: 13, Output: 7, CacheRead: 1, CacheWrite: 2}, *s.Sum.Tokens)
	require.InDelta(t, 0.25, s.Sum.CostUSD, 1e-9)
	require.EqualValues(t, 1, s.Sum.FirstID)
	require.EqualValues(t, 4, s.Sum.LastID)
	require.EqualValues(t, 3, s.Sum.Tools)
	require.EqualValues(t, 4, s.Sum.Events)
	require.Equal(t, "h3", s.Sum.Imported)
}

// Hooks and telemetry report the same work.
func TestSession_ImportOfKnownSessionChangesNothing(t *testing.T) {
	t.Parallel()
	for name, typ := range map[string]string{"hook": "UserPromptSubmit", "telemetry": "ApiRequest"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s Session
			s.Add(Parse(&Event{ID: 1, At: received, App: "shop", Session: "s", Type: typ, Payload: []byte(`{"prompt":"Hi","model":"opus","usage":{"input_tokens":5},"cost_usd":1}`)}))
			before := s.Sum
			step := s.Add(Parse(importEvent(2, shopImport("h", 20))))
			require.Equal(t, Step{}, step)
			before.Events, before.LastID = 2, 2
			require.Equal(t, before, s.Sum)
		})
	}
}

func TestSession_GoesOnAfterImport(t *testing.T) {
	t.Parallel()
	var s Session
	s.Add(Parse(importEvent(1, shopImport("h", 20))))
	add := func(id schema.EventID, typ, payload, transcript string) Step {
		e := &Event{ID: id, At: received, App: "shop", Session: "s", Type: typ, Payload: []byte(payload)}
		if transcript != "" {
			e.Transcript = []byte(transcript)
		}
		return s.Add(Parse(e))
	}
	step := add(2, "PreToolUse", `{"tool_name":"Bash","tool_input":{}}`, "")
	require.Zero(t, step.Cost)
	require.Zero(t, step.Tokens)
	require.Empty(t, s.Sum.Imported)
	require.False(t, s.Sum.Ended)
	require.EqualValues(t, received, s.Sum.LastAt)
	require.EqualValues(t, received-5000_000, s.Sum.StartedAt)

	step = add(3, "ApiRequest", `{"model":"opus","usage":{"input_tokens":100,"output_tokens":1},"cost_usd":2}`, "")
	require.Equal(t, history.Tokens{Input: 100, Output: 1}, step.Tokens)
	require.InDelta(t, 2, step.Cost, 1e-9)
	require.Equal(t, history.Tokens{Input: 113, Output: 21, CacheRead: 1, CacheWrite: 2}, *s.Sum.Tokens)
	require.InDelta(t, 2.5, s.Sum.CostUSD, 1e-9)
	require.InDelta(t, 2, s.SpentSince(received-1), 1e-9, "of the running agent only")

	step = add(4, "Stop", `{}`, `[{"message":{"id":"m","usage":{"input_tokens":200,"output_tokens":30}}}]`)
	require.Equal(t, history.Tokens{Input: 87, Output: 9, CacheRead: -1, CacheWrite: -2}, step.Tokens, "the transcript has everything")
	step = add(5, "Stop", `{"total_token_usage":{"input_tokens":1}}`, "")
	require.NotZero(t, step.Tokens)
	require.EqualValues(t, 13, s.Sum.Tokens.Input, "never less than the import")
}

// Without telemetry, the payloads of events report usage after the import.
func TestSession_MessagesAddToImport(t *testing.T) {
	t.Parallel()
	var s Session
	s.Add(Parse(importEvent(1, shopImport("h", 20))))
	s.Add(Parse(&Event{ID: 2, At: received, App: "shop", Session: "s", Type: "Message", Payload: []byte(`{"message":{"id":"a","usage":{"input_tokens":100}}}`)}))
	require.EqualValues(t, 113, s.Sum.Tokens.Input)
	raw, err := json.Marshal(s)
	require.NoError(t, err)
	var stored Session
	require.NoError(t, json.Unmarshal(raw, &stored))
	require.Equal(t, s, stored)
}

func TestReadImport_LimitsWhatItReads(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		payload string
		want    history.ImportedSession
	}{
		"nothing":     {`{}`, history.ImportedSession{Hash: "unknown", StartedAt: received, EndedAt: received}},
		"not JSON":    {`{"hash":`, history.ImportedSession{Hash: "unknown", StartedAt: received, EndedAt: received}},
		"wrong types": {`{"hash":1,"title":[],"usage":"x","tools":{},"started_at":"y","subagents":"z"}`, history.ImportedSession{Hash: "unknown", StartedAt: received, EndedAt: received}},
		"future":      {`{"hash":"h","started_at":1,"ended_at":99999999999999}`, history.ImportedSession{Hash: "h", StartedAt: 1, EndedAt: received}},
		"before 1970": {`{"hash":"h","started_at":-5,"ended_at":7}`, history.ImportedSession{Hash: "h", StartedAt: 7, EndedAt: 7}},
		"end first":   {`{"hash":"h","started_at":9,"ended_at":7}`, history.ImportedSession{Hash: "h", StartedAt: 7, EndedAt: 7}},
		"texts":       {`{"hash":"h\u0000","title":"a\n b\u202e","cwd":"/x\ty","started_at":1,"ended_at":1}`, history.ImportedSession{Hash: "h", Title: "a b", Cwd: "/x y", StartedAt: 1, EndedAt: 1}},
		"usage": {`{"hash":"h","started_at":100,"ended_at":200,"usage":[{"at":5,"model":"m","tokens":{"input":-1,"output":3},"costUsd":-2},{"at":999,"tokens":{"input":1000000000000000,"output":1}}]}`, history.ImportedSession{
			Hash: "h", StartedAt: 100, EndedAt: 200, Usage: []history.ImportedUsage{
				{At: 100, Model: "m", Tokens: history.Tokens{Output: 3}}, {At: 200, Tokens: history.Tokens{Input: maxTokens, Output: 1}},
			},
		}},
		"tools": {`{"hash":"h","started_at":1,"ended_at":1,"tools":[{"tool":"a\nb","calls":-1,"failures":5},{"tool":"c","calls":2,"failures":9}]}`, history.ImportedSession{
			Hash: "h", StartedAt: 1, EndedAt: 1, Tools: []history.ImportedTool{{Tool: "a b"}, {Tool: "c", Calls: 2, Failures: 2}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, *ReadImport([]byte(c.payload), received))
		})
	}
	many := ReadImport([]byte(`{"usage":[`+strings.Repeat(`{"at":1},`, 3000)+`{}],"tools":[`+strings.Repeat(`{},`, 3000)+`{}],"subagents":99999999}`), received)
	require.Len(t, many.Usage, history.MaxImportedUsage)
	require.Len(t, many.Tools, history.MaxImportedTools)
	require.EqualValues(t, history.MaxImportedUsage, many.Agents)
}

// Only the exact type counts: the hub checks it when it stores the event.
func TestParse_ImportHasExactType(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"sessionimported", "session_imported", "SESSION-IMPORTED", "SessionImport"} {
		e := importEvent(1, shopImport("h", 1))
		e.Type = typ
		require.Nil(t, Parse(e).Import, typ)
		require.False(t, IsImport(typ))
	}
}

// The totals of any payload are numbers and never negative.
func FuzzReadImport(f *testing.F) {
	for _, seed := range []string{`{}`, `{"usage":[{"at":1,"tokens":{"input":1e300},"costUsd":1e400}]}`, `{"tools":[{"calls":9e18}]}`, `[]`, `null`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		var s Session
		s.Add(Parse(&Event{ID: 1, At: received, App: "a", Session: "s", Type: history.EventSessionImported, Payload: payload}))
		require.False(t, math.IsNaN(s.Sum.CostUSD) || math.IsInf(s.Sum.CostUSD, 0) || s.Sum.CostUSD < 0)
		require.GreaterOrEqual(t, s.Sum.Tools, s.Sum.Failures)
		if s.Sum.Tokens != nil {
			require.GreaterOrEqual(t, min(s.Sum.Tokens.Input, s.Sum.Tokens.Output, s.Sum.Tokens.CacheRead, s.Sum.Tokens.CacheWrite),
				int64(0))
		}
		require.LessOrEqual(t, s.Sum.StartedAt, s.Sum.LastAt)
		require.LessOrEqual(t, s.Sum.LastAt, schema.Millis(received))
	})
}
