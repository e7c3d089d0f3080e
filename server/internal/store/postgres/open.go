package postgres

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hookback/hookback/server/internal/bus"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/identity"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// Config configures Open. Zero values select the documented defaults.
type Config struct {
	DSN     string           // postgres://…, or postgresql://…
	KeyFile string           // the file of the hub's key, created if missing
	Clock   func() time.Time // default: the clock of the database
	Log     *slog.Logger     // default: discards

	// Commits is called after every group commit, on the writer's goroutine, for metrics;
	// nil: none.
	Commits store.CommitObserver

	Name    string // of this hub, for people: its machine and port
	Version string // of Hookback
	// Machine identifies the one on which processes and loopback addresses have their meaning for this hub.
	// Empty: hubs are taken to run on one machine.
	Machine string
	// Bus wakes the hubs of the database by LISTEN and NOTIFY. Without it they poll several times a second.
	Bus bool

	dial pgconn.DialFunc // of the writer; tests replace it
	bus  bus.Bus         // in place of the real one; tests set it
}

// engine implements store.Store. Its exported methods are documented there.
type engine struct {
	tables.Tables

	schema   int64 // version
	wasFirst bool  // no other hub had the database open
	clock    func() time.Time
	readers  readers
	writer   *writer
	health   *tables.Health
	observer store.CommitObserver // nil: none
	commits  atomic.Int64         // of the state in memory
	log      *slog.Logger
	close    func() error

	// The fields below are about the other hubs of the database.

	members     *members
	policy      *policyWatch
	publisher   publisher
	follower    follower
	database    databaseClock
	conflicts   atomic.Int64 // groups that ran again because another hub committed
	foreignRows atomic.Int64 // rows of other hubs that were published
	takeovers   atomic.Int64 // hubs whose work was taken over
	workers     sync.WaitGroup
	stopWorkers context.CancelFunc
}

// Open opens the database and migrates it if needed. Several hubs may have it open. Like the engine of
// SQLite, the first one clears the leases of the outbox: deliveries that were interrupted by a restart
// are due now. A later one changes nothing of the others.
func Open(ctx context.Context, cfg Config) (store.Store, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &engine{log: cfg.Log, observer: cfg.Commits}
	s.State = tables.NewState(cfg.Log, 50*time.Millisecond) // with the exchanges with the server
	s.Queue = tables.NewQueue(groupBytes, func(*tables.Op) error { return s.health.Refusal() })
	s.Engine = tableEngine{Queue: s.Queue, s: s}
	if cfg.Clock == nil {
		cfg.Clock = s.database.now
	}
	s.clock, s.health = cfg.Clock, tables.NewHealth(cfg.Clock, cfg.Log)
	s.policy, s.publisher = newPolicyWatch(cfg.Log), publisher{store: s}
	s.follower.store, s.follower.wakeup = s, feed.NewWakeup()
	s.follower.overdue = time.AfterFunc(time.Hour, s.follower.expire)
	s.close = sync.OnceValue(s.shutDown)
	if err := s.open(ctx, &cfg); err != nil {
		return nil, errors.Join(fmt.Errorf("open the database %s: %w", Redact(cfg.DSN), err), s.Close())
	}
	return s, nil
}

func (s *engine) open(ctx context.Context, cfg *Config) error {
	pool, err := poolConfig(cfg.DSN)
	if err != nil {
		return err
	}
	w := &writer{engine: s, config: writerConfig(pool.ConnConfig)}
	if cfg.dial != nil {
		w.config.DialFunc = cfg.dial
	}
	if err := w.open(ctx, true); err != nil {
		return err
	}
	err = requireSettings(ctx, w.conn)
	if err == nil {
		s.schema, err = migrate(ctx, w.config, schemaFiles, s.log)
	}
	if err == nil {
		err = requireCompatible(ctx, w.conn)
	}
	if err == nil {
		s.readers.pool, err = pgxpool.NewWithConfig(ctx, pool)
	}
	if err == nil {
		err = s.initialize(ctx, w, cfg)
	}
	if err != nil {
		w.disconnect()
		return err
	}
	s.writer = w
	go w.run()
	return s.join(ctx, cfg)
}

