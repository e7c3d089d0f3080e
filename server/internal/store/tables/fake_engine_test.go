package tables

import (
	"context"
	"database/sql"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/server/internal/store"
)

// fakeEngine answers statements with rows of values, and logs the calls.
type fakeEngine struct {
	Engine
	rows  func(query string, args []any) [][]any
	calls []string
}

// fakeRow is a row of values, which sets the first columns.
type fakeRow []any

func (r fakeRow) Scan(into ...any) error {
	for i, v := range r {
		if n, ok := into[i].(*sql.Null[int64]); ok {
			*n = sql.Null[int64]{V: reflect.ValueOf(v).Int(), Valid: true}
			continue
		}
		reflect.ValueOf(into[i]).Elem().Set(reflect.ValueOf(v).Convert(reflect.TypeOf(into[i]).Elem()))
	}
	return nil
}

func (r fakeRow) Next() bool { return true }

func (r fakeRow) Err() error { return nil }

func (e *fakeEngine) Read(_ context.Context, each func(Rows) error, query string, args ...any) error {
	for _, row := range e.rows(query, args) {
		if err := each(fakeRow(row)); err != nil {
			return err
		}
	}
	return nil
}

func (e *fakeEngine) ReadOne(_ context.Context, into []any, query string, args ...any) (bool, error) {
	rows := e.rows(query, args)
	if len(rows) == 0 {
		return false, nil
	}
	return true, fakeRow(rows[0]).Scan(into...)
}

func (e *fakeEngine) NameColumn(_ *int64, text *string) any { return text }

func (e *fakeEngine) NameText(_ context.Context, _ NameKind, _ int64, text string) (string, error) {
	return text, nil
}

// newFake returns tables of an engine with these rows, and a log that ends at head.
func newFake(head int64, rows func(query string, args []any) [][]any) (*Tables, *fakeEngine) {
	e := &fakeEngine{rows: rows}
	t := &Tables{Engine: e, State: NewState(nil, 0), Queue: NewQueue(1, func(*Op) error { return nil })}
	t.State.Head.Store(head)
	return t, e
}

// times are the times of events 1, 2, …; 0: the event was pruned. Every event of an even number has a
// mark.
type times []int64

func (l times) rows(query string, args []any) [][]any {
	ms, _ := args[0].(int64)
	switch query {
	case queryMarkSince:
		for i, at := range l {
			if i%2 == 1 && at >= ms {
				return [][]any{{i + 1, l[i-1]}}
			}
		}
	case queryMarkBefore:
		for i := len(l) - 1; i > 0; i-- {
			if i%2 == 1 && l[i] > 0 && l[i] < ms {
				return [][]any{{i + 1}}
			}
		}
	case queryReceived:
		if seq := l.first(ms); seq > 0 {
			return [][]any{{seq, l[seq-1]}}
		}
	}
	return nil
}

// first returns the first event from a number on.
func (l times) first(seq int64) int64 {
	for ; seq <= int64(len(l)); seq++ {
		if l[seq-1] > 0 {
			return seq
		}
	}
	return 0
}

func TestFirstSeqSince_FindsFirstEvent(t *testing.T) {
	t.Parallel()
	log := times{0, 0, 20, 30, 30, 30, 50, 60, 0}
	s, _ := newFake(int64(len(log)), log.rows)
	for ms := range int64(70) {
		want := int64(1)
		for want <= int64(len(log)) && log[want-1] < ms {
			want++
		}
		got, err := s.firstSeqSince(t.Context(), time.UnixMilli(ms))
		require.NoError(t, err)
		require.Equal(t, log.first(want), log.first(got), "since %d: event %d", ms, got)
	}
}

