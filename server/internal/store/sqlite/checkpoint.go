package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"modernc.org/sqlite"
)

const (
	// checkpointPages is the number of pages in the write-ahead log after which it is merged into
	// the database. More are 10% faster but double the p99.
	checkpointPages = 1000
	// checkpointRetryPages is that number after a checkpoint that failed, or that a reader
	// stopped before the end.
	checkpointRetryPages = 100
)

// disableAutoCheckpoint leaves checkpoints to checkpointIfDue: SQLite ignores their errors, and
// a failed fsync must not be ignored.
func disableAutoCheckpoint(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, `PRAGMA wal_autocheckpoint = 0`)
	return err
}

// pagesWritten returns the number of pages that the connection has written since the last call.
func pagesWritten(conn *sql.Conn) (n int, err error) {
	rawErr := conn.Raw(func(driver any) error {
		status, ok := driver.(sqlite.DBStatus)
		if !ok {
			return fmt.Errorf("the driver %T has no counters", driver)
		}
		n, _, err = status.Status(sqlite.DBStatusCacheWrite, true)
		return err
	})
	return n, rawErr
}
