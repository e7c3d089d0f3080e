package hubtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/hubtest"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(runRole(role))
	}
	var leftovers []goleak.Option
	for _, name := range hubtest.Goroutines() {
		leftovers = append(leftovers, goleak.IgnoreAnyFunction(name))
	}
	goleak.VerifyTestMain(m, leftovers...)
}

// waitLimit bounds how long a test waits for a condition. It only ends a test that would
// hang, so it is generous.
const waitLimit = time.Minute

// dashboardTab is a version 2 stream connection of a dashboard.
type dashboardTab struct {
	t        *testing.T
	ws       *websocket.Conn
	buffered []schema.Frame
}

func openTab(t *testing.T, url string) *dashboardTab {
	t.Helper()
	ws, _, err := websocket.Dial(t.Context(), url, nil)
	require.NoError(t, err)
	ws.SetReadLimit(16 << 20)
	t.Cleanup(func() { _ = ws.CloseNow() })
	p := &dashboardTab{t: t, ws: ws}
	p.receive()
	return p
}

// receive reads one message unless a frame is buffered. The first message of a connection
// shows that the hub sends it the events from now on.
func (p *dashboardTab) receive() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), waitLimit)
	defer cancel()
	for len(p.buffered) == 0 {
		_, b, err := p.ws.Read(ctx)
		require.NoError(p.t, err)
		if b[0] != '[' {
			b = append(append([]byte("["), b...), ']')
		}
		require.NoError(p.t, json.Unmarshal(b, &p.buffered))
	}
}

func (p *dashboardTab) next() schema.Frame {
	p.t.Helper()
	p.receive()
	f := p.buffered[0]
	p.buffered = p.buffered[1:]
	return f
}

// nextQuestion waits for an event with a question.
func (p *dashboardTab) nextQuestion() schema.Event {
	p.t.Helper()
	for {
		var e schema.Event
		f := p.next()
		if f.Type == schema.EventFrame && json.Unmarshal(f.Data, &e) == nil && e.HumanInTheLoop != nil {
			return e
		}
	}
}

func postAnswer(t *testing.T, hub *hubtest.Hub, id schema.EventID, body string) {
	t.Helper()
	post(t, hub.URL()+schema.At(schema.PathRespond, id), body)
}

func post(t *testing.T, url, body string) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, 200, resp.StatusCode, string(b))
	http.DefaultClient.CloseIdleConnections()
}

// TestRoundTrip_AgentReceivesAnswer is the main use of Hookback: an agent asks, a person
// sees the question and answers it, the agent gets the answer and acknowledges it, and the
// dashboard shows the acknowledgement.
func TestRoundTrip_AgentReceivesAnswer(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	dashboard := openTab(t, hub.StreamURL()+"?v=2")
	agent := agentclient.New(agentclient.Options{Hubs: []string{hub.URL()}, SourceApp: "test", KnownHubs: filepath.Join(t.TempDir(), "known_hubs"), Env: noEnv})
	defer func() { require.NoError(t, agent.Close()) }()
	decided := make(chan agentclient.Decision, 1)
	go func() {
		d, err := agent.AskPermission(t.Context(), "May I?")
		if err != nil {
			t.Error(err)
		}
		decided <- d
	}()
	asked := dashboard.nextQuestion()
	require.Equal(t, "May I?", asked.HumanInTheLoop.Question)
	postAnswer(t, hub, asked.ID, `{"permission":true,"reason":"go on"}`)
	d := <-decided
	require.True(t, d.Approved())
	for {
		var change schema.StatusChange
		f := dashboard.next()
		require.Equal(t, schema.StatusFrame, f.Type)
		require.NoError(t, json.Unmarshal(f.Data, &change))
		// The hub dialed the agent: an answer that the agent polled for is Pulled instead.
		require.NotEqual(t, schema.Pulled, change.HumanInTheLoopStatus.Delivery.State)
		if change.HumanInTheLoopStatus.Delivery.State == schema.Acked {
			return
		}
	}
}

// TestRestart_KeepsPendingQuestion: after a restart of the hub, the waiting agent and a
// reconnected dashboard continue with the question.
func TestRestart_KeepsPendingQuestion(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	url := hub.URL()
	before := openTab(t, hub.StreamURL()+"?v=2")
	agent := agentclient.New(agentclient.Options{Hubs: []string{hub.URL()}, SourceApp: "test", KnownHubs: filepath.Join(t.TempDir(), "known_hubs"), Env: noEnv})
	defer func() { require.NoError(t, agent.Close()) }()
	decided := make(chan agentclient.Decision, 1)
	go func() {
		d, err := agent.AskChoice(t.Context(), "Which?", "left", "right")
		if err != nil {
			t.Error(err)
		}
		decided <- d
	}()
	asked := before.nextQuestion()
	var hello schema.Hello
	hub.Restart()
	require.Equal(t, url, hub.URL())
	after := openTab(t, hub.StreamURL()+"?v=2&after=0")
	require.NoError(t, json.Unmarshal(after.next().Data, &hello))
	require.Equal(t, int64(asked.ID), hello.Seq)
	require.Equal(t, asked.ID, after.nextQuestion().ID)
	postAnswer(t, hub, asked.ID, `{"choice":"right"}`)
	d := <-decided
	require.Equal(t, "right", d.Choice)
	hub.Stop()
	hub.Stop()
	_, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.Error(t, err)
}