func TestSeqRange_CombinesBounds(t *testing.T) {
	t.Parallel()
	s, _ := newFake(6, times{10, 20, 30, 40, 50, 60}.rows)
	for name, test := range map[string]struct {
		bounds   seqFilter
		from, to int64
	}{
		"none":   {seqFilter{}, 1, 6},
		"ids":    {seqFilter{after: 2, before: 5}, 3, 4},
		"times":  {seqFilter{from: time.UnixMilli(20), to: time.UnixMilli(50)}, 2, 4},
		"both":   {seqFilter{after: 3, from: time.UnixMilli(20), to: time.UnixMilli(70)}, 4, 6},
		"future": {seqFilter{from: time.UnixMilli(99)}, 7, 6},
	} {
		from, to, err := s.seqRange(t.Context(), test.bounds)
		require.NoError(t, err)
		require.Equal(t, [2]int64{test.from, test.to}, [2]int64{from, to}, name)
	}
}

// matches is a log in which some events match.
type matches struct {
	ids       []int64
	ascending bool
	reads     int
}

func (m *matches) rows(query string, args []any) (rows [][]any) {
	if strings.Contains(query, "(zone)") { // the end of the next name segments
		seen := map[int64]bool{}
		from, _ := args[1].(int64)
		to, _ := args[2].(int64)
		n, _ := args[3].(int64)
		for _, id := range m.ordered() {
			if segment := id >> NameSegmentBits; segment >= from && segment <= to && int64(len(seen)) < n {
				seen[segment], rows = true, [][]any{{sql.NullInt64{Int64: segment, Valid: true}}}
			}
		}
		if rows == nil {
			rows = [][]any{{}}
		}
		return rows
	}
	m.reads++
	from, _ := args[0].(int64)
	to, _ := args[1].(int64)
	limit, _ := args[len(args)-1].(int)
	for _, id := range m.ordered() {
		if id >= from && id <= to && len(rows) < limit {
			rows = append(rows, []any{id})
		}
	}
	return rows
}

func (m *matches) ordered() []int64 {
	if m.ascending {
		return m.ids
	}
	var list []int64
	for i := len(m.ids) - 1; i >= 0; i-- {
		list = append(list, m.ids[i])
	}
	return list
}

func TestFind_StopsAfterFirstStepWithMatches(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		filter store.Filter
		want   []schema.EventID
		reads  int
	}{
		"no terms":            {store.Filter{Limit: 2}, []schema.EventID{150_000, 199_999}, 1},
		"text, newest":        {store.Filter{Text: "x", Limit: 3}, []schema.EventID{199_999}, 1},
		"text, oldest":        {store.Filter{Text: "x", Oldest: true}, []schema.EventID{10_000, 10_001}, 1},
		"text, limit of scan": {store.Filter{Text: "x", Before: 149_000}, nil, 8},
		"names skip segments": {store.Filter{Session: "s", Text: "x", Before: 149_000}, []schema.EventID{10_000, 10_001}, 1},
		"names, oldest":       {store.Filter{Session: "s", After: 10_000}, []schema.EventID{10_001, 150_000, 199_999}, 1},
	} {
		log := &matches{ids: []int64{10_000, 10_001, 150_000, 199_999}, ascending: test.filter.Oldest || test.filter.After > 0}
		s, _ := newFake(200_000, log.rows)
		events, err := s.Find(t.Context(), test.filter)
		require.NoError(t, err)
		var got []schema.EventID
		for _, e := range events {
			got = append(got, e.ID)
		}
		require.Equal(t, test.want, got, name)
		require.Equal(t, test.reads, log.reads, name)
	}
}

func TestFind_RefusesBadTerms(t *testing.T) {
	t.Parallel()
	s, _ := newFake(1, nil)
	for _, f := range []store.Filter{{Text: "\xff"}, {Text: string(make([]byte, maxTextBytes+1))}, {Status: "open"}} {
		_, err := s.Find(t.Context(), f)
		require.ErrorAs(t, err, new(*schema.FieldError))
	}
}

