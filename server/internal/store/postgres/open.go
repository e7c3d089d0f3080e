package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/identity"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

// Config configures Open. Zero values select the documented defaults.
type Config struct {
	DSN     string           // postgres://…, or postgresql://…
	KeyFile string           // the file of the hub's key, created if missing
	Clock   func() time.Time // default: time.Now
	Log     *slog.Logger     // default: discards

	// Commits is called after every group commit, on the writer's goroutine, for metrics;
	// nil: none.
	Commits store.CommitObserver

	dial pgconn.DialFunc // of the writer; tests replace it
}

// engine implements store.Store. Its exported methods are documented there.
type engine struct {
	hubID    string
	schema   int64       // version
	epochs   []kit.Epoch // the current one is the last
	identity *identity.Key
	clock    func() time.Time
	readers  readers
	writer   *writer
	health   *health
	pending  kit.PendingQuestions[string]
	grants   kit.OpenGrants
	messages kit.ItemCounts                   // messages that are not handed over
	freezes  atomic.Pointer[[]control.Freeze] // the active ones, as of the last commit
	// openMessages are messages that are not handed over, or not acted on.
	openMessages kit.ItemCounts
	head         atomic.Int64
	pruned       atomic.Int64
	events       atomic.Int64 // number of stored events
	bytes        atomic.Int64 // size of their envelopes and payloads
	decided      atomic.Int64 // number of decided questions
	tail         kit.LogTail
	texts        kit.SessionTexts
	projected    kit.LagMeter // of the projector
	log          *slog.Logger
	close        func() error
}

// Open opens the database and migrates it if needed. It fails with store.ErrLocked if another hub
// has the database open. Like the engine of SQLite it clears the leases of the outbox: deliveries
// that were interrupted by a restart are due now.
func Open(ctx context.Context, cfg Config) (store.Store, error) {
	s, err := openEngine(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func openEngine(ctx context.Context, cfg Config) (*engine, error) {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &engine{clock: cfg.Clock, log: cfg.Log, health: newHealth(cfg.Log), texts: kit.SessionTexts{Limit: kit.MaxSessionTexts}}
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
	w := &writer{
		config: writerConfig(pool.ConnConfig), health: s.health, clock: cfg.Clock, log: cfg.Log, commits: cfg.Commits, store: s,
		queue: make(chan *op, queueLimit), joining: make(chan *op, joinLimit), done: make(chan struct{}),
	}
	if cfg.dial != nil {
		w.config.DialFunc = cfg.dial
	}
	if err := w.open(ctx); err != nil {
		return err
	}
	err = requireSettings(ctx, w.conn)
	if err == nil {
		s.schema, err = migrate(ctx, w.config, s.log)
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
	return nil
}

// initialize creates a new hub's identity and loads the state of an existing one.
func (s *engine) initialize(ctx context.Context, w *writer, cfg *Config) error {
	now := kit.Millis(s.clock())
	if _, err := w.conn.Exec(ctx, `INSERT INTO hub (id) VALUES ($1) ON CONFLICT DO NOTHING`, uuid.NewString()); err != nil {
		return err
	}
	if _, err := w.conn.Exec(ctx, `UPDATE deliveries SET leased = 0, due = $1, wake = $1 WHERE open`, now); err != nil {
		return err
	}
	if err := w.conn.QueryRow(ctx, `SELECT id FROM hub`).Scan(&s.hubID); err != nil {
		return err
	}
	c, err := w.readCounters(ctx)
	if err != nil {
		return err
	}
	w.counters = c
	if err := s.loadPending(ctx, w); err != nil {
		return err
	}
	if err := s.loadDirectives(ctx, w); err != nil {
		return err
	}
	if s.epochs, err = beginEpoch(ctx, w.conn, c.head); err != nil {
		return err
	}
	s.head.Store(c.head)
	s.pruned.Store(c.pruned)
	s.projected.Grow(c.head, time.Now())
	s.events.Store(c.events)
	s.bytes.Store(c.bytes)
	s.decided.Store(c.decided)
	return s.openIdentity(ctx, w, cfg.KeyFile)
}

// readCounters reads the counter row and the end of the audit log.
func (w *writer) readCounters(ctx context.Context) (c counters, err error) {
	err = w.conn.QueryRow(ctx, `SELECT commits, head, pruned, events, bytes, received, decided FROM streams`).
		Scan(&c.commits, &c.head, &c.pruned, &c.events, &c.bytes, &c.received, &c.decided)
	if err == nil {
		c.chainEnd, err = readChainEnd(ctx, w.conn)
	}
	if err == nil {
		c.signedHead, err = readSignedHead(ctx, w.conn)
	}
	return c, err
}

const queryPendingQuestions = `SELECT seq, app, session, deadline, held_until, next_at, lifeline, status, addressed, same, same_as, joined
	FROM questions WHERE inbox = 'pending' ORDER BY seq`

func (s *engine) loadPending(ctx context.Context, w *writer) error {
	rows, err := w.conn.Query(ctx, queryPendingQuestions)
	stored, err := collect(rows, err, func(rows pgx.Rows, u *kit.PendingUpdate[string]) error {
		q := &u.Row
		var status, same []byte
		if err := rows.Scan(&u.ID, &q.App, &q.Session, &q.Deadline, &q.HeldUntil, &q.TimerAt, &q.Lifeline, &status, &q.IsAddressed, &same, &q.SameAs, &q.Joined); err != nil {
			return err
		}
		q.Same = string(same)
		var err error
		q.Waiter, err = kit.WaiterOf(status)
		return err
	})
	s.pending.Load(stored)
	return err
}

func (s *engine) SetPublish(publish func([]store.LogRow)) { s.writer.publish = publish }

func (s *engine) HubID() string { return s.hubID }

func (s *engine) Schema() int64 { return s.schema }

func (s *engine) Epoch() string { return s.epochs[len(s.epochs)-1].ID }

func (s *engine) HasPosition(epoch string, seq int64) bool {
	return kit.HasPosition(s.epochs, epoch, seq)
}

func (s *engine) Head() int64 { return s.head.Load() }

func (s *engine) Pruned() int64 { return s.pruned.Load() }

// RunIndexer builds no index: searches read the log.
func (s *engine) RunIndexer(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func (s *engine) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-s.health.failed.Done():
		return errors.New(s.health.current())
	}
}

func (s *engine) Close() error { return s.close() }

func (s *engine) shutDown() error {
	if s.writer != nil {
		s.writer.stop()
	}
	if s.readers.pool != nil {
		s.readers.pool.Close()
	}
	s.health.fail()
	return nil
}
