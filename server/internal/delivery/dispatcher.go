// Package delivery brings answers to agents. It dials the WebSocket listener that an agent named
// in its question, sends the answer and determines whether it arrived.
//
// Every answer has a row in the store's outbox. The row is written in the same transaction as
// the resolution, so a crash loses no answer. An attempt (attempt.go) reads the row, dials
// (listener_conn.go) and records the result. The loop in this file leases the rows that are due;
// the time of the next attempt is stored in the row. The dial policy (dial_policy.go) is the
// SSRF protection: it decides which addresses may be dialed. While a question is pending, the
// prober (prober.go) and the liveness connections (liveness.go) detect that its agent is gone.
//
// A version 2 listener acknowledges an answer by its id and drops repeats, so the dispatcher
// resends until it gets the acknowledgement. A version 1 listener can do neither. The row is
// therefore marked before the first byte is written, and a marked answer is never sent again,
// not even after a crash, unless it is certain that no byte left the hub.
package delivery

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

// Hub is the part of the hub that a Dispatcher calls.
type Hub interface {
	// AwaitResponseSent blocks until the response to the question's POST has been sent; an agent
	// may not be dialed before that. It returns an error only if ctx ends first, which postpones
	// the attempt. With a canceled ctx it reports, without blocking, whether the response was
	// sent.
	AwaitResponseSent(ctx context.Context, id schema.EventID) error
	// AbandonListener resolves a question that has a liveness connection and whose agent no
	// longer listens at url. RunLiveness calls it again if it fails.
	AbandonListener(ctx context.Context, id schema.EventID, url string) error
}

// Config configures a Dispatcher. Store, Feed, Hub and DialPolicy are required.
type Config struct {
	Store interface {
		store.Questions
		store.Deliveries
		store.Members
	}
	Feed       *feed.Feed
	Hub        Hub
	DialPolicy *DialPolicy
	Address    string // of the hub for programs

	Clock   func() time.Time // default time.Now
	Log     *slog.Logger     // default: discard
	Workers int              // concurrent attempts; default 64
	// ProbeInterval is the interval between probe rounds; default 5 s.
	ProbeInterval time.Duration
}

const (
	defaultWorkers = 64
	// maxPerListener bounds the concurrent attempts at one listener, and maxPerHost those at one host
	// and port, which many agents can share. What hangs before it takes its answer must not occupy
	// every worker. From there on, an attempt occupies nothing: see place.
	maxPerListener = 4
	maxPerHost     = defaultWorkers / 2
	// maxUnconfirmed bounds the attempts that wait for a listener's confirmation and occupy nothing.
	maxUnconfirmed = 1024
	// leaseDuration is longer than any attempt.
	leaseDuration = 30 * time.Second
	// maxPollInterval bounds the time between two reads of the outbox.
	maxPollInterval = 10 * time.Second
)

// timeouts bounds the steps of an attempt and of a liveness connection.
type timeouts struct {
	probe time.Duration // TCP connection of a probe or a liveness connection
	dial  time.Duration // connection and handshake
	write time.Duration
	idle  time.Duration // silence of a version 1 listener before we close
	ack   time.Duration // acknowledgement of a version 2 listener
	close time.Duration // our side of the close handshake
	hold  time.Duration // a liveness connection, before its slot is released
}

var defaultTimeouts = timeouts{
	probe: time.Second, dial: 2 * time.Second, write: 5 * time.Second, idle: time.Second,
	ack: 5 * time.Second, close: time.Second, hold: 30 * time.Second,
}

// Dispatcher delivers answers. Create it with New and start it with Run.
type Dispatcher struct {
	Config
	timeouts      timeouts
	jitter        func() float64 // retry jitter, from 0.8 to 1.2
	after         func(time.Duration) <-chan time.Time
	livenessLimit int          // concurrent liveness connections
	liveness      atomic.Int64 // liveness connections

	mu          sync.Mutex
	ctx         context.Context             //nolint:containedctx // Run's; nil before Run, canceled after it
	queue       []schema.EventID            // deliveries to attempt, oldest first
	jobs        map[schema.EventID]jobState // dispatched deliveries
	running     int                         // occupied workers
	saturated   bool                        // more deliveries may be due than the last poll had capacity for
	listeners   slots                       // by URL
	hosts       slots                       // by host and port
	unconfirmed int                         // attempts that wait for a confirmation and occupy nothing
	controls    controlQueue
	workers     sync.WaitGroup
}

