//go:build unix

package delivery

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// startAgent starts a well-behaved listener, like agentclient and Python's websockets.
func startAgent(b *testing.B, protocol int, got func()) *httptest.Server {
	b.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		ws.SetReadLimit(1 << 20)
		_, frame, err := ws.Read(r.Context())
		if err != nil {
			return
		}
		got()
		if protocol == 2 {
			i := bytes.Index(frame, []byte(`"answerId":"`)) + len(`"answerId":"`)
			ack, _ := json.Marshal(schema.Ack{Type: schema.AckType, AnswerID: string(frame[i : i+36])})
			_ = ws.Write(r.Context(), websocket.MessageText, ack)
		}
		_ = ws.Close(websocket.StatusNormalClosure, "")
	}))
	b.Cleanup(srv.Close)
	return srv
}

// BenchmarkLatency measures the time from the commit of the resolution until the agent has the
// answer. It delivers one answer at a time, and excludes the time in
// which the answers are stored.
func BenchmarkLatency(b *testing.B) {
	for _, protocol := range []int{1, 2} {
		b.Run(map[int]string{1: "v1", 2: "v2"}[protocol], func(b *testing.B) {
			h := newHarness(b)
			got := make(chan time.Time, 1)
			srv := startAgent(b, protocol, func() { got <- time.Now() })
			d := h.dispatcher()
			d.timeouts = defaultTimeouts
			stop := h.startDispatcher(d)
			ask := store.NewQuestion{URL: "ws" + srv.URL[len("http"):], Protocol: protocol}
			var total time.Duration
			for b.Loop() {
				b.StopTimer()
				h.addAnswered(ask, "")
				b.StartTimer()
				total += (<-got).Sub(h.committedAt())
			}
			stop()
			b.ReportMetric(float64(total.Microseconds())/float64(b.N), "µs/answer")
		})
	}
}

// cpuTime returns the CPU time that this process has used, including the listeners.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkThroughput delivers a backlog with 64 attempts in flight, each to its own listener.
// Both sides run on the same processors.
func BenchmarkThroughput(b *testing.B) {
	for _, protocol := range []int{1, 2} {
		b.Run(map[int]string{1: "v1", 2: "v2"}[protocol], func(b *testing.B) {
			h := newHarness(b)
			var left sync.WaitGroup
			agents := make([]*httptest.Server, defaultWorkers)
			for i := range agents {
				agents[i] = startAgent(b, protocol, left.Done)
			}
			d := h.dispatcher()
			d.timeouts = defaultTimeouts
			ids := make([]schema.EventID, b.N)
			left.Add(b.N)
			var asking sync.WaitGroup
			for worker := range 16 { // in parallel, because the store commits in groups
				asking.Go(func() {
					for i := worker; i < b.N; i += 16 {
						ids[i] = h.addAnswered(store.NewQuestion{URL: "ws" + agents[i%len(agents)].URL[len("http"):], Protocol: protocol}, "")
					}
				})
			}
			asking.Wait()
			for _, id := range ids {
				d.dispatch(id)
			}
			b.ResetTimer()
			before := cpuTime(b)
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan struct{})
			go func() { defer close(ended); _ = d.Run(ctx) }()
			left.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "answers/s")
			b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/answer")
			cancel()
			<-ended
			require.NoError(b, b.Context().Err())
		})
	}
}
