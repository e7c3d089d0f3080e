package storetest_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

var payload = []byte(`{"tool_input":{"command":"` + strings.Repeat("go test ./... ", 73) + `"}}`)

// BenchmarkIngest appends plain events to both engines by turns, on the same disk. pg/sqlite is the
// throughput on PostgreSQL relative to that on SQLite.
func BenchmarkIngest(b *testing.B) {
	b.Setenv("HOOKBACK_TEST_PGDATA", "/tmp")
	for _, posters := range []int{1, 16, 64} {
		b.Run(fmt.Sprint("posters=", posters), func(b *testing.B) {
			b.Setenv("HOOKBACK_TEST_DB", "postgres")
			engines := []store.Store{
				storetest.Open(b, storetest.Options{File: storetest.NewSQLiteFile(b)}),
				storetest.Open(b, storetest.Options{File: storetest.NewFile(b)}),
			}
			const turn = 2000
			var took [2]time.Duration
			n := 0
			for b.Loop() {
				for i, s := range engines {
					start := time.Now()
					appendConcurrently(b, s, posters, turn)
					took[i] += time.Since(start)
				}
				n += turn
			}
			b.ReportMetric(float64(n)/took[1].Seconds(), "events/s")
			b.ReportMetric(took[0].Seconds()/took[1].Seconds(), "pg/sqlite")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func appendConcurrently(b *testing.B, s store.Store, posters, n int) {
	b.Helper()
	var wg sync.WaitGroup
	errs := make(chan error, n)
	for p := range posters {
		wg.Go(func() {
			for i := p; i < n; i += posters {
				d := conformance.NewDraft(fmt.Sprint("app", i%20), fmt.Sprint("session", i%40), "PreToolUse", "Bash")
				d.Payload = payload
				_, err := s.Append(b.Context(), d)
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