// newInbox returns tables with the pending questions 7 of application a, 8 of the tests and 9, which is addressed, of a.
func newInbox(found map[string][]int64) (*Tables, *fakeEngine) {
	var e *fakeEngine
	s, e := newFake(98, func(query string, args []any) (rows [][]any) {
		switch query {
		case queryInboxRows:
			ids, _ := args[0].([]schema.EventID)
			for _, id := range ids {
				rows = append(rows, []any{int64(id)})
			}
		case queryCountAgent, queryCountStatus:
			rows = [][]any{{10}}
		case queryInbox, queryinboxStatus, queryInboxAgent:
			e.calls = append(e.calls, query)
			for _, id := range found[query] {
				rows = append(rows, []any{id})
			}
		}
		return rows
	})
	s.State.Pending.Load([]PendingUpdate{
		{ID: 7, Row: pendingQuestion{App: "a", Waiter: schema.Listening}},
		{ID: 8, Row: pendingQuestion{App: schema.TestApp}},
		{ID: 9, Row: pendingQuestion{App: "a", Awaiting: []string{"ann"}}},
	})
	return s, e
}

func TestInbox_UnitesRanges(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		filter store.InboxFilter
		calls  []string
		want   []schema.EventID
		more   bool
	}{
		"all":           {store.InboxFilter{}, []string{queryInbox}, []schema.EventID{9, 8, 7, 3}, true},
		"status":        {store.InboxFilter{Status: inbox.HitlDecided}, []string{queryinboxStatus}, []schema.EventID{3}, false},
		"person":        {store.InboxFilter{Awaiting: "ann"}, nil, []schema.EventID{9, 8, 7}, false},
		"person's app":  {store.InboxFilter{Awaiting: "ann", Agents: []string{"a"}}, nil, []schema.EventID{9, 7}, false},
		"other person":  {store.InboxFilter{Awaiting: "bob"}, nil, []schema.EventID{8, 7}, false},
		"everyone":      {store.InboxFilter{Everyone: true}, nil, []schema.EventID{8, 7}, false},
		"decided of me": {store.InboxFilter{Awaiting: "ann", Status: inbox.HitlDecided}, nil, nil, false},
		"pending app":   {store.InboxFilter{Status: inbox.HitlPending, Agents: []string{"a"}}, nil, []schema.EventID{9, 7}, false},
		"decided app":   {store.InboxFilter{Status: inbox.HitlDecided, Agents: []string{"a"}}, []string{queryInboxAgent}, []schema.EventID{3, 2}, false},
	} {
		s, e := newInbox(map[string][]int64{
			queryInbox: {9, 8, 7, 3, 2}, queryinboxStatus: {3}, queryInboxAgent: {3, 2},
		})
		test.filter.Limit = 4
		events, more, err := s.Inbox(t.Context(), test.filter)
		require.NoError(t, err)
		var got []schema.EventID
		for _, e := range events {
			got = append(got, e.ID)
		}
		require.Equal(t, test.want, got, name)
		require.Equal(t, test.calls, e.calls, name)
		require.Equal(t, test.more, more, name)
	}
}

func TestInbox_CountsLeaveOutTests(t *testing.T) {
	t.Parallel()
	s, _ := newInbox(nil)
	s.State.Decided.Store(25)
	st, err := s.InboxCounts(t.Context(), "ann")
	require.NoError(t, err)
	require.Equal(t, inbox.HitlStats{ResponsesCount: 15, PendingCount: 2, ResolversCount: 1, WaitingOnMe: 2, Agents: []string{"a"}}, st)
	for status, want := range map[inbox.HitlStatus]int64{inbox.HitlPending: 9, inbox.HitlDecided: 0} {
		n, err := s.countInbox(t.Context(), nil, status, 8, 99)
		require.NoError(t, err)
		require.Equal(t, want, n, "without the tests")
	}
	n, err := s.countInbox(t.Context(), nil, inbox.HitlPending, 1, 8)
	require.NoError(t, err)
	require.EqualValues(t, 10, n, "8, the test, is not before 8")
	for status, want := range map[inbox.HitlStatus]int64{inbox.HitlPending: 2, inbox.HitlDecided: 10} {
		n, err := s.countInbox(t.Context(), []string{"a"}, status, 1, 99)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
}
