package conformance

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// duplicateQuestion returns a question with the given duplicate key.
func duplicateQuestion(key string) *store.EventDraft {
	d := NewQuestionDraft("s", time.Time{})
	d.NewQuestion.DuplicateKey = []byte(key)
	return d
}

func (b *Harness) statusOf(t testing.TB, id schema.EventID) schema.Status {
	t.Helper()
	e, _, err := b.Event(t.Context(), id)
	require.NoError(t, err)
	var st schema.Status
	require.NoError(t, json.Unmarshal(e.Status, &st))
	return st
}

// resolution returns the change that resolves a question in its current version.
func (b *Harness) resolution(t testing.TB, id schema.EventID) store.Change {
	t.Helper()
	q, err := b.Question(t.Context(), id)
	require.NoError(t, err)
	return store.Change{Event: &q.Event, Version: q.Version, State: schema.Responded, Status: []byte(`{"status":"responded"}`), Ends: true}
}

func (s suite) TestDuplicateGroup_HasMaximumSize(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	drafts := make([]*store.EventDraft, store.MaxGroupSize+2)
	for i := range drafts {
		drafts[i] = duplicateQuestion("k")
	}
	all := b.AppendAll(t.Context(), drafts)
	for _, r := range all {
		require.NoError(t, r.Err)
	}
	first, next, last := all[0].Receipt.Event.ID, all[store.MaxGroupSize].Receipt.Event.ID, all[store.MaxGroupSize+1].Receipt.Event.ID
	require.Equal(t, store.MaxGroupSize, b.statusOf(t, first).Waiters)
	require.Zero(t, b.statusOf(t, next).SameAs, "it starts a new group")
	require.Equal(t, next, b.statusOf(t, last).SameAs)
	members, err := b.GroupMembers(t.Context(), first)
	require.NoError(t, err)
	require.Len(t, members, store.MaxGroupSize-1)
	require.Equal(t, b.statusOf(t, first).Revision, members[store.MaxGroupSize-2].Joined)
}

// The log contains every change of a duplicate group, in order.
func (s suite) TestDuplicateGroup_PublishesEveryChange(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	one, two, three :=
		b.MustAppend(t, duplicateQuestion("k")).ID, b.MustAppend(t, duplicateQuestion("k")).ID, b.MustAppend(t, duplicateQuestion("k")).ID
	other := b.MustAppend(t, duplicateQuestion("l")).ID
	require.NoError(t, b.Apply(t.Context(), b.resolution(t, two)))
	require.NoError(t, b.Apply(t.Context(), b.resolution(t, one)))
	rows := b.Published()
	for i, row := range rows {
		require.Equal(t, int64(i+1), row.Seq, "without gaps")
	}
	require.Equal(t, rows[len(rows)-1].Seq, b.Head())
	last := map[schema.EventID]schema.Status{}
	for _, row := range rows {
		var st schema.Status
		require.NoError(t, json.Unmarshal(row.Event.Status, &st))
		last[row.Event.ID] = st
	}
	require.Zero(t, last[three].SameAs)
	require.Zero(t, last[three].Waiters, "a group of one has no count")
	require.Equal(t, int64(2), last[three].Revision)
	require.Zero(t, last[other].Waiters)
	b.Reopen(t)
	require.Equal(t, last[three], b.statusOf(t, three))
}

// If one member was changed concurrently, no question of the group is resolved.
func (s suite) TestDuplicateGroup_ResolvesAtomically(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	one, two, three :=
		b.MustAppend(t, duplicateQuestion("k")).ID, b.MustAppend(t, duplicateQuestion("k")).ID, b.MustAppend(t, duplicateQuestion("k")).ID
	c := b.resolution(t, one)
	c.Duplicates = []store.Change{b.resolution(t, two), b.resolution(t, three)}
	stale := c
	stale.Duplicates = []store.Change{c.Duplicates[0], c.Duplicates[1]}
	stale.Duplicates[1].Version++
	head := b.Head()
	require.ErrorIs(t, b.Apply(t.Context(), stale), store.ErrConflict)
	require.Equal(t, head, b.Head())
	require.Equal(t, 3, b.statusOf(t, one).Waiters)
	require.NoError(t, b.Apply(t.Context(), c))
	for _, id := range []schema.EventID{one, two, three} {
		require.Equal(t, schema.Responded, b.statusOf(t, id).Status)
	}
	members, err := b.GroupMembers(t.Context(), one)
	require.NoError(t, err)
	require.Empty(t, members)
	require.Zero(t, b.statusOf(t, b.MustAppend(t, duplicateQuestion("k")).ID).SameAs, "a later duplicate starts a new group")
}

