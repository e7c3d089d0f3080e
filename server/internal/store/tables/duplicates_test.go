package tables

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// groupTable is a table of questions in memory, all with the same duplicate key.
type groupTable struct {
	Tx
	work   *Work
	rows   map[schema.EventID]*groupRow
	events map[schema.EventID]*store.Event
}

func newGroupTable() *groupTable {
	g := &groupTable{rows: map[schema.EventID]*groupRow{}, events: map[schema.EventID]*store.Event{}}
	s := &Tables{State: NewState(nil, 0)}
	s.State.Pending.Load(nil)
	g.work = s.Begin(g, time.UnixMilli(1), &Counters{})
	return g
}

func (g *groupTable) Get(into []any, _ string, args ...any) (bool, error) {
	id, _ := args[0].(schema.EventID)
	return true, fakeRow{g.rows[id].version, g.rows[id].state, g.events[id].Status}.Scan(into...)
}

func (g *groupTable) InsertChange(int64, schema.EventID, bool, []byte) error { return nil }

func (g *groupTable) Exec(query string, args ...any) error {
	if id, _ := args[len(args)-1].(schema.EventID); strings.Contains(query, "SET version") {
		g.rows[id].version, _ = args[0].(int64)
		g.events[id].Status, _ = args[1].([]byte)
	}
	return nil
}

// add adds a question and joins its group.
func (g *groupTable) add(t *testing.T, id schema.EventID, waiter schema.Waiter) {
	t.Helper()
	status, err := json.Marshal(schema.Status{Status: schema.Pending, Waiter: waiter})
	require.NoError(t, err)
	e := &store.Event{ID: id, Status: status}
	leader := g.work.groupLeader(e, &store.NewQuestion{DuplicateKey: []byte("key")})
	require.NoError(t, g.work.err)
	g.rows[id], g.events[id] = &groupRow{id: id, version: 1, state: schema.Pending}, e
	g.work.pending = append(g.work.pending, PendingUpdate{ID: id, Row: pendingQuestion{Same: "key"}})
	g.work.joinGroup(id, leader)
	require.NoError(t, g.work.err)
}

// end resolves a question.
func (g *groupTable) end(t *testing.T, id schema.EventID) {
	t.Helper()
	row, _ := g.work.pendingQuestion(id)
	g.rows[id].state = schema.Responded
	g.work.pending = append(g.work.pending, PendingUpdate{ID: id, Ended: true})
	g.work.leaveGroup(id, row.Same, row.SameAs)
	require.NoError(t, g.work.err)
}

func (g *groupTable) status(t *testing.T, id schema.EventID) (st schema.Status) {
	t.Helper()
	require.NoError(t, json.Unmarshal(g.events[id].Status, &st))
	return st
}

// commit moves the updates to the committed questions.
func (g *groupTable) commit() {
	g.work.Commit()
	g.work.Undo(Mark{})
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
	require.Equal(t, g.rows[1].version, g.status(t, 1).Revision)

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
