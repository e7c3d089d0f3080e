package hubtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// BenchmarkAsk asks, answers and delivers: an agent posts a question, a page receives it and
// responds, the answer reaches the agent, and the agent acknowledges it. It reports the cost of each
// ask for the server, and the times POST → page, respond → agent, and of the respond call.
//
// With a rate, questions start at fixed times; without, the next ones start when the last are
// acknowledged. The hub signs every answer; a sealed question also gets the signature.
func BenchmarkAsk(b *testing.B) {
	for _, c := range []struct {
		atOnce, perSecond int
		nonce             string
	}{{1, 0, ""}, {1, 0, strings.Repeat("n", 32)}, {20, 0, ""}, {1, 4, ""}, {20, 38, ""}} {
		name := fmt.Sprintf("at-once=%d", c.atOnce)
		if c.perSecond > 0 {
			name += fmt.Sprintf("/rate=%d", c.perSecond)
		}
		roles := comparedServers("floor")
		if c.nonce != "" {
			name, roles = name+"/sealed", roles[:1]
		}
		for _, role := range roles {
			b.Run(role+"/"+name, func(b *testing.B) {
				d := newDesk(b, startServer(b, role), c.nonce)
				d.askAll(b, 20) // warm
				d.forget()
				d.server.waitUntilIdle(b)
				use := startUsage(b, d.server)
				tick := make(<-chan time.Time)
				if c.perSecond > 0 {
					pace := time.NewTicker(time.Second * time.Duration(c.atOnce) / time.Duration(c.perSecond))
					defer pace.Stop()
					tick = pace.C
				}
				n := 0
				for b.Loop() {
					if c.perSecond > 0 {
						<-tick
					}
					d.askAll(b, c.atOnce)
					n += c.atOnce
				}
				d.responds.Wait()
				require.NoError(b, d.failed)
				use.report(b, n, "ask")
				reportLatency(b, "page", d.toPage)
				reportLatency(b, "agent", d.toAgent)
				reportLatency(b, "respond", d.respond)
			})
		}
	}
}

// desk is one page with a person who approves every question, and the agent that asked.
type desk struct {
	server *serverProcess
	agent  string // address that answers are delivered to
	nonce  string

	responds sync.WaitGroup // calls that have not returned

	mu                       sync.Mutex
	asked                    int
	asks                     map[int]*ask
	acked                    map[schema.EventID]chan struct{}
	toPage, toAgent, respond []time.Duration
	failed                   error // of a respond call
}

// ask is one question on its way. Each channel has room for the first time that the event
// is seen.
type ask struct{ onPage, atAgent chan time.Time }

func newDesk(b *testing.B, s *serverProcess, nonce string) *desk {
	b.Helper()
	d := &desk{server: s, nonce: nonce, asks: map[int]*ask{}, acked: map[schema.EventID]chan struct{}{}}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	d.agent = "ws://" + ln.Addr().String() + "/"
	agent := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(d.receive)}
	go func() { _ = agent.Serve(ln) }()
	b.Cleanup(func() { _ = agent.Close() })
	watchStream(b, s.addr, "?v=2", d.show)
	return d
}

// forget deletes the recorded times.
func (d *desk) forget() {
	d.responds.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.toPage, d.toAgent, d.respond = nil, nil, nil
}

// receive is the agent's listener. The path names the question.
func (d *desk) receive(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = ws.CloseNow() }()
	_, frame, err := ws.Read(r.Context())
	if err != nil {
		return
	}
	n, _ := strconv.Atoi(r.URL.Path[1:])
	d.seen(n, func(a *ask) chan time.Time { return a.atAgent })
	var answer schema.Answer
	if json.Unmarshal(frame, &answer) == nil && answer.AnswerID != "" {
		ack, _ := json.Marshal(schema.Ack{Type: schema.AckType, AnswerID: answer.AnswerID})
		_ = ws.Write(r.Context(), websocket.MessageText, ack)
	}
	_ = ws.Close(websocket.StatusNormalClosure, "")
}

// seen records that question n is there, once.
func (d *desk) seen(n int, place func(*ask) chan time.Time) {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if a := d.asks[n]; a != nil {
		select {
		case place(a) <- now:
		default:
		}
	}
}

