package postgres

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

var benchEvents = flag.Int("events", 10_000, "number of events in the database of a benchmark")

// BenchmarkSearch searches a history of -events events for words, without the index and with it. calls
// is the number of calls until a page has 50 matches or the search is complete.
func BenchmarkSearch(b *testing.B) {
	b.Setenv("HOOKBACK_TEST_PGDATA", "/tmp")
	s, n := newTestStore(b, testConfig(b)), *benchEvents
	r := rand.New(rand.NewPCG(1, 1))
	words := make([]string, 20_000)
	for i := range words {
		words[i] = randomWord(r) + randomWord(r)
	}
	zipf := rand.NewZipf(r, 1.2, 20, uint64(len(words)-1))
	s.AppendMany(b, n, func(i int) *store.EventDraft {
		d := conformance.NewDraft(fmt.Sprint("app", i%20), fmt.Sprint("session", i/1000), "PreToolUse", "Bash")
		var text strings.Builder
		for range 120 {
			text.WriteString(strings.ReplaceAll(words[zipf.Uint64()], "\u0000", "") + " ")
		}
		if i == n/50 {
			text.WriteString("needle")
		}
		d.Payload = fmt.Appendf(nil, `{"tool_input":{"command":"go test ./...","description":%q}}`, text.String())
		return d
	})
	for _, index := range []string{"without", "with"} {
		if start := time.Now(); index == "with" {
			buildIndex(b, s.engine)
			var size int64
			require.NoError(b, s.readers.get(b.Context(), []any{&size}, `SELECT pg_total_relation_size('search_grams') + pg_total_relation_size('search_blocks')`))
			b.Logf("index: %.1f bytes and %.1f µs per event", float64(size)/float64(n), float64(time.Since(start).Microseconds())/float64(n))
		}
		for _, word := range []string{"needle", "nosuchword", "command:*test*"} {
			b.Run(fmt.Sprintf("%s index/%s", index, word), func(b *testing.B) {
				calls := 0
				for b.Loop() {
					q := store.Search{Filter: conformance.MustParse(b, word), Limit: 50, Timeout: 40 * time.Millisecond}
					for done := false; !done; calls++ {
						found, err := s.Search(b.Context(), q)
						require.NoError(b, err)
						q.Limit, q.Before = q.Limit-len(found.Events), found.SearchedTo
						done = found.Complete || q.Limit <= 0
					}
				}
				b.ReportMetric(float64(calls)/float64(b.N), "calls")
			})
		}
	}
}
