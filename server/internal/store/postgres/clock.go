package postgres

import (
	"context"
	"sync/atomic"
	"time"
)

// databaseClock is the clock of the database, which all hubs share. Between two readings it runs with
// the monotonic clock of this hub, so a wrong or moved clock of the hub's machine has no effect.
type databaseClock struct{ reading atomic.Pointer[clockReading] }

// clockReading is the database's time at a time of this hub.
type clockReading struct{ local, database time.Time }

const queryClock = `SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`

func (c *databaseClock) now() time.Time {
	r := c.reading.Load()
	if r == nil {
		return time.Now()
	}
	return r.database.Add(time.Since(r.local))
}

// set takes a reading that was asked for at began. It is ignored if the clock is as exact already.
func (c *databaseClock) set(began time.Time, micros int64) {
	took := time.Since(began)
	r := clockReading{local: began.Add(took / 2), database: time.UnixMicro(micros)}
	if before := c.reading.Load(); before != nil && c.offset(&r, before).Abs() <= took {
		return
	}
	c.reading.Store(&r)
}

// offset is how much later the new reading is than the clock.
func (c *databaseClock) offset(next, before *clockReading) time.Duration {
	return next.database.Sub(before.database) - next.local.Sub(before.local)
}

// hubOffset is how far the database's clock is ahead of the one of this machine.
func (c *databaseClock) hubOffset() time.Duration { return time.Until(c.now()) }

// read reads the clock of the database.
func (c *databaseClock) read(ctx context.Context, get func(ctx context.Context, into []any, query string, args ...any) error) error {
	began := time.Now()
	var micros int64
	if err := get(ctx, []any{&micros}, queryClock); err != nil {
		return err
	}
	c.set(began, micros)
	return nil
}
