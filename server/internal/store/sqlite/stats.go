package sqlite

import (
	"context"
	"os"

	"github.com/hookback/hookback/server/internal/store"
)

const (
	queryCountPending     = `SELECT count(*) FROM questions WHERE stream_id = 1 AND state = 'pending'`
	queryCountUndelivered = `SELECT count(*) FROM deliveries WHERE stream_id = 1 AND undelivered = 1`
)

func (s *engine) Stats(ctx context.Context) (store.Stats, error) {
	s.diskSpace.measure()
	out := store.Stats{
		DatabaseBytes: fileSize(s.file), JournalBytes: fileSize(s.file + "-wal"),
		Events: s.events.Load(), Queued: len(s.writer.queue), DiskLow: s.diskSpace.low.Load(),
	}
	if d, err := s.diskSpace.disk.Measure(s.diskSpace.dir); err == nil {
		out.FreeBytes = d.Free
	}
	for _, n := range []struct {
		dest  *int64
		query string
	}{{&out.Pending, queryCountPending}, {&out.Undelivered, queryCountUndelivered}} {
		if err := s.readers.get(ctx, []any{n.dest}, n.query); err != nil {
			return store.Stats{}, err
		}
	}
	return out, nil
}

// fileSize returns the size of a file, or 0. It uses stat because opening and closing the
// file would drop SQLite's locks.
func fileSize(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return info.Size()
}
