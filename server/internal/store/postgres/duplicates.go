package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

// Deduplication: pending questions with equal content in one session form a duplicate
// group. The writer updates the group in the transaction that adds, resolves or otherwise
// changes a member, so concurrent members are counted correctly and no crash leaves a group
// without a leader. It changes only SameAs, Waiters and Revision of their statuses.
//
// The group is shown as its leader. A leader whose agent is lost gives way to a member whose
// agent still waits: a card must not hide a waiting agent behind a dead one.

const (
	queryGroupRow = `SELECT version, state, status FROM questions WHERE seq = $1`
)

func (s *engine) GroupMembers(ctx context.Context, leader schema.EventID) ([]store.GroupMember, error) {
	row, _ := s.pending.Get(leader)
	return s.pending.Group(row.Same, leader), ctx.Err()
}

// group returns the pending questions with a duplicate key that leader leads as of this
// transaction, oldest first; the leaders themselves if leader is 0.
func (t *tx) group(key string, leader schema.EventID) (ids []schema.EventID) {
	changed := map[schema.EventID]kit.PendingUpdate[string]{}
	for _, u := range t.pending {
		changed[u.ID] = u
	}
	for _, m := range t.w.store.pending.Group(key, leader) {
		if _, ok := changed[m.ID]; !ok {
			ids = append(ids, m.ID)
		}
	}
	for id, u := range changed {
		if !u.Ended && u.Row.Same == key && u.Row.SameAs == leader {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// setLeaderOf stores the leader of a question, and the leader's revision from which the
// question is counted.
func (t *tx) setLeaderOf(id, leader schema.EventID, joined int64) error {
	if row, ok := t.pendingQuestion(id); ok {
		row.SameAs, row.Joined = leader, joined
		t.pending = append(t.pending, kit.PendingUpdate[string]{ID: id, Row: row})
	}
	return t.exec(`UPDATE questions SET same_as = $1, joined = $2 WHERE seq = $3`, leader, joined, id)
}

// groupRow is the stored state of one question in a duplicate group.
type groupRow struct {
	id      schema.EventID
	version int64
	status  schema.Status
}

func (g *groupRow) parseStatus(status []byte) error {
	if err := json.Unmarshal(status, &g.status); err != nil {
		return fmt.Errorf("decode the status of question %d: %w", g.id, err)
	}
	return nil
}

// groupLeader returns the leader that a new question joins, and sets SameAs in the new
// question's status. It returns nil if there is no group to join.
func (t *tx) groupLeader(e *store.Event, q *store.NewQuestion) (*groupRow, error) {
	if q.DuplicateKey == nil {
		return nil, nil
	}
	leaders := t.group(string(q.DuplicateKey), 0)
	if len(leaders) == 0 {
		return nil, nil
	}
	leader, _, err := t.readGroupRow(leaders[len(leaders)-1])
	if err != nil || leader.status.Waiters >= store.MaxGroupSize {
		return nil, err
	}
	own := groupRow{id: e.ID}
	if err := own.parseStatus(e.Status); err != nil {
		return nil, err
	}
	own.status.SameAs = leader.id
	e.Status, err = json.Marshal(own.status)
	return leader, err
}

// joinGroup adds a question that was just stored to the group of leader; nil: no group.
func (t *tx) joinGroup(id schema.EventID, leader *groupRow) error {
	if leader == nil {
		return nil
	}
	leader.status.Waiters = max(leader.status.Waiters, 1) + 1
	if err := t.updateGroupStatus(leader); err != nil {
		return err
	}
	err := t.setLeaderOf(id, leader.id, leader.version)
	if err != nil || leader.status.Waiter != schema.Lost {
		return err
	}
	return t.replaceLostLeader(id)
}

// updateGroupStatus stores g's status under a new version and appends the log row.
func (t *tx) updateGroupStatus(g *groupRow) error {
	g.version++
	t.versions[g.id] = g.version
	g.status.Revision = g.version
	status, err := json.Marshal(g.status)
	if err != nil {
		return fmt.Errorf("encode the status: %w", err)
	}
	seq, err := t.insertChange(g.id, false, status)
	if err != nil {
		return err
	}
	err = t.exec(`UPDATE questions SET version = $1, status = $2, changed_at = $3 WHERE seq = $4`, g.version, status, kit.Millis(t.now), g.id)
	if err != nil {
		return err
	}
	row := kit.ChangeLogRow(seq, &store.Event{ID: g.id}, status, false)
	row.Kinds = feed.Changed
	t.rows = append(t.rows, row)
	return nil
}

// leaveGroup removes a question that was pending as row from its group. If it was the leader, another
// member becomes the leader.
func (t *tx) leaveGroup(id schema.EventID, row kit.PendingQuestion[string]) error {
	switch {
	case row.Same == "":
		return nil
	case row.SameAs != 0:
		return t.decrementGroup(row.SameAs)
	}
	members, err := t.groupMembers(row.Same, id)
	if err != nil || len(members) == 0 {
		return err
	}
	return t.setLeader(nextLeader(members), members)
}

// replaceLostLeader makes another member the leader of the group that the question belongs
// to, if the agent of the leader is lost and another one waits. A leader with an answer in
// its undo window stays, because that answer is for the members that its group had.
func (t *tx) replaceLostLeader(id schema.EventID) error {
	row, ok := t.pendingQuestion(id)
	if !ok || row.Same == "" {
		return nil
	}
	leader, state, err := t.readGroupRow(cmp.Or(row.SameAs, id))
	if err != nil || state != schema.Pending || leader.status.Waiter != schema.Lost || leader.status.Held != nil {
		return err
	}
	members, err := t.groupMembers(row.Same, leader.id)
	if err != nil || len(members) == 0 {
		return err
	}
	next := nextLeader(members)
	if next.status.Waiter == schema.Lost {
		return nil
	}
	leader.status.Waiters = 0
	return t.setLeader(next, append(members, leader))
}

// nextLeader returns the member that leads next: the first one whose agent is known to wait,
// else the first one whose agent is not lost, else the first.
func nextLeader(members []*groupRow) *groupRow {
	for _, waiter := range []schema.Waiter{schema.Listening, schema.Unknown} {
		for _, m := range members {
			if cmp.Or(m.status.Waiter, schema.Unknown) == waiter {
				return m
			}
		}
	}
	return members[0]
}

// setLeader makes one of the members the leader of all of them.
func (t *tx) setLeader(leader *groupRow, members []*groupRow) error {
	leader.status.SameAs = 0
	if len(members) > 1 {
		leader.status.Waiters = len(members)
	}
	if err := t.updateGroupStatus(leader); err != nil {
		return err
	}
	for _, m := range members {
		if m != leader {
			m.status.SameAs = leader.id
			if err := t.updateGroupStatus(m); err != nil {
				return err
			}
		}
		if err := t.setLeaderOf(m.id, m.status.SameAs, leader.version); err != nil {
			return err
		}
	}
	return nil
}

// groupMembers reads the pending members that the leader leads, oldest first.
func (t *tx) groupMembers(key string, leader schema.EventID) (members []*groupRow, err error) {
	ids := t.group(key, leader)
	members = make([]*groupRow, len(ids))
	for i, id := range ids {
		if members[i], _, err = t.readGroupRow(id); err != nil {
			return nil, err
		}
	}
	return members, nil
}

func (t *tx) readGroupRow(id schema.EventID) (g *groupRow, state schema.State, err error) {
	g = &groupRow{id: id}
	var status []byte
	if err := t.get([]any{&g.version, &state, &status}, queryGroupRow, id); err != nil {
		return nil, "", err
	}
	return g, state, g.parseStatus(status)
}

// decrementGroup lowers the leader's member count by one.
func (t *tx) decrementGroup(leader schema.EventID) error {
	g, state, err := t.readGroupRow(leader)
	if err != nil || state != schema.Pending {
		return err
	}
	if g.status.Waiters--; g.status.Waiters <= 1 {
		g.status.Waiters = 0
	}
	return t.updateGroupStatus(g)
}