// jobState is the state of a dispatched delivery.
type jobState int

const (
	jobQueued jobState = iota // in the queue, or parked
	jobRunning
	jobRequeued // became due again while its last attempt was finishing
)

// New creates a Dispatcher. It does nothing before Run.
func New(cfg Config) *Dispatcher {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	if cfg.Workers <= 0 {
		cfg.Workers = defaultWorkers
	}
	if cfg.ProbeInterval <= 0 {
		cfg.ProbeInterval = defaultProbeInterval
	}
	return &Dispatcher{
		Config:        cfg,
		timeouts:      defaultTimeouts,
		jitter:        func() float64 { return 0.8 + 0.4*rand.Float64() }, //nolint:gosec // spreads retries
		after:         time.After,
		livenessLimit: maxLivenessConns,
		jobs:          map[schema.EventID]jobState{},
		listeners:     newSlots(maxPerListener),
		hosts:         newSlots(maxPerHost),
	}
}

// dispatch attempts a delivery that is due now. It does not block. A delivery that is being
// attempted already is not attempted twice in parallel.
func (d *Dispatcher) dispatch(id schema.EventID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.enqueueLocked(id)
	d.startWorkersLocked()
}

func (d *Dispatcher) enqueueLocked(id schema.EventID) {
	switch state, ok := d.jobs[id]; {
	case !ok:
		d.jobs[id] = jobQueued
		d.queue = append(d.queue, id)
	case state == jobRunning:
		d.jobs[id] = jobRequeued
	}
}

// startWorkersLocked starts workers for the queued deliveries, up to d.Workers. d.mu is held.
func (d *Dispatcher) startWorkersLocked() {
	for d.ctx != nil && d.ctx.Err() == nil && d.running < d.Workers && len(d.queue) > 0 {
		id := d.queue[0]
		d.queue = d.queue[1:]
		d.jobs[id] = jobRunning
		d.running++
		d.workers.Go(func() { d.runJob(d.ctx, id) })
	}
}

// Run delivers due answers until ctx ends, and returns when every attempt has ended. A
// delivery whose attempt was canceled is due again at the next start.
func (d *Dispatcher) Run(ctx context.Context) error {
	d.mu.Lock()
	d.ctx = ctx
	d.startWorkersLocked()
	d.mu.Unlock()
	defer d.workers.Wait()
	var lastErr string
	var nextPoll <-chan time.Time
	var rescan bool // the unsent deadlines must be read from the store
	return d.Feed.Follow(ctx, feed.Leased|feed.Due|feed.Deadline|feed.Members, func(b *feed.Batch) error {
		d.handleFacts(b)
		rescan = rescan || b.Has(feed.Members) // this hub may take over the work of another one
		if b.Fired || b.Has(feed.Due|feed.Members) {
			wait, err := d.poll(ctx)
			if rescan {
				rescanErr := d.queueControls(ctx)
				if rescan = rescanErr != nil; rescan {
					wait, err = min(wait, storeRetryDelay), errors.Join(err, rescanErr)
				}
			}
			if text := errorText(ctx, err); text != lastErr {
				lastErr = text
				if lastErr != "" {
					d.Log.Error("read of due deliveries and unsent deadlines failed", "retry_in", wait, "err", err)
				}
			}
			nextPoll = d.after(wait)
		}
		b.Timer = nextPoll
		return nil
	})
}

// handleFacts attempts the deliveries that were just committed, or whose agent named a new
// URL, and sends new deadlines.
func (d *Dispatcher) handleFacts(b *feed.Batch) {
	for _, fact := range b.Facts {
		if fact.Kinds&feed.Leased != 0 {
			d.dispatch(schema.EventID(fact.ID))
		}
		if fact.Kinds&feed.Deadline != 0 {
			d.queueControl(schema.EventID(fact.ID))
		}
	}
}

