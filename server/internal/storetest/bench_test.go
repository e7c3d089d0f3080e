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
			turn := min(2000, 200*posters)
			var took [2]time.Duration
			n := 0
			for b.Loop() {
				for i, s := range engines {
					reachHead(b, s)
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

// reachHead pretends that the projections are complete. Posters would wait for them.
func reachHead(b *testing.B, s store.Store) {
	b.Helper()
	_, _, err := s.LogEntries(b.Context(), store.ProjectionReader, s.Head(), 1)
	require.NoError(b, err)
}

// BenchmarkApply answers questions on both engines by turns, on the same disk, as BenchmarkIngest.
func BenchmarkApply(b *testing.B) {
	b.Setenv("HOOKBACK_TEST_PGDATA", "/tmp")
	for _, people := range []int{16, 64} {
		b.Run(fmt.Sprint("people=", people), func(b *testing.B) {
			b.Setenv("HOOKBACK_TEST_DB", "postgres")
			engines := []store.Store{
				storetest.Open(b, storetest.Options{File: storetest.NewSQLiteFile(b)}),
				storetest.Open(b, storetest.Options{File: storetest.NewFile(b)}),
			}
			const turn = 500
			var took [2]time.Duration
			n := 0
			for b.Loop() {
				for i, s := range engines {
					asked := ask(b, s, turn)
					reachHead(b, s)
					start := time.Now()
					answerConcurrently(b, s, people, asked)
					took[i] += time.Since(start)
				}
				n += turn
			}
			b.ReportMetric(float64(n)/took[1].Seconds(), "answers/s")
			b.ReportMetric(took[0].Seconds()/took[1].Seconds(), "pg/sqlite")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// ask stores n questions.
func ask(b *testing.B, s store.Store, n int) []*store.Question {
	b.Helper()
	drafts := make([]*store.EventDraft, n)
	for i := range drafts {
		drafts[i] = conformance.NewQuestionDraft(fmt.Sprint("session", i%40), time.Time{})
	}
	asked := make([]*store.Question, n)
	for i, r := range s.AppendAll(b.Context(), drafts) {
		require.NoError(b, r.Err)
		q, err := s.Question(b.Context(), r.Receipt.Event.ID)
		require.NoError(b, err)
		asked[i] = q
	}
	return asked
}

func answerConcurrently(b *testing.B, s store.Store, people int, asked []*store.Question) {
	b.Helper()
	var wg sync.WaitGroup
	errs := make(chan error, len(asked))
	for p := range people {
		wg.Go(func() {
			for i := p; i < len(asked); i += people {
				errs <- s.Apply(b.Context(), conformance.AnswerChange(asked[i]))
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(b, err)
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
