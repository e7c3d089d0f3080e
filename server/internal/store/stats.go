package store

import (
	"context"
	"os"
)

// Stats are values for metrics. Config.Committed reports the group commits.
type Stats struct {
	Events, Pending, Undelivered int64
	DatabaseBytes, WALBytes      int64
	FreeBytes                    int64 // of the disk
	Queued                       int   // writes in the queue
	DiskLow                      bool  // plain events are refused because the disk is nearly full
}

const (
	queryCountEvents      = `SELECT events FROM streams WHERE stream_id = 1`
	queryCountPending     = `SELECT count(*) FROM questions WHERE stream_id = 1 AND state = 'pending'`
	queryCountUndelivered = `SELECT count(*) FROM deliveries WHERE stream_id = 1 AND undelivered = 1`
)

// Stats counts rows without reading the events, and measures the disk.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	s.diskSpace.measure()
	out := Stats{
		DatabaseBytes: fileSize(s.file), WALBytes: fileSize(s.file + "-wal"),
		Queued: len(s.writer.queue), DiskLow: s.diskSpace.low.Load(),
	}
	if d, err := s.diskSpace.disk(s.diskSpace.dir); err == nil {
		out.FreeBytes = d.Free
	}
	for _, n := range []struct {
		dest  *int64
		query string
	}{{&out.Events, queryCountEvents}, {&out.Pending, queryCountPending}, {&out.Undelivered, queryCountUndelivered}} {
		if err := s.readers.get(ctx, []any{n.dest}, n.query); err != nil {
			return Stats{}, err
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
