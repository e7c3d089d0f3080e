package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"modernc.org/sqlite"

	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// Config configures Open. Zero values select the documented defaults.
type Config struct {
	Path        string           // a file name, or sqlite:FILE
	Synchronous string           // FULL (default), or NORMAL, which may lose the last commits in a power failure
	Clock       func() time.Time // default: time.Now
	Log         *slog.Logger     // default: discards

	// Commits is called after every group commit, on the writer's goroutine, for metrics;
	// nil: none.
	Commits store.CommitObserver

	// ReserveFileBytes is the size of the reserve file, which is deleted when the disk is
	// full so that questions and answers can still be stored. Default: 32 MiB, at most an
	// eighth of the disk; negative: none.
	ReserveFileBytes int64
	// Disk measures the file system of dir. Tests replace it.
	Disk DiskMeter

	keyChange *store.KeyChange // see ChangeKey
}

const maxReaders = 4 // reader connections

// engine implements store.Store. Its exported methods are documented there.
type engine struct {
	tables.Tables
	singleMember

	file        string
	schema      int64            // version
	keyChange   *store.KeyChange // nil: Open keeps the key
	clock       func() time.Time
	writeDB     *sql.DB // single connection, held by the writer
	readers     readers
	writer      *writer
	dictionary  *dictionary
	diskSpace   *diskSpace
	health      *tables.Health
	commits     store.CommitObserver // nil: none
	files       *openFiles
	inspectedAt atomic.Int64 // Unix nanoseconds, see inspect
	log         *slog.Logger
	close       func() error
}

func (c *Config) setDefaults() error {
	switch c.Synchronous {
	case "":
		c.Synchronous = "FULL"
	case "FULL", "NORMAL":
	default:
		return fmt.Errorf("synchronous is %q; must be FULL or NORMAL", c.Synchronous)
	}
	c.ReserveFileBytes = cmp.Or(c.ReserveFileBytes, 32<<20)
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Disk == nil {
		c.Disk = systemDisk{}
	}
	return nil
}

// Open opens the database, and creates and migrates it if needed. It locks the
// database: store.ErrLocked names the process that holds it. Open clears the leases of the
// outbox, so deliveries that were interrupted by a restart are due now. Package delivery
// decides which of them may be sent again (see Delivery.Sent).
func Open(ctx context.Context, cfg Config) (store.Store, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	file, err := databasePath(cfg.Path)
	if err != nil {
		return nil, err
	}
	s := &engine{
		singleMember: singleMember{uuid.Must(uuid.NewV7()).String(), cfg.Clock, cfg.Clock()}, file: file, keyChange: cfg.keyChange, clock: cfg.Clock,
		dictionary: &dictionary{}, health: tables.NewHealth(cfg.Clock, cfg.Log), commits: cfg.Commits, log: cfg.Log,
	}
	s.State, s.Queue = tables.NewState(cfg.Log, 2*time.Millisecond), tables.NewQueue(math.MaxInt, s.refusal)
	s.Engine = tableEngine{numberedNames{&s.readers.statements}, s.Queue, s}
	s.close = sync.OnceValue(s.shutDown)
	if err := s.open(ctx, &cfg); err != nil {
		return nil, errors.Join(fmt.Errorf("open the database %s: %w", file, openError(err)), s.Close())
	}
	return s, nil
}

func (s *engine) open(ctx context.Context, cfg *Config) (err error) {
	// Order matters: the directory comes before the files, and their locks before SQLite.
	if err := os.MkdirAll(filepath.Dir(s.file), 0o700); err != nil {
		return fmt.Errorf("create the database's directory: %w; choose another file with -db", err)
	}
	if s.files, s.writeDB, err = openLocked(ctx, s.file, cfg.Synchronous); err != nil {
		return err
	}
	if s.schema, err = migration().Run(ctx, s.writeDB, s.log); err != nil {
		return err
	}
	if s.readers.db, err = connect(ctx, s.file, cfg.Synchronous, true); err != nil {
		return err
	}
	s.readers.statements.db, s.readers.statements.names = s.readers.db, s.dictionary
	if err := s.files.openWAL(); err != nil {
		return fmt.Errorf("open the write-ahead log: %w", err)
	}
	s.diskSpace = newDiskSpace(s.file, cfg)
	conn, err := s.writeDB.Conn(ctx)
	if err != nil {
		return err
	}
	w := &writer{engine: s, conn: conn, statements: statements{db: conn, names: s.dictionary}}
	if err := s.initialize(ctx, w); err != nil {
		return errors.Join(err, conn.Close())
	}
	s.writer = w
	go w.run()
	return nil
}

