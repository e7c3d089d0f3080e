//go:build unix

package sessions

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/ratings"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
)

var benchEvents = flag.Int("events", 20_000, "events in the database of BenchmarkHistory; 1000000 for the goals")

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// newBenchHub returns a hub over an empty store with the given synchronous mode.
func newBenchHub(b *testing.B, synchronous string) *testHub {
	b.Helper()
	db := storetest.Open(b, storetest.Options{Fast: synchronous == "NORMAL"})
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	h := newHub(db, Config{})
	h.t = b
	return h
}

// busyDraft returns the i-th of `of` events of a busy hub over 14 days: 20 agents with two
// sessions each at a time, and 1.2 KB events, half of which start or end a tool call.
func busyDraft(i, of int) *store.EventDraft {
	app := rand.IntN(20)
	session := fmt.Sprintf("0198f2c4-aaaa-7bbb-8ccc-%012d", i/8000*2+rand.IntN(2))
	typ := []string{"PreToolUse", "PostToolUse", "PreToolUse", "PostToolUse", "Notification", "UserPromptSubmit", "Stop", "SubagentStop"}[rand.IntN(8)]
	tool := fmt.Sprint("tool", rand.IntN(15))
	return &store.EventDraft{Event: store.Event{
		UID: uuid.Must(uuid.NewV7()).String(), App: fmt.Sprint("app", app), Session: session, Type: typ, Tool: tool,
		ReceivedAt: time.Now().Add(-14 * 24 * time.Hour * time.Duration(of-i) / time.Duration(of)),
		Envelope:   fmt.Appendf(nil, `"source_app":"app%d","session_id":%q,"hook_event_type":%q,"tool_name":%q,"tool_use_id":"toolu_%d"`, app, session, typ, tool, rand.IntN(40)),
		Payload:    []byte(`{"hook_event_name":"` + typ + `","prompt":"Make it so","cwd":"/home/mara/src","tool_input":{"command":"` + strings.Repeat("go test ./... ", 73) + `"}}`),
	}}
}

func fillBusyHub(b *testing.B, h *testHub, n int) {
	b.Helper()
	for i := 0; i < n; i += 500 {
		drafts := make([]*store.EventDraft, min(500, n-i))
		for j := range drafts {
			drafts[j] = busyDraft(i+j, n)
		}
		for _, r := range h.Store.AppendAll(b.Context(), drafts) {
			require.NoError(b, r.Err)
		}
	}
	for i := 0; i < n; i += 1000 { // one event in a thousand is a question
		asked, err := h.hub.Ingest(b.Context(), []byte(`{"source_app":"app1","session_id":"asks","hook_event_type":"Ask","payload":{},"humanInTheLoop":`+pullQuestion+`}`), hub.Caller{})
		require.NoError(b, err)
		h.hub.ResponseSent(asked.ID)
		_, err = h.hub.Respond(b.Context(), asked.ID, approval(), hub.Caller{})
		require.NoError(b, err)
	}
}

// BenchmarkHistory projects -events events and then measures the queries on the projection.
func BenchmarkHistory(b *testing.B) {
	h := newBenchHub(b, "NORMAL")
	fillBusyHub(b, h, *benchEvents)
	began, used := time.Now(), cpuTime()
	f := projector{Service: h.Service, cursor: -1}
	for more := true; more; {
		var err error
		more, err = f.step(b.Context())
		require.NoError(b, err)
	}
	events := float64(h.Store.Head())
	b.Logf("projected %.0f rows at %.1f CPU µs each, %.0f rows per second", events, float64((cpuTime()-used).Microseconds())/events, events/time.Since(began).Seconds())
	page, err := h.Sessions(b.Context(), store.SessionFilter{Limit: 50})
	require.NoError(b, err)
	s := page.Sessions[len(page.Sessions)-1]
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(b, err)
	begins := query.DayStarts(time.Now().In(berlin), 14)
	for name, read := range map[string]func() error{
		"sessions": func() error {
			_, err := h.Sessions(context.Background(), store.SessionFilter{Limit: 50})
			return err
		},
		"sessions of an app": func() error {
			_, err := h.Sessions(context.Background(), store.SessionFilter{App: "app3", Limit: 50})
			return err
		},
		"sessions, text not found": func() error {
			_, err := h.Sessions(context.Background(), store.SessionFilter{Text: "no such text", Limit: 50})
			return err
		},
		"session": func() error {
			_, err := h.Session(context.Background(), store.SessionKey{App: s.SourceApp, Session: s.SessionID})
			return err
		},
		"overview":    func() error { _, err := h.Overview(context.Background(), 14, berlin); return err },
		"overview 90": func() error { _, err := h.Overview(context.Background(), 90, berlin); return err },
		"daily counts": func() error {
			_, err := h.cachedOverview(context.Background(), begins)
			return err
		},
		"daily counts, after a decision": func() error {
			return h.countDecisions(context.Background(), &history.Overview{}, begins)
		},
	} {
		b.Run(name, func(b *testing.B) {
			used, n := cpuTime(), 0
			for b.Loop() {
				require.NoError(b, read())
				n++
			}
			b.ReportMetric(float64((cpuTime()-used).Microseconds())/1e3/float64(n), "cpu-ms/op")
		})
	}
}