// TestRestart_KeepsAnswer: a page that loads after a restart of the hub gets the outcome and the delivery of a request.
func TestRestart_KeepsAnswer(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	got := listenOnce(t, ln)
	dashboard := openTab(t, hub.StreamURL()+"?v=2")
	asked := dashboard.askVersion1(hub, ln.Addr())
	postAnswer(t, hub, asked.ID, `{"response":"Ada"}`)
	<-got
	dashboard.awaitDelivery(schema.Delivered)
	before := getEvent(t, hub, asked.ID).HumanInTheLoopStatus
	hub.Restart()
	after := getEvent(t, hub, asked.ID).HumanInTheLoopStatus
	require.Equal(t, before, after)
	require.Equal(t, schema.Responded, after.Status)
	require.Equal(t, "Ada", *after.Response.Response)
	require.Equal(t, schema.Delivered, after.Delivery.State)
}

// TestVersion1Agent_ReceivesAnswer does the same as the Python code of the guide: it opens a
// listener, posts a question, waits for one message and closes.
func TestVersion1Agent_ReceivesAnswer(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	got := listenOnce(t, ln)
	dashboard := openTab(t, hub.StreamURL()+"?v=2")
	asked := dashboard.askVersion1(hub, ln.Addr())
	require.Empty(t, asked.HumanInTheLoop.ResponseWebSocketURL)
	postAnswer(t, hub, asked.ID, `{"response":"Ada"}`)
	a := <-got
	require.Equal(t, "Ada", *a.Response)
	require.Equal(t, asked.ID, a.HookEvent.ID)
	require.Equal(t, "close", dashboard.awaitDelivery(schema.Delivered).Confirmed)
}

// TestRedeliver_AfterListenerReturns: the agent's listener is unreachable. A person marks the
// answer as handled, and sends it again after the listener is back.
func TestRedeliver_AfterListenerReturns(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, ln.Close())
	dashboard := openTab(t, hub.StreamURL()+"?v=2")
	asked := dashboard.askVersion1(hub, ln.Addr())
	postAnswer(t, hub, asked.ID, `{"response":"Ada"}`)
	require.NotZero(t, dashboard.awaitDelivery(schema.Unreachable).NextAttemptAt)

	post(t, hub.URL()+schema.At(schema.PathHandled, asked.ID), "")
	for d := dashboard.awaitDelivery(schema.Unreachable); d.HandledAt == 0; {
		d = dashboard.awaitDelivery(schema.Unreachable)
	}
	resp, err := http.Get(hub.URL() + schema.PathEvents + "?status=undelivered")
	require.NoError(t, err)
	list, err := io.ReadAll(resp.Body)
	require.NoError(t, errors.Join(err, resp.Body.Close()))
	require.JSONEq(t, "[]", string(list))

	ln, err = net.Listen("tcp", ln.Addr().String())
	require.NoError(t, err)
	got := listenOnce(t, ln)
	post(t, hub.URL()+schema.At(schema.PathRedeliver, asked.ID), "")
	require.Equal(t, "Ada", *(<-got).Response)
	require.Zero(t, dashboard.awaitDelivery(schema.Delivered).HandledAt)
}

// listenOnce serves the listener of the guide: it reads one message and closes.
func listenOnce(t *testing.T, ln net.Listener) <-chan schema.Answer {
	t.Helper()
	got := make(chan schema.Answer, 1)
	listener := &http.Server{ReadHeaderTimeout: waitLimit, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		var a schema.Answer
		_, b, err := ws.Read(r.Context())
		if err = errors.Join(err, json.Unmarshal(b, &a)); err != nil {
			t.Error(err)
		}
		_ = ws.Close(websocket.StatusNormalClosure, "")
		got <- a
	})}
	go func() { _ = listener.Serve(ln) }()
	t.Cleanup(func() { _ = listener.Close() })
	return got
}

// askVersion1 posts a question of a version 1 agent that listens at addr.
func (p *dashboardTab) askVersion1(hub *hubtest.Hub, addr net.Addr) schema.Event {
	p.t.Helper()
	post(p.t, hub.URL()+schema.PathEvents, fmt.Sprintf(`{"source_app":"py","session_id":"1","hook_event_type":"HumanInTheLoop","payload":{},`+
		`"humanInTheLoop":{"question":"Name?","responseWebSocketUrl":"ws://%s","type":"question","choices":null,"timeout":300,"requiresResponse":true}}`, addr))
	return p.nextQuestion()
}

// awaitDelivery waits for a delivery in the given state.
func (p *dashboardTab) awaitDelivery(state schema.DeliveryState) *schema.Delivery {
	p.t.Helper()
	for {
		var change schema.StatusChange
		require.NoError(p.t, json.Unmarshal(p.next().Data, &change))
		if d := change.HumanInTheLoopStatus.Delivery; d != nil && d.State == state {
			return d
		}
	}
}
