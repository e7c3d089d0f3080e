package postgres

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

const (
	// beatEvery is the time between two signs of life; new facts are stored after factsDelay.
	beatEvery  = time.Second
	factsDelay = 200 * time.Millisecond
	// leaseTime is how long a hub leads after its last sign of life.
	leaseTime = store.MemberTimeout
	// forgetAfter is how long the row of a hub that is gone is kept.
	forgetAfter = time.Hour
)

// members is this hub's place among the hubs of the database.
type members struct {
	store  *engine
	self   store.Member
	wakeup feed.Wakeup
	leader leadership
	warned atomic.Bool // of a standby that does not confirm commits

	mu      sync.Mutex // guards the fields below
	facts   store.MemberFacts
	alive   []store.Member
	changed func() // nil: no observer
}

func newMembers(s *engine, cfg *Config) *members {
	m := &members{store: s, wakeup: feed.NewWakeup()}
	m.self = store.Member{ID: uuid.Must(uuid.NewV7()).String(), Name: cfg.Name, Machine: cleanText(cfg.Machine), Version: cfg.Version, StartedAt: s.clock()}
	m.alive = []store.Member{m.self}
	m.leader.begun = make(chan struct{})
	return m
}

// databaseMillis is the database's clock.
const databaseMillis = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`

const (
	// beat stores a sign of life, forgets hubs, and returns a row if this hub leads.
	beat = `WITH alive AS (INSERT INTO hubs (id, name, version, started_at, seen_at, facts, machine)
			VALUES ($1, $2, $3, $4, ` + databaseMillis + `, $5, $6) ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, facts = excluded.facts),
		gone AS (DELETE FROM hubs WHERE id <> $1 AND seen_at < ` + databaseMillis + ` - $7)
		INSERT INTO leases (name, owner, until) VALUES ('leader', $1, ` + databaseMillis + ` + $8)
			ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
				WHERE leases.owner = excluded.owner OR leases.until <= ` + databaseMillis + ` RETURNING true`
	queryMembers = `SELECT id, name, version, started_at, facts, machine FROM hubs WHERE seen_at > ` + databaseMillis + ` - $1 ORDER BY id`
	freeOwned    = `UPDATE deliveries SET leased = 0, wake = due, owner = '' WHERE open AND owner <> '' AND owner = ANY($1)`
)

// run gives signs of life until ctx ends.
func (m *members) run(ctx context.Context) {
	var failed bool
	for {
		err := m.beat(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !failed {
			m.store.log.Error("sign of life of this hub not stored; other hubs take over its work", "after", store.MemberTimeout, "err", err)
		}
		failed = err != nil
		if !m.wakeup.Wait(ctx, beatEvery) || !feed.Sleep(ctx, factsDelay) {
			return
		}
	}
}

// beat stores a sign of life, and begins or renews the leadership.
func (m *members) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, store.MemberTimeout)
	defer cancel()
	m.mu.Lock()
	facts, err := json.Marshal(m.facts)
	m.mu.Unlock()
	if err != nil {
		return err
	}
	began := time.Now()
	var leads bool
	err = m.store.readers.get(ctx, []any{&leads}, beat, m.self.ID, m.self.Name, m.self.Version, tables.Millis(m.self.StartedAt), facts,
		m.self.Machine, forgetAfter.Milliseconds(), leaseTime.Milliseconds())
	if tables.IgnoreNoRows(err) != nil {
		return err
	}
	if leads {
		if m.leader.renew(began.Add(leaseTime)) {
			m.store.log.Info("this hub leads")
		}
	} else if m.leader.end() {
		m.store.log.Warn("another hub leads")
	}
	return nil
}

// look reads which hubs are alive. It frees the work of hubs that are gone.
func (m *members) look(ctx context.Context) error {
	var alive []store.Member
	err := m.store.Read(ctx, func(rows tables.Rows) error {
		var h store.Member
		err := rows.Scan(&h.ID, &h.Name, &h.Version, tables.ScanTime(&h.StartedAt), tables.JSONBytes(&h.MemberFacts), &h.Machine)
		alive = append(alive, h)
		return err
	}, queryMembers, store.MemberTimeout.Milliseconds())
	if err != nil {
		return err
	}
	before := m.list()
	if reflect.DeepEqual(before, alive) {
		return nil
	}
	var gone []string
	for _, h := range before {
		if h.ID != m.self.ID && !slices.ContainsFunc(alive, func(a store.Member) bool { return a.ID == h.ID }) {
			gone = append(gone, h.ID)
		}
	}
	if len(gone) > 0 {
		m.store.log.Warn("other hubs are gone; their work is taken over", "hubs", gone)
		if err := m.store.Write(ctx, tables.Plain, func(w *tables.Work) error { return w.Exec(freeOwned, gone) }); err != nil {
			return err
		}
		m.store.takeovers.Add(int64(len(gone)))
	}
	m.mu.Lock()
	m.alive = alive
	changed := m.changed
	m.mu.Unlock()
	if changed != nil {
		changed()
	}
	return nil
}

func (m *members) list() []store.Member {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.alive
}

// leave removes this hub, so that the others take over its work at once.
func (m *members) leave() {
	m.leader.end()
	ctx, cancel := exchangeTimeout()
	defer cancel()
	for _, query := range []string{
		`UPDATE deliveries SET leased = 0, wake = due, owner = '' WHERE open AND owner = $1`,
		`DELETE FROM leases WHERE owner = $1`, `DELETE FROM hubs WHERE id = $1`,
	} {
		if _, err := m.store.readers.pool.Exec(ctx, query, m.self.ID); err != nil {
			m.store.log.Warn("the end of this hub was not stored; other hubs detect it", "after", store.MemberTimeout, "err", err)
			return
		}
	}
}

// warnOfStandby logs once that a failover would lose commits.
func (m *members) warnOfStandby(isAsync bool) {
	if !m.warned.Swap(isAsync) && isAsync {
		m.store.log.Warn("the standbys of the database do not confirm commits: a failover would lose answers that this hub has confirmed; set synchronous_standby_names")
	}
}

// leadership is the part of the leader, by the monotonic clock of this hub.
type leadership struct {
	mu     sync.Mutex
	begun  chan struct{}   // closed when it begins
	ctx    context.Context // ends with it; nil: not leading
	cancel context.CancelFunc
	timer  *time.Timer // ends it
}

// renew begins the leadership or moves its end. It reports whether it began.
func (l *leadership) renew(end time.Time) (began bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := time.Until(end)
	if l.ctx != nil {
		l.timer.Reset(left)
		return false
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.timer = time.AfterFunc(left, func() { l.end() })
	close(l.begun)
	return true
}

// end ends the leadership. It reports whether there was one.
func (l *leadership) end() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil {
		return false
	}
	l.timer.Stop()
	l.cancel()
	l.ctx, l.begun = nil, make(chan struct{})
	return true
}

// current returns the context of the leadership, or nil and a channel that is closed when one begins.
func (l *leadership) current() (context.Context, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ctx, l.begun
}

func (s *engine) Self() string { return s.members.self.ID }

func (s *engine) Members() []store.Member { return slices.Clone(s.members.list()) }

func (s *engine) Announce(facts store.MemberFacts) {
	m := s.members
	m.mu.Lock()
	isNew := !reflect.DeepEqual(m.facts, facts)
	m.facts = facts
	m.mu.Unlock()
	if isNew {
		m.wakeup.Wake()
	}
}

func (s *engine) ObserveMembers(changed func()) {
	s.members.mu.Lock()
	defer s.members.mu.Unlock()
	s.members.changed = changed
}

func (s *engine) IsLeader() bool {
	leading, _ := s.members.leader.current()
	return leading != nil
}

func (s *engine) Lead(ctx context.Context) (context.Context, error) {
	for {
		leading, begun := s.members.leader.current()
		if leading != nil {
			own, cancel := context.WithCancel(ctx)
			context.AfterFunc(leading, cancel)
			return own, ctx.Err()
		}
		select {
		case <-begun:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (s *engine) ObservePolicy(reload func(context.Context) error) {
	s.policy.mu.Lock()
	defer s.policy.mu.Unlock()
	s.policy.reload = reload
	s.policy.wakeup.Wake() // another hub may have changed something since this one started
}

func (s *engine) WasFirst() bool { return s.wasFirst }

func (s *engine) Now() time.Time { return s.clock() }
