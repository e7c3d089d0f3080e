package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/hubtest"
)

func TestReport_PrintsLines(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	d := newTestMachine(t)
	d.env["HOOKBACK_URL"] = hub.URL()
	got := d.run("report")
	require.Equal(t, 0, got.status, got.err)
	require.Regexp(t, `^From \d{4}-\d\d-\d\d \d\d:\d\d to \d{4}-\d\d-\d\d \d\d:\d\d:\nNothing happened.\n$`, got.out)

	for i, event := range []string{`"Stop","payload":{}`, `"Stop","payload":{}`, `"PostToolUseFailure","error":"exit status 1","payload":{}`} {
		body := fmt.Sprintf(`{"source_app":"shop-api","session_id":"s%d","hook_event_type":%s}`, i, event)
		res, err := http.Post(hub.URL()+schema.PathEvents, "application/json", strings.NewReader(body)) //nolint:noctx // a test
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, 200, res.StatusCode)
	}
	got = d.run("report", "--since", "3d", "--check")
	require.Equal(t, 0, got.status, got.err)
	_, lines, _ := strings.Cut(got.out, "\n")
	require.Regexp(t, `^2 turns ended: shop-api
  `+hub.URL()+`/stream\?q=type%3Astop\+-app%3Ahookback-test&from=\d+&to=\d+
1 error reported: shop-api
  `+hub.URL()+`/stream\?q=error%3A%2F\.%2F\+-app%3Ahookback-test&from=\d+&to=\d+
✓ Each number was counted twice\.
$`, lines)

	got = d.run("report", "--json")
	require.Equal(t, 0, got.status, got.err)
	var r history.Report
	require.NoError(t, json.Unmarshal([]byte(got.out), &r))
	require.Len(t, r.Lines, 2)
	require.Equal(t, history.ReportFinished, r.Lines[0].Kind)
	require.EqualValues(t, 2, r.Lines[0].Count)
	require.False(t, r.Checked)

	for want, args := range map[string][]string{
		"since must be a duration such as 12h or 3d": {"--since", "soon"}, "at most 31 days ago": {"--since", "32d"},
		"report takes flags only": {"yesterday"}, "no hub answers at": {"--hub", "http://127.0.0.1:1"},
	} {
		got := d.run(append([]string{"report"}, args...)...)
		require.Equal(t, 2, got.status, want)
		require.Contains(t, got.err, want)
		require.Empty(t, got.out)
	}

	hub.Owner("ada") // locks the hub; a program of its account reads without a token
	require.Equal(t, 0, d.run("report").status)
}

// A number that the second count does not confirm is named.
func TestReport_NamesDifference(t *testing.T) {
	t.Parallel()
	report := history.Report{Since: 1, Until: 2, KnownFrom: 1, Checked: true, Lines: []history.ReportLine{
		{Kind: history.ReportFinished, Count: 2, Number: "2 turns", Text: "ended: a", Link: "/stream?q=x", Differs: "3"},
	}}
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		report.Lines[0].Differs = map[string]string{"1": "3"}[r.URL.Query().Get("check")]
		report.Checked = r.URL.Query().Get("since") != "1h"
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(report)
	}))
	t.Cleanup(hub.Close)
	d := newTestMachine(t)
	got := d.run("report", "--check", "--hub", hub.URL)
	require.Equal(t, 1, got.status)
	require.Contains(t, got.out, "  "+hub.URL+"/stream?q=x\n  ✗ The second count found 3.\n")
	require.Contains(t, got.out, "The hub keeps no events from before ")
	require.NotContains(t, got.out, "counted twice")
	report.Lines = []history.ReportLine{{}}
	got = d.run("report", "--check", "--since", "1h", "--hub", hub.URL)
	require.Equal(t, 1, got.status)
	require.Contains(t, got.out, "✗ Not all numbers were counted twice")
}
