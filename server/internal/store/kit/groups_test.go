package kit

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// groupTable is a table of questions in memory, all with the same duplicate key.
type groupTable struct {
	groups Groups[int]
	rows   map[schema.EventID]*GroupRow
	events map[schema.EventID]*store.Event
}

func newGroupTable() *groupTable {
	g := &groupTable{rows: map[schema.EventID]*GroupRow{}, events: map[schema.EventID]*store.Event{}}
	pending := &PendingQuestions[int]{}
	pending.Load(nil)
	g.groups = Groups[int]{Pending: PendingAsOf[int]{Committed: pending, Updates: new([]PendingUpdate[int])}, Store: g}
	return g
}

func (g *groupTable) GroupRow(id schema.EventID) (*GroupRow, error) {
	row := &GroupRow{ID: id, Version: g.rows[id].Version, State: g.rows[id].State}
	return row, row.ParseStatus(g.events[id].Status)
}

func (g *groupTable) SetGroupStatus(row *GroupRow, status []byte) error {
	g.rows[row.ID].Version, g.events[row.ID].Status = row.Version, status
	return nil
}

func (g *groupTable) SetGroupLeader(schema.EventID, schema.EventID, int64) error { return nil }

func (g *groupTable) update(u PendingUpdate[int]) {
	*g.groups.Pending.Updates = append(*g.groups.Pending.Updates, u)
}

// add adds a question and joins its group.
func (g *groupTable) add(t *testing.T, id schema.EventID, waiter schema.Waiter) {
	t.Helper()
	status, err := json.Marshal(schema.Status{Status: schema.Pending, Waiter: waiter})
	require.NoError(t, err)
	e := &store.Event{ID: id, Status: status}
	leader, err := g.groups.Leader(e, &store.NewQuestion{DuplicateKey: []byte("key")})
	require.NoError(t, err)
	g.rows[id], g.events[id] = &GroupRow{ID: id, Version: 1, State: schema.Pending}, e
	g.update(PendingUpdate[int]{ID: id, Row: PendingQuestion[int]{Same: "key"}})
	require.NoError(t, g.groups.Join(id, leader))
}

// end resolves a question.
func (g *groupTable) end(t *testing.T, id schema.EventID) {
	t.Helper()
	row, _ := g.groups.Pending.Get(id)
	g.rows[id].State = schema.Responded
	g.update(PendingUpdate[int]{ID: id, Ended: true})
	require.NoError(t, g.groups.Leave(id, row.Same, row.SameAs))
}

func (g *groupTable) status(t *testing.T, id schema.EventID) (st schema.Status) {
	t.Helper()
	require.NoError(t, json.Unmarshal(g.events[id].Status, &st))
	return st
}

// commit moves the updates to the committed questions.
func (g *groupTable) commit() {
	g.groups.Pending.Committed.Commit(*g.groups.Pending.Updates)
	*g.groups.Pending.Updates = nil
}

func TestGroups_CountMembers(t *testing.T) {
	t.Parallel()
	g := newGroupTable()
	g.add(t, 1, schema.Listening)
	require.Zero(t, g.status(t, 1).Waiters, "a single question is no group")
	g.add(t, 2, schema.Listening)
	g.commit()
	g.add(t, 3, schema.Listening)
	require.Equal(t, 3, g.status(t, 1).Waiters)
	require.Equal(t, schema.EventID(1), g.status(t, 3).SameAs)
	require.Equal(t, g.rows[1].Version, g.status(t, 1).Revision)

	g.end(t, 3)
	require.Equal(t, 2, g.status(t, 1).Waiters)
	g.end(t, 2)
	require.Zero(t, g.status(t, 1).Waiters)
}

func TestGroups_EndedLeaderIsReplaced(t *testing.T) {
	t.Parallel()
	g := newGroupTable()
	g.add(t, 1, schema.Listening)
	g.add(t, 2, schema.Unknown)
	g.add(t, 3, schema.Listening)
	g.commit()
	g.end(t, 1)
	require.Equal(t, 2, g.status(t, 3).Waiters, "its agent is known to wait")
	require.Zero(t, g.status(t, 3).SameAs)
	require.Equal(t, schema.EventID(3), g.status(t, 2).SameAs)
	g.end(t, 3)
	require.Zero(t, g.status(t, 2).SameAs)
	require.Zero(t, g.status(t, 2).Waiters)
}

func TestGroups_LostLeaderGivesWay(t *testing.T) {
	t.Parallel()
	g := newGroupTable()
	g.add(t, 1, schema.Lost)
	g.commit()
	g.add(t, 2, schema.Lost)
	require.Equal(t, 2, g.status(t, 1).Waiters, "no other agent waits")
	g.add(t, 3, schema.Listening)
	require.Equal(t, 3, g.status(t, 3).Waiters)
	require.Equal(t, schema.EventID(3), g.status(t, 1).SameAs)
	require.Equal(t, schema.EventID(3), g.status(t, 2).SameAs)
}
