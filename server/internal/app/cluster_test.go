package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/hub"
)

// startHubs runs two hubs of one database until the test ends. The first one leads.
func startHubs(t *testing.T) (a, b *App, stopA, stopB func()) {
	t.Helper()
	cfg := postgresConfig(t)
	a, stopA = startHub(t, cfg)
	b, stopB = startHub(t, cfg)
	require.Eventually(t, func() bool { return len(a.store.Members()) == 2 && len(b.store.Members()) == 2 }, time.Minute, time.Millisecond)
	require.True(t, a.store.IsLeader())
	return a, b, stopA, stopB
}

// requireTools waits until the overview of a hub counts n calls of a tool.
func requireTools(t *testing.T, a *App, n int64) {
	t.Helper()
	var o history.Overview
	require.Eventually(t, func() (ok bool) {
		var err error
		o, err = a.sessions.Overview(t.Context(), 1, time.UTC)
		require.NoError(t, err)
		return len(o.Tools) == 1 && o.Tools[0].Calls >= n
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, n, o.Tools[0].Calls, "each call counts once")
}

// ask posts a question to a hub and returns its id.
func ask(t *testing.T, a *App, url string, by hub.Caller) schema.EventID {
	t.Helper()
	body := `{"source_app":"a","session_id":"s","hook_event_type":"PermissionRequest","payload":{},"humanInTheLoop":{"question":"May I?","type":"permission"`
	if url != "" {
		body += `,"responseWebSocketUrl":"` + url + `"`
	}
	var id schema.EventID
	retryBusy(t, func() error {
		saved, err := a.hub.Ingest(t.Context(), []byte(body+`}}`), by)
		if err == nil {
			id = saved.ID
		}
		return err
	})
	return id
}

func statusOf(t *testing.T, a *App, id schema.EventID) (st schema.Status) {
	t.Helper()
	q, err := a.store.Question(t.Context(), id)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(q.Status, &st))
	return st
}

func approve(t *testing.T, a *App, id schema.EventID) {
	t.Helper()
	yes := true
	retryBusy(t, func() error {
		_, err := a.hub.Respond(t.Context(), id, &schema.Response{Permission: &yes}, hub.Caller{})
		return err
	})
}

// retryBusy repeats a request to a hub that has not heard from its database for a second, as on a slow
// machine.
func retryBusy(t *testing.T, request func() error) {
	t.Helper()
	require.Eventually(t, func() bool {
		err := request()
		if err != nil {
			require.ErrorIs(t, err, schema.ErrBusy)
		}
		return err == nil
	}, time.Minute, 10*time.Millisecond)
}

func TestHubs_NextLeaderGoesOnWithProjections(t *testing.T) {
	t.Parallel()
	a, b, stopA, _ := startHubs(t)
	call := func(at *App, id int) {
		postEventBody(t, at, fmt.Sprintf(`{"source_app":"a","session_id":"s","hook_event_type":"PostToolUse","payload":{"tool_name":"Bash","tool_use_id":"%d","tool_input":{}}}`, id))
	}
	for i := range 5 {
		call(a, i)
		call(b, 100+i)
	}
	requireTools(t, a, 10)
	requireTools(t, b, 10) // projected by the leader
	stopA()
	for i := range 5 {
		call(b, 200+i)
	}
	requireTools(t, b, 15)
	require.True(t, b.store.IsLeader())
}

func postEventBody(t *testing.T, a *App, body string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	retryBusy(t, func() error {
		resp, err := client.Post(a.URL()+"/events", "application/json", strings.NewReader(body))
		require.NoError(t, err)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		if resp.StatusCode == http.StatusServiceUnavailable {
			return schema.ErrBusy
		}
		require.Equal(t, 200, resp.StatusCode, string(text))
		return nil
	})
}

func TestHubs_HeldRequestEndsWithItsHub(t *testing.T) {
	t.Parallel()
	a, b, _, stopB := startHubs(t)
	held := ask(t, b, "", hub.Caller{WaitsForAnswer: true})
	c, stopC := startHub(t, a.cfg) // a change of the members
	require.Eventually(t, func() bool { return len(a.store.Members()) == 3 }, time.Minute, time.Millisecond)
	gone := ask(t, c, "", hub.Caller{WaitsForAnswer: true})
	stopC()
	require.Eventually(t, func() bool { st := statusOf(t, a, gone); return st.IsSettled() }, time.Minute, time.Millisecond)
	require.Equal(t, hub.ReasonHubStopped, statusOf(t, a, gone).Reason)
	require.Equal(t, schema.Pending, statusOf(t, a, held).Status, "its hub is alive")
	stopB()
	require.Eventually(t, func() bool { st := statusOf(t, a, held); return st.IsSettled() }, time.Minute, time.Millisecond)
	require.Equal(t, schema.ByOrphaned, statusOf(t, a, held).Source)
}

