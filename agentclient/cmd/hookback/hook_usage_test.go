package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/hubtest"
)

// A session without telemetry has the tokens and the cost of its transcript: the tokens after each turn, and the
// cost at its end.
func TestHookUsage_IsThatOfTheTranscript(t *testing.T) {
	t.Parallel()
	c := newHookCommand(t, hubtest.Start(t).URL(), "", "--app", "shop")
	transcript := filepath.Join(c.home, "s1.jsonl")
	text := ""
	run := func(event, line string) (s history.SessionDetail) {
		text += line + "\n"
		require.NoError(t, os.WriteFile(transcript, []byte(text), 0o600))
		input := fmt.Sprintf(`{"session_id":"s1","hook_event_name":%q,"transcript_path":%q,"cwd":"/src/shop"}`, event, transcript)
		require.Equal(t, noOutput, c.runInTime(t, input))
		require.NoError(t, getJSON(t, c.hub+schema.PathSession+"?source_app=shop&session_id=s1", &s))
		return s
	}
	message := func(id string) string {
		return fmt.Sprintf(`{"type":"assistant","sessionId":"s1","timestamp":"2026-11-21T12:00:00Z","message":{"id":%q,"model":"opus","usage":{"input_tokens":10,"output_tokens":2}}}`, id)
	}
	require.Empty(t, run("UserPromptSubmit", message("1")).Models, "the turn has not ended")
	s := run("Stop", message("2"))
	require.Equal(t, []history.ModelUse{{Model: "opus", Tokens: history.Tokens{Input: 20, Output: 4}}}, s.Models)
	s = run("SessionEnd", `{"type":"cost-state","sessionId":"s1","totalCostUSD":0.75,"startTime":1,"modelUsage":{"opus":{"inputTokens":20,"outputTokens":4,"costUSD":0.5},"haiku":{"inputTokens":7,"costUSD":0.25}}}`)
	require.Equal(t, []history.ModelUse{
		{Model: "opus", Tokens: history.Tokens{Input: 20, Output: 4}, CostUSD: 0.5}, {Model: "haiku", Tokens: history.Tokens{Input: 7}, CostUSD: 0.25},
	}, s.Models)
	require.InDelta(t, 0.75, s.Session.CostUSD, 1e-9)
	require.Empty(t, c.log())

	require.NoError(t, os.Remove(transcript))
	require.NoError(t, os.Mkdir(transcript, 0o700))
	c.runInTime(t, fmt.Sprintf(`{"session_id":"s2","hook_event_name":"SessionEnd","transcript_path":%q,"cwd":"/src/shop"}`, transcript))
	require.Contains(t, c.log(), "read the usage of the session")
}

// Claude Code writes the totals of a cleared session before the next one starts.
func TestHookUsage_OfClearedSession(t *testing.T) {
	t.Parallel()
	c := newHookCommand(t, hubtest.Start(t).URL(), "", "--app", "shop")
	transcript := func(session, line string) string {
		file := filepath.Join(c.home, session+".jsonl")
		require.NoError(t, os.WriteFile(file, []byte(line), 0o600))
		return file
	}
	old := transcript("old", `{"type":"cost-state","sessionId":"old","totalCostUSD":9,"startTime":1,"modelUsage":{"opus":{"inputTokens":1,"costUSD":9}}}`)
	require.NoError(t, os.Chtimes(old, time.Unix(1, 0), time.Unix(1, 0)))
	c.runInTime(t, fmt.Sprintf(`{"session_id":"s1","hook_event_name":"SessionEnd","reason":"clear","transcript_path":%q}`, transcript("s1", "")))
	transcript("s1", `{"type":"cost-state","sessionId":"s1","totalCostUSD":0.5,"startTime":1,"modelUsage":{"opus":{"inputTokens":20,"costUSD":0.5}}}`)
	next := filepath.Join(c.home, "s2.jsonl") // Claude Code writes it later
	c.runInTime(t, fmt.Sprintf(`{"session_id":"s2","hook_event_name":"SessionStart","source":"clear","transcript_path":%q}`, next))
	var page history.SessionPage
	require.NoError(t, getJSON(t, c.hub+schema.PathSessions, &page))
	costs := map[string]float64{}
	for _, s := range page.Sessions {
		costs[s.SessionID] = s.CostUSD
		require.Equal(t, s.SessionID == "s1", s.Ended)
	}
	require.Equal(t, map[string]float64{"s1": 0.5, "s2": 0}, costs)
}
