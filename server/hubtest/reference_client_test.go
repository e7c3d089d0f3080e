package hubtest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/hubtest"
)

// referenceClient is the HITLManager of the protocol's guide: one listener, and a future for each
// permission_type, which it takes from hookEvent.payload of the message.
type referenceClient struct {
	t       *testing.T
	hub     *hubtest.Hub
	addr    net.Addr
	choices string // of a choice, as JSON
	futures map[string]chan map[string]any
}

func startReferenceClient(t *testing.T, hub *hubtest.Hub, types ...string) *referenceClient {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &referenceClient{t: t, hub: hub, addr: ln.Addr(), choices: `["Jest","Vitest","Mocha"]`, futures: map[string]chan map[string]any{}}
	for _, permissionType := range types {
		c.futures[permissionType] = make(chan map[string]any, 1)
	}
	listener := &http.Server{ReadHeaderTimeout: waitLimit, Handler: http.HandlerFunc(c.handleResponse)}
	go func() { _ = listener.Serve(ln) }()
	t.Cleanup(func() { _ = listener.Close() })
	return c
}

func (c *referenceClient) handleResponse(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		c.t.Error(err)
		return
	}
	var data map[string]any
	if _, b, err := ws.Read(r.Context()); err != nil || json.Unmarshal(b, &data) != nil {
		c.t.Error("malformed response", err)
		return
	}
	event, _ := data["hookEvent"].(map[string]any)
	payload, _ := event["payload"].(map[string]any)
	permissionType, _ := payload["permission_type"].(string)
	if future := c.futures[permissionType]; future != nil {
		future <- data
	} else {
		c.t.Errorf("no future for %q", permissionType)
	}
	_ = ws.Close(websocket.StatusNormalClosure, "")
}

const lock = "\U0001f510 "

// request posts what the guide's request_approval posts and returns the hub's event.
func (c *referenceClient) request(permissionType, question, kind string, timeout int) (e schema.Event) {
	c.t.Helper()
	choices := "null"
	if kind == "choice" {
		choices = c.choices
	}
	body := fmt.Sprintf(`{"source_app":"my-agent","session_id":"session-123","hook_event_type":"DecisionPoint",
		"payload":{"agent_name":"alice","permission_type":%q,"question":%q},
		"humanInTheLoop":{"question":%q,"responseWebSocketUrl":"ws://%s","type":%q,"choices":%s,"timeout":%d,"requiresResponse":true},
		"timestamp":1734189234000,"summary":%q}`, permissionType, question, question, c.addr, kind, choices, timeout, lock+permissionType+": "+question)
	resp, err := http.Post(c.hub.URL()+schema.PathEvents, "application/json", strings.NewReader(body))
	require.NoError(c.t, err)
	defer http.DefaultClient.CloseIdleConnections()
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	require.NoError(c.t, err)
	require.Equal(c.t, http.StatusOK, resp.StatusCode, "the guide's client accepts no other status: %s", b)
	require.NoError(c.t, json.Unmarshal(b, &e))
	return e
}

func (c *referenceClient) wait(permissionType string) map[string]any {
	c.t.Helper()
	select {
	case data := <-c.futures[permissionType]:
		return data
	case <-time.After(waitLimit):
		require.FailNow(c.t, "no response for "+permissionType)
		return nil
	}
}

