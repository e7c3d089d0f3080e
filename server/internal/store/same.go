package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hookback/hookback/schema"
)

// Questions that ask the same at once are one group. The writer keeps it whole in the
// transactions that a question comes and goes in: so fifty at once are counted right,
// and no crash leaves a group without its first. Of the statuses it changes nothing but
// SameAs, Waiters and Revision.

// groupSize is how many questions one answer can end. Whatever comes beyond begins
// another group.
const groupSize = 100

// GroupMember is a question that asks the same as the first of its group.
type GroupMember struct {
	ID     schema.EventID
	Joined int64 // it is counted from this revision of the first one on
}

const (
	queryFirstOfSame = `SELECT seq, version, status FROM questions INDEXED BY questions_by_same
		WHERE stream_id = 1 AND state = 'pending' AND same IS NOT NULL AND same = ? AND same_as = 0 ORDER BY seq DESC LIMIT 1`
	queryMembers = `SELECT seq, joined FROM questions INDEXED BY questions_by_same
		WHERE stream_id = 1 AND state = 'pending' AND same IS NOT NULL AND same = ?1 AND same_as = ?2 ORDER BY seq`
	querySame      = `SELECT same, same_as FROM questions WHERE stream_id = 1 AND seq = ?`
	queryGroupHead = `SELECT version, state, status FROM questions WHERE stream_id = 1 AND seq = ?`
)

// GroupMembers returns the pending questions that ask the same as a pending first one.
func (s *Store) GroupMembers(ctx context.Context, first schema.EventID) ([]GroupMember, error) {
	var key []byte
	var as int64
	err := s.reads.get(ctx, []any{&key, &as}, querySame, first)
	if errors.Is(err, sql.ErrNoRows) || err == nil && key == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rows, err := s.reads.query(ctx, queryMembers, key, first)
	return scanMembers(rows, err)
}

func scanMembers(rows *sql.Rows, err error) (list []GroupMember, _ error) {
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

// grouped is a question of a group as it is read.
type grouped struct {
	id      schema.EventID
	version int64
	status  schema.Status
}

func (g *grouped) read(status []byte) error {
	if err := json.Unmarshal(status, &g.status); err != nil {
		return fmt.Errorf("reading stored status of %d: %w", g.id, err)
	}
	return nil
}

// first finds the question that a new one asks the same as, and notes it in the new
// one's status; nil: there is none.
func (t *tx) first(e *Event, a *NewQuestion) (*grouped, error) {
	if a.DuplicateKey == nil {
		return nil, nil
	}
	var first grouped
	var status []byte
	err := t.get([]any{&first.id, &first.version, &status}, queryFirstOfSame, a.DuplicateKey)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err == nil {
		err = first.read(status)
	}
	if err != nil || first.status.Waiters >= groupSize {
		return nil, err
	}
	own := grouped{id: e.ID}
	if err := own.read(e.Status); err != nil {
		return nil, err
	}
	own.status.SameAs = first.id
	e.Status, err = json.Marshal(own.status)
	return &first, err
}

// join counts a question that was just stored in its group.
func (t *tx) join(id schema.EventID, first *grouped) error {
	if first == nil {
		return nil
	}
	first.status.Waiters = max(first.status.Waiters, 1) + 1
	if err := t.restate(first); err != nil {
		return err
	}
	_, err := t.exec(`UPDATE questions SET same_as = ?, joined = ? WHERE stream_id = 1 AND seq = ?`, first.id, first.version, id)
	return err
}

// restate stores a status that says something else of the group.
func (t *tx) restate(g *grouped) error {
	g.version++
	g.status.Revision = g.version
	status, err := json.Marshal(g.status)
	if err != nil {
		return fmt.Errorf("encoding the status: %w", err)
	}
	_, err = t.exec(`UPDATE questions SET version = ?, status = ?, changed_at = ? WHERE stream_id = 1 AND seq = ?`,
		g.version, status, millis(t.now), g.id)
	if err != nil {
		return err
	}
	seq := t.next()
	if _, err := t.exec(`INSERT INTO changes (stream_id, seq, question, ends, status) VALUES (1, ?, ?, 0, ?)`, seq, g.id, status); err != nil {
		return err
	}
	t.rows = append(t.rows, changeRow(seq, &Event{ID: g.id}, status, false))
	return nil
}

// leave takes a question that has ended out of its group. After the first one the next
// one is the first.
func (t *tx) leave(id schema.EventID) error {
	var key []byte
	var as schema.EventID
	if err := t.get([]any{&key, &as}, querySame, id); err != nil || key == nil {
		return err
	}
	if as != 0 {
		return t.uncount(as)
	}
	rows, err := t.query(queryMembers, key, id)
	members, err := scanMembers(rows, err)
	if err != nil || len(members) == 0 {
		return err
	}
	next := members[0].ID
	since := int64(0)
	for _, m := range members {
		g, _, err := t.grouped(m.ID)
		if err != nil {
			return err
		}
		g.status.SameAs = next
		if m.ID == next {
			if g.status.SameAs = 0; len(members) > 1 {
				g.status.Waiters = len(members)
			}
		}
		if err := t.restate(g); err != nil {
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

func (t *tx) grouped(id schema.EventID) (g *grouped, state schema.State, err error) {
	g = &grouped{id: id}
	var status []byte
	if err := t.get([]any{&g.version, &state, &status}, queryGroupHead, id); err != nil {
		return nil, "", err
	}
	return g, state, g.read(status)
}

// uncount counts one question less in a group.
func (t *tx) uncount(first schema.EventID) error {
	g, state, err := t.grouped(first)
	if err != nil || state != schema.Pending {
		return err
	}
	if g.status.Waiters--; g.status.Waiters <= 1 {
		g.status.Waiters = 0
	}
	return t.restate(g)
}
