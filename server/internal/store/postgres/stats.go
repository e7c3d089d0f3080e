package postgres

import (
	"context"
	"time"

	"github.com/hookback/hookback/server/internal/store"
)

func (s *engine) Stats(ctx context.Context) (store.Stats, error) {
	s.writer.probe()
	out := store.Stats{
		Pending: s.pending.Len(), Events: s.events.Load(), Queued: len(s.writer.queue),
		RefusedFault: s.health.refused.Load(), Projections: s.projected.Lag(time.Now()), Fault: s.health.current(),
	}
	return out, s.readers.get(ctx, []any{&out.Undelivered, &out.DatabaseBytes},
		`SELECT (SELECT count(*) FROM deliveries WHERE undelivered), pg_database_size(current_database())`)
}
