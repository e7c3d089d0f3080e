//go:build unix

package hub

import (
	"bytes"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/storetest"
)

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkIngest_Directives posts the same events with and without a request for directives, in turns.
// asking/plain is the median, over the pairs of turns, of the ratio of their CPU times.
func BenchmarkIngest_Directives(b *testing.B) {
	s := storetest.Open(b, storetest.Options{Fast: true})
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	h := New(Config{Store: s, Feed: feed.New(s.Head(), 64, 1<<20)})
	gate := bytes.ReplaceAll(toolEvent, []byte("PostToolUse"), []byte("PreToolUse"))
	asking := Caller{Accepts: &control.Accepts{Grant: true, Message: true, Freeze: true}}
	const turn = 500
	n := 0
	post := func(by Caller) time.Duration {
		used := cpuTime()
		for range turn {
			n++
			event := bytes.Replace(gate, []byte("2TbE"), strconv.AppendInt(nil, int64(n), 10), 2)
			_, err := h.Ingest(b.Context(), event, by)
			require.NoError(b, err)
		}
		return cpuTime() - used
	}
	post(asking) // warm-up
	var ratios []float64
	for b.Loop() {
		// Each half is the mean of a turn before and one after the other, so that a drift cancels out.
		first, ask, plain, last := post(Caller{}), post(asking), post(Caller{}), post(asking)
		ratios = append(ratios, float64(ask+last)/float64(first+plain))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "asking/plain")
	b.ReportMetric(0, "ns/op")
}
