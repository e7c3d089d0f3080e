package postgres

import (
	"context"
	"time"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// queryAsyncStandby reports whether there are standbys and none of them confirms commits. Without the
// rights to see their state it reports false.
const queryAsyncStandby = `SELECT count(*) > 0 AND bool_and(sync_state NOT IN ('sync', 'quorum')) FROM pg_stat_replication WHERE state = 'streaming'`

// statsTimeout is short, because load balancers take a late answer of the readiness check as a bad one.
const statsTimeout = 500 * time.Millisecond

func (s *engine) Stats(ctx context.Context) (store.Stats, error) {
	s.health.Probe(s.Queue, func(w *tables.Work) error { return w.Exec(`SELECT 1`) })
	out := s.Statistics(s.health)
	out.Hubs = s.hubStats()
	if !s.isCurrent() {
		if out.Fault == "" {
			out.Fault = "the database has not answered for more than a second, so this hub may not know what other hubs have stored"
		}
		return out, nil // which the database would not answer
	}
	ctx, cancel := context.WithTimeout(ctx, statsTimeout)
	defer cancel()
	err := s.readers.get(ctx, []any{&out.DatabaseBytes}, `SELECT pg_database_size(current_database())`)
	if err == nil {
		out.Undelivered, err = s.CountUndelivered(ctx)
	}
	if err == nil && out.Hubs.IsLeader {
		var isAsync *bool
		err = s.readers.get(ctx, []any{&isAsync}, queryAsyncStandby)
		out.Hubs.HasAsyncStandby = isAsync != nil && *isAsync
		s.members.warnOfStandby(out.Hubs.HasAsyncStandby)
	}
	return out, err
}

func (s *engine) hubStats() *store.HubStats {
	h := &store.HubStats{
		Alive: len(s.members.list()), IsLeader: s.IsLeader(), Head: s.State.Head.Load(), FeedLagRows: s.State.Head.Load() - s.publisher.newest().Seq,
		Conflicts: s.conflicts.Load(), ForeignRows: s.foreignRows.Load(), Takeovers: s.takeovers.Load(),
		ClockOffset: s.database.hubOffset(), ConnectionsInUse: int(s.readers.pool.Stat().AcquiredConns()),
	}
	if b := s.follower.bus; b != nil {
		h.IsBusUp, h.Bus = b.Up(), b.Stats()
	}
	return h
}
