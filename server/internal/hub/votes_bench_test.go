package hub

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
)

// BenchmarkQuorum measures the extra cost of ingesting a question for two of the admins
// over one for anyone. It alternates between the two, so that both see the same disk
// latency. Each admin adds a row to the inbox index.
func BenchmarkQuorum(b *testing.B) {
	for _, admins := range []int{3, 5, 50} {
		b.Run(fmt.Sprint("admins=", admins), func(b *testing.B) { benchmarkQuorum(b, admins) })
	}
}

func benchmarkQuorum(b *testing.B, admins int) {
	s := storetest.Open(b, storetest.Options{Fast: true})
	defer func() { require.NoError(b, s.Close()) }()
	var c store.PeopleChange
	for i := range admins {
		c.Persons = append(c.Persons, store.Person{Name: fmt.Sprint("person ", i), Role: schema.Admin, Owner: i == 0})
	}
	_, err := s.ChangePeople(b.Context(), &c)
	require.NoError(b, err)
	p, err := auth.Open(b.Context(), auth.Config{Store: s})
	require.NoError(b, err)
	h := New(Config{Store: s, Feed: feed.New(0, 64, 1<<20), People: p})
	asked := 0
	ask := func(question string) []byte {
		asked++ // a new session each, as agents do
		return fmt.Appendf(nil, `{"source_app":"a","session_id":"s%d","hook_event_type":"PermissionRequest","payload":{},"humanInTheLoop":%s}`, asked, question)
	}
	bodies := []string{pullQuestion, `{"question":"May I?","type":"permission","requiredApprovals":2}`}
	took := make([][]time.Duration, len(bodies))
	for b.Loop() {
		for i, body := range bodies {
			event := ask(body)
			begun := time.Now()
			saved, err := h.Ingest(b.Context(), event, Caller{})
			took[i] = append(took[i], time.Since(begun))
			require.NoError(b, err)
			h.ResponseSent(saved.ID)
		}
	}
	for i := range took {
		slices.Sort(took[i])
	}
	middle := func(d []time.Duration) float64 { return float64(d[len(d)/2]) / 1e3 }
	b.ReportMetric(middle(took[0]), "µs/plain")
	b.ReportMetric(middle(took[1])-middle(took[0]), "µs-more/quorum")
}