// TestReferenceClient_ReceivesEveryKind runs the guide's client against the hub: the three kinds of
// question are pending at the same time, are answered in another order, and each answer reaches its
// future.
func TestReferenceClient_ReceivesEveryKind(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	c := startReferenceClient(t, hub, "env_file_access", "naming", "framework")
	permission := c.request("env_file_access", "May I access .env files?", "permission", 300)
	text := c.request("naming", "Which naming convention?", "question", 300)
	choice := c.request("framework", "Which framework?", "choice", 300)

	postAnswer(t, hub, choice.ID, `{"choice":"Vitest"}`)
	postAnswer(t, hub, permission.ID, `{"permission":true}`)
	postAnswer(t, hub, text.ID, `{"response":"snake_case"}`)
	for permissionType, want := range map[string]struct {
		id     schema.EventID
		member string
		value  any
	}{
		"env_file_access": {permission.ID, "permission", true},
		"naming":          {text.ID, "response", "snake_case"},
		"framework":       {choice.ID, "choice", "Vitest"},
	} {
		data := c.wait(permissionType)
		require.Equal(t, want.value, data[want.member], permissionType)
		require.InDelta(t, time.Now().UnixMilli(), data["respondedAt"], float64(2*waitLimit.Milliseconds()), "milliseconds")
		event, _ := data["hookEvent"].(map[string]any)
		require.EqualValues(t, want.id, event["id"])
	}
}

// TestSummary_IsTakenAsSent: the guide's summary has a lock and the first 100 characters of the
// question. The post's result, the event and version 1 streams have it unchanged.
func TestSummary_IsTakenAsSent(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	c := startReferenceClient(t, hub, "deploy_production")
	question := strings.Repeat("Größe? ", 14)
	want := lock + "deploy_production: " + question
	asked := c.request("deploy_production", question, "permission", 300)
	require.Equal(t, want, asked.Summary)
	require.Equal(t, want, getEvent(t, hub, asked.ID).Summary)
	var events []schema.Event
	require.NoError(t, json.Unmarshal(openTab(t, hub.StreamURL()).next().Data, &events))
	require.Equal(t, want, events[0].Summary)
}

// TestStatus_OfEveryEnd: the status of a question is pending and then responded, timeout or error.
func TestStatus_OfEveryEnd(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	c := startReferenceClient(t, hub, "answered", "expired", "cancelled")
	asked := map[schema.State]schema.Event{
		schema.Responded: c.request("answered", "Go?", "permission", 300),
		schema.TimedOut:  c.request("expired", "Go?", "permission", 1),
		schema.Failed:    c.request("cancelled", "Go?", "permission", 300),
	}
	for _, e := range asked {
		require.Equal(t, schema.State("pending"), e.HumanInTheLoopStatus.Status)
		require.Zero(t, e.HumanInTheLoopStatus.RespondedAt)
		require.Nil(t, e.HumanInTheLoopStatus.Response)
	}
	postAnswer(t, hub, asked[schema.Responded].ID, `{"permission":true}`)
	post(t, hub.URL()+schema.At(schema.PathCancel, asked[schema.Failed].ID), `{"reason":"handled by phone"}`)
	for state, name := range map[schema.State]string{schema.Responded: "responded", schema.TimedOut: "timeout", schema.Failed: "error"} {
		var st *schema.Status
		require.Eventually(t, func() bool {
			st = getEvent(t, hub, asked[state].ID).HumanInTheLoopStatus
			return st.Status != schema.Pending
		}, waitLimit, 10*time.Millisecond)
		require.Equal(t, name, string(st.Status))
		require.NotZero(t, st.RespondedAt)
	}
	st := getEvent(t, hub, asked[schema.Responded].ID).HumanInTheLoopStatus
	require.True(t, *st.Response.Permission)
	require.Equal(t, st.RespondedAt, st.Response.RespondedAt)
	require.Equal(t, true, c.wait("answered")["permission"])
	expired := c.wait("expired")
	require.Equal(t, false, expired["permission"], "a timeout is no approval")
	require.Equal(t, "__timeout__", expired["outcome"])
}

func getEvent(t *testing.T, hub *hubtest.Hub, id schema.EventID) (e schema.Event) {
	t.Helper()
	resp, err := http.Get(hub.URL() + schema.At(schema.PathEvent, id))
	require.NoError(t, err)
	defer http.DefaultClient.CloseIdleConnections()
	defer func() { _ = resp.Body.Close() }()
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&e))
	return e
}
