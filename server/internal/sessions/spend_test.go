package sessions

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/sessions/otlp"
	"github.com/hookback/hookback/server/internal/store"
)

// spendLines returns the rows of a report, one per line: day app model person tokens cost.
func (h *testHub) spendLines(by string, days int, zone *time.Location) (lines []string, r history.SpendReport) {
	h.t.Helper()
	groups, err := ParseSpendGroups(by)
	require.NoError(h.t, err)
	r, err = h.SpendReport(h.t.Context(), groups, query.StatsRange{Days: days, Zone: zone})
	require.NoError(h.t, err)
	for _, row := range r.Rows {
		line := fmt.Sprintf("%s %s %s %s %s %d+%d %.2f", value(row.Day), value(row.App), value(row.Model),
			value(row.Person), value(row.Project), row.Tokens.Input, row.Tokens.Output, row.CostUSD)
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return lines, r
}

func (h *testHub) postAs(id auth.Identity, body string) {
	h.t.Helper()
	_, err := h.hub.Ingest(h.t.Context(), []byte(body), hub.Caller{Identity: id})
	require.NoError(h.t, err)
}

// request returns an ApiRequest of a session, such as "api/1". used has the model, its tokens and
// its cost: "opus 100 10 0.5".
func request(of, used string, members ...string) string {
	app, session, _ := strings.Cut(of, "/")
	model, used, _ := strings.Cut(used, " ")
	n := strings.Fields(used)
	return fmt.Sprintf(`{"source_app":%q,"session_id":%q,"hook_event_type":"ApiRequest"%s,"payload":{"model":%q,"usage":{"input_tokens":%s,"output_tokens":%s},"cost_usd":%s}}`,
		app, session, strings.Join(members, ""), model, n[0], n[1], n[2])
}

// The expected figures are computed by hand from the events of three sessions on two days.
func TestSpendReport_GroupsByDayModelAppAndPerson(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 22, 50, 0, 0, time.UTC)
	h := newTestHub(t, func(c *Config) { c.Clock = func() time.Time { return now } })
	ada := auth.Identity{Name: "ada", Role: schema.Operator, Via: "token"}
	step := func(later time.Duration, id auth.Identity, body string) {
		now = now.Add(later)
		h.postAs(id, body)
	}
	step(0, ada, `{"source_app":"api","session_id":"1","hook_event_type":"SessionStart","os_user":"root","payload":{"cwd":"/src/api"}}`)
	step(time.Minute, ada, request("api/1", "opus 100 10 0.50"))                                   // 22:51 UTC
	step(29*time.Minute, ada, request("api/1", "haiku 50 5 0.05", `,"agent_id":"x"`))              // 23:20, a subagent
	step(0, auth.Identity{}, request("web/2", "opus 200 20 1", `,"user_email":"bob@example.com"`)) // 23:20
	step(0, auth.Identity{}, `{"source_app":"web","session_id":"3","hook_event_type":"SessionStart","os_user":"eve","payload":{}}`)
	step(0, auth.Identity{}, `{"source_app":"web","session_id":"3","hook_event_type":"StatusLine","payload":{"cost":{"total_cost_usd":0.20},"model":"sonnet"}}`)
	step(2*time.Hour, auth.Identity{}, `{"source_app":"web","session_id":"3","hook_event_type":"StatusLine","payload":{"cost":{"total_cost_usd":0.45},"model":"sonnet"}}`) // 01:20, the 21st
	step(0, auth.Identity{}, `{"source_app":"web","session_id":"3","hook_event_type":"Notification","payload":{"cwd":"/src/web"}}`)
	step(0, auth.Identity{}, request("web/3", "opus 7 3 0.30")) // less than the agent's own sum: only the tokens count
	h.catchUp(h.newProjector())

	for by, want := range map[string][]string{
		"day":         {"2026-11-20 350+35 1.75", "2026-11-21 7+3 0.25"},
		"app":         {"web 207+23 1.45", "api 150+15 0.55"},
		"model":       {"opus 307+33 1.50", "sonnet 0+0 0.45", "haiku 50+5 0.05"},
		"person":      {"bob@example.com 200+20 1.00", "ada 150+15 0.55", "eve 7+3 0.45"},
		"project":     {"200+20 1.00", "/src/api 150+15 0.55", "/src/web 7+3 0.45"},
		"project,app": {"web 200+20 1.00", "api /src/api 150+15 0.55", "web /src/web 7+3 0.45"},
		"day,person":  {"2026-11-20 bob@example.com 200+20 1.00", "2026-11-20 ada 150+15 0.55", "2026-11-20 eve 0+0 0.20", "2026-11-21 eve 7+3 0.25"},
	} {
		lines, r := h.spendLines(by, 2, time.UTC)
		require.Equal(t, want, lines, by)
		require.InDelta(t, 2.00, r.CostUSD, 1e-9, by)
		require.Equal(t, history.Tokens{Input: 357, Output: 38}, r.Tokens, by)
	}
	lines, _ := h.spendLines("day", 2, loadZone(t, "Europe/Berlin"))
	require.Equal(t, []string{"2026-11-20 100+10 0.50", "2026-11-21 257+28 1.50"}, lines, "midnight is at 23:00 UTC")
	lines, r := h.spendLines("day", 1, time.UTC)
	require.Equal(t, []string{"2026-11-21 7+3 0.25"}, lines)
	require.InDelta(t, 0.25, r.CostUSD, 1e-9)

	var sum float64
	for _, s := range h.allSessions() {
		sum += s.CostUSD
	}
	require.InDelta(t, 2.00, sum, 1e-9, "of all sessions")
}

