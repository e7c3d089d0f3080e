package hubtest_test

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/hubtest"
)

// reportHub is a hub with its report.
type reportHub struct {
	*hubtest.Hub
	t     *testing.T
	calls int
}

// post stores an event of a session, whose application has the same name.
func (h *reportHub) post(session, typ, members string) (e schema.Event) {
	h.t.Helper()
	if members != "" {
		members = "," + members
	}
	if !strings.Contains(members, `"payload"`) {
		members += `,"payload":{}`
	}
	body := fmt.Sprintf(`{"source_app":%q,"session_id":%q,"hook_event_type":%q%s}`, session, session, typ, members)
	require.Equal(h.t, 200, fetch(h.t, "POST "+h.URL()+schema.PathEvents, body, &e))
	return e
}

// call stores the start of a call of the shell, and its end unless the type of that is empty.
func (h *reportHub) call(session, command, end, members string) {
	h.t.Helper()
	h.calls++
	call := fmt.Sprintf(`"tool_name":"Bash","tool_use_id":"t%d","payload":{"tool_input":{"command":%q}}`, h.calls, command)
	h.post(session, "PreToolUse", call+members)
	if end != "" {
		h.post(session, end, call+map[bool]string{true: `,"error":"exit status 1"`}[end == "PostToolUseFailure"])
	}
}

func (h *reportHub) ask(session, members string) schema.EventID {
	h.t.Helper()
	return h.post(session, "PermissionRequest", `"humanInTheLoop":{"question":"May I?","type":"permission"`+members+`}`).ID
}

func (h *reportHub) report(query string) (r history.Report) {
	h.t.Helper()
	require.Equal(h.t, 200, fetch(h.t, "GET "+h.URL()+history.PathReport+query, "", &r))
	return r
}

// now returns a time of the hub that is after all events so far.
func (h *reportHub) now() schema.Millis {
	h.t.Helper()
	first, last := h.report("").Until, schema.Millis(0)
	require.Eventually(h.t, func() bool { last = h.report("").Until; return last > first }, time.Minute, time.Millisecond)
	return last
}

// settled waits until the hub has rated and counted everything, and returns the checked report.
func (h *reportHub) settled(since schema.Millis, done func(lines map[history.ReportKind]history.ReportLine) bool) (r history.Report) {
	h.t.Helper()
	require.Eventually(h.t, func() bool {
		r = h.report(fmt.Sprintf("?check=1&since=%d", since))
		lines := map[history.ReportKind]history.ReportLine{}
		for _, line := range r.Lines {
			lines[line.Kind] = line
		}
		return done(lines)
	}, time.Minute, 20*time.Millisecond)
	return r
}

// rows returns the rows that the screen behind a link lists, and for a cost their sum.
func (h *reportHub) rows(link string) (rows int64, costUSD float64) {
	h.t.Helper()
	screen, err := url.Parse(link)
	require.NoError(h.t, err)
	q := screen.Query()
	switch screen.Path {
	case "/overview":
		var spend history.SpendReport
		require.Equal(h.t, 200, fetch(h.t, "GET "+h.URL()+history.PathSpend+"?by=app&from="+q.Get("since"), "", &spend))
		for _, row := range spend.Rows {
			costUSD += row.CostUSD
		}
		return 0, costUSD
	case "/stream":
		search := url.Values{"filter": {q.Get("q")}, "limit": {"1000"}}
		for _, bound := range []string{"from", "to"} {
			if q.Has(bound) {
				search.Set(bound, q.Get(bound))
			}
		}
		for page := (history.SearchResult{}); !page.Complete; search.Set("before", page.SearchedTo.String()) {
			page = history.SearchResult{}
			require.Equal(h.t, 200, fetch(h.t, "GET "+h.URL()+schema.PathSearch+"?"+search.Encode(), "", &page))
			rows += int64(len(page.Events))
		}
		return rows, 0
	}
	require.Fail(h.t, "no list", link)
	return 0, 0
}

// requireRows checks that each number is that of the rows behind its link, and that the second count agrees.
func (h *reportHub) requireRows(r history.Report) {
	h.t.Helper()
	require.True(h.t, r.Checked)
	require.LessOrEqual(h.t, len(r.Lines), 8)
	for _, line := range r.Lines {
		rows, cost := h.rows(line.Link)
		require.Equal(h.t, line.Count, rows, "%s %s", line.Kind, line.Link)
		require.InDelta(h.t, line.CostUSD, cost, 1e-6, line.Link)
		require.Empty(h.t, line.Differs, "%+v", line)
		require.False(h.t, line.AtLeast, line.Kind)
	}
}

