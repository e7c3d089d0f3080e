package httpapi

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/feed"
)

const forcePush = `{"source_app":"a","session_id":"s","hook_event_type":"PreToolUse","tool_name":"Bash","tool_use_id":"t1","payload":{"tool_input":{"command":"git push --force origin main"}}}`

func TestRatings_FindCalls(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.post(event(1, `"x":1`))
	r.post(forcePush)
	for more := true; more; {
		var err error
		more, err = r.Ratings.Step(t.Context())
		require.NoError(t, err)
	}
	want := history.RiskyCall{ID: 2, SourceApp: "a", SessionID: "s", ToolName: "Bash", Risk: schema.HighRisk, Decided: history.DecidedByAgent, Outcome: history.CallOpen}
	for query, n := range map[string]int{"": 1, "?source_app=a&session_id=s": 1, "?source_app=a&session_id=b": 0, "?after=2": 0, "?before=2": 0, "?limit=1": 1} {
		resp, b := r.do("GET", schema.PathRiskyCalls+query, "")
		require.Equal(t, http.StatusOK, resp.StatusCode, string(b))
		var found history.RiskyCalls
		require.NoError(t, json.Unmarshal(b, &found))
		require.Len(t, found.Calls, n, query)
		require.NotNil(t, found.Calls)
		if n == 1 {
			require.NotEmpty(t, found.Calls[0].Codes)
			found.Calls[0].Codes = nil
			require.Equal(t, want, found.Calls[0])
		}
	}
	require.Equal(t, []schema.EventID{2}, idsOf(r.search("risk:>=medium decided:agent", "").Events))
	require.Empty(t, r.search("risk:critical", "").Events)

	resp, b := r.do("GET", schema.PathPolicyLine+"?event=2", "")
	require.Equal(t, http.StatusOK, resp.StatusCode, string(b))
	var line history.PolicyLine
	require.NoError(t, json.Unmarshal(b, &line))
	require.Contains(t, line.Rule, `"runs":"git push"`)
	require.EqualValues(t, 1, line.Asks)
}

// TestQuery_RejectsUnknownParameters: a misspelled filter would select everything.
func TestQuery_RejectsUnknownParameters(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.post(event(1, `"summary":"needle"`))
	r.post(event(2, `"x":1`))
	for path, status := range map[string]int{
		schema.PathEvents + "?agent=a":                  400,
		schema.PathEvents + "?q=needle":                 200,
		schema.PathSearch + "?query=needle":             400,
		schema.PathSearch + "?q=needle":                 200,
		schema.PathSearch + "?q=needle&filter=needle":   400,
		schema.PathRiskyCalls + "?risk=high":            400,
		schema.PathRiskyCalls + "?session_id=s":         400,
		schema.PathRiskyCalls + "?limit=x":              400,
		schema.PathPolicyLine:                           400,
		schema.PathPolicyLine + "?event=1":              404,
		schema.PathPolicyLine + "?event=999":            404,
		schema.PathPolicyLine + "?event=9&then=approve": 400,
	} {
		resp, b := r.do("GET", path, "")
		require.Equal(t, status, resp.StatusCode, "%s: %s", path, b)
	}
	_, b := r.do("GET", schema.PathSearch+"?q=needle", "")
	var found history.SearchResult
	require.NoError(t, json.Unmarshal(b, &found))
	require.Equal(t, []schema.EventID{1}, idsOf(found.Events))
}

// A rating reaches the pages of version 2, and no page of version 1.
func TestStream_SendsRatings(t *testing.T) {
	t.Parallel()
	r := setup(t)
	page, old := dialV2(r), dial(r, "/stream") // the hello follows the registration for facts
	r.Hub.Feed.PublishFact(feed.Fact{Kinds: feed.Ratings, ID: 7, Note: history.RiskyCall{ID: 7, Risk: schema.HighRisk}})
	for {
		if f := page.next(); f.Type == schema.RiskFrame {
			var c history.RiskyCall
			require.NoError(t, json.Unmarshal(f.Data, &c))
			require.EqualValues(t, 7, c.ID)
			break
		}
	}
	r.post(event(1, `"x":1`))
	for {
		f := old.next()
		require.NotEqual(t, schema.RiskFrame, f.Type)
		if f.Type == schema.EventFrame {
			break
		}
	}
}
