package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hookback/hookback/schema"
)

// Deduplication: pending questions with equal content in one session form a duplicate
// group. The writer updates the group in the transaction that adds or resolves a member, so
// concurrent members are counted correctly and no crash leaves a group without a
// leader. It changes only SameAs, Waiters and Revision of their statuses.

// maxGroupSize bounds how many questions one answer can resolve. Further duplicates
// start a new group.
const maxGroupSize = 100

// GroupMember is a member of a duplicate group, other than its leader.
type GroupMember struct {
	ID     schema.EventID
	Joined int64 // the leader's revision from which this member is counted
}

const (
	queryGroupLeader = `SELECT seq, version, status FROM questions INDEXED BY questions_by_same
		WHERE stream_id = 1 AND state = 'pending' AND same IS NOT NULL AND same = ? AND same_as = 0 ORDER BY seq DESC LIMIT 1`
	queryGroupMembers = `SELECT seq, joined FROM questions INDEXED BY questions_by_same
		WHERE stream_id = 1 AND state = 'pending' AND same IS NOT NULL AND same = ?1 AND same_as = ?2 ORDER BY seq`
	queryDuplicateKey = `SELECT same, same_as FROM questions WHERE stream_id = 1 AND seq = ?`
	queryGroupRow     = `SELECT version, state, status FROM questions WHERE stream_id = 1 AND seq = ?`
)

// GroupMembers returns the pending duplicates of the pending question leader.
func (s *Store) GroupMembers(ctx context.Context, leader schema.EventID) ([]GroupMember, error) {
	var key []byte
	var sameAs int64
	err := s.readers.get(ctx, []any{&key, &sameAs}, queryDuplicateKey, leader)
	if errors.Is(err, sql.ErrNoRows) || err == nil && key == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rows, err := s.readers.query(ctx, queryGroupMembers, key, leader)
	return scanGroupMembers(rows, err)
}

func scanGroupMembers(rows *sql.Rows, err error) (list []GroupMember, _ error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var m GroupMember
		if err := rows.Scan(&m.ID, &m.Joined); err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, rows.Err()
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
func (t *tx) groupLeader(e *Event, q *NewQuestion) (*groupRow, error) {
	if q.DuplicateKey == nil {
		return nil, nil
	}
	var leader groupRow
	var status []byte
	err := t.get([]any{&leader.id, &leader.version, &status}, queryGroupLeader, q.DuplicateKey)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err == nil {
		err = leader.parseStatus(status)
	}
	if err != nil || leader.status.Waiters >= maxGroupSize {
		return nil, err
	}
	own := groupRow{id: e.ID}
	if err := own.parseStatus(e.Status); err != nil {
		return nil, err
	}
	own.status.SameAs = leader.id
	e.Status, err = json.Marshal(own.status)
	return &leader, err
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
	_, err := t.exec(`UPDATE questions SET same_as = ?, joined = ? WHERE stream_id = 1 AND seq = ?`, leader.id, leader.version, id)
	return err
}

// updateGroupStatus stores g's status under a new version and appends the log row.
func (t *tx) updateGroupStatus(g *groupRow) error {
	g.version++
	g.status.Revision = g.version
	status, err := json.Marshal(g.status)
	if err != nil {
		return fmt.Errorf("encode the status: %w", err)
	}
	_, err = t.exec(`UPDATE questions SET version = ?, status = ?, changed_at = ? WHERE stream_id = 1 AND seq = ?`,
		g.version, status, toMillis(t.now), g.id)
	if err != nil {
		return err
	}
	seq := t.nextSeq()
	if _, err := t.exec(`INSERT INTO changes (stream_id, seq, question, ends, status) VALUES (1, ?, ?, 0, ?)`, seq, g.id, status); err != nil {
		return err
	}
	t.rows = append(t.rows, changeLogRow(seq, &Event{ID: g.id}, status, false))
	return nil
}

// leaveGroup removes a resolved question from its group. If it was the leader, the next
// member becomes the leader.
func (t *tx) leaveGroup(id schema.EventID) error {
	var key []byte
	var sameAs schema.EventID
	if err := t.get([]any{&key, &sameAs}, queryDuplicateKey, id); err != nil || key == nil {
		return err
	}
	if sameAs != 0 {
		return t.decrementGroup(sameAs)
	}
	rows, err := t.query(queryGroupMembers, key, id)
	members, err := scanGroupMembers(rows, err)
	if err != nil || len(members) == 0 {
		return err
	}
	next := members[0].ID
	since := int64(0)
	for _, m := range members {
		g, _, err := t.readGroupRow(m.ID)
		if err != nil {
			return err
		}
		g.status.SameAs = next
		if m.ID == next {
			if g.status.SameAs = 0; len(members) > 1 {
				g.status.Waiters = len(members)
			}
		}
		if err := t.updateGroupStatus(g); err != nil {
			return err
		}
		if m.ID == next {
			since = g.version
		}
		_, err = t.exec(`UPDATE questions SET same_as = ?, joined = ? WHERE stream_id = 1 AND seq = ?`, g.status.SameAs, since, m.ID)
		if err != nil {
			return err
		}
	}
	return nil
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
