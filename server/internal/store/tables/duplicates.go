package tables

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

// Deduplication: pending questions with equal content in one session form a duplicate
// group. The writer updates the group in the transaction that adds, resolves or otherwise
// changes a member, so concurrent members are counted correctly and no crash leaves a group
// without a leader. It changes only SameAs, Waiters and Revision of their statuses.
//
// The group is shown as its leader. A leader whose agent is lost is replaced by a member whose
// agent still waits: a card must not hide a waiting agent behind a dead one.

// groupRow is the stored state of one question in a duplicate group.
type groupRow struct {
	id      schema.EventID
	version int64
	state   schema.State
	status  schema.Status
}

// parseStatus sets the status from its stored form.
func (g *groupRow) parseStatus(status []byte) error {
	if err := json.Unmarshal(status, &g.status); err != nil {
		return fmt.Errorf("decode the status of question %d: %w", g.id, err)
	}
	return nil
}

const queryGroupRow = `SELECT version, state, status FROM questions WHERE seq = $1`

// groupRow reads a question as of the transaction.
func (w *Work) groupRow(id schema.EventID) *groupRow {
	g := &groupRow{id: id}
	var status []byte
	w.require(w.find([]any{&g.version, &g.state, &status}, queryGroupRow, id), schema.ErrNotFound)
	w.fail(g.parseStatus(status))
	return g
}

func (t *Tables) GroupMembers(ctx context.Context, leader schema.EventID) ([]store.GroupMember, error) {
	row, _ := t.State.Pending.Get(leader)
	return t.State.Pending.Group(row.Same, leader), ctx.Err()
}

// groupLeader returns the leader that a new question joins, and sets SameAs in the new
// question's status. It returns nil if there is no group to join.
func (w *Work) groupLeader(e *store.Event, q *store.NewQuestion) *groupRow {
	if q.DuplicateKey == nil {
		return nil
	}
	leaders := w.pendingGroup(string(q.DuplicateKey), 0)
	if len(leaders) == 0 {
		return nil
	}
	leader := w.groupRow(leaders[len(leaders)-1])
	if leader.status.Waiters >= store.MaxGroupSize {
		return nil
	}
	own := groupRow{id: e.ID}
	w.fail(own.parseStatus(e.Status))
	own.status.SameAs = leader.id
	e.Status = w.encodeStatus(&own)
	return leader
}

// joinGroup adds a question that was just stored to the group of leader; nil: no group.
func (w *Work) joinGroup(id schema.EventID, leader *groupRow) {
	if leader == nil {
		return
	}
	leader.status.Waiters = max(leader.status.Waiters, 1) + 1
	w.updateStatus(leader)
	w.setLeaderOf(id, leader.id, leader.version)
	if leader.status.Waiter == schema.Lost {
		w.replaceLostLeader(id)
	}
}

// leaveGroup removes a resolved question from the group with its duplicate key; empty: it was never
// grouped. leader is 0 if it was the leader: another member becomes the leader then.
func (w *Work) leaveGroup(id schema.EventID, key string, leader schema.EventID) {
	if key == "" {
		return
	}
	if leader != 0 {
		w.decrement(leader)
		return
	}
	if members := w.members(key, id); len(members) > 0 {
		w.setLeader(nextLeader(members), members)
	}
}

// replaceLostLeader makes another member the leader of the group that the question belongs
// to, if the agent of the leader is lost and another one waits. A leader with an answer in
// its undo window stays, because that answer is for the members that its group had.
func (w *Work) replaceLostLeader(id schema.EventID) {
	row, ok := w.pendingQuestion(id)
	if !ok || row.Same == "" {
		return
	}
	leader := w.groupRow(cmp.Or(row.SameAs, id))
	if leader.state != schema.Pending || leader.status.Waiter != schema.Lost || leader.status.Held != nil {
		return
	}
	members := w.members(row.Same, leader.id)
	if len(members) == 0 {
		return
	}
	if next := nextLeader(members); next.status.Waiter != schema.Lost {
		leader.status.Waiters = 0
		w.setLeader(next, append(members, leader))
	}
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
func (w *Work) setLeader(leader *groupRow, members []*groupRow) {
	leader.status.SameAs = 0
	if len(members) > 1 {
		leader.status.Waiters = len(members)
	}
	w.updateStatus(leader)
	for _, m := range members {
		if m != leader {
			m.status.SameAs = leader.id
			w.updateStatus(m)
		}
		w.setLeaderOf(m.id, m.status.SameAs, leader.version)
	}
}

func (w *Work) setLeaderOf(id, leader schema.EventID, joined int64) {
	if row, ok := w.pendingQuestion(id); ok {
		row.SameAs, row.Joined = leader, joined
		w.pending = append(w.pending, PendingUpdate{ID: id, Row: row})
	}
	w.do(`UPDATE questions SET same_as = $1, joined = $2 WHERE seq = $3`, leader, joined, id)
}

func (w *Work) encodeStatus(row *groupRow) []byte {
	status, err := json.Marshal(row.status)
	w.fail(err)
	return status
}

// updateStatus stores a status under a new version.
func (w *Work) updateStatus(row *groupRow) {
	row.version++
	row.status.Revision = row.version
	status := w.encodeStatus(row)
	w.versions[row.id] = row.version
	seq := w.nextSeq()
	if w.err == nil {
		w.err = w.InsertChange(seq, row.id, false, status)
	}
	change := changeLogRow(seq, &store.Event{ID: row.id}, status, false)
	change.Kinds = feed.Changed
	w.publish(change)
	w.do(`UPDATE questions SET version = $1, status = $2, /*!last_change = last_insert_rowid(),*/ changed_at = $3 WHERE seq = $4`,
		row.version, status, Millis(w.Now), row.id)
}

// members reads the pending members that the leader leads, oldest first.
func (w *Work) members(key string, leader schema.EventID) (members []*groupRow) {
	for _, id := range w.pendingGroup(key, leader) {
		members = append(members, w.groupRow(id))
	}
	return members
}

// decrement lowers the leader's member count by one.
func (w *Work) decrement(leader schema.EventID) {
	row := w.groupRow(leader)
	if row.state != schema.Pending {
		return
	}
	if row.status.Waiters--; row.status.Waiters <= 1 {
		row.status.Waiters = 0
	}
	w.updateStatus(row)
}

// pendingGroup returns the questions with a duplicate key that leader leads, oldest first; the leaders
// themselves if leader is 0.
func (w *Work) pendingGroup(key string, leader schema.EventID) (ids []schema.EventID) {
	changed := map[schema.EventID]PendingUpdate{}
	for _, u := range w.pending {
		changed[u.ID] = u
	}
	for _, m := range w.t.State.Pending.Group(key, leader) {
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