// The person and the application of a session are often known late.
func TestSpendReport_MovesWithSession(t *testing.T) {
	t.Parallel()
	for _, often := range []bool{true, false} {
		h := newTestHub(t)
		f := h.newProjector()
		for _, step := range []func(){
			func() { h.postLogs(apiRequestRecord("s1", "", "opus", 1)) }, // of the application claude-code
			func() { h.postHook("api", "s1", "SessionStart", `{"cwd":"/src/api"}`) },
			func() {
				h.post(`{"source_app":"api","session_id":"s1","hook_event_type":"Notification","os_user":"ada","payload":{}}`)
			},
			func() { h.postLogs(apiRequestRecord("s1", "a", "haiku", 2)) },
		} {
			step()
			if often {
				h.catchUp(f)
			}
		}
		h.catchUp(f)
		lines, _ := h.spendLines("app,model,person,project", 1, time.UTC)
		require.Equal(t, []string{"api haiku ada /src/api 100+10 0.25", "api opus ada /src/api 100+10 0.25"}, lines)
		page, err := h.Sessions(t.Context(), store.SessionFilter{Person: "ada", Limit: 5})
		require.NoError(t, err)
		require.Len(t, page.Sessions, 1)
		require.Equal(t, history.PersonOfSystem, page.Sessions[0].PersonSource)
		page, err = h.Sessions(t.Context(), store.SessionFilter{Person: "eve", Limit: 5})
		require.NoError(t, err)
		require.Empty(t, page.Sessions)
	}
}

// Metrics of several models in one request are divided as they report it.
func TestSpendReport_DividesMetricsByModel(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	point := func(model, member string, value float64) string {
		return fmt.Sprintf(`{"attributes":[{"key":"session.id","value":{"stringValue":"s1"}},{"key":"model","value":{"stringValue":%q}}%s],"timeUnixNano":"1700000000000000000","asDouble":%g}`, model, member, value)
	}
	tokens := func(model string, n float64) string {
		return point(model, `,{"key":"type","value":{"stringValue":"input"}}`, n)
	}
	metric := func(name string, points ...string) string {
		return fmt.Sprintf(`{"name":%q,"sum":{"aggregationTemporality":1,"dataPoints":[%s]}}`, name, strings.Join(points, ","))
	}
	_, err := h.hub.IngestTelemetry(t.Context(), otlp.Metrics, fmt.Appendf(nil, `{"resourceMetrics":[{%s,"scopeMetrics":[{"metrics":[%s,%s]}]}]}`, claudeCodeResource,
		metric("claude_code.token.usage", tokens("opus", 100), tokens("haiku", 31)), metric("claude_code.cost.usage", point("opus", "", 0.75), point("haiku", "", 0.25))), hub.Caller{})
	require.NoError(t, err)
	h.catchUp(h.newProjector())
	lines, r := h.spendLines("model", 1, time.UTC)
	require.Equal(t, []string{"opus 100+0 0.75", "haiku 31+0 0.25"}, lines)
	require.InDelta(t, 1, r.CostUSD, 1e-9)
}

func TestSpendReport_EmptyHub(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	lines, r := h.spendLines("day", 90, time.UTC)
	require.Empty(t, lines)
	require.NotNil(t, r.Rows, "a list in JSON")
	_, err := ParseSpendGroups("day,color")
	require.ErrorIs(t, err, schema.ErrInvalid)
	_, err = h.SpendReport(cancelled(), SpendGroups{}, query.StatsRange{Days: 1, Zone: time.UTC})
	require.ErrorIs(t, err, context.Canceled)
}

func cancelled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestSpendCSV_ProtectsFromFormulas(t *testing.T) {
	t.Parallel()
	day, model, project := "2026-11-20", `=HYPERLINK("http://x","y")`, "+1"
	table := SpendCSV(SpendGroups{Day: true, Model: true, Project: true}, []history.SpendRow{
		{Day: &day, Model: &model, Project: &project, Tokens: history.Tokens{Input: 1, CacheRead: 2}, CostUSD: 0.125},
	})
	require.Equal(t, "day,model,project,input_tokens,output_tokens,cache_read_tokens,cache_write_tokens,cost_usd\n"+
		`2026-11-20,"'=HYPERLINK(""http://x"",""y"")",'+1,1,0,2,0,0.125000`+"\n", string(table))
}
