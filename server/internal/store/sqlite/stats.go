package sqlite

import (
	"context"
	"time"

	"github.com/hookback/hookback/server/internal/store"
)

const queryCountUndelivered = `SELECT count(*) FROM deliveries WHERE undelivered`

func (s *engine) Stats(ctx context.Context) (store.Stats, error) {
	s.inspectIfDue()
	s.diskSpace.measure()
	s.writer.probe()
	out := store.Stats{
		DatabaseBytes: fileSize(s.file), JournalBytes: fileSize(s.file + "-wal"),
		Pending: s.State.Pending.Len(), Events: s.State.Events.Load(), Queued: s.Queue.Len(), DiskLow: s.diskSpace.low.Load(), LeftBytes: s.diskSpace.left.Load(),
		RefusedFull: s.diskSpace.refused.Load(), RefusedFault: s.health.refused.Load(),
	}
	now := time.Now()
	out.Projections, out.SearchIndex = s.State.Projected.Lag(now), s.State.Indexed.Lag(now)
	if f := s.health.current(); f != nil {
		out.Fault = f.detail
	}
	if d, err := s.diskSpace.disk.Measure(s.diskSpace.dir); err == nil {
		out.FreeBytes = d.Free
	}
	_, err := s.readers.get(ctx, []any{&out.Undelivered}, queryCountUndelivered)
	return out, err
}
