package hubtest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/hubtest"
)

// fetch sends a request, such as "GET URL", and decodes the JSON response.
func fetch(t *testing.T, request, body string, into any) int {
	t.Helper()
	method, url, _ := strings.Cut(request, " ")
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Close = true // the hub is stopped between requests
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, into), string(text))
	return res.StatusCode
}

// TestSessions_SurviveRestarts: after a restart in the middle of a session, the hub continues
// its projection and matches a call to an approval from before the restart.
func TestSessions_SurviveRestarts(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	post := func(members string) (e schema.Event) {
		t.Helper()
		status := fetch(t, "POST "+hub.URL()+schema.PathEvents, `{"source_app":"a","session_id":"s",`+members+`}`, &e)
		require.Equal(t, 200, status)
		return e
	}
	asked := post(`"hook_event_type":"PermissionRequest","payload":{},"tool_use_id":"u1","humanInTheLoop":{"question":"May I?","type":"permission"}`)
	var answered schema.Event
	require.Equal(t, 200, fetch(t, "POST "+hub.URL()+schema.At(schema.PathRespond, asked.ID), `{"permission":true}`, &answered))
	const rounds = 3
	for i := range rounds {
		hub.Restart()
		post(fmt.Sprintf(`"hook_event_type":"PreToolUse","payload":{},"tool_name":"Bash","tool_use_id":"v%d"`, i))
		hub.Restart()
		post(fmt.Sprintf(`"hook_event_type":"PostToolUse","payload":{},"tool_name":"Bash","tool_use_id":"v%d"`, i))
	}
	hub.Restart()
	post(`"hook_event_type":"PostToolUse","payload":{},"tool_name":"Bash","tool_use_id":"u1"`)

	var d history.SessionDetail
	require.Eventually(t, func() bool {
		status := fetch(t, "GET "+hub.URL()+schema.PathSession+"?source_app=a&session_id=s", "", &d)
		return status == 200 && d.Session.Events == 2+2*rounds
	}, waitLimit, 10*time.Millisecond)
	require.Len(t, d.Tools, 1)
	require.EqualValues(t, rounds+1, d.Tools[0].Calls)
	require.Positive(t, d.Tools[0].MedianMS, "start and end of a call are paired across a restart")
	var e schema.Event
	fetch(t, "GET "+hub.URL()+schema.At(schema.PathEvent, asked.ID), "", &e)
	require.NotNil(t, e.HumanInTheLoopStatus.Execution)
	require.Equal(t, schema.Succeeded, e.HumanInTheLoopStatus.Execution.State)
	require.Equal(t, int64(3), e.HumanInTheLoopStatus.Revision, "asked, answered, executed")
	var o history.Overview
	require.Equal(t, 200, fetch(t, "GET "+hub.URL()+schema.PathOverview+"?days=2&tz=America/New_York", "", &o))
	require.EqualValues(t, 1, o.Days[1].Approved+o.Days[0].Approved)
	require.EqualValues(t, 2+2*rounds, o.Agents[0].Events)
}
