// Package callback brings answers to agents: it dials the WebSocket listener that
// an agent named in its question, hands over the answer and finds out whether it
// arrived.
//
// Every answer has a row in the store, written together with the verdict, so a
// crash loses none. One attempt (attempt.go) reads that row, dials (wire.go) and
// says what came of it; the loop here decides when the next attempt is due, which
// is on disk too. What may be dialled at all is in targets.go. While a question is
// pending, watch.go finds out whether its agent is still there.
//
// A version 2 listener acknowledges the answer by its id and drops repeats, so it
// is told again until it does. A version 1 listener can do neither: from the moment
// before the first byte goes out the row says so, and nothing is ever sent to it
// again, not even after a crash.
package delivery

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// Config is what a Dispatcher is made of. Store and Targets are required.
type Config struct {
	Store      *store.Store
	DialPolicy *DialPolicy
	// AwaitResponseSent returns when the POST of the question has been answered; an
	// agent may not be dialled before. An error (only ctx's) puts the attempt off;
	// with a ctx that has ended it says whether the wait is over.
	AwaitResponseSent func(ctx context.Context, id schema.EventID) error

	Clock   func() time.Time // default time.Now
	Log     *slog.Logger     // default: discard
	Workers int              // attempts at a time; default 64
	// Abandon ends a question with a lifeline whose agent is gone from that address;
	// it is asked again when it fails. Lifelines needs it.
	Abandon func(ctx context.Context, id schema.EventID, url string) error
	// ProbeInterval is how often Watch looks for agents that are gone; default 5 s.
	ProbeInterval time.Duration
}

const (
	defaultWorkers = 64
	// perListener bounds the attempts at a time on one host and port: a listener
	// that hangs must not take every worker.
	perListener = 4
	// leaseDuration is longer than any attempt takes.
	leaseDuration = 30 * time.Second
	// maxPollInterval bounds the time until the store is asked for due deliveries again.
	maxPollInterval = 10 * time.Second
)

// timeouts bounds the steps of an attempt.
type timeouts struct {
	dial  time.Duration // connection and handshake
	write time.Duration
	idle  time.Duration // a version 1 listener's, before we close
	ack   time.Duration // a version 2 listener's
	close time.Duration // our own close handshake
}

var defaultTimeouts = timeouts{dial: 2 * time.Second, write: 5 * time.Second, idle: time.Second, ack: 5 * time.Second, close: time.Second}

// Dispatcher delivers answers. Make it with New, then Run it.
type Dispatcher struct {
	Config
	timeouts      timeouts
	jitter        func() float64 // 0.8 to 1.2
	after         func(time.Duration) <-chan time.Time
	livenessLimit int // lifelines at a time

	livenessWake chan struct{} // there may be a new question with a lifeline; never closed
	pollWake     chan struct{} // something may be due, or there is room for more; never closed

	mu       sync.Mutex
	ctx      context.Context             //nolint:containedctx // of Run: nil before, ended after
	queue    []schema.EventID            // to be tried, the oldest first
	jobs     map[schema.EventID]jobState // what is in our hands
	running  int                         // goroutines of work
	starved  bool                        // more may be due than there was room for
	inFlight map[string]int              // :: listener → attempts under way
	parked   map[string][]schema.EventID // :: listener → waits for one of them to end
	refusals map[schema.EventID]refusalCount
	controls controlQueue
	workers  sync.WaitGroup
}

// jobState is where a delivery is that was dispatched.
type jobState int

const (
	jobQueued jobState = iota // in the queue, or parked
	jobRunning
	jobRequeued // it fell due once more while the last attempt was being wound up
)

// refusalCount counts how often one address refused one answer.
type refusalCount struct {
	url   string
	count int
}

// New makes a Dispatcher. It does nothing before Run.
func New(cfg Config) *Dispatcher {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Workers <= 0 {
		cfg.Workers = defaultWorkers
	}
	if cfg.ProbeInterval <= 0 {
		cfg.ProbeInterval = defaultProbeInterval
	}
	if cfg.AwaitResponseSent == nil {
		cfg.AwaitResponseSent = func(context.Context, schema.EventID) error { return nil }
	}
	return &Dispatcher{
		Config:        cfg,
		timeouts:      defaultTimeouts,
		jitter:        func() float64 { return 0.8 + 0.4*rand.Float64() }, //nolint:gosec // spreads retries
		after:         time.After,
		livenessLimit: maxLivenessConns,
		livenessWake:  make(chan struct{}, 1),
		pollWake:      make(chan struct{}, 1),
		jobs:          map[schema.EventID]jobState{},
		inFlight:      map[string]int{},
		parked:        map[string][]schema.EventID{},
		refusals:      map[schema.EventID]refusalCount{},
	}
}

