package kit

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/server/internal/store"
)

// inboxTable answers each query with fixed IDs, and logs the calls.
type inboxTable struct {
	ids   map[string][]schema.EventID
	calls []string
}

func (b *inboxTable) IDs(_ context.Context, query string, args ...any) ([]schema.EventID, error) {
	b.calls = append(b.calls, fmt.Sprintf("%s%v", query, args))
	return b.ids[query], nil
}

func (b *inboxTable) Count(context.Context, string, ...any) (int64, error) { return 10, nil }

func (b *inboxTable) Events(_ context.Context, ids []schema.EventID) (events []*store.Event, full bool, err error) {
	for _, id := range ids {
		events = append(events, &store.Event{ID: id})
	}
	return events, false, nil
}

// newInbox returns an inbox with the pending questions 7 of application 1, 8 of 2 and 9, which is addressed, of 1.
func newInbox(table *inboxTable) Inbox[int] {
	pending := &PendingQuestions[int]{}
	pending.Load([]PendingUpdate[int]{
		{ID: 7, Row: PendingQuestion[int]{App: 1, Waiter: schema.Listening}},
		{ID: 8, Row: PendingQuestion[int]{App: 2}},
		{ID: 9, Row: PendingQuestion[int]{App: 1, IsAddressed: true}},
	})
	return Inbox[int]{Pending: pending, Source: table, Queries: InboxQueries{
		List: "list", ListOfStatus: "status", ListOfApp: "app", ListAwaiting: "awaiting", ListAwaitingOfApp: "awaiting of app",
	}}
}

func TestInbox_PageUnitesRanges(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		filter store.InboxFilter
		apps   []int
		calls  []string
		want   []schema.EventID
		more   bool
	}{
		"all":           {store.InboxFilter{}, nil, []string{"list[1 99 5]"}, []schema.EventID{9, 8, 7, 3}, true},
		"status":        {store.InboxFilter{Status: inbox.HitlDecided}, nil, []string{"status[decided 1 99 5]"}, []schema.EventID{3}, false},
		"person":        {store.InboxFilter{Awaiting: "ann"}, nil, []string{"awaiting[ann 1 99 5]"}, []schema.EventID{9, 8, 7}, false},
		"person's app":  {store.InboxFilter{Awaiting: "ann", Agents: []string{"a"}}, []int{1}, []string{"awaiting of app[ann 1 1 99 5]"}, []schema.EventID{9, 7}, false},
		"everyone":      {store.InboxFilter{Everyone: true}, nil, nil, []schema.EventID{8, 7}, false},
		"decided of me": {store.InboxFilter{Awaiting: "ann", Status: inbox.HitlDecided}, nil, nil, nil, false},
		"pending app":   {store.InboxFilter{Status: inbox.HitlPending, Agents: []string{"a"}}, []int{1}, nil, []schema.EventID{9, 7}, false},
		"unknown app":   {store.InboxFilter{Agents: []string{"x"}}, nil, nil, nil, false},
		"decided app":   {store.InboxFilter{Status: inbox.HitlDecided, Agents: []string{"a"}}, []int{1}, []string{"app[1 decided 1 99 5]"}, []schema.EventID{3, 2}, false},
	} {
		table := &inboxTable{ids: map[string][]schema.EventID{
			"list": {9, 8, 7, 3, 2}, "status": {3}, "app": {3, 2}, "awaiting": {9}, "awaiting of app": {9},
		}}
		test.filter.Limit = 4
		events, more, err := newInbox(table).Page(t.Context(), test.filter, test.apps, 1, 99)
		require.NoError(t, err)
		var got []schema.EventID
		for _, e := range events {
			got = append(got, e.ID)
		}
		require.Equal(t, test.want, got, name)
		require.Equal(t, test.calls, table.calls, name)
		require.Equal(t, test.more, more, name)
	}
}

func TestInbox_CountsLeaveOutTests(t *testing.T) {
	t.Parallel()
	x := newInbox(&inboxTable{})
	const tests = 2
	st, err := x.Counts(t.Context(), "ann", 25, tests)
	require.NoError(t, err)
	require.Equal(t, inbox.HitlStats{ResponsesCount: 15, PendingCount: 2, ResolversCount: 1, WaitingOnMe: 11}, st)

	days, err := x.Days(t.Context(), []int64{1, 8, 8, 99}, nil, false, tests)
	require.NoError(t, err)
	require.Equal(t, inbox.HitlCounts{}, days[1], "no questions")
	for status, n := range days[0].All() {
		if status == inbox.HitlPending {
			require.Equal(t, int64(10), *n, "8, the test, is not before 8")
		} else {
			require.Zero(t, *n, "all are tests")
		}
	}
	for status, n := range days[2].All() {
		if status == inbox.HitlPending {
			require.Equal(t, int64(9), *n)
		}
	}
	days, err = x.Days(t.Context(), []int64{1, 99}, []int{1}, true, tests)
	require.NoError(t, err)
	for status, n := range days[0].All() {
		if status == inbox.HitlPending {
			require.Equal(t, int64(2), *n)
		} else {
			require.Equal(t, int64(10), *n)
		}
	}
}