// BenchmarkFollowers projects and rates the same events in turns. rating/projection is the share of the
// projector's throughput that the ratings reach.
func BenchmarkFollowers(b *testing.B) {
	h := newBenchHub(b, "NORMAL")
	fillBusyHub(b, h, 5000)
	rating := ratings.New(ratings.Config{Store: h.Store, Feed: feed.New(0, 64, 1<<20)})
	projection := projector{Service: h.Service, cursor: -1}
	followers := []func(context.Context) (bool, error){projection.step, rating.Step}
	var used [2]time.Duration
	rows, head := 0, int64(0)
	for b.Loop() {
		b.StopTimer()
		fillBusyHub(b, h, 5000)
		b.StartTimer()
		for i, step := range followers {
			cpu := cpuTime()
			for more := true; more; {
				var err error
				more, err = step(b.Context())
				require.NoError(b, err)
			}
			if rows > 0 { // the first turn is warm-up
				used[i] += cpuTime() - cpu
			}
		}
		rows += int(h.Store.Head() - head)
		head = h.Store.Head()
	}
	b.ReportMetric(used[0].Seconds()/used[1].Seconds(), "rating/projection")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkIngest_WithProjector posts to a hub with and to one without a running projector,
// in turns, and reports the extra cost per event.
func BenchmarkIngest_WithProjector(b *testing.B) {
	for _, producers := range []int{1, 16} {
		b.Run(fmt.Sprint("producers=", producers), func(b *testing.B) {
			alone, beside := newBenchHub(b, "FULL"), newBenchHub(b, "FULL")
			ctx, cancel := context.WithCancel(b.Context())
			done := make(chan error, 1)
			go func() { done <- beside.Run(ctx) }()
			var took, used [2]time.Duration
			n := 0
			const turn = 1000
			for b.Loop() {
				for i, h := range []*testHub{alone, beside} {
					start, cpu := time.Now(), cpuTime()
					appendConcurrently(b, h, producers, turn)
					took[i] += time.Since(start)
					used[i] += cpuTime() - cpu
				}
				n += turn
			}
			cancel()
			require.NoError(b, <-done)
			b.ReportMetric(float64(n)/took[0].Seconds(), "events/s-alone")
			b.ReportMetric(float64(n)/took[1].Seconds(), "events/s-beside")
			b.ReportMetric(float64((used[1]-used[0]).Microseconds())/float64(n), "cpu-µs/event-more")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func appendConcurrently(b *testing.B, h *testHub, producers, n int) {
	b.Helper()
	errs := make([]error, producers)
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			for i := p; i < n; i += producers {
				if _, err := h.Store.Append(context.Background(), busyDraft(1, 1)); err != nil {
					errs[p] = err
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(b, err)
	}
}

// BenchmarkFlood_Lag posts with 64 producers while projector and indexer run. lag-s is how far the
// slower of them is behind when the flood ends, and behind-s how long it then takes to catch
// up. Run it with -benchtime 100000x.
func BenchmarkFlood_Lag(b *testing.B) {
	h := newBenchHub(b, "FULL")
	ctx, cancel := context.WithCancel(b.Context())
	var workers sync.WaitGroup
	workers.Go(func() { _ = h.Run(ctx) })
	workers.Go(func() { _ = h.Store.RunIndexer(ctx) })
	lags := func() (projections, index store.Lag) {
		stats, err := h.Store.Stats(b.Context())
		require.NoError(b, err)
		return stats.Projections, stats.SearchIndex
	}
	b.ResetTimer()
	began, used := time.Now(), cpuTime()
	appendConcurrently(b, h, 64, b.N)
	took := time.Since(began)
	projections, index := lags()
	ended := time.Now()
	require.Eventually(b, func() bool {
		projections, index := lags()
		return projections.Rows+index.Rows == 0
	}, time.Hour, time.Millisecond)
	b.StopTimer()
	b.ReportMetric(float64(b.N)/took.Seconds(), "events/s")
	b.ReportMetric(max(projections.Time, index.Time).Seconds(), "lag-s")
	b.ReportMetric(time.Since(ended).Seconds(), "behind-s")
	b.ReportMetric(float64((cpuTime()-used).Microseconds())/float64(b.N), "cpu-µs/event")
	b.ReportMetric(0, "ns/op")
	b.Logf("at the end of %v: projections %+v, search index %+v", took, projections, index)
	cancel()
	workers.Wait()
}