// show is called with each message to the page: new questions, and acknowledgments.
func (d *desk) show(message []byte) {
	forEachMarker(message, func(n int) { d.seen(n, func(a *ask) chan time.Time { return a.onPage }) })
	if !bytes.Contains(message, []byte(`"`+string(schema.Acked)+`"`)) {
		return
	}
	if message[0] != '[' {
		message = fmt.Appendf(nil, "[%s]", message)
	}
	var frames []schema.Frame
	_ = json.Unmarshal(message, &frames)
	for _, f := range frames {
		var change schema.StatusChange
		if f.Type != schema.StatusFrame || json.Unmarshal(f.Data, &change) != nil {
			continue
		}
		if to := change.HumanInTheLoopStatus.Delivery; to != nil && to.State == schema.Acked {
			select {
			case d.acknowledged(change.ID) <- struct{}{}:
			default:
			}
		}
	}
}

func (d *desk) acknowledged(id schema.EventID) chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.acked[id] == nil {
		d.acked[id] = make(chan struct{}, 1)
	}
	return d.acked[id]
}

// askAll asks n questions at the same time and returns when their agent has all answers.
func (d *desk) askAll(b *testing.B, n int) {
	b.Helper()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if err := d.askOne(b.Context()); err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
	if b.Failed() {
		b.FailNow()
	}
}

func (d *desk) askOne(ctx context.Context) error {
	d.mu.Lock()
	d.asked++
	n, a := d.asked, &ask{onPage: make(chan time.Time, 1), atAgent: make(chan time.Time, 1)}
	d.asks[n] = a
	d.mu.Unlock()

	posted := time.Now()
	e, err := postJSON(ctx, "http://"+d.server.addr+schema.PathEvents, d.question(n))
	if err != nil {
		return err
	}
	onPage, err := await(a.onPage)
	if err != nil {
		return fmt.Errorf("the page does not receive question %d: %w", e.ID, err)
	}
	began := time.Now()
	d.responds.Go(func() { // the reference server answers half a second after the agent has it
		yes := true
		_, err := postJSON(ctx, "http://"+d.server.addr+schema.At(schema.PathRespond, e.ID), schema.Response{Permission: &yes})
		took := time.Since(began)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.respond = append(d.respond, took)
		if err != nil {
			d.failed = err
		}
	})
	atAgent, err := await(a.atAgent)
	if err != nil {
		return fmt.Errorf("the agent does not receive the answer to question %d: %w", e.ID, err)
	}
	if d.server.role != "reference" {
		if _, err = await(d.acknowledged(e.ID)); err != nil {
			return fmt.Errorf("the page does not learn that question %d is acknowledged: %w", e.ID, err)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.toPage, d.toAgent = append(d.toPage, onPage.Sub(posted)), append(d.toAgent, atAgent.Sub(began))
	delete(d.asks, n)
	delete(d.acked, e.ID)
	return nil
}

// await receives from c. Its limit only ends a benchmark that would hang.
func await[T any](c <-chan T) (v T, err error) {
	select {
	case v = <-c:
		return v, nil
	case <-time.After(waitLimit):
		return v, context.DeadlineExceeded
	}
}

// question is question n, as the hook of a coding agent asks before a command. Twenty sessions
// take turns, and no question equals another, so none is answered with another.
func (d *desk) question(n int) schema.Event {
	return schema.Event{
		SourceApp: "my-project", SessionID: fmt.Sprintf("session-%d", n%20), HookEventType: "PermissionRequest", ToolName: "Bash",
		Payload: fmt.Appendf(nil, `{"n":%d,"cwd":"/home/dev/my-project","tool_name":"Bash","tool_input":{"command":"git push origin fix-%d","description":"Push the fix"}}`, n, n),
		HumanInTheLoop: &schema.HumanInTheLoop{
			Question: "May I push?", Type: schema.Permission, ProtocolVersion: 2, ResponseWebSocketURL: d.agent + strconv.Itoa(n), Nonce: d.nonce,
		},
	}
}

// httpClient keeps its connections, as a browser does.
var httpClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// postJSON posts body and decodes the event that comes back.
func postJSON(ctx context.Context, url string, body any) (e schema.Event, err error) {
	err = call(ctx, http.MethodPost, url, body, &e)
	return e, err
}
