package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"syscall"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	defaultProbeInterval = 5 * time.Second
	// listenerBatchSize bounds the questions of one round; the next rounds continue after them.
	listenerBatchSize   = 256
	maxConcurrentProbes = 8
)

// RunProber probes the listeners of pending questions until ctx ends, so that people see that an
// agent is gone before they answer it. At the start and then every ProbeInterval it connects to
// listeners and closes the connection immediately. A listener that refuses twice in a row counts
// as lost until it accepts again. Its question stays open, because the agent may be restarting.
// RunLiveness handles the agents that declared that they won't come back.
//
// Only version 2 listeners are probed. Some version 1 listeners print an error for a connection
// without a handshake.
func (d *Dispatcher) RunProber(ctx context.Context) error { return newProber(d).run(ctx) }

// prober probes the listeners of pending questions, in the order of the question ids. A pass
// over all of them takes one or more rounds.
type prober struct {
	*Dispatcher
	batchSize        int
	startTimer       func(time.Duration) <-chan time.Time
	hasListeners     bool                      // the last round had a question to probe
	lastID           schema.EventID            // last question that was probed in this pass
	previousRefusals map[schema.EventID]target // question → target that refused in the previous pass

	mu              sync.Mutex
	currentRefusals map[schema.EventID]target // question → target that refused in this pass
	roundErr        error                     // errors of the current round
}

func newProber(d *Dispatcher) *prober {
	return &prober{Dispatcher: d, batchSize: listenerBatchSize, startTimer: time.After, currentRefusals: map[schema.EventID]target{}}
}

// run probes until ctx ends. Without a question to probe it waits for the next one.
func (p *prober) run(ctx context.Context) error {
	var lastErr string
	next := p.startTimer(0) // nil: there was nothing to probe
	return p.Feed.Follow(ctx, feed.NewQuestion|feed.Changed, func(b *feed.Batch) error {
		isNeeded := true
		if b.Fired {
			err := p.probeRound(ctx)
			if text := errorText(ctx, err); text != lastErr {
				lastErr = text
				if lastErr != "" {
					p.Log.Error("probe round failed", "retry_in", p.ProbeInterval, "err", err)
				}
			}
			next, isNeeded = nil, p.hasListeners || p.lastID > 0 || err != nil
		}
		if next == nil && isNeeded {
			next = p.startTimer(p.ProbeInterval)
		}
		b.Timer = next
		return nil
	})
}

// probeRound probes the listeners of the next batch of questions, each listener once.
func (p *prober) probeRound(ctx context.Context) error {
	listeners, err := p.Store.Listeners(ctx, p.lastID, p.batchSize)
	if err != nil {
		return err
	}
	p.roundErr, p.hasListeners = nil, len(listeners) > 0
	var probes sync.WaitGroup
	slots := make(chan struct{}, maxConcurrentProbes) // a semaphore
	for to, listeners := range p.groupByTarget(ctx, listeners) {
		slots <- struct{}{}
		probes.Go(func() {
			p.probeListener(ctx, to, listeners)
			<-slots
		})
	}
	probes.Wait()
	if len(listeners) == p.batchSize {
		p.lastID = listeners[len(listeners)-1].ID
	} else {
		p.lastID, p.previousRefusals, p.currentRefusals = 0, p.currentRefusals, map[schema.EventID]target{}
	}
	return p.roundErr
}

// groupByTarget groups the questions by their listener. It leaves out questions that may not
// be dialed at all, or not yet, and questions of other hubs.
func (p *prober) groupByTarget(ctx context.Context, listeners []store.Listener) map[target][]store.Listener {
	canceled, cancel := context.WithCancel(ctx)
	cancel() // makes AwaitResponseSent a non-blocking check
	targets := map[target][]store.Listener{}
	duty := dutyOf(p.Store)
	for _, q := range listeners {
		if !duty.includes(q.Place) {
			continue
		}
		if !duty.reaches(q.Place) { // the hub that could tell is gone
			p.roundErr = errors.Join(p.roundErr, p.recordWaiter(ctx, q, schema.Unknown))
			continue
		}
		to, err := p.DialPolicy.checkURL(q.URL)
		if err == nil && p.Hub.AwaitResponseSent(canceled, q.ID) == nil {
			targets[to] = append(targets[to], q)
		}
	}
	return targets
}

// probeListener probes a listener and records the result for its questions.
func (p *prober) probeListener(ctx context.Context, to target, listeners []store.Listener) {
	waiter := p.probe(ctx, to)
	for _, q := range listeners {
		if waiter == schema.Unknown || ctx.Err() != nil {
			return
		}
		if waiter == schema.Lost && !p.refusedTwice(q.ID, to) {
			continue
		}
		if err := p.recordWaiter(ctx, q, waiter); err != nil {
			p.mu.Lock()
			p.roundErr = errors.Join(p.roundErr, err)
			p.mu.Unlock()
			return // the other writes would fail too; the next round tries again
		}
	}
}

// refusedTwice records that the question's listener refused, and reports whether it also did so
// in the previous pass.
func (p *prober) refusedTwice(id schema.EventID, to target) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.currentRefusals[id] = to
	return p.previousRefusals[id] == to
}

// probe connects to the target. It returns Listening, Lost for a refused connection, or Unknown:
// a host that does not answer may be slow.
func (p *prober) probe(ctx context.Context, to target) schema.Waiter {
	ctx, cancel := context.WithTimeout(ctx, p.timeouts.probe)
	defer cancel()
	conn, err := p.DialPolicy.connect(ctx, to)
	switch {
	case err == nil:
		_ = conn.Close()
		return schema.Listening
	case errors.Is(err, syscall.ECONNREFUSED):
		return schema.Lost
	default:
		return schema.Unknown
	}
}

// recordWaiter stores the liveness of the agent, if it changed. If a concurrent change wins, the
// next round stores the rest.
func (p *prober) recordWaiter(ctx context.Context, listener store.Listener, waiter schema.Waiter) error {
	var status schema.Status
	if err := json.Unmarshal(listener.Status, &status); err != nil || status.Waiter == waiter {
		return err
	}
	q, err := p.Store.Question(ctx, listener.ID)
	if err != nil {
		return err
	}
	if q.State != schema.Pending || q.URL != listener.URL {
		return nil
	}
	_, err = p.updateStatus(ctx, q, nil, func(st *schema.Status) { st.Waiter = waiter })
	if errors.Is(err, store.ErrConflict) {
		return nil
	}
	if err == nil {
		p.Log.Debug("agent liveness changed", "event", q.ID, "waiter", waiter)
	}
	return err
}
