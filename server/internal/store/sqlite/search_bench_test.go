//go:build unix

package sqlite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/grams"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// variedEvent returns a busy event with random text: 120 words of a vocabulary of 20,000
// with a Zipf distribution, and a unique ID.
func variedEvent(r *rand.Rand, zipf *rand.Zipf, i int) *store.EventDraft {
	d := busyEvent(i)
	if d.App == "app0" && d.Tool == "tool0" {
		d.Tool = "tool1" // both are common but never occur together
	}
	d.ReceivedAt = conformance.ClockStart.Add(time.Duration(i) * time.Second)
	var text strings.Builder
	for range 120 {
		text.WriteString(vocabulary[zipf.Uint64()])
		text.WriteByte(' ')
	}
	d.Payload = fmt.Appendf(nil, `{"hook_event_name":"PreToolUse","tool_use_id":"toolu_%016x%08x","tool_input":{"command":"go test ./...","n":%d,"description":%q}}`,
		r.Uint64(), r.Uint32(), i%1000, text.String())
	return d
}

var vocabulary = func() (words []string) {
	r := rand.New(rand.NewPCG(9, 9))
	const consonants, vowels = "bcdfghjklmnprstvwz", "aeiou"
	for range 20_000 {
		var b strings.Builder
		for range 2 + r.IntN(3) {
			b.WriteByte(consonants[r.IntN(len(consonants))])
			b.WriteByte(vowels[r.IntN(len(vowels))])
		}
		words = append(words, b.String())
	}
	return words
}()

// BenchmarkSearch searches a history of -events events. calls is the number of calls until
// a page has 50 matches or the search is complete; ms/call is the time of each.
func BenchmarkSearch(b *testing.B) {
	s := newBenchStore(b, "NORMAL")
	n := *benchEvents
	r := rand.New(rand.NewPCG(1, 1))
	zipf := rand.NewZipf(r, 1.2, 20, uint64(len(vocabulary)-1))
	s.AppendMany(b, n, func(i int) *store.EventDraft {
		d := variedEvent(r, zipf, i)
		if i == n/50 {
			d.App, d.Payload = "rare app", []byte(`{"text":"the quick brown needle"}`)
		}
		if i%1000 == 0 {
			q := conformance.NewQuestionDraft(d.Session, time.Time{})
			q.App, q.Payload = d.App, d.Payload
			return q
		}
		return d
	})
	benchmarkIndex(b, s, n)
	last := s.newestEvent(b)
	hour := conformance.ClockStart.Add(time.Duration(n-3600) * time.Second)
	for _, c := range []struct {
		name, filter string
		from         time.Time
	}{
		{"everywhere", "test", time.Time{}},
		{"rare word", "needle", time.Time{}},
		{"absent word", "qqxqq", time.Time{}},
		{"absent word, of frequent parts", "description nothingness", time.Time{}},
		{"phrase", `"quick brown needle"`, time.Time{}},
		{"key:value", "n:500", time.Time{}},
		{"key:value, rare", "text:*needle", time.Time{}},
		{"key:value, absent", "description:nosuchthing", time.Time{}},
		{"session", "session:" + last.Session, time.Time{}},
		{"rare app", `agent:"rare app"`, time.Time{}},
		{"never together", "agent:app0 tool:tool0", time.Time{}},
		{"status", "status:pending", time.Time{}},
		{"short word", "qx", time.Time{}},
		{"regex, absent", "/nosuch[0-9]thing/", time.Time{}},
		{"not", "-test", time.Time{}},
		{"regex, absent, last hour", "/nosuch[0-9]thing/", hour},
		{"absent word, last hour", "qqxqq", hour},
		{"not, last hour", "-test", hour},
	} {
		b.Run(c.name, func(b *testing.B) {
			benchmarkSearch(b, s, store.Search{Filter: conformance.MustParse(b, c.filter), From: c.from})
		})
	}
}

func benchmarkSearch(b *testing.B, s *testStore, q store.Search) {
	calls, longest := 0, time.Duration(0)
	used, start := cpuTime(), time.Now()
	for b.Loop() {
		q := q
		q.Limit, q.Timeout = 50, 40*time.Millisecond
		for {
			began := time.Now()
			found, err := s.Search(context.Background(), q)
			require.NoError(b, err)
			longest = max(longest, time.Since(began))
			calls++
			if q.Limit -= len(found.Events); found.Complete || q.Limit <= 0 {
				break
			}
			q.Before = found.SearchedTo
		}
	}
	b.ReportMetric(float64(calls)/float64(b.N), "calls")
	b.ReportMetric(float64(time.Since(start).Microseconds())/1e3/float64(calls), "ms/call")
	b.ReportMetric(float64(longest.Microseconds())/1e3, "ms/longest")
	b.ReportMetric(float64((cpuTime()-used).Microseconds())/1e3/float64(b.N), "cpu-ms/op")
}

