package postgres

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

var benchPayload = []byte(`{"tool_input":{"command":"` + strings.Repeat("go test ./... ", 73) + `"}}`)

// BenchmarkTwoHubs appends plain events to one hub, and to two hubs on one stream, by turns. two/one is
// the throughput of two hubs relative to that of one, with as many posters in total.
func BenchmarkTwoHubs(b *testing.B) {
	b.Setenv("HOOKBACK_TEST_PGDATA", "/tmp")
	for _, posters := range []int{16, 64} {
		b.Run(fmt.Sprint("posters=", posters), func(b *testing.B) {
			one := []*testStore{newTestStore(b, testConfig(b))}
			first, second := newHubs(b)
			hubs := [2][]*testStore{one, {first, second}}
			const turn = 1000
			var took [2]time.Duration
			n := 0
			before := first.conflicts.Load() + second.conflicts.Load()
			for b.Loop() {
				for i, h := range hubs {
					start := time.Now()
					appendAll(b, h, posters, turn)
					took[i] += time.Since(start)
				}
				n += turn
			}
			b.ReportMetric(float64(n)/took[0].Seconds(), "one-events/s")
			b.ReportMetric(float64(n)/took[1].Seconds(), "two-events/s")
			b.ReportMetric(took[0].Seconds()/took[1].Seconds(), "two/one")
			b.ReportMetric(1000*float64(first.conflicts.Load()+second.conflicts.Load()-before)/float64(n), "conflicts/1000")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// appendAll appends n events, of as many posters at once, evenly to the hubs.
func appendAll(b *testing.B, hubs []*testStore, posters, n int) {
	b.Helper()
	for _, h := range hubs {
		h.State.Projected.Reach(h.Head()) // there is no projector, and posters must not wait for it
	}
	var wg sync.WaitGroup
	errs := make(chan error, n)
	for p := range posters {
		wg.Go(func() {
			for i := p; i < n; i += posters {
				d := conformance.NewDraft(fmt.Sprint("app", i%20), fmt.Sprint("session", i%40), "PreToolUse", "Bash")
				d.Payload = benchPayload
				_, err := hubs[p%len(hubs)].Append(context.Background(), d)
				errs <- err
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(b, err)
	}
}