// openLocked locks a database and connects to it. It leaves a file that is no hub's, or whose hub was moved.
func openLocked(ctx context.Context, file, synchronous string) (files *openFiles, db *sql.DB, err error) {
	if err = requireHubDatabase(ctx, file); err == nil {
		files, err = openDatabaseFiles(file)
	}
	if err != nil {
		return nil, nil, err
	}
	// With open file description locks, another library that opens and closes the file
	// does not drop SQLite's locks. They exist only on Linux and are not required for
	// correctness.
	_, _ = sqlite.OFDLocking(true)
	if db, err = connect(ctx, file, synchronous, false); err == nil {
		err = requireNotMoved(ctx, db)
	}
	return files, db, err
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

// initialize creates a new hub's identity and loads the state of an existing one.
func (s *engine) initialize(ctx context.Context, w *writer) error {
	var public []byte
	// checkpointIfDue makes the checkpoints: SQLite ignores the errors of its own, and a failed fsync must not be ignored.
	err := w.exec(ctx)(`PRAGMA wal_autocheckpoint = 0`)
	if err == nil {
		err = w.exec(ctx)(`INSERT INTO hub (one, id) VALUES (1, $1) ON CONFLICT DO NOTHING`, uuid.NewString())
	}
	if err == nil {
		err = w.exec(ctx)(`UPDATE deliveries SET leased = 0, due = $1, wake = $1 WHERE undelivered AND open`, s.clock().UnixMilli())
	}
	if err == nil {
		err = w.conn.QueryRowContext(ctx, `SELECT id, public_key FROM hub`).Scan(&s.ID, &public)
	}
	if err != nil {
		return err
	}
	stored, err := readCounters(ctx, w.conn)
	if err != nil {
		return err
	}
	w.stored, w.counters = stored, stored
	if err := s.Start(ctx, w.read(ctx), s.clock(), &stored.Counters); err != nil {
		return err
	}
	if err := tables.BeginEpoch(w.exec(ctx), stored.Head, ""); err != nil {
		return err
	}
	if err := s.LoadEpochs(w.read(ctx)); err != nil {
		return err
	}
	return s.openIdentity(ctx, w, public)
}

const (
	queryCounters       = `SELECT head, pruned, events, received, name, decided FROM streams`
	queryLastChange     = `SELECT coalesce(max(seq), 0) FROM changes`
	queryLastEvent      = `SELECT seq, received_at FROM events WHERE seq > ? ORDER BY seq DESC LIMIT 1`
	queryUncountedCount = `SELECT count(*) FROM events INDEXED BY events_scan WHERE seq > ?`
	queryUncountedEnds  = `SELECT count(*) FROM changes c CROSS JOIN questions q ON q.seq = c.question
		WHERE c.seq > ? AND c.ends AND q.inbox = 'decided'`
)

// rowQueryer is a connection, or a pool of them.
type rowQueryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// readCounters reads the counters that the table streams has, adds the log rows that
// were appended after it was written, and reads the end of the audit log.
func readCounters(ctx context.Context, conn rowQueryer) (c counters, err error) {
	get := func(into []any, query string, args ...any) {
		if err == nil {
			err = tables.IgnoreNoRows(conn.QueryRowContext(ctx, query, args...).Scan(into...))
		}
	}
	get([]any{&c.Head, &c.Pruned, &c.Events, &c.Received, &c.lastNameID, &c.Decided}, queryCounters)
	var lastEvent, lastChange, uncounted, decided int64
	get([]any{&uncounted}, queryUncountedCount, c.Head)
	get([]any{&decided}, queryUncountedEnds, c.Head)
	get([]any{&lastEvent, &c.Received}, queryLastEvent, c.Head)
	get([]any{&lastChange}, queryLastChange)
	get([]any{&c.Chain.N, &c.Chain.Hash, &c.Chain.Signed}, tables.QueryChain, sign.FirstPrev)
	c.Events += uncounted
	c.Decided += decided
	c.Head = max(c.Head, lastEvent, lastChange)
	return c, err
}

func (s *engine) SetPublish(publish func([]store.LogRow)) { s.writer.publish = publish }

func (s *engine) Schema() int64 { return s.schema }

func (s *engine) Stats(ctx context.Context) (out store.Stats, err error) {
	s.inspectIfDue()
	s.diskSpace.measure()
	s.health.Probe(s.Queue, func(*tables.Work) error { return nil })
	out = s.Statistics(s.health)
	out.DatabaseBytes, out.JournalBytes = fileSize(s.file), fileSize(s.file+"-wal")
	out.DiskLow, out.LeftBytes, out.RefusedFull = s.diskSpace.low.Load(), s.diskSpace.left.Load(), s.diskSpace.refused.Load()
	if d, err := s.diskSpace.disk.Measure(s.diskSpace.dir); err == nil {
		out.FreeBytes = d.Free
	}
	out.Undelivered, err = s.CountUndelivered(ctx)
	return out, err
}

// inspectInterval is the maximum age of an inspection when something is written.
const inspectInterval = 250 * time.Millisecond

// inspectIfDue inspects the files if the last inspection is too old.
func (s *engine) inspectIfDue() {
	if age := s.clock().UnixNano() - s.inspectedAt.Load(); age > int64(inspectInterval) || age < 0 {
		s.inspect()
	}
}

// inspect starts a fault if a file of the database is gone, and ends it when the file is back.
func (s *engine) inspect() {
	s.inspectedAt.Store(s.clock().UnixNano())
	if f := s.files.check(); f != nil {
		// A new connection would open another file, or none.
		s.readers.db.SetMaxOpenConns(max(s.readers.db.Stats().OpenConnections, 1))
		s.health.Set(f)
	} else if s.health.Clear(tables.GoneFile) {
		s.readers.db.SetMaxOpenConns(maxReaders)
	}
}

// idleInspectInterval is the interval of inspections while nothing is written.
const idleInspectInterval = 2 * time.Second

func (s *engine) Wait(ctx context.Context) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(s.health.Failed, stop)()
	for feed.Sleep(running, idleInspectInterval) {
		s.inspectIfDue()
	}
	if f := s.health.Current(); f != nil && f.Kind == tables.Fatal {
		return fmt.Errorf("%s: %s: %w; %s", s.file, f.Detail, f.Cause, f.Next)
	}
	return nil
}

func (s *engine) Close() error { return s.close() }

func (s *engine) shutDown() error {
	if s.writer != nil {
		s.Queue.Stop()
	}
	if f := s.health.Current(); f != nil && f.Kind == tables.Fatal {
		return errors.Join(s.files.closeWAL(), s.files.Close()) // closing the connections would write
	}
	errs := []error{s.files.closeWAL()}
	// Readers close first: the last connection to close checkpoints the WAL.
	for _, db := range []*sql.DB{s.readers.db, s.writeDB} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(append(errs, s.files.Close())...)
}