// Dispatch has a delivery tried now that is due: one that was just committed, or
// whose agent named a new address. It does not block, and one that is being tried
// already is not tried twice.
func (d *Dispatcher) Dispatch(id schema.EventID) {
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

// startWorkersLocked starts workers for what is queued.
func (d *Dispatcher) startWorkersLocked() {
	for d.ctx != nil && d.ctx.Err() == nil && d.running < d.Workers && len(d.queue) > 0 {
		id := d.queue[0]
		d.queue = d.queue[1:]
		d.jobs[id] = jobRunning
		d.running++
		d.workers.Go(func() { d.runJob(d.ctx, id) })
	}
}

// Run delivers what is due until ctx ends. It returns when every attempt has
// ended; one that was cut off is due again at the next start.
func (d *Dispatcher) Run(ctx context.Context) error {
	d.mu.Lock()
	d.ctx = ctx
	d.startWorkersLocked()
	d.mu.Unlock()
	if err := d.resumeControls(ctx); err != nil && ctx.Err() == nil {
		d.Log.Error("looking for agents that were not told of a new deadline", "err", err)
	}
	var lastErr string
	for ctx.Err() == nil {
		wait, err := d.poll(ctx)
		if text := errorText(ctx, err); text != lastErr {
			lastErr = text
			if lastErr != "" {
				d.Log.Error("looking for answers to deliver; trying again every second", "err", err)
			}
		}
		select {
		case <-ctx.Done():
		case <-d.pollWake:
		case <-d.after(wait):
		}
	}
	d.workers.Wait()
	return ctx.Err()
}

func errorText(ctx context.Context, err error) string {
	if err == nil || ctx.Err() != nil {
		return ""
	}
	return err.Error()
}

// poll leases what is due, as far as there is room for it, and says when to look
// again.
func (d *Dispatcher) poll(ctx context.Context) (wait time.Duration, err error) {
	d.mu.Lock()
	capacity := 4*d.Workers - len(d.queue)
	d.starved = capacity < d.Workers
	d.mu.Unlock()
	if capacity < d.Workers {
		return maxPollInterval, nil // the worker that makes room wakes us
	}
	now := d.Clock()
	due, next, err := d.Store.LeaseDeliveries(ctx, now, now.Add(leaseDuration), capacity)
	if err != nil {
		return time.Second, err
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

func (d *Dispatcher) wakePoll() {
	select {
	case d.pollWake <- struct{}{}:
	default:
	}
}

// runJob tries one delivery.
func (d *Dispatcher) runJob(ctx context.Context, id schema.EventID) {
	isParked := false
	if err := d.runAttempt(ctx, id, &isParked); err != nil && ctx.Err() == nil && !errors.Is(err, schema.ErrStopping) {
		d.Log.Error("delivering an answer; it stays due", "event", id, "err", err)
	}
	d.mu.Lock()
	d.running--
	switch state := d.jobs[id]; {
	case isParked: // whoever makes room for it may be working on it already
	case state == jobRequeued:
		d.jobs[id] = jobQueued
		d.queue = append(d.queue, id)
	default:
		delete(d.jobs, id)
	}
	d.startWorkersLocked()
	if d.starved && len(d.queue) < d.Workers {
		d.starved = false
		d.wakePoll()
	}
	d.mu.Unlock()
}

// acquireSlot takes a place at a listener. Where there is none the delivery is parked
// until an attempt there ends.
func (d *Dispatcher) acquireSlot(listener string, id schema.EventID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inFlight[listener] >= perListener {
		d.parked[listener] = append(d.parked[listener], id)
		d.jobs[id] = jobQueued
		return false
	}
	d.inFlight[listener]++
	return true
}

func (d *Dispatcher) releaseSlot(listener string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inFlight[listener]--; d.inFlight[listener] == 0 {
		delete(d.inFlight, listener)
	}
	queue := d.parked[listener]
	if len(queue) == 0 {
		return
	}
	d.queue = append([]schema.EventID{queue[0]}, d.queue...)
	if len(queue) == 1 {
		delete(d.parked, listener)
	} else {
		d.parked[listener] = queue[1:]
	}
}

// countRefusal counts a refusal of id by url.
func (d *Dispatcher) countRefusal(id schema.EventID, url string) (count int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.refusals[id]
	if r.url != url {
		r = refusalCount{url: url}
	}
	r.count++
	d.refusals[id] = r
	return r.count
}

func (d *Dispatcher) clearRefusals(id schema.EventID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.refusals, id)
}
