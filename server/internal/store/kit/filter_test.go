package kit

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// times are the times of events 1, 2, …; 0: the event was pruned. Every event of an even number has a
// mark.
type times []int64

func (l times) Since(_ context.Context, ms int64) (seq, previous int64, err error) {
	for i, at := range l {
		if i%2 == 1 && at >= ms {
			return int64(i + 1), l[i-1], nil
		}
	}
	return 0, 0, nil
}

func (l times) Before(_ context.Context, ms int64) (seq int64, err error) {
	for i, at := range l {
		if i%2 == 1 && at > 0 && at < ms {
			seq = int64(i + 1)
		}
	}
	return seq, nil
}

func (l times) Received(_ context.Context, seq int64) (found, at int64, err error) {
	for i := seq; i <= int64(len(l)); i++ {
		if l[i-1] > 0 {
			return i, l[i-1], nil
		}
	}
	return 0, 0, nil
}

func TestFirstSeqSince_FindsFirstEvent(t *testing.T) {
	t.Parallel()
	log := times{0, 0, 20, 30, 30, 30, 50, 60, 0}
	for ms := range int64(70) {
		want := int64(1)
		for want <= int64(len(log)) && log[want-1] < ms {
			want++
		}
		got, err := FirstSeqSince(t.Context(), log, int64(len(log)), time.UnixMilli(ms))
		require.NoError(t, err)
		found, _, _ := log.Received(t.Context(), got)
		wanted, _, _ := log.Received(t.Context(), want)
		require.Equal(t, wanted, found, "since %d: event %d", ms, got)
	}
}

func TestSeqBounds_Combine(t *testing.T) {
	t.Parallel()
	log := times{10, 20, 30, 40, 50, 60}
	for name, test := range map[string]struct {
		bounds   SeqBounds
		from, to int64
	}{
		"none":   {SeqBounds{}, 1, 6},
		"ids":    {SeqBounds{After: 2, Before: 5}, 3, 4},
		"times":  {SeqBounds{From: time.UnixMilli(20), To: time.UnixMilli(50)}, 2, 4},
		"both":   {SeqBounds{After: 3, From: time.UnixMilli(20), To: time.UnixMilli(70)}, 4, 6},
		"future": {SeqBounds{From: time.UnixMilli(99)}, 7, 6},
	} {
		from, to, err := test.bounds.Range(t.Context(), log, int64(len(log)))
		require.NoError(t, err)
		require.Equal(t, [2]int64{test.from, test.to}, [2]int64{from, to}, name)
	}
}

// matches is a log in which some events match.
type matches struct {
	query    *FilterQuery
	ids      []int64
	hasNames bool
	reads    int
}

func (m *matches) HasNames() bool { return m.hasNames }

func (m *matches) LastSegment(_ context.Context, n int64) (segment int64, ok bool, err error) {
	seen := map[int64]bool{}
	for i := range m.ids {
		id := m.ids[i]
		if !m.query.Ascending {
			id = m.ids[len(m.ids)-1-i]
		}
		if id >= m.query.From && id <= m.query.To && int64(len(seen)) < n {
			segment, ok = id>>NameSegmentBits, true
			seen[segment] = true
		}
	}
	return segment, ok, nil
}

func (m *matches) ReadMatches(_ context.Context, from, to int64, limit int) (events []*store.Event, full bool, err error) {
	m.reads++
	for i := range m.ids {
		id := m.ids[i]
		if !m.query.Ascending {
			id = m.ids[len(m.ids)-1-i]
		}
		if id >= from && id <= to && len(events) < limit {
			events = append(events, &store.Event{ID: schema.EventID(id)})
		}
	}
	return events, false, nil
}

func TestFilterQuery_StopsAfterFirstStepWithMatches(t *testing.T) {
	t.Parallel()
	const head = 200_000
	for name, test := range map[string]struct {
		filter   store.Filter
		hasNames bool
		want     []schema.EventID
		reads    int
	}{
		"no terms":            {store.Filter{Limit: 2}, false, []schema.EventID{150_000, 199_999}, 1},
		"text, newest":        {store.Filter{Text: "x", Limit: 3}, false, []schema.EventID{199_999}, 1},
		"text, oldest":        {store.Filter{Text: "x", Oldest: true}, false, []schema.EventID{10_000, 10_001}, 1},
		"text, limit of scan": {store.Filter{Text: "x", Before: 149_000}, false, nil, 8},
		"names skip segments": {store.Filter{Text: "x", Before: 149_000}, true, []schema.EventID{10_000, 10_001}, 1},
		"names, oldest":       {store.Filter{After: 10_000}, true, []schema.EventID{10_001, 150_000, 199_999}, 1},
	} {
		q, err := NewFilterQuery(&test.filter)
		require.NoError(t, err)
		q.From, q.To = int64(test.filter.After)+1, head
		if test.filter.Before > 0 {
			q.To = int64(test.filter.Before) - 1
		}
		log := &matches{query: &q, ids: []int64{10_000, 10_001, 150_000, 199_999}, hasNames: test.hasNames}
		events, err := q.Find(t.Context(), log)
		require.NoError(t, err)
		var got []schema.EventID
		for _, e := range events {
			got = append(got, e.ID)
		}
		require.Equal(t, test.want, got, name)
		require.Equal(t, test.reads, log.reads, name)
	}
}

func TestNewFilterQuery_RefusesBadTerms(t *testing.T) {
	t.Parallel()
	for _, f := range []store.Filter{{Text: "\xff"}, {Text: string(make([]byte, MaxTextBytes+1))}, {Status: "open"}} {
		_, err := NewFilterQuery(&f)
		require.ErrorAs(t, err, new(*schema.FieldError))
	}
}
