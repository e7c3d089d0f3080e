package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/server/internal/store"
)

// inboxIDs returns the IDs that a filter finds, newest first.
func (b *Harness) inboxIDs(t testing.TB, f store.InboxFilter) (ids []schema.EventID) {
	t.Helper()
	if f.Limit == 0 {
		f.Limit = 50
	}
	events, _, err := b.Inbox(context.Background(), f)
	require.NoError(t, err)
	for _, e := range events {
		ids = append(ids, e.ID)
	}
	return ids
}

// appendQuestion stores a question that waits for the given people.
func (b *Harness) appendQuestion(t testing.TB, awaiting ...string) schema.EventID {
	t.Helper()
	d := NewQuestionDraft("s", time.Time{})
	if awaiting != nil {
		d.Status = addressedStatus(awaiting, awaiting)
	}
	return b.MustAppend(t, d).ID
}

// addressedStatus is the status of a pending question of the recipients, of whom some have not voted.
func addressedStatus(recipients, awaiting []string) []byte {
	b, _ := json.Marshal(schema.Status{Status: schema.Pending, Recipients: recipients, Awaiting: awaiting}) // it is a plain struct
	return b
}

// applyChange applies c to the current version of a question.
func (b *Harness) applyChange(t testing.TB, id schema.EventID, c store.Change) {
	t.Helper()
	q, err := b.Question(context.Background(), id)
	require.NoError(t, err)
	c.Event, c.Version = &q.Event, q.Version
	require.NoError(t, b.Apply(context.Background(), c))
}

// The questions that wait for a person follow the votes, without the resolved ones.
func (s suite) TestInbox_FollowsVotes(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	b.appendQuestion(t)
	b.appendQuestion(t, "ada", "grace")
	b.appendQuestion(t, "grace")
	ids := func(numbers ...schema.EventID) []schema.EventID { return numbers }
	require.Equal(t, ids(1), b.inboxIDs(t, store.InboxFilter{Everyone: true}))
	require.Equal(t, ids(2, 1), b.inboxIDs(t, store.InboxFilter{Awaiting: "ada"}))
	require.Equal(t, ids(3, 2, 1), b.inboxIDs(t, store.InboxFilter{Awaiting: "grace"}))
	require.Equal(t, ids(3), b.inboxIDs(t, store.InboxFilter{Awaiting: "grace", Limit: 1}))

	b.applyChange(t, 2, store.Change{State: schema.Pending, Status: addressedStatus([]string{"ada", "grace"}, []string{"grace"})})
	require.Equal(t, ids(1), b.inboxIDs(t, store.InboxFilter{Awaiting: "ada"}), "ada has voted")
	require.Equal(t, ids(3, 2, 1), b.inboxIDs(t, store.InboxFilter{Awaiting: "grace"}))
	b.applyChange(t, 3, store.Change{State: schema.Pending, Status: addressedStatus([]string{"grace"}, nil)})
	require.Equal(t, ids(2, 1), b.inboxIDs(t, store.InboxFilter{Awaiting: "grace"}), "all have voted, so it waits for no one")
	b.Reopen(t)
	require.Equal(t, ids(2, 1), b.inboxIDs(t, store.InboxFilter{Awaiting: "grace"}))
	require.Equal(t, ids(1), b.inboxIDs(t, store.InboxFilter{Everyone: true}))
	b.applyChange(t, 2, store.Change{State: schema.Failed, Status: []byte(`{"status":"error","outcome":"__no_quorum__"}`), Ends: true})
	b.applyChange(t, 3, store.Change{State: schema.Failed, Status: []byte(`{"status":"error","outcome":"__withdrawn__"}`), Ends: true})
	require.Equal(t, ids(1), b.inboxIDs(t, store.InboxFilter{Awaiting: "grace"}))
	require.Equal(t, ids(2), b.inboxIDs(t, store.InboxFilter{Status: inbox.HitlDecided}), "no quorum counts as decided by people")
	require.Equal(t, ids(3), b.inboxIDs(t, store.InboxFilter{Status: inbox.HitlCancelled}))
	require.Empty(t, b.inboxIDs(t, store.InboxFilter{Status: inbox.HitlExpired}))
}