func TestHubs_AnswerOfOtherHubReachesListener(t *testing.T) {
	t.Parallel()
	a, b, _, _ := startHubs(t)
	for _, asked := range []*App{a, b} {
		answered := map[*App]*App{a: b, b: a}[asked]
		client := agentclient.New(agentclient.Options{Hubs: []string{asked.URL()}, HubKeys: []string{sign.FormatPublicKey(a.store.Identity().Public())}, SourceApp: "agent", SessionID: "s", Env: func(string) string { return "" }})
		done := make(chan error, 1)
		head := a.store.Head()
		go func() {
			answer, err := client.Ask(t.Context(), agentclient.Request{Question: "May I?"})
			if err == nil && !answer.Approved() {
				err = fmt.Errorf("answer %+v", answer)
			}
			done <- err
		}()
		var ids []schema.EventID
		require.Eventually(t, func() bool {
			select {
			case err := <-done:
				require.NoError(t, err)
			default:
			}
			var err error
			ids, _, err = answered.store.QuestionsSince(t.Context(), head, 10)
			require.NoError(t, err)
			ids = slices.DeleteFunc(ids, func(id schema.EventID) bool { return int64(id) <= head }) // the one before changed
			return len(ids) == 1
		}, time.Minute, time.Millisecond)
		approve(t, answered, ids[0])
		require.NoError(t, <-done)
		require.Eventually(t, func() bool {
			st := statusOf(t, a, ids[0])
			return st.Delivery != nil && (st.Delivery.State == schema.Acked || st.Delivery.State == schema.Pulled)
		}, time.Minute, 10*time.Millisecond)
		require.NoError(t, client.Close())
	}
}

// A pull waits at one hub and is woken by the answer at the other one.
func TestHubs_AnswerOfOtherHubEndsPull(t *testing.T) {
	t.Parallel()
	a, b, _, _ := startHubs(t)
	for _, pulls := range []*App{a, b} {
		id := ask(t, a, "", hub.Caller{})
		answer := make(chan []byte, 1)
		go func() {
			got, err := pulls.hub.Pull(t.Context(), id, hub.PullOptions{Wait: time.Hour})
			if err != nil {
				got = []byte(err.Error())
			}
			answer <- got
		}()
		approve(t, map[*App]*App{a: b, b: a}[pulls], id)
		require.Contains(t, string(<-answer), `"permission":true`)
	}
}

func TestHubs_ShareWatchers(t *testing.T) {
	t.Parallel()
	a, b, stopA, _ := startHubs(t)
	ws, resp, err := websocket.Dial(t.Context(), strings.Replace(a.URL(), "http", "ws", 1)+"/stream?v=2", nil)
	require.NoError(t, err)
	if resp.Body != nil {
		_ = resp.Body.Close()
	}
	defer func() { _ = ws.CloseNow() }()
	require.Eventually(t, func() bool { return a.hub.Viewers.Count() == 1 && b.hub.Viewers.Count() == 1 }, time.Minute, time.Millisecond)
	id := ask(t, a, "", hub.Caller{})
	require.NoError(t, ws.Write(t.Context(), websocket.MessageText, []byte(`{"type":"looking","id":`+strconv.FormatInt(int64(id), 10)+`}`)))
	require.Eventually(t, func() bool {
		for _, m := range b.store.Members() {
			if m.ID == a.store.Self() && strings.Contains(string(m.Presence), fmt.Sprintf(`"id":%d`, id)) {
				return true
			}
		}
		return false
	}, time.Minute, time.Millisecond)
	stopA()
	require.Eventually(t, func() bool { return b.hub.Viewers.Count() == 0 }, time.Minute, time.Millisecond)
}

func TestWhileLeading_RunsAgainAndReportsFailures(t *testing.T) {
	t.Parallel()
	_, b, stopA, _ := startHubs(t)
	began := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- (&cluster{store: b.store}).whileLeading(t.Context(), func(context.Context) error { close(began); return io.ErrUnexpectedEOF })
	}()
	select {
	case <-began:
		require.Fail(t, "this hub does not lead")
	default:
	}
	stopA()
	<-began
	require.ErrorIs(t, <-done, io.ErrUnexpectedEOF)
	ended, cancel := context.WithCancel(t.Context())
	require.NoError(t, (&cluster{store: b.store}).whileLeading(ended, func(ctx context.Context) error { cancel(); <-ctx.Done(); return ctx.Err() }))
}

func TestMachineID(t *testing.T) {
	t.Parallel()
	require.Contains(t, machineID(), machineName())
}
