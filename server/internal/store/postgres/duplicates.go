package postgres

import (
	"context"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

const queryGroupRow = `SELECT version, state, status FROM questions WHERE seq = $1`

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
	t.versions[g.ID] = g.Version
	seq, err := t.insertChange(g.ID, false, status)
	if err != nil {
		return err
	}
	t.rows = append(t.rows, kit.GroupLogRow(seq, g.ID, status))
	return t.exec(`UPDATE questions SET version = $1, status = $2, changed_at = $3 WHERE seq = $4`, g.Version, status, kit.Millis(t.now), g.ID)
}

// SetGroupLeader implements kit.GroupStore.
func (t *tx) SetGroupLeader(id, leader schema.EventID, joined int64) error {
	return t.exec(`UPDATE questions SET same_as = $1, joined = $2 WHERE seq = $3`, leader, joined, id)
}