// The inbox column agrees with HitlStatus for every kind of resolution.
func (s suite) TestInbox_SortsLikeHitlStatus(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	for _, st := range []schema.Status{
		{Status: schema.Pending}, {Status: schema.Responded, Outcome: schema.Approve}, {Status: schema.TimedOut, Outcome: schema.Timeout},
		{Status: schema.Failed, Outcome: schema.NoQuorum}, {Status: schema.Failed, Outcome: schema.Cancelled}, {Status: schema.Failed},
	} {
		id := b.appendQuestion(t)
		b.applyChange(t, id, store.Change{State: st.Status, Status: fmt.Appendf(nil, `{"status":%q,"outcome":%q}`, st.Status, st.Outcome), Ends: st.IsSettled()})
		require.Contains(t, b.inboxIDs(t, store.InboxFilter{Status: inbox.StatusOf(&st)}), id, "%+v", st)
		for _, other := range inbox.HitlStatuses {
			if other != inbox.StatusOf(&st) {
				require.NotContains(t, b.inboxIDs(t, store.InboxFilter{Status: other}), id, "%+v is not %s", st, other)
			}
		}
	}
}

// A question counts on the day it was asked, with its current status.
func (s suite) TestInboxDays_CountsByDayAsked(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	edges := []time.Time{ClockStart.Add(-time.Hour), ClockStart.Add(23 * time.Hour), ClockStart.Add(47 * time.Hour)}
	b.appendQuestion(t)
	b.Clock.Advance(24 * time.Hour)
	b.appendQuestion(t)
	b.appendQuestion(t)
	b.applyChange(t, 2, store.Change{State: schema.TimedOut, Status: []byte(`{"status":"timeout"}`), Ends: true})
	days, err := b.InboxDays(context.Background(), edges, nil)
	require.NoError(t, err)
	require.Equal(t, []inbox.HitlCounts{{Pending: 1}, {Pending: 1, Expired: 1}}, days)
	days, err = b.InboxDays(context.Background(), edges, []string{"app", "nobody"})
	require.NoError(t, err)
	require.Equal(t, []inbox.HitlCounts{{Pending: 1}, {Pending: 1, Expired: 1}}, days)
	days, err = b.InboxDays(context.Background(), edges, []string{"nobody"})
	require.NoError(t, err)
	require.Equal(t, []inbox.HitlCounts{{}, {}}, days)
}

// The number of decided questions follows resolutions and retention.
func (s suite) TestInboxCounts_CountDecided(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	for range 5 {
		b.appendQuestion(t)
	}
	decided := func() int64 {
		t.Helper()
		st, err := b.InboxCounts(ctx, "")
		require.NoError(t, err)
		return st.ResponsesCount
	}
	end := func(id schema.EventID, state schema.State, status string) {
		t.Helper()
		b.applyChange(t, id, store.Change{State: state, Ends: true, Status: []byte(status)})
	}
	require.Zero(t, decided())
	end(1, schema.Responded, `{"status":"responded"}`)
	end(2, schema.TimedOut, `{"status":"timeout","outcome":"__timeout__"}`)
	end(3, schema.Responded, `{"status":"responded"}`)
	require.EqualValues(t, 2, decided())
	b.applyChange(t, 3, store.Change{State: schema.Responded, Status: []byte(`{"status":"responded","revision":3}`)})
	require.EqualValues(t, 2, decided(), "a later change of a decided question")
	b.Clock.Advance(2 * time.Hour)
	end(4, schema.Responded, `{"status":"responded"}`)
	b.Reopen(t)
	require.EqualValues(t, 3, decided())
	_, err := b.Prune(ctx, store.RetentionPolicy{QuestionsBefore: b.Clock.Now().Add(-time.Hour)})
	require.NoError(t, err)
	require.EqualValues(t, 1, decided(), "the question that was decided late stays")
}

func (s suite) TestInbox_CountsNoTestRequests(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	for range 2 {
		b.Answer(t, b.MustAppend(t, newTestDraft(true)).ID)
		b.MustAppend(t, newTestDraft(true))
	}
	b.Answer(t, b.MustAppend(t, NewQuestionDraft("s", time.Time{})).ID)
	b.MustAppend(t, NewQuestionDraft("s", time.Time{}))
	st, err := b.InboxCounts(ctx, "")
	require.NoError(t, err)
	require.EqualValues(t, 1, st.PendingCount)
	require.EqualValues(t, 1, st.ResponsesCount)
	require.EqualValues(t, 1, st.WaitingOnMe)
	require.Equal(t, []string{"app"}, st.Agents)
	edges := []time.Time{ClockStart.Add(-time.Hour), ClockStart.Add(time.Hour)}
	for agent, want := range map[string]int64{"": 1, "app": 1, schema.TestApp: 2} { // those who ask for them get them
		var agents []string
		if agent != "" {
			agents = []string{agent}
		}
		days, err := b.InboxDays(ctx, edges, agents)
		require.NoError(t, err)
		require.Equal(t, inbox.HitlCounts{Pending: want, Decided: want}, days[0])
	}
	o, err := b.FilterOptions(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"app"}, o.SourceApps)
}
