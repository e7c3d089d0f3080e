package postgres

import (
	"context"

	"github.com/hookback/hookback/server/internal/store"
)

func (s *engine) After(ctx context.Context, seq int64, limit int) ([]store.LogRow, error) {
	if seq > s.Head() {
		if err := s.catchUpTo(ctx, seq); err != nil {
			return nil, err
		}
	}
	return s.Tables.After(ctx, seq, limit)
}

// catchUpTo catches up with the other hubs if one of them has committed a row that this hub does not
// know yet: its reader continues here.
func (s *engine) catchUpTo(ctx context.Context, seq int64) error {
	var commits, head int64
	err := s.readers.get(ctx, []any{&commits, &head}, `SELECT commits, head FROM streams`)
	if err != nil || head < seq {
		return errOfRead(ctx, err)
	}
	return s.writer.refreshTo(ctx, commits)
}
