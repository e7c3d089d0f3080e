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
	defaultWatchEvery = 5 * time.Second
	// watchedPerRound bounds the questions of one round; the others have their
	// turn in the next ones.
	watchedPerRound = 256
	watchedAtATime  = 8
	probeWithin     = time.Second
)

// Watch finds out which agents are gone before anyone answers them, until ctx
// ends. Every WatchEvery it connects to the listeners of pending questions and
// hangs up at once. One that refuses twice in a row counts as lost, until it
// accepts again: the agent may be starting anew, so its question stays open. Those
// that said they won't are Lifelines' matter.
//
// Only version 2 listeners are looked at. To some of version 1 a connection
// without a handshake is an error, which they print.
func (d *Dispatcher) Watch(ctx context.Context) error {
	ticker := time.NewTicker(d.WatchEvery)
	defer ticker.Stop()
	return newWatcher(d).run(ctx, ticker.C)
}

// watcher looks at the pending questions in the order of their ids, a round at a
// time, and begins again after the last: a pass.
type watcher struct {
	*Dispatcher
	perRound int
	last     schema.EventID            // the last question of the pass that was looked at
	refused  map[schema.EventID]target // :: question → what refused in the pass before

	mu       sync.Mutex
	refusing map[schema.EventID]target // the same of this pass
	failed   error                     // the first of this round
}

func newWatcher(d *Dispatcher) *watcher {
	return &watcher{Dispatcher: d, perRound: watchedPerRound, refusing: map[schema.EventID]target{}}
}

func (w *watcher) run(ctx context.Context, ticks <-chan time.Time) error {
	var failed string
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks:
		}
		err := w.round(ctx)
		if text := errorText(ctx, err); text != failed {
			failed = text
			if failed != "" {
				w.Log.Error("looking for agents that are gone; trying again", "in", w.WatchEvery, "err", err)
			}
		}
	}
}

// round looks at the next questions of the pass, each listener once.
func (w *watcher) round(ctx context.Context) error {
	questions, err := w.Store.Listeners(ctx, w.last, w.perRound)
	if err != nil {
		return err
	}
	w.failed = nil
	var probes sync.WaitGroup
	room := make(chan struct{}, watchedAtATime)
	for to, asked := range w.byTarget(ctx, questions) {
		room <- struct{}{}
		probes.Go(func() {
			w.look(ctx, to, asked)
			<-room
		})
	}
	probes.Wait()
	if len(questions) == w.perRound {
		w.last = questions[len(questions)-1].ID
	} else {
		w.last, w.refused, w.refusing = 0, w.refusing, map[schema.EventID]target{}
	}
	return w.failed
}

// byTarget leaves out what may not be dialled: at all, or not yet.
func (w *watcher) byTarget(ctx context.Context, questions []store.Listener) map[target][]store.Listener {
	ended, end := context.WithCancel(ctx)
	end() // AwaitResponseSent is asked, not waited for
	targets := map[target][]store.Listener{}
	for _, q := range questions {
		to, err := w.DialPolicy.parse(q.URL)
		if err == nil && w.AwaitResponseSent(ended, q.ID) == nil {
			targets[to] = append(targets[to], q)
		}
	}
	return targets
}

// look probes a listener and says of its questions what came of it.
func (w *watcher) look(ctx context.Context, to target, questions []store.Listener) {
	waiter := w.probe(ctx, to)
	for _, q := range questions {
		if waiter == schema.Unknown || ctx.Err() != nil {
			return
		}
		if waiter == schema.Lost && !w.again(q.ID, to) {
			continue
		}
		if err := w.tell(ctx, q, waiter); err != nil {
			w.mu.Lock()
			w.failed = errors.Join(w.failed, err)
			w.mu.Unlock()
			return // the others would fail like it, and have their turn again
		}
	}
}

// again notes that the question's listener refused, and reports whether it did so
// the last time, too.
func (w *watcher) again(id schema.EventID, to target) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refusing[id] = to
	return w.refused[id] == to
}

// probe is listening, lost for a connection that was refused, or unknown: a host
// that does not answer may be a slow one.
func (w *watcher) probe(ctx context.Context, to target) schema.Waiter {
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	conn, err := w.DialPolicy.connect(ctx, to)
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

// tell writes down what is known of the agent, if that is news. Where somebody
// else is faster the next round sees what is left to say.
func (w *watcher) tell(ctx context.Context, seen store.Listener, waiter schema.Waiter) error {
	var shown schema.Status
	if err := json.Unmarshal(seen.Status, &shown); err != nil || shown.Waiter == waiter {
		return err
	}
	q, err := w.Store.Question(ctx, seen.ID)
	if err != nil {
		return err
	}
	if q.State != schema.Pending || q.URL != seen.URL {
		return nil
	}
	_, err = w.change(ctx, q, nil, func(st *schema.Status) { st.Waiter = waiter })
	if errors.Is(err, store.ErrConflict) {
		return nil
	}
	if err == nil {
		w.Log.Debug("whether an agent waits has changed", "event", q.ID, "waiter", waiter)
	}
	return err
}