func errorText(ctx context.Context, err error) string {
	if err == nil || ctx.Err() != nil {
		return ""
	}
	return err.Error()
}

// poll leases the deliveries that are due, as many as there is capacity for. It returns the time
// to wait until the next poll.
func (d *Dispatcher) poll(ctx context.Context) (wait time.Duration, err error) {
	d.mu.Lock()
	capacity := 4*d.Workers - len(d.queue)
	d.saturated = capacity < d.Workers
	d.mu.Unlock()
	if capacity < d.Workers {
		return maxPollInterval, nil // the worker that frees capacity publishes a fact
	}
	now := d.Clock()
	due, next, err := d.Store.LeaseDeliveries(ctx, now, now.Add(leaseDuration), capacity)
	if err != nil {
		return storeRetryDelay, err
	}
	d.mu.Lock()
	for _, id := range due {
		d.enqueueLocked(id)
	}
	d.startWorkersLocked()
	d.mu.Unlock()
	if next.IsZero() {
		return maxPollInterval, nil
	}
	return min(max(next.Sub(d.Clock()), 0), maxPollInterval), nil
}

// runJob attempts one delivery and starts the next ones.
func (d *Dispatcher) runJob(ctx context.Context, id schema.EventID) {
	p := &place{dispatcher: d, id: id}
	if err := d.runAttempt(ctx, id, p); err != nil && ctx.Err() == nil && !errors.Is(err, schema.ErrStopping) {
		d.Log.Error("delivery attempt failed; the answer stays due", "event", id, "err", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch state := d.jobs[id]; {
	case p.isParked: // its slot may already be another worker's
	case state == jobRequeued:
		d.jobs[id] = jobQueued
		d.queue = append(d.queue, id)
	default:
		delete(d.jobs, id)
	}
	p.leaveLocked()
}

// place is the resources of an attempt: a worker, a slot of its listener and one of the listener's
// host. It is given back when the frame is written, so that a listener that does not confirm its
// answer delays no other one.
type place struct {
	dispatcher *Dispatcher
	id         schema.EventID

	// Dispatcher.mu guards the rest.
	listener, host string // "" without slots
	isParked       bool   // the delivery waits for a slot; nothing was done
	isFree         bool
	isUnconfirmed  bool // counts in Dispatcher.unconfirmed
}

// acquireSlots reserves a slot of the listener and one of its host. If none is free it parks the
// delivery until one is, and returns false.
func (p *place) acquireSlots(url, host string) bool {
	d := p.dispatcher
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.listeners.isFull(url):
		d.listeners.park(url, p.id)
	case d.hosts.isFull(host):
		d.hosts.park(host, p.id)
	default:
		d.queueFirstLocked(d.hosts.take(host, p.id), d.listeners.take(url, p.id))
		p.listener, p.host = url, host
		return true
	}
	d.queueFirstLocked(d.hosts.pass(p.id), d.listeners.pass(p.id))
	d.jobs[p.id] = jobQueued
	p.isParked = true
	return false
}

// queueFirstLocked queues deliveries that waited for slots before all others.
func (d *Dispatcher) queueFirstLocked(hosts, listeners []schema.EventID) {
	d.queue = slices.Concat(hosts, listeners, d.queue)
}

// free gives the place back before the attempt ends, because the attempt only waits for the
// listener's confirmation from here on.
func (p *place) free() {
	d := p.dispatcher
	d.mu.Lock()
	defer d.mu.Unlock()
	if !p.isFree && d.unconfirmed < maxUnconfirmed {
		d.unconfirmed++
		p.isUnconfirmed = true
		p.freeLocked()
	}
}

// leaveLocked releases the rest of the place.
func (p *place) leaveLocked() {
	if d := p.dispatcher; !p.isParked { // otherwise it may already have another place
		d.queueFirstLocked(d.hosts.pass(p.id), d.listeners.pass(p.id))
	}
	if p.isUnconfirmed {
		p.dispatcher.unconfirmed--
	}
	p.freeLocked()
}

func (p *place) freeLocked() {
	d := p.dispatcher
	if !p.isFree {
		p.isFree = true
		d.running--
		if p.host != "" {
			d.queueFirstLocked(d.hosts.release(p.host), d.listeners.release(p.listener))
		}
	}
	d.startWorkersLocked()
	if d.saturated && len(d.queue) < d.Workers {
		d.saturated = false
		d.Feed.PublishFact(feed.Fact{Kinds: feed.Due})
	}
}

// Several hubs can share a database. The owner of a question looks after its listener: it holds the
// request of the agent, and a loopback address means an agent on its machine. When the owner is gone,
// another hub of that machine does, or else the leader. Answers are sent by the hub that leases them.

// duty is which listeners this hub looks after.
type duty struct {
	self  store.Member
	alive []store.Member
	leads bool
}

func dutyOf(s store.Members) duty {
	t := duty{alive: s.Members(), leads: s.IsLeader()}
	id := s.Self()
	if i := slices.IndexFunc(t.alive, func(m store.Member) bool { return m.ID == id }); i >= 0 {
		t.self = t.alive[i]
	}
	t.self.ID = id
	return t
}

// includes reports whether this hub looks after the listener of a question.
func (t duty) includes(p store.Place) bool {
	if p.Owner == t.self.ID || slices.ContainsFunc(t.alive, func(m store.Member) bool { return m.ID == p.Owner }) {
		return p.Owner == t.self.ID
	}
	if p.Machine != "" {
		if i := slices.IndexFunc(t.alive, func(m store.Member) bool { return m.Machine == p.Machine }); i >= 0 {
			return t.alive[i].ID == t.self.ID
		}
	}
	return t.leads
}

// reaches reports whether the address of a listener means the same for this hub as for its agent.
func (t duty) reaches(p store.Place) bool { return p.Machine == "" || p.Machine == t.self.Machine }

// slots are semaphores by key.
type slots struct {
	limit  int
	inUse  map[string]int
	parked map[string][]schema.EventID // key → deliveries that wait for a slot
	// offered holds the keys of the slots that became free for deliveries that waited. One that does
	// not need its slot any more must pass it on: no other event wakes those behind it.
	offered map[schema.EventID]string
}

func newSlots(limit int) slots {
	return slots{limit: limit, inUse: map[string]int{}, parked: map[string][]schema.EventID{}, offered: map[schema.EventID]string{}}
}

func (s *slots) isFull(key string) bool { return s.inUse[key] >= s.limit }

func (s *slots) park(key string, id schema.EventID) { s.parked[key] = append(s.parked[key], id) }

// take occupies a slot, and returns what pass returns if the delivery was offered one of another key.
func (s *slots) take(key string, id schema.EventID) []schema.EventID {
	s.inUse[key]++
	if s.offered[id] == key {
		delete(s.offered, id)
	}
	return s.pass(id)
}

// pass offers the slot that a delivery was offered to the next one, which it returns.
func (s *slots) pass(id schema.EventID) []schema.EventID {
	key, ok := s.offered[id]
	if !ok {
		return nil
	}
	delete(s.offered, id)
	return s.next(key)
}

// release gives a slot back and returns what next returns.
func (s *slots) release(key string) []schema.EventID {
	if s.inUse[key]--; s.inUse[key] == 0 {
		delete(s.inUse, key)
	}
	return s.next(key)
}

// next removes and returns the delivery that waited longest for a slot, if there is one and a slot
// is free.
func (s *slots) next(key string) []schema.EventID {
	queue := s.parked[key]
	if len(queue) == 0 || s.isFull(key) {
		return nil
	}
	if len(queue) == 1 {
		delete(s.parked, key)
	} else {
		s.parked[key] = queue[1:]
	}
	s.offered[queue[0]] = key
	return queue[:1:1]
}
