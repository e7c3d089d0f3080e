package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"modernc.org/sqlite"
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
	Publish func([]LogRow)

	// Committed is called after every group commit, on the writer's goroutine,
	// for metrics.
	Committed func(Commit)

	// ReserveFileBytes is the size of a file that is given up when the disk is full,
	// so that questions and answers can still be stored: 32 MiB, at most an
	// eighth of the disk; negative: none.
	ReserveFileBytes int64
	// Plain events are refused with schema.ErrFull while less than MinFree is
	// left on the disk: 128 MiB, at most a twentieth of it. Below WarnFree, 512
	// MiB and at most a tenth, the log says so.
	MinFree, WarnFree int64
	// Disk measures the file system that dir is on. For tests.
	Disk func(dir string) (Disk, error)
}

// Commit is one group commit.
type Commit struct {
	Ops  int // writes that shared it
	Took time.Duration
	Err  error // nothing of the group was stored
}

// The number of connections that read, and the stream that everything is in.
const (
	maxReaders = 4
	streamID   = 1
)

// Store is an open database. Its methods may be called concurrently.
type Store struct {
	file        string
	hubID       string
	key         []byte
	clock       func() time.Time
	writeDB     *sql.DB // one connection, which the writer keeps
	readers     readers
	writer      *writer
	dictionary  *dictionary
	diskSpace   *diskSpace
	lock        io.Closer
	head        atomic.Int64
	pruned      atomic.Int64
	ingestRate  ingestRate
	indexerWake chan struct{} // told when the index of texts has something to do; never closed
	log         *slog.Logger
	close       func() error
}

func (c *Config) setDefaults() error {
	switch c.Synchronous {
	case "":
		c.Synchronous = "FULL"
	case "FULL", "NORMAL":
	default:
		return fmt.Errorf("synchronous is %q; it can be FULL or NORMAL", c.Synchronous)
	}
	c.ReserveFileBytes = orDefault(c.ReserveFileBytes, 32<<20)
	c.MinFree = orDefault(c.MinFree, 128<<20)
	c.WarnFree = orDefault(c.WarnFree, 512<<20)
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Disk == nil {
		c.Disk = measureDisk
	}
	return nil
}

func orDefault(n, byDefault int64) int64 {
	if n == 0 {
		return byDefault
	}
	return n
}

// Open opens the database, which it creates and migrates when needed, and takes
// a lock on it: ErrLocked says who else has it. Leases of deliveries are cleared:
// whatever was on its way when the hub stopped is due now, and what may be sent
// again is the callback's to decide (Delivery.Sent).
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	file, err := databasePath(cfg.Path)
	if err != nil {
		return nil, err
	}
	s := &Store{file: file, clock: cfg.Clock, dictionary: newDictionary(), indexerWake: make(chan struct{}, 1), log: cfg.Log}
	s.close = sync.OnceValue(s.shutDown)
	if err := s.open(ctx, &cfg); err != nil {
		return nil, errors.Join(fmt.Errorf("open the database %s: %w", file, err), s.Close())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, cfg *Config) (err error) {
	// The folder must be there before the lock, the lock before the database.
	if err := ensurePrivateDir(s.file); err != nil {
		return err
	}
	if err := requireHubDatabase(ctx, s.file); err != nil {
		return err
	}
	if s.lock, err = lock(s.file + lockSuffix); err != nil {
		return err
	}
	if err := ensurePrivateFile(s.file); err != nil {
		return err
	}
	// With these locks another library that opens and closes the file does not
	// drop SQLite's. Elsewhere than on Linux it can't be had, and is not needed
	// to be correct.
	_, _ = sqlite.OFDLocking(true)
	if s.writeDB, err = connect(ctx, s.file, cfg.Synchronous, false); err != nil {
		return err
	}
	if err := migrate(ctx, s.writeDB); err != nil {
		return err
	}
	if s.readers.db, err = connect(ctx, s.file, cfg.Synchronous, true); err != nil {
		return err
	}
	s.diskSpace = newDiskSpace(s.file, cfg)
	w, err := newWriter(ctx, s, cfg)
	if err != nil {
		return err
	}
	if err := s.initialize(ctx, w); err != nil {
		return errors.Join(err, w.conn.Close())
	}
	s.writer = w
	go w.run()
	return nil
}

func connect(ctx context.Context, file, synchronous string, readOnly bool) (*sql.DB, error) {
	db, err := sql.Open("sqlite", dsn(file, synchronous, readOnly))
	if err != nil {
		return nil, err
	}
	n := 1
	if readOnly {
		n = maxReaders
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	if err := checkPragmas(ctx, db, synchronous, readOnly); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// initialize makes a new database a hub's, and takes up an old one where it was left.
func (s *Store) initialize(ctx context.Context, w *writer) error {
	fresh := make([]byte, 32)
	_, _ = rand.Read(fresh)
	now := s.clock().UnixMilli()
	for _, step := range []struct {
		query string
		args  []any
	}{
		{`INSERT INTO hub (stream_id, id, key) VALUES (1, ?, ?) ON CONFLICT DO NOTHING`, []any{uuid.NewString(), fresh}},
		{`UPDATE deliveries SET leased = 0, due = ?1, wake = ?1
			WHERE stream_id = 1 AND open = 1`, []any{now}},
	} {
		if _, err := w.conn.ExecContext(ctx, step.query, step.args...); err != nil {
			return err
		}
	}
	if err := w.conn.QueryRowContext(ctx, `SELECT id, key FROM hub WHERE stream_id = 1`).Scan(&s.hubID, &s.key); err != nil {
		return err
	}
	counters := &w.counters
	err := w.conn.QueryRowContext(ctx, `SELECT head, pruned, events, received, name FROM streams WHERE stream_id = 1`).
		Scan(&counters.head, &counters.pruned, &counters.events, &counters.received, &counters.lastNameID)
	if err != nil {
		return err
	}
	if counters.chainEnd, err = readChainEnd(ctx, w.conn); err != nil {
		return err
	}
	s.head.Store(counters.head)
	s.pruned.Store(counters.pruned)
	return nil
}

// SetPublish sets Config.Publish, once, before the first write.
func (s *Store) SetPublish(publish func([]LogRow)) { s.writer.publish = publish }

// HubID names this database: another one means another history.
func (s *Store) HubID() string { return s.hubID }

// Key is 32 random bytes, made with the database and kept in it.
func (s *Store) Key() []byte { return s.key }

// Head is the last number given out, 0 for none.
func (s *Store) Head() int64 { return s.head.Load() }

// Close commits what is queued, refuses what comes after with schema.ErrStopping,
// and gives the database up. It is idempotent.
func (s *Store) Close() error { return s.close() }

func (s *Store) shutDown() error {
	var errs []error
	if s.writer != nil {
		s.writer.stop()
	}
	// The readers go first: the last connection to close folds the WAL away.
	for _, db := range []*sql.DB{s.readers.db, s.writeDB} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}
