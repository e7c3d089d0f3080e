package postgres

import (
	"context"
	"time"

	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

// measureGrowth records committed rows. Changes that the projections ignore are no work.
func (s *engine) measureGrowth(rows []store.LogRow) {
	now := time.Now()
	for i := len(rows) - 1; i >= 0; i-- {
		if row := &rows[i]; !row.Change || row.Ends {
			s.projected.Grow(row.Seq, now)
			break
		}
	}
	if first, last := rows[0].Seq, rows[len(rows)-1].Seq; kit.LastFullBlock(first-1) != kit.LastFullBlock(last) {
		s.indexed.Grow(kit.LastFullBlock(last), now)
		s.indexerWake.Wake()
	}
}

// awaitReaders delays a plain event while the projections or the search index are far behind, so
// that they can catch up. Questions and answers do not wait.
func (s *engine) awaitReaders(ctx context.Context) {
	now := time.Now()
	if delay := max(s.projected.IngestDelay(now), s.indexed.IngestDelay(now)); delay > 0 {
		feed.Sleep(ctx, delay) // Append checks ctx
	}
}

func (s *engine) ProjectionLag() store.Lag { return s.projected.Lag(time.Now()) }
