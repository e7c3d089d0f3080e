package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"syscall"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	defaultProbeInterval = 5 * time.Second
	// listenerBatchSize bounds the questions of one round; the others have their
	// turn in the next ones.
	listenerBatchSize   = 256
	maxConcurrentProbes = 8
	probeTimeout        = time.Second
)

// Watch finds out which agents are gone before anyone answers them, until ctx
// ends. Every ProbeInterval it connects to the listeners of pending questions and
// hangs up at once. One that refuses twice in a row counts as lost, until it
// accepts again: the agent may be starting anew, so its question stays open. Those
// that said they won't are Lifelines' matter.
//
// Only version 2 listeners are looked at. To some of version 1 a connection
// without a handshake is an error, which they print.
func (d *Dispatcher) Watch(ctx context.Context) error {
	ticker := time.NewTicker(d.ProbeInterval)
	defer ticker.Stop()
	return newProber(d).run(ctx, ticker.C)
}

// prober looks at the pending questions in the order of their ids, a round at a
// time, and begins again after the last: a pass.
type prober struct {
	*Dispatcher
	batchSize        int
	lastID           schema.EventID            // the last question of the pass that was looked at
	previousRefusals map[schema.EventID]target // :: question → what refused in the pass before

	mu              sync.Mutex
	currentRefusals map[schema.EventID]target // the same of this pass
	roundErr        error                     // the first of this round
}

func newProber(d *Dispatcher) *prober {
	return &prober{Dispatcher: d, batchSize: listenerBatchSize, currentRefusals: map[schema.EventID]target{}}
}

func (p *prober) run(ctx context.Context, ticks <-chan time.Time) error {
	var lastErr string
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks:
		}
		err := p.probeRound(ctx)
		if text := errorText(ctx, err); text != lastErr {
			lastErr = text
			if lastErr != "" {
				p.Log.Error("looking for agents that are gone; trying again", "in", p.ProbeInterval, "err", err)
			}
		}
	}
}

// probeRound looks at the next questions of the pass, each listener once.
func (p *prober) probeRound(ctx context.Context) error {
	listeners, err := p.Store.Listeners(ctx, p.lastID, p.batchSize)
	if err != nil {
		return err
	}
	p.roundErr = nil
	var probes sync.WaitGroup
	slots := make(chan struct{}, maxConcurrentProbes)
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

// groupByTarget leaves out what may not be dialled: at all, or not yet.
func (p *prober) groupByTarget(ctx context.Context, listeners []store.Listener) map[target][]store.Listener {
	canceled, cancel := context.WithCancel(ctx)
	cancel() // AwaitResponseSent is asked, not waited for
	targets := map[target][]store.Listener{}
	for _, q := range listeners {
		to, err := p.DialPolicy.parse(q.URL)
		if err == nil && p.AwaitResponseSent(canceled, q.ID) == nil {
			targets[to] = append(targets[to], q)
		}
	}
	return targets
}

// probeListener probes a listener and says of its questions what came of it.
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
			return // the others would fail like it, and have their turn again
		}
	}
}

// refusedTwice notes that the question's listener refused, and reports whether it did so
// the last time, too.
func (p *prober) refusedTwice(id schema.EventID, to target) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.currentRefusals[id] = to
	return p.previousRefusals[id] == to
}

// probe is listening, lost for a connection that was refused, or unknown: a host
// that does not answer may be a slow one.
func (p *prober) probe(ctx context.Context, to target) schema.Waiter {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
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

// recordWaiter writes down what is known of the agent, if that is news. Where somebody
// else is faster the next round sees what is left to say.
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
		p.Log.Debug("whether an agent waits has changed", "event", q.ID, "waiter", waiter)
	}
	return err
}