// benchmarkIndex builds the index once.
func benchmarkIndex(b *testing.B, s *testStore, n int) {
	before, used, start := s.usedBytes(b), cpuTime(), time.Now()
	buildIndex(b, s.engine)
	b.Logf("index: %.1f bytes and %.1f µs of CPU per event of %.0f bytes; %v", float64(s.usedBytes(b)-before)/float64(n),
		float64((cpuTime()-used).Microseconds())/float64(n), float64(before)/float64(n), time.Since(start))
}

// usedBytes returns the size of the database without free pages.
func (b *testStore) usedBytes(t testing.TB) int64 {
	t.Helper()
	var pages, free int64
	require.NoError(t, b.readRow(context.Background(), []any{&pages}, `PRAGMA page_count`))
	require.NoError(t, b.readRow(context.Background(), []any{&free}, `PRAGMA freelist_count`))
	return (pages - free) * 4096
}

// BenchmarkAppendIndexed writes with 64 producers, alternating with and without a running
// indexer. rate-x is the throughput with the indexer relative to that without;
// cpu-µs/indexed is the processor time of the index per event.
func BenchmarkAppendIndexed(b *testing.B) {
	stores := []*testStore{newBenchStore(b, "FULL"), newBenchStore(b, "FULL")}
	stop := stores[0].StartIndexer(b)
	defer stop()
	var took, cpu [2]time.Duration
	n := 0
	for b.Loop() {
		for i, s := range stores {
			start, used := time.Now(), cpuTime()
			appendConcurrently(b, s, 64, 4*grams.BlockSize)
			took[i] += time.Since(start)
			require.Eventually(b, func() bool {
				return i == 1 || s.countBlocks(b) >= int(s.Head()>>grams.BlockBits)
			}, time.Minute, time.Millisecond)
			cpu[i] += cpuTime() - used
		}
		n += 4 * grams.BlockSize
	}
	b.ReportMetric(float64(n)/took[0].Seconds(), "events/s")
	b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "rate-x")
	b.ReportMetric(float64((cpu[0]-cpu[1]).Microseconds())/float64(n), "cpu-µs/indexed")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkSearchTranscripts searches 1,000 sessions with 256 KiB of transcript each for a word that none
// has. calls is the number of calls until the search is complete.
func BenchmarkSearchTranscripts(b *testing.B) {
	s, ctx := newBenchStore(b, "NORMAL"), context.Background()
	r := rand.New(rand.NewPCG(1, 1))
	zipf := rand.NewZipf(r, 1.2, 20, uint64(len(vocabulary)-1))
	const sessions, size = 1000, 256 << 10
	for i := range sessions {
		var text strings.Builder
		for text.Len() < size {
			text.WriteString(vocabulary[zipf.Uint64()] + " ")
		}
		e := s.MustAppend(b, conformance.NewDraft("app", fmt.Sprint("s", i), "Stop", ""))
		row := conformance.NewSessionRow(fmt.Sprint("s", i), e.ID, e.ID)
		row.Transcript = &store.TranscriptText{Event: e.ID, Text: text.String()}
		s.MustProject(b, &store.ProjectionBatch{From: int64(i), Sessions: []store.SessionRow{row}})
	}
	b.Run("stream", func(b *testing.B) {
		calls := 0
		for b.Loop() {
			_, n := s.SearchAll(b, store.Search{Filter: conformance.MustParse(b, "chat:notaword"), Timeout: 40 * time.Millisecond})
			calls += n
		}
		b.ReportMetric(float64(calls)/float64(b.N), "calls")
	})
	b.Run("sessions", func(b *testing.B) {
		calls := 0
		for b.Loop() {
			for f := (store.SessionFilter{Text: "notaword", Limit: 50}); ; calls++ {
				_, next, err := s.Sessions(ctx, f)
				require.NoError(b, err)
				if f.Before = next; next == 0 {
					break
				}
			}
		}
		b.ReportMetric(float64(calls)/float64(b.N)+1, "calls")
	})
}
