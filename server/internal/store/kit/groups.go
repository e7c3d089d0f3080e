package kit

import (
	"cmp"
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

// GroupRow is the stored state of one question in a duplicate group.
type GroupRow struct {
	ID      schema.EventID
	Version int64
	State   schema.State
	status  schema.Status
}

// ParseStatus sets the status from its stored form.
func (g *GroupRow) ParseStatus(status []byte) error {
	if err := json.Unmarshal(status, &g.status); err != nil {
		return fmt.Errorf("decode the status of question %d: %w", g.ID, err)
	}
	return nil
}

// GroupStore reads and writes questions in the transaction that changes groups.
type GroupStore interface {
	// GroupRow reads a question as of the transaction.
	GroupRow(id schema.EventID) (*GroupRow, error)
	// SetGroupStatus stores g.Version and a status, and appends the log row.
	SetGroupStatus(g *GroupRow, status []byte) error
	// SetGroupLeader stores the leader of a question, and the leader's revision from which the question
	// is counted.
	SetGroupLeader(id, leader schema.EventID, joined int64) error
}

// GroupLogRow returns the log row of a change by SetGroupStatus.
func GroupLogRow(seq int64, id schema.EventID, status []byte) store.LogRow {
	row := ChangeLogRow(seq, &store.Event{ID: id}, status, false)
	row.Kinds = feed.Changed
	return row
}

// Groups changes duplicate groups in a transaction.
type Groups[N comparable] struct {
	Pending PendingAsOf[N]
	Store   GroupStore
}

// Leader returns the leader that a new question joins, and sets SameAs in the new
// question's status. It returns nil if there is no group to join.
func (g Groups[N]) Leader(e *store.Event, q *store.NewQuestion) (*GroupRow, error) {
	if q.DuplicateKey == nil {
		return nil, nil
	}
	leaders := g.Pending.group(string(q.DuplicateKey), 0)
	if len(leaders) == 0 {
		return nil, nil
	}
	leader, err := g.Store.GroupRow(leaders[len(leaders)-1])
	if err != nil || leader.status.Waiters >= store.MaxGroupSize {
		return nil, err
	}
	own := GroupRow{ID: e.ID}
	if err := own.ParseStatus(e.Status); err != nil {
		return nil, err
	}
	own.status.SameAs = leader.ID
	e.Status, err = json.Marshal(own.status)
	return leader, err
}

// Join adds a question that was just stored to the group of leader; nil: no group.
func (g Groups[N]) Join(id schema.EventID, leader *GroupRow) error {
	if leader == nil {
		return nil
	}
	leader.status.Waiters = max(leader.status.Waiters, 1) + 1
	if err := g.updateStatus(leader); err != nil {
		return err
	}
	err := g.setLeaderOf(id, leader.ID, leader.Version)
	if err != nil || leader.status.Waiter != schema.Lost {
		return err
	}
	return g.ReplaceLostLeader(id)
}

// Leave removes a resolved question from the group with its duplicate key; empty: it was never
// grouped. leader is 0 if it was the leader: another member becomes the leader then.
func (g Groups[N]) Leave(id schema.EventID, key string, leader schema.EventID) error {
	switch {
	case key == "":
		return nil
	case leader != 0:
		return g.decrement(leader)
	}
	members, err := g.members(key, id)
	if err != nil || len(members) == 0 {
		return err
	}
	return g.setLeader(nextLeader(members), members)
}

// ReplaceLostLeader makes another member the leader of the group that the question belongs
// to, if the agent of the leader is lost and another one waits. A leader with an answer in
// its undo window stays, because that answer is for the members that its group had.
func (g Groups[N]) ReplaceLostLeader(id schema.EventID) error {
	row, ok := g.Pending.Get(id)
	if !ok || row.Same == "" {
		return nil
	}
	leader, err := g.Store.GroupRow(cmp.Or(row.SameAs, id))
	if err != nil || leader.State != schema.Pending || leader.status.Waiter != schema.Lost || leader.status.Held != nil {
		return err
	}
	members, err := g.members(row.Same, leader.ID)
	if err != nil || len(members) == 0 {
		return err
	}
	next := nextLeader(members)
	if next.status.Waiter == schema.Lost {
		return nil
	}
	leader.status.Waiters = 0
	return g.setLeader(next, append(members, leader))
}

// nextLeader returns the member that leads next: the first one whose agent is known to wait,
// else the first one whose agent is not lost, else the first.
func nextLeader(members []*GroupRow) *GroupRow {
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
func (g Groups[N]) setLeader(leader *GroupRow, members []*GroupRow) error {
	leader.status.SameAs = 0
	if len(members) > 1 {
		leader.status.Waiters = len(members)
	}
	if err := g.updateStatus(leader); err != nil {
		return err
	}
	for _, m := range members {
		if m != leader {
			m.status.SameAs = leader.ID
			if err := g.updateStatus(m); err != nil {
				return err
			}
		}
		if err := g.setLeaderOf(m.ID, m.status.SameAs, leader.Version); err != nil {
			return err
		}
	}
	return nil
}

func (g Groups[N]) setLeaderOf(id, leader schema.EventID, joined int64) error {
	if row, ok := g.Pending.Get(id); ok {
		row.SameAs, row.Joined = leader, joined
		*g.Pending.Updates = append(*g.Pending.Updates, PendingUpdate[N]{ID: id, Row: row})
	}
	return g.Store.SetGroupLeader(id, leader, joined)
}

// updateStatus stores a status under a new version.
func (g Groups[N]) updateStatus(row *GroupRow) error {
	row.Version++
	row.status.Revision = row.Version
	status, err := json.Marshal(row.status)
	if err != nil {
		return fmt.Errorf("encode the status: %w", err)
	}
	return g.Store.SetGroupStatus(row, status)
}

// members reads the pending members that the leader leads, oldest first.
func (g Groups[N]) members(key string, leader schema.EventID) (members []*GroupRow, err error) {
	ids := g.Pending.group(key, leader)
	members = make([]*GroupRow, len(ids))
	for i, id := range ids {
		if members[i], err = g.Store.GroupRow(id); err != nil {
			return nil, err
		}
	}
	return members, nil
}

// decrement lowers the leader's member count by one.
func (g Groups[N]) decrement(leader schema.EventID) error {
	row, err := g.Store.GroupRow(leader)
	if err != nil || row.State != schema.Pending {
		return err
	}
	if row.status.Waiters--; row.status.Waiters <= 1 {
		row.status.Waiters = 0
	}
	return g.updateStatus(row)
}

// PendingAsOf has the pending questions as of a transaction.
type PendingAsOf[N comparable] struct {
	Committed *PendingQuestions[N]
	Updates   *[]PendingUpdate[N] // by the transaction
}

// Get returns a pending question.
func (p PendingAsOf[N]) Get(id schema.EventID) (row PendingQuestion[N], ok bool) {
	for _, u := range slices.Backward(*p.Updates) {
		if u.ID == id {
			return u.Row, !u.Ended
		}
	}
	return p.Committed.Get(id)
}

// group returns the questions with a duplicate key that leader leads, oldest first; the leaders
// themselves if leader is 0.
func (p PendingAsOf[N]) group(key string, leader schema.EventID) (ids []schema.EventID) {
	changed := map[schema.EventID]PendingUpdate[N]{}
	for _, u := range *p.Updates {
		changed[u.ID] = u
	}
	for _, m := range p.Committed.Group(key, leader) {
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