// join makes this hub a member of the hubs of the database.
func (s *engine) join(ctx context.Context, cfg *Config) error {
	s.members = newMembers(s, cfg)
	if err := s.members.beat(ctx); err != nil {
		return err
	}
	s.follower.bus = cfg.bus
	if cfg.Bus {
		s.follower.bus = newBus(writerConfig(s.readers.pool.Config().ConnConfig), s.log)
	}
	if err := s.follower.look(ctx); err != nil {
		return err
	}
	workers, stop := context.WithCancel(context.Background())
	s.stopWorkers = stop
	for _, run := range []func(context.Context){s.members.run, s.follower.run, s.policy.run} {
		s.workers.Go(func() { run(workers) })
	}
	return nil
}

// initialize creates a new hub's identity and loads the state of an existing one.
func (s *engine) initialize(ctx context.Context, w *writer, cfg *Config) error {
	began, micros := time.Now(), int64(0)
	if err := s.readers.get(ctx, []any{&micros}, `SELECT `+databaseMicros); err != nil {
		return err
	}
	s.database.set(began, micros)
	if err := w.exec(ctx)(`INSERT INTO hub (id) VALUES ($1) ON CONFLICT DO NOTHING`, uuid.NewString()); err != nil {
		return err
	}
	if err := s.clearAfterOthers(ctx, w, cfg); err != nil {
		return err
	}
	var public []byte
	if err := w.conn.QueryRow(ctx, `SELECT id, public_key FROM hub`).Scan(&s.ID, &public); err != nil {
		return err
	}
	c, err := readCounters(ctx, w.conn)
	if err != nil {
		return err
	}
	w.counters = c
	if err := s.Start(ctx, w.read(ctx), s.clock(), &c.Counters); err != nil {
		return err
	}
	if err := s.openEpochs(ctx, w, c.Head); err != nil {
		return err
	}
	s.commits.Store(c.commits)
	s.publisher.last = c.Head
	if err := s.openIdentity(w, cfg.KeyFile, public); err != nil {
		return err
	}
	return w.admitOthers(ctx)
}

// clearAfterOthers clears what earlier hubs left behind if none is alive.
func (s *engine) clearAfterOthers(ctx context.Context, w *writer, cfg *Config) error {
	if !w.isAlone {
		return nil
	}
	var others int
	err := w.conn.QueryRow(ctx, `SELECT count(*) FROM hubs WHERE name <> $1 AND seen_at > `+databaseMillis+` - $2`, cleanText(cfg.Name), store.MemberTimeout.Milliseconds()).Scan(&others)
	if err != nil || others > 0 {
		return err
	}
	s.wasFirst = true
	if err = w.exec(ctx)(`WITH gone AS (DELETE FROM hubs) DELETE FROM leases`); err != nil {
		return err
	}
	return w.exec(ctx)(`UPDATE deliveries SET leased = 0, owner = '', due = $1, wake = $1 WHERE open`, tables.Millis(s.clock()))
}

func (s *engine) SetPublish(publish func([]store.LogRow)) {
	s.publisher.mu.Lock()
	defer s.publisher.mu.Unlock()
	s.publisher.publish = publish
}

func (s *engine) Schema() int64 { return s.schema }

func (s *engine) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-s.health.Failed.Done():
		return errors.New(s.health.Detail())
	}
}

func (s *engine) Close() error { return s.close() }

func (s *engine) shutDown() (err error) {
	if s.stopWorkers != nil {
		s.stopWorkers()
		s.workers.Wait()
	}
	s.follower.overdue.Stop()
	if s.writer != nil {
		s.Queue.Stop()
		s.members.leave()
	}
	if s.follower.bus != nil {
		err = s.follower.bus.Close()
	}
	if s.readers.pool != nil {
		s.readers.pool.Close()
	}
	s.health.Fail()
	return err
}

