package store

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// Config says where the database is and how it is kept. Zero values mean the
// documented defaults.
type Config struct {
	Path        string           // a file, or sqlite:FILE
	Synchronous string           // FULL (default) or NORMAL, which may lose the last moments in a power cut
	Clock       func() time.Time // time.Now
	Log         *slog.Logger     // discards

	// Publish gets every committed row, in commit order, on the writer's
	// goroutine, before the caller that wrote it is released. It must be quick
	// and must not call the store's writing methods. See SetPublish.
	Publish func([]Row)

	// Committed is called after every group commit, on the writer's goroutine,
	// for metrics.
	Committed func(Commit)

	// BallastBytes is the size of a file that is given up when the disk is full,
	// so that questions and answers can still be stored. 32 MiB; negative: none.
	BallastBytes int64
	// Plain events are refused with schema.ErrFull while less than MinFree is
	// left on the disk (128 MiB); below WarnFree (512 MiB) the log says so.
	MinFree, WarnFree int64
	// Free tells the free bytes of the file system that dir is on.
	Free func(dir string) (int64, error)
}

// Commit is one group commit.
type Commit struct {
	Ops  int
	Took time.Duration
	Err  error
}

// Store is an open database. Its methods may be called concurrently.
type Store struct{}

var errTodo = errors.New("store: not built yet")

// Open opens the database, which it creates and migrates when needed, and takes
// a lock on it: ErrLocked says who else has it. Leases of deliveries are cleared:
// whatever was on its way when the hub stopped is due now, and what may be sent
// again is the callback's to decide (Delivery.Sent).
func Open(ctx context.Context, cfg Config) (*Store, error) { return nil, errTodo }

// SetPublish sets Config.Publish, once, before the first write.
func (s *Store) SetPublish(publish func([]Row)) {}

// HubID names this database: another one means another history.
func (s *Store) HubID() string { return "" }

// Key is 32 random bytes, made with the database and kept in it.
func (s *Store) Key() []byte { return nil }

// Head is the last number given out, 0 for none.
func (s *Store) Head() int64 { return 0 }

// Close stops the writer once everything queued is committed. It is idempotent.
func (s *Store) Close() error { return nil }