// setWaiter stores the liveness of a question's agent, as the prober does.
func (b *Harness) setWaiter(t testing.TB, id schema.EventID, waiter schema.Waiter, edit ...func(*schema.Status)) {
	t.Helper()
	q, err := b.Question(t.Context(), id)
	require.NoError(t, err)
	var st schema.Status
	require.NoError(t, json.Unmarshal(q.Status, &st))
	st.Waiter, st.Revision = waiter, q.Version+1
	for _, fn := range edit {
		fn(&st)
	}
	status, err := json.Marshal(st)
	require.NoError(t, err)
	require.NoError(t, b.Apply(t.Context(), store.Change{Event: &q.Event, Version: q.Version, State: schema.Pending, Status: status}))
}

// leaders returns the leader of each question: 0 for a leader.
func (b *Harness) leaders(t testing.TB, ids ...schema.EventID) (all []schema.EventID) {
	t.Helper()
	for _, id := range ids {
		all = append(all, b.statusOf(t, id).SameAs)
	}
	return all
}

// TestDuplicateGroup_LostLeaderGivesWay: a killed agent's question must not hide the question
// of an agent that waits.
func (s suite) TestDuplicateGroup_LostLeaderGivesWay(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	one, two, three :=
		b.MustAppend(t, duplicateQuestion("k")).ID, b.MustAppend(t, duplicateQuestion("k")).ID, b.MustAppend(t, duplicateQuestion("k")).ID
	b.setWaiter(t, two, schema.Lost)
	b.setWaiter(t, three, schema.Listening)
	require.Equal(t, []schema.EventID{0, one, one}, b.leaders(t, one, two, three), "the leader is not lost")
	head := b.Head()
	b.setWaiter(t, one, schema.Lost)
	require.Equal(t, head+4, b.Head(), "its change and one for each member, in one transaction")
	require.Equal(t, []schema.EventID{three, three, 0}, b.leaders(t, one, two, three), "the first that listens leads")
	require.Equal(t, 3, b.statusOf(t, three).Waiters)
	require.Zero(t, b.statusOf(t, one).Waiters)
	members, err := b.GroupMembers(t.Context(), three)
	require.NoError(t, err)
	require.Equal(t, []store.GroupMember{{ID: one, Joined: b.statusOf(t, three).Revision}, {ID: two, Joined: b.statusOf(t, three).Revision}}, members)

	b.setWaiter(t, three, schema.Lost)
	require.Equal(t, []schema.EventID{three, three, 0}, b.leaders(t, one, two, three), "all are lost")
	b.setWaiter(t, two, schema.Listening)
	require.Equal(t, []schema.EventID{two, 0, two}, b.leaders(t, one, two, three), "an agent is back")
	b.setWaiter(t, two, schema.Lost)
	four := b.MustAppend(t, duplicateQuestion("k")).ID
	require.Equal(t, []schema.EventID{four, four, four, 0}, b.leaders(t, one, two, three, four), "a new question of an agent that may wait")
	require.Equal(t, 4, b.statusOf(t, four).Waiters)

	b.setWaiter(t, three, schema.Listening)
	require.NoError(t, b.Apply(t.Context(), b.resolution(t, four)))
	require.Equal(t, []schema.EventID{three, three, 0}, b.leaders(t, one, two, three), "a resolved leader is followed by one that listens")
	b.Reopen(t)
	require.Equal(t, 3, b.statusOf(t, three).Waiters)
}

// TestDuplicateGroup_KeepsLeaderWithUndoWindow: the answer in the window is for the members that
// the leader has.
func (s suite) TestDuplicateGroup_KeepsLeaderWithUndoWindow(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	one, two := b.MustAppend(t, duplicateQuestion("k")).ID, b.MustAppend(t, duplicateQuestion("k")).ID
	b.setWaiter(t, one, schema.Lost, func(st *schema.Status) { st.Held = &schema.PendingUndo{Until: 1} })
	require.Equal(t, []schema.EventID{0, one}, b.leaders(t, one, two))
	b.setWaiter(t, one, schema.Lost, func(st *schema.Status) { st.Held = nil })
	require.Equal(t, []schema.EventID{two, 0}, b.leaders(t, one, two))
}
