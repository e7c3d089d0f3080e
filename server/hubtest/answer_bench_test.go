package hubtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// answerListener is a version 2 agent that waits for many answers at the same time.
type answerListener struct {
	url string

	mu           sync.Mutex
	arrivalsByID map[schema.EventID]chan time.Time // question -> arrival times of its answer
}

func newAnswerListener(b *testing.B) *answerListener {
	b.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	l := &answerListener{url: "ws://" + ln.Addr().String() + "/", arrivalsByID: map[schema.EventID]chan time.Time{}}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(l.accept)}
	go func() { _ = server.Serve(ln) }()
	b.Cleanup(func() { _ = server.Close() })
	return l
}

func (l *answerListener) accept(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = ws.CloseNow() }()
	_, frame, err := ws.Read(r.Context())
	if err != nil {
		return
	}
	arrived := time.Now()
	var a schema.Answer
	if json.Unmarshal(frame, &a) != nil {
		return
	}
	l.arrivals(a.HookEvent.ID) <- arrived
	ack, _ := json.Marshal(schema.Ack{Type: schema.AckType, AnswerID: a.AnswerID})
	_ = ws.Write(r.Context(), websocket.MessageText, ack)
	_ = ws.Close(websocket.StatusNormalClosure, "")
}

func (l *answerListener) arrivals(id schema.EventID) chan time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.arrivalsByID[id] == nil {
		l.arrivalsByID[id] = make(chan time.Time, 4) // room for repeated deliveries, so that accept never blocks
	}
	return l.arrivalsByID[id]
}

// httpClient keeps its connections, as a browser does.
var httpClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// postJSON posts body and decodes the event that comes back.
func postJSON(ctx context.Context, url string, body any) (e schema.Event, err error) {
	b, err := json.Marshal(body)
	if err != nil {
		return e, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(b))
	if err != nil {
		return e, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := httpClient.Do(req)
	if err != nil {
		return e, err
	}
	defer func() { _ = resp.Body.Close() }()
	if b, err = io.ReadAll(resp.Body); err != nil {
		return e, err
	}
	if resp.StatusCode != http.StatusOK {
		return e, fmt.Errorf("%s: %s", resp.Status, b)
	}
	return e, json.Unmarshal(b, &e)
}

// askMany asks the same question n times.
func askMany(b *testing.B, hub *serverProcess, question schema.Event, n int) []schema.EventID {
	b.Helper()
	ids := make([]schema.EventID, n)
	for i := range ids {
		asked, err := postJSON(b.Context(), "http://"+hub.addr+schema.PathEvents, question)
		require.NoError(b, err)
		ids[i] = asked.ID
	}
	return ids
}

// BenchmarkAnswer measures a person's answer: the duration of the respond call, and the time
// from its start until the agent has the frame. Commits are durable. The hub signs every
// answer; a question with a nonce also gets the signature.
func BenchmarkAnswer(b *testing.B) {
	for _, c := range []struct {
		name, nonce string
		atOnce      int
	}{
		{"at-once=1", "", 1},
		{"at-once=1/sealed", strings.Repeat("n", 32), 1},
		{"at-once=20", "", 20},
		{"at-once=20/sealed", strings.Repeat("n", 32), 20},
	} {
		b.Run(c.name, func(b *testing.B) {
			hub, agent := startServer(b, "hub"), newAnswerListener(b)
			question := schema.Event{
				SourceApp: "a", SessionID: "s", HookEventType: "DecisionPoint", Payload: json.RawMessage(`{}`),
				HumanInTheLoop: &schema.HumanInTheLoop{
					Question: "May I?", Type: schema.Permission, ProtocolVersion: 2, ResponseWebSocketURL: agent.url, Nonce: c.nonce,
				},
			}
			var mu sync.Mutex
			var calls, arrivals []time.Duration
			answer := func(id schema.EventID) error {
				yes, began := true, time.Now()
				_, err := postJSON(b.Context(), "http://"+hub.addr+schema.At(schema.PathRespond, id), schema.Response{Permission: &yes})
				if err != nil {
					return err
				}
				call := time.Since(began)
				arrived := <-agent.arrivals(id)
				mu.Lock()
				defer mu.Unlock()
				calls, arrivals = append(calls, call), append(arrivals, arrived.Sub(began))
				return nil
			}
			for b.Loop() {
				var wg sync.WaitGroup
				for _, id := range askMany(b, hub, question, c.atOnce) {
					wg.Go(func() {
						if err := answer(id); err != nil {
							b.Error(err)
						}
					})
				}
				wg.Wait()
			}
			slices.Sort(calls)
			slices.Sort(arrivals)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(quantile(calls, 0.5), "respond-p50-ms")
			b.ReportMetric(quantile(arrivals, 0.5), "agent-p50-ms")
			b.ReportMetric(quantile(arrivals, 0.99), "agent-p99-ms")
		})
	}
}

// BenchmarkStart measures the time from starting the program until it listens, and its
// resident memory then.
func BenchmarkStart(b *testing.B) {
	var took []time.Duration
	var memory int64
	for b.Loop() {
		began := time.Now()
		hub := startServer(b, "hub")
		took = append(took, time.Since(began))
		memory = hub.memory(b)
		hub.stop()
	}
	slices.Sort(took)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(quantile(took, 0.5), "listening-p50-ms")
	b.ReportMetric(float64(memory)/(1<<20), "MiB")
}