// openIdentity loads the hub's key. A new database gets the key in the file, or a new one.
func (s *engine) openIdentity(w *writer, file string, public ed25519.PublicKey) error {
	key, err := identity.Open(file, public)
	if errors.Is(err, identity.ErrMismatch) || errors.Is(err, identity.ErrMissing) {
		return fmt.Errorf("%s is missing or belongs to another hub. Copy it from the machine on which this hub ran, or restore it from your backup (%w)", file, err)
	}
	if err != nil {
		return err
	}
	s.Key = key
	if len(public) > 0 {
		return nil
	}
	o := &tables.Op{Run: func(t *tables.Work) error { return t.SetKey(key) }}
	if err := errors.Join(w.attempt([]*tables.Op{o}, nil), o.Err); err != nil {
		return fmt.Errorf("store the hub's public key: %w", err)
	}
	return identity.Commit(file)
}

// An epoch of the log ends when no hub has the database open, and when the server's history takes
// another line: a standby was promoted, or a backup was restored.

// queryTimeline identifies the line of the server's history.
const queryTimeline = `SELECT s.system_identifier || '/' || c.timeline_id FROM pg_control_system() s, pg_control_checkpoint() c`

// openEpochs loads the epochs, the oldest first. It begins one if this hub is the first, or if the
// current one is of another line.
func (s *engine) openEpochs(ctx context.Context, w *writer, head int64) error {
	conn := w.conn
	var timeline, current string
	if err := conn.QueryRow(ctx, queryTimeline).Scan(&timeline); err != nil {
		return err
	}
	err := conn.QueryRow(ctx, `SELECT timeline FROM epochs ORDER BY n DESC LIMIT 1`).Scan(&current)
	if err := tables.IgnoreNoRows(err); err != nil {
		return err
	}
	if s.wasFirst && !s.HasEpochs() || current != timeline {
		if err := tables.BeginEpoch(w.exec(ctx), head, timeline); err != nil {
			return err
		}
	}
	return s.LoadEpochs(w.read(ctx))
}

// queryAsyncStandby reports whether there are standbys and none of them confirms commits. Without the
// rights to see their state it reports false.
const queryAsyncStandby = `SELECT count(*) > 0 AND bool_and(sync_state NOT IN ('sync', 'quorum')) FROM pg_stat_replication WHERE state = 'streaming'`

func (s *engine) Stats(ctx context.Context) (store.Stats, error) {
	s.health.Probe(s.Queue, func(w *tables.Work) error { return w.Exec(`SELECT 1`) })
	out := s.Statistics(s.health)
	out.Hubs = s.hubStats()
	if !s.isCurrent() {
		if out.Fault == "" {
			out.Fault = "the database has not answered for more than a second, so this hub may not know what other hubs have stored"
		}
		return out, nil // which the database would not answer
	}
	err := s.readers.get(ctx, []any{&out.DatabaseBytes}, `SELECT pg_database_size(current_database())`)
	if err == nil {
		out.Undelivered, err = s.CountUndelivered(ctx)
	}
	if err == nil && out.Hubs.IsLeader {
		var isAsync *bool
		err = s.readers.get(ctx, []any{&isAsync}, queryAsyncStandby)
		out.Hubs.HasAsyncStandby = isAsync != nil && *isAsync
		s.members.warnOfStandby(out.Hubs.HasAsyncStandby)
	}
	return out, err
}

func (s *engine) hubStats() *store.HubStats {
	h := &store.HubStats{
		Alive: len(s.members.list()), IsLeader: s.IsLeader(), Head: s.State.Head.Load(), FeedLagRows: s.State.Head.Load() - s.publisher.newest().Seq,
		Conflicts: s.conflicts.Load(), ForeignRows: s.foreignRows.Load(), Takeovers: s.takeovers.Load(),
		ClockOffset: time.Until(s.database.now()), ConnectionsInUse: int(s.readers.pool.Stat().AcquiredConns()),
	}
	if b := s.follower.bus; b != nil {
		h.IsBusUp, h.Bus = b.Up(), b.Stats()
	}
	return h
}
