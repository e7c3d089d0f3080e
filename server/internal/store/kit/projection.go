package kit

import (
	"fmt"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// ProjectionStore writes rows of projections in a transaction.
type ProjectionStore interface {
	AddDecisions(key store.Decision, n int64) error
	BucketStore
	SessionStore
}

// BucketStore adds to rows by time.
type BucketStore interface {
	// AddActivity adds to the bucket of a unit, in quarters.
	AddActivity(unit int64, key store.ActivityKey, a *store.Activity) error
	AddToolTime(key store.ToolKey, u store.ToolTime) error
	// AddHistogram adds h to the stored one.
	AddHistogram(p ToolPeriod, h Histogram) error
}

// SessionStore writes sessions.
type SessionStore interface {
	RemoveSession(key store.SessionKey) error
	// AddSpend adds the usage of a session, which has the row owner.
	AddSpend(key store.SpendKey, s *store.Spend, owner *store.SessionRow) error
	// UpsertSession writes a row, and the text of its transcript if it has one.
	UpsertSession(r *store.SessionRow) error
}

// ToolPeriod identifies a row of tool_histograms.
type ToolPeriod struct {
	Unit, At int64
	Tool     string
}

// ApplyProjection writes a batch, but not the position.
func ApplyProjection(into ProjectionStore, d *store.ProjectionBatch) error {
	for key, n := range d.Decisions {
		if err := into.AddDecisions(key, n); err != nil {
			return err
		}
	}
	for key, a := range d.Activity {
		for _, unit := range [...]int64{1, QuartersPerDay} {
			if err := into.AddActivity(unit, key, &a); err != nil {
				return err
			}
		}
	}
	if err := addToolTimes(into, d.ToolTimes); err != nil {
		return err
	}
	for _, key := range d.RemovedSessions {
		if err := into.RemoveSession(key); err != nil {
			return err
		}
	}
	return applySessions(into, d)
}

func addToolTimes(into BucketStore, times map[store.ToolKey]store.ToolTime) error {
	periods := map[ToolPeriod]Histogram{}
	for key, u := range times {
		if err := into.AddToolTime(key, u); err != nil {
			return err
		}
		for _, unit := range [...]int64{1, QuartersPerDay} {
			period := ToolPeriod{unit, key.Quarter / unit, key.Tool}
			if periods[period] == nil {
				periods[period] = Histogram{}
			}
			periods[period][key.Bucket] = periods[period][key.Bucket].Add(u)
		}
	}
	for period, h := range periods {
		if err := into.AddHistogram(period, h); err != nil {
			return err
		}
	}
	return nil
}

func applySessions(into SessionStore, d *store.ProjectionBatch) error {
	owners := make(map[schema.EventID]*store.SessionRow, len(d.Sessions))
	for i := range d.Sessions {
		owners[d.Sessions[i].First] = &d.Sessions[i]
	}
	for key, s := range d.Spend {
		owner := owners[key.Session]
		if owner == nil {
			return fmt.Errorf("add the spending of session %d: its row is missing", key.Session)
		}
		if err := into.AddSpend(key, &s, owner); err != nil {
			return err
		}
	}
	for i := range d.Sessions {
		if err := into.UpsertSession(&d.Sessions[i]); err != nil {
			return err
		}
	}
	return nil
}
