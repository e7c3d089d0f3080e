package store

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// sameAgain is a question that asks what others with the key ask.
func sameAgain(key string) *EventDraft {
	d := question("s", time.Time{})
	d.NewQuestion.DuplicateKey = []byte(key)
	return d
}

func (b *bench) group(t testing.TB, id schema.EventID) schema.Status {
	t.Helper()
	e, _, err := b.Event(t.Context(), id)
	require.NoError(t, err)
	var st schema.Status
	require.NoError(t, json.Unmarshal(e.Status, &st))
	return st
}

// ending is the change that ends a question as it is now.
func (b *bench) ending(t testing.TB, id schema.EventID) Change {
	t.Helper()
	q, err := b.Question(t.Context(), id)
	require.NoError(t, err)
	return Change{Event: &q.Event, Version: q.Version, State: schema.Responded, Status: []byte(`{"status":"responded"}`), Ends: true}
}

func TestACardHasItsLimit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	drafts := make([]*EventDraft, groupSize+2)
	for i := range drafts {
		drafts[i] = sameAgain("k")
	}
	all := b.AppendAll(t.Context(), drafts)
	for _, r := range all {
		require.NoError(t, r.Err)
	}
	first, next, last := all[0].Receipt.Event.ID, all[groupSize].Receipt.Event.ID, all[groupSize+1].Receipt.Event.ID
	require.Equal(t, groupSize, b.group(t, first).Waiters)
	require.Zero(t, b.group(t, next).SameAs, "it begins a card of its own")
	require.Equal(t, next, b.group(t, last).SameAs)
	members, err := b.GroupMembers(t.Context(), first)
	require.NoError(t, err)
	require.Len(t, members, groupSize-1)
	require.Equal(t, b.group(t, first).Revision, members[groupSize-2].Joined)
}

// TestAGroupInTheLog: who follows the log sees every change of a group, in order.
func TestAGroupInTheLog(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, two, three := b.append(t, sameAgain("k")).ID, b.append(t, sameAgain("k")).ID, b.append(t, sameAgain("k")).ID
	other := b.append(t, sameAgain("l")).ID
	require.NoError(t, b.Apply(t.Context(), b.ending(t, two)))
	require.NoError(t, b.Apply(t.Context(), b.ending(t, one)))
	rows := b.rows()
	for i, row := range rows {
		require.Equal(t, int64(i+1), row.Seq, "without holes")
	}
	require.Equal(t, rows[len(rows)-1].Seq, b.Head())
	last := map[schema.EventID]schema.Status{}
	for _, row := range rows {
		var st schema.Status
		require.NoError(t, json.Unmarshal(row.Event.Status, &st))
		last[row.Event.ID] = st
	}
	require.Zero(t, last[three].SameAs)
	require.Zero(t, last[three].Waiters, "alone again")
	require.Equal(t, int64(2), last[three].Revision)
	require.Zero(t, last[other].Waiters)
	b.reopen(t)
	require.Equal(t, last[three], b.group(t, three))
}

// TestAllOfAnAnswerOrNothing: when one of the others was changed meanwhile, none ends.
func TestAllOfAnAnswerOrNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, two, three := b.append(t, sameAgain("k")).ID, b.append(t, sameAgain("k")).ID, b.append(t, sameAgain("k")).ID
	c := b.ending(t, one)
	c.Duplicates = []Change{b.ending(t, two), b.ending(t, three)}
	stale := c
	stale.Duplicates = []Change{c.Duplicates[0], c.Duplicates[1]}
	stale.Duplicates[1].Version++
	head := b.Head()
	require.ErrorIs(t, b.Apply(t.Context(), stale), ErrConflict)
	require.Equal(t, head, b.Head())
	require.Equal(t, 3, b.group(t, one).Waiters)
	require.NoError(t, b.Apply(t.Context(), c))
	for _, id := range []schema.EventID{one, two, three} {
		require.Equal(t, schema.Responded, b.group(t, id).Status)
	}
	members, err := b.GroupMembers(t.Context(), one)
	require.NoError(t, err)
	require.Empty(t, members)
	require.Zero(t, b.group(t, b.append(t, sameAgain("k")).ID).SameAs, "who asks later begins anew")
}
