package tables

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/grams"
)

// State is what an engine keeps in memory. It is that of the last commit.
type State struct {
	Head    atomic.Int64 // last sequence number of the log
	Pruned  atomic.Int64 // highest sequence number that retention removed
	Events  atomic.Int64 // number of stored events
	Decided atomic.Int64 // number of decided questions
	Pending PendingQuestions
	Tail    logTail
	Texts   sessionTexts

	Projected   lagMeter     // of the projector
	Indexed     lagMeter     // of the indexer, in full blocks
	IndexerWake feed.Wakeup  // wakes the indexer when it has work
	Pruning     atomic.Int32 // runs of Prune in progress

	// PruneBudget is how long the writer may be busy with one batch of Prune, because other writes wait for it.
	PruneBudget time.Duration
	Log         *slog.Logger
}

// NewState returns the state of a store that is not open yet.
func NewState(log *slog.Logger, pruneBudget time.Duration) *State {
	return &State{Log: log, PruneBudget: pruneBudget, Texts: sessionTexts{Limit: maxSessionTexts}, IndexerWake: feed.NewWakeup()}
}

// Start loads the state of a database that has these counters.
func (t *Tables) Start(ctx context.Context, query Query, now time.Time, c *Counters) error {
	if err := t.LoadPending(ctx, query); err != nil {
		return err
	}
	t.Show(c)
	t.State.Projected.Grow(c.Head, time.Now())
	t.State.Indexed.Grow(lastFullBlock(c.Head), time.Now())
	return t.Load(query, now)
}

// Statistics returns the values that do not depend on the engine, without those that take a query.
func (t *Tables) Statistics(h *Health) store.Stats {
	now := time.Now()
	return store.Stats{
		Pending: t.State.Pending.Len(), Events: t.State.Events.Load(), Queued: t.Queue.Len(), RefusedFault: h.refused.Load(), Fault: h.Detail(),
		Projections: t.State.Projected.Lag(now), SearchIndex: t.State.Indexed.Lag(now),
	}
}

// CountUndelivered returns the number of answers of people that may not have reached their agents. That a client
// did not pick up a timeout, or the answer of a rule, loses no one's work. The status is searched as bytes: quotes in
// its texts are escaped, and PostgreSQL decodes no JSON with a NUL.
func (t *Tables) CountUndelivered(ctx context.Context) (int64, error) {
	return read[int64](ctx, t, `SELECT count(*) FROM deliveries d /*!INDEXED BY deliveries_undelivered CROSS*/ JOIN questions q ON q.seq = d.seq
		WHERE d.undelivered AND q.inbox = 'decided'
		AND /*!(instr(q.status, CAST('"source":"human"' AS BLOB)) > 0 OR instr(q.status, CAST('"source":"quorum"' AS BLOB)) > 0)*/
		/*[*/(position('"source":"human"'::bytea IN q.status) > 0 OR position('"source":"quorum"'::bytea IN q.status) > 0)/*]*/`)
}

const (
	// lagResolution is the precision of a lag, and maxLagMarks how many points in time a meter
	// keeps; above that it is less precise.
	lagResolution = 100 * time.Millisecond
	maxLagMarks   = 1024
	// tolerableLag is the lag above which plain events wait for a lagFactor-th of the excess.
	tolerableLag = 5 * time.Second
	lagFactor    = 5
	// maxIngestDelay is the longest wait of a plain event.
	maxIngestDelay = time.Second
	// maxStall is how long a reader may stay at one position before it is stuck. Events do not wait for
	// a reader that can't catch up.
	maxStall = 30 * time.Second
)

// lagMeter measures how far a background reader of the log is behind.
type lagMeter struct {
	mu       sync.Mutex
	head     int64     // last row to process
	at       int64     // last row processed
	marks    []lagMark // when rows after at were committed, oldest first
	isSteady bool      // it has reached the head since the hub started
	stall    lagMark   // its position, and since when events have waited for it there
}

// lagMark is the time at which the row seq was committed.
type lagMark struct {
	seq int64
	at  time.Time
}

// Grow records that the row head was committed, or, at startup, that it exists.
func (m *lagMeter) Grow(head int64, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if head <= m.head {
		return
	}
	n := len(m.marks)
	if m.head = head; head > m.at && (n == 0 || now.Sub(m.marks[n-1].at) >= lagResolution) {
		if n == maxLagMarks {
			m.thinOut()
		}
		m.marks = append(m.marks, lagMark{seq: head, at: now})
	}
}

// thinOut drops every second mark. Rows count as committed at the time of an earlier one.
func (m *lagMeter) thinOut() {
	for i := range len(m.marks) / 2 {
		m.marks[i] = m.marks[2*i]
	}
	m.marks = m.marks[:len(m.marks)/2]
}

// Reach records that the rows up to seq are processed.
func (m *lagMeter) Reach(seq int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = max(m.at, seq)
	if m.at >= m.head {
		m.marks, m.isSteady = m.marks[:0], true
		return
	}
	n := 0
	for n+1 < len(m.marks) && m.marks[n+1].seq <= m.at+1 {
		n++
	}
	m.marks = append(m.marks[:0], m.marks[n:]...)
}

// Lag returns how far the reader is behind.
func (m *lagMeter) Lag(now time.Time) (lag store.Lag) {
	m.mu.Lock()
	defer m.mu.Unlock()
	lag.Rows = max(0, m.head-m.at)
	if len(m.marks) > 0 {
		lag.Time = max(0, now.Sub(m.marks[0].at))
	}
	return lag
}

// IngestDelay returns how long a plain event has to wait for the reader to catch up. Work from
// before the hub started delays no one.
func (m *lagMeter) IngestDelay(now time.Time) time.Duration {
	lag := m.Lag(now)
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.isSteady || lag.Time <= tolerableLag {
		m.stall = lagMark{}
		return 0
	}
	if m.stall.at.IsZero() || m.stall.seq != m.at {
		m.stall = lagMark{seq: m.at, at: now}
	}
	if now.Sub(m.stall.at) > maxStall {
		return 0
	}
	return min((lag.Time-tolerableLag)/lagFactor, maxIngestDelay)
}

// lastFullBlock returns the last row of the last full index block of a log that ends at head.
func lastFullBlock(head int64) int64 { return (head+1)>>grams.BlockBits<<grams.BlockBits - 1 }

// LastRowOfBlock returns the last row of an index block.
func LastRowOfBlock(n int64) int64 { return n<<grams.BlockBits + grams.BlockSize - 1 }
