package postgres

import (
	"context"
	"time"

	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

// measureGrowth records committed rows. Changes that the projections ignore are no work.
func (s *engine) measureGrowth(rows []store.LogRow) {
	for i := len(rows) - 1; i >= 0; i-- {
		if row := &rows[i]; !row.Change || row.Ends {
			s.projected.Grow(row.Seq, time.Now())
			break
		}
	}
}

// awaitReaders delays a plain event while the projections are far behind, so that they can catch up.
// Questions and answers do not wait.
func (s *engine) awaitReaders(ctx context.Context) {
	if delay := s.projected.IngestDelay(time.Now()); delay > 0 {
		feed.Sleep(ctx, delay) // Append checks ctx
	}
}

func (s *engine) ProjectionLag() store.Lag { return s.projected.Lag(time.Now()) }
