package hubtest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/server/hubtest"
)

func sendTestRequest(t *testing.T, hub *hubtest.Hub) (status int, body string) {
	t.Helper()
	resp, err := http.Post(hub.URL()+schema.PathTestRequests, "application/json", strings.NewReader("{}"))
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(b)
}

func testStatus(t *testing.T, hub *hubtest.Hub, id schema.EventID) *schema.Status {
	t.Helper()
	e, ok := readEvent(t, hub, id)
	require.True(t, ok)
	return e.HumanInTheLoopStatus
}

// startTestRequest sends a test request as soon as no other one is open.
func startTestRequest(t *testing.T, hub *hubtest.Hub) schema.EventID {
	t.Helper()
	var sent schema.TestRequest
	require.Eventually(t, func() bool {
		status, body := sendTestRequest(t, hub)
		return status == http.StatusCreated && json.Unmarshal([]byte(body), &sent) == nil
	}, waitLimit, 20*time.Millisecond)
	return sent.ID
}

// The hub plays the agent: its answer is acknowledged on a real listener, and an approved call ran.
func TestTestRequest_EveryStepArrives(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	for _, permission := range []bool{true, false} {
		id := startTestRequest(t, hub)
		e, ok := readEvent(t, hub, id)
		require.True(t, ok)
		require.True(t, e.HumanInTheLoopStatus.Test)
		require.Equal(t, schema.TestApp, e.SourceApp)
		require.Contains(t, e.HumanInTheLoop.Context.Why, "nothing runs")
		status, body := sendTestRequest(t, hub)
		require.Equal(t, http.StatusConflict, status, "one at a time")
		require.Contains(t, body, "test_pending")

		answer, err := json.Marshal(schema.Response{Permission: &permission})
		require.NoError(t, err)
		postAnswer(t, hub, id, string(answer))
		require.Eventually(t, func() bool {
			st := testStatus(t, hub, id)
			return st.Delivery.State == schema.Acked && (!permission || st.Execution.IsOver())
		}, waitLimit, 20*time.Millisecond)
		if st := testStatus(t, hub, id); permission {
			require.Equal(t, schema.Succeeded, st.Execution.State)
		} else {
			require.Nil(t, st.Execution, "a denied call does not run")
		}
	}
	post(t, hub.URL()+schema.At(schema.PathCancel, startTestRequest(t, hub)), "{}")
	startTestRequest(t, hub) // the stop of the hub ends it
}

// No one else can mark a request as a test, or use its name to hide.
func TestTestRequest_NameIsReserved(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	for _, key := range []string{"", "test-request/ABC"} {
		body, err := json.Marshal(map[string]any{
			"source_app": schema.TestApp, "session_id": "s", "hook_event_type": "Ask", "payload": map[string]any{}, "idempotency_key": key,
			"humanInTheLoop": map[string]any{"question": "Go?", "type": "permission"},
		})
		require.NoError(t, err)
		resp, err := http.Post(hub.URL()+schema.PathEvents, "application/json", bytes.NewReader(body))
		require.NoError(t, err)
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusBadRequest, resp.StatusCode, string(b))
		require.Contains(t, string(b), "reserved")
	}
}

// A test request appears in the inbox, the log and the ledger, and in no figure or list of agents.
func TestTestRequest_IsNotCounted(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	read := func(path string) string {
		resp, err := http.Get(hub.URL() + path)
		require.NoError(t, err)
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, resp.StatusCode, path)
		return string(b)
	}
	id := startTestRequest(t, hub)
	require.Contains(t, read(schema.PathEvents+"?status=pending"), schema.TestApp, "the person must see it")
	postAnswer(t, hub, id, `{"permission": true}`)
	require.Eventually(t, func() bool { return testStatus(t, hub, id).Execution.IsOver() }, waitLimit, 20*time.Millisecond)
	post(t, hub.URL()+schema.PathEvents, `{"source_app": "other", "session_id": "s", "hook_event_type": "PreToolUse", "tool_name": "Bash", "payload": {"tool_input": {"command": "rm -rf /"}}}`)
	require.Eventually(t, func() bool { // the followers have seen everything before it
		return strings.Contains(read(schema.PathSessions), "other") &&
			strings.Contains(read(schema.PathRiskyCalls), "other") && strings.Contains(read(schema.PathOverview), "other")
	}, waitLimit, 20*time.Millisecond)
	for _, path := range []string{
		schema.PathSessions, schema.PathRiskyCalls, schema.PathOverview, schema.PathFilterOptions, inbox.PathHitlStats,
	} {
		require.NotContains(t, read(path), schema.TestApp, path)
	}
	require.Contains(t, read(inbox.PathHitlStats), `"responsesCount":0`)
	require.NotContains(t, read(schema.PathMetrics), `hookback_questions_total{outcome="approve"} 1`)
	require.Contains(t, read(schema.PathLedger), `"test":true`)
}