func TestReport_LinesOfPreparedLog(t *testing.T) {
	t.Parallel()
	h := &reportHub{Hub: hubtest.Start(t), t: t}
	require.Empty(t, h.report("?check=1").Lines, "of an empty log")
	h.post("before", "Stop", "")
	h.call("before", "rm -rf /srv", "PostToolUse", "")
	still := h.ask("before", `,"timeout":0`)
	since := h.now()
	h.post("shop", "Stop", "")
	h.post("shop", "stop", "")
	h.post("docs", "Stop", `"payload":{"total_cost_usd":1.25}`)
	h.post("docs", "SubagentStop", "")
	h.ask("shop", `,"timeout":0`)
	h.ask("ci", `,"timeout":1`)
	h.call("ci", "git push --force origin main", "", `,"hook":{"verdict":"deny","by":"policy"}`)
	h.call("ci", "git push --force origin main", "PostToolUse", "")
	h.call("ci", "rm -rf /srv/data", "PostToolUseFailure", "")
	h.call("shop", "rm -rf /srv/data", "PostToolUse", `,"hook":{"verdict":"allow","by":"policy"}`)
	for range 9 {
		h.call("loop", "make test", "PostToolUse", "")
	}
	h.call("loop", "ls", "PostToolUse", "")
	for range 6 {
		h.call("loop", "make lint", "PostToolUseFailure", "")
	}
	h.post("evil\u202e\n<b>", "Stop", "")
	r := h.settled(since, func(lines map[history.ReportKind]history.ReportLine) bool {
		return lines[history.ReportWaiting].Count == 2 &&
			lines[history.ReportExpired].Count == 1 && lines[history.ReportUnasked].Count == 2 &&
			lines[history.ReportFinished].Count == 4 && lines[history.ReportFailed].Count == 7 &&
			lines[history.ReportLoops].Count == 2 && lines[history.ReportCost].CostUSD == 1.25
	})
	var texts []string
	for _, line := range r.Lines {
		texts = append(texts, line.Number+" "+line.Text)
	}
	require.Equal(t, []string{
		"2 requests wait for an answer: before, shop; the oldest for less than a minute",
		"1 request got no answer in time: ci",
		"4 turns ended: shop, docs, evil <b>",
		"1 call was refused: ci",
		"2 risky calls ran unasked: ci",
		"7 errors reported: loop, ci",
		"2 loops of the same call: loop",
		"$1.25 spent: docs",
	}, texts)
	require.NotZero(t, r.Lines[0].Oldest)
	require.Less(t, r.Lines[0].Oldest, since)
	h.requireRows(r)

	var problem schema.Problem
	for _, bad := range []string{"?since=" + fmt.Sprint(r.Until+3_600_000), "?since=soon", "?since=-1h", "?since=32d", "?since=1", "?check=2", "?from=1"} {
		require.Equal(t, 400, fetch(t, "GET "+h.URL()+history.PathReport+bad, "", &problem), bad)
		require.NotEmpty(t, problem.Detail, bad)
	}
	require.Equal(t, 200, fetch(t, "POST "+h.URL()+schema.At(schema.PathRespond, still), `{"permission":true}`, &schema.Event{}))
	h.requireRows(h.report("?check=1&since=1h"))
}

// Whatever agents do, each number is that of the rows behind its link.
func TestReport_NumbersAreRows(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			h, rng := &reportHub{Hub: hubtest.Start(t), t: t}, rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // reproducible
			since, risky := schema.Millis(0), int64(0)
			for i := range 160 {
				if i == 20 {
					since, risky = h.now(), 0
				}
				session := []string{"a", "b", "hookback", "Ⅷ|)$/ x"}[rng.IntN(4)]
				switch rng.IntN(9) {
				case 0:
					h.post(session, []string{"Stop", "STOP", "ſtop", "StopFailure", "SessionEnd"}[rng.IntN(5)], `"error":"`+[]string{"", "no", " "}[rng.IntN(3)]+`"`)
				case 1:
					id := h.ask(session, `,"timeout":0`)
					if rng.IntN(2) == 0 {
						require.Equal(t, 200, fetch(t, "POST "+h.URL()+schema.At(schema.PathRespond, id), `{"permission":false}`, &schema.Event{}))
					}
				case 2:
					risky++
					h.call(session, fmt.Sprint("rm -rf /srv/", i), "PostToolUse", "")
				case 3:
					h.call(session, "git push --force", "", `,"hook":{"verdict":"deny","by":"policy"}`)
				case 4:
					h.post(session, "Stop", fmt.Sprintf(`"payload":{"total_cost_usd":%g}`, rng.Float64()*10))
				default:
					for range rng.IntN(9) {
						h.call(session, []string{"make", "make test"}[rng.IntN(2)/(1+i%2)], []string{"PostToolUse", "PostToolUseFailure"}[rng.IntN(2)/(1+i%3)], "")
					}
				}
			}
			h.call("last", "rm -rf /srv/last", "PostToolUse", "") // calls are rated in their order
			risky++
			h.requireRows(h.settled(since, func(lines map[history.ReportKind]history.ReportLine) bool {
				return lines[history.ReportUnasked].Count == risky
			}))
		})
	}
}
