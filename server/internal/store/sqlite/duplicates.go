package sqlite

import (
	"context"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

const (
	queryDuplicateKey = `SELECT same, same_as FROM questions WHERE seq = ?`
	queryGroupRow     = `SELECT version, state, status FROM questions WHERE seq = ?`
)

func (s *engine) GroupMembers(ctx context.Context, leader schema.EventID) ([]store.GroupMember, error) {
	row, _ := s.State.Pending.Get(leader)
	return s.State.Pending.Group(row.Same, leader), ctx.Err()
}

func (t *tx) groups() kit.Groups[string] {
	return kit.Groups[string]{Pending: kit.PendingAsOf[string]{Committed: &t.w.store.State.Pending, Updates: &t.pending}, Store: t}
}

// GroupRow implements kit.GroupStore.
func (t *tx) GroupRow(id schema.EventID) (*kit.GroupRow, error) {
	g := &kit.GroupRow{ID: id}
	var status []byte
	if err := t.get([]any{&g.Version, &g.State, &status}, queryGroupRow, id); err != nil {
		return nil, err
	}
	return g, g.ParseStatus(status)
}

// SetGroupStatus implements kit.GroupStore.
func (t *tx) SetGroupStatus(g *kit.GroupRow, status []byte) error {
	seq, err := t.insertChange(g.ID, false, status)
	if err != nil {
		return err
	}
	t.rows = append(t.rows, kit.GroupLogRow(seq, g.ID, status))
	_, err = t.exec(`UPDATE questions SET version = ?, status = ?, changed_at = ?, last_change = ? WHERE seq = ?`,
		g.Version, status, kit.Millis(t.now), seq, g.ID)
	return err
}

// SetGroupLeader implements kit.GroupStore.
func (t *tx) SetGroupLeader(id, leader schema.EventID, joined int64) error {
	_, err := t.exec(`UPDATE questions SET same_as = ?, joined = ? WHERE seq = ?`, leader, joined, id)
	return err
}

// leaveGroup removes a resolved question from its group.
func (t *tx) leaveGroup(id schema.EventID) error {
	var key []byte
	var leader schema.EventID
	if err := t.get([]any{&key, &leader}, queryDuplicateKey, id); err != nil {
		return err
	}
	return t.groups().Leave(id, string(key), leader)
}
