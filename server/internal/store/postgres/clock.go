package postgres

import (
	"sync/atomic"
	"time"
)

// databaseClock is the clock of the database, which all hubs share. Between two readings it runs with
// the monotonic clock of this hub, so a wrong or moved clock of the hub's machine has no effect.
type databaseClock struct{ reading atomic.Pointer[clockReading] }

// clockReading is the database's time at a time of this hub.
type clockReading struct{ local, database time.Time }

// databaseMicros is the database's clock.
const databaseMicros = `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`

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
	if before := c.reading.Load(); before != nil && (r.database.Sub(before.database)-r.local.Sub(before.local)).Abs() <= took {
		return
	}
	c.reading.Store(&r)
}
