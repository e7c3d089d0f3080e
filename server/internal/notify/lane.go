package notify

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// atOnce is how many messages go by one channel at a time.
	atOnce = 4
	// batch is how many a lane reads at a time.
	batch = 16
	// nap is the longest that a lane sleeps.
	nap = 30 * time.Second
	// busy is how long a notice waits for one to the same person that is under way.
	busy = time.Second
)

// lane sends by one channel. Each has goroutines of its own, so that a channel that
// does not answer keeps nobody else waiting.
type lane struct {
	notifier *Notifier
	channel  int64
	news     chan struct{}
	stop     context.CancelFunc
	stuck    atomic.Int64 // calls of a library that did not return in time and still run

	mu     sync.Mutex
	failed int       // in a row
	paused time.Time // left alone until then
	last   time.Duration
}

// lane returns the lane of a channel, and starts it where it does not run.
func (n *Notifier) lane(channel int64) *lane {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l := n.lanes[channel]; l != nil {
		return l
	}
	l := &lane{notifier: n, channel: channel, news: make(chan struct{}, 1), stop: func() {}}
	if n.running == nil {
		return l // Run starts it, and what is due is found then
	}
	n.lanes[channel] = l
	var ctx context.Context
	ctx, l.stop = context.WithCancel(n.running)
	n.group.Go(func() { l.run(ctx) })
	return l
}

// close ends the lane of a channel that is gone.
func (n *Notifier) close(channel int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l := n.lanes[channel]; l != nil {
		l.stop()
		delete(n.lanes, channel)
	}
}

func (l *lane) wake() {
	select {
	case l.news <- struct{}{}:
	default:
	}
}

// run sends what is due until ctx ends.
func (l *lane) run(ctx context.Context) {
	n := l.notifier
	for ctx.Err() == nil {
		now := n.Clock()
		wait := l.pausedUntil().Sub(now)
		if wait <= 0 {
			due, next, err := n.Store.DueNotifications(ctx, l.channel, now, l.room())
			switch {
			case err != nil:
				if ctx.Err() == nil {
					n.Log.Error("reading what a channel is to send", "channel", l.channel, "err", err)
				}
				wait = time.Second
			case len(due) > 0:
				if l.sendAll(ctx, due) {
					continue
				}
				wait = time.Second // the database does not take it
			case next.IsZero():
				wait = nap
			default:
				wait = next.Sub(now)
			}
		}
		if !sleep(ctx, min(max(wait, time.Millisecond), nap), l.news) {
			return
		}
	}
}

// room is how many notices to take: after failures one, to see whether the channel is
// back.
func (l *lane) room() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed >= l.notifier.pace.trip {
		return 1
	}
	return batch
}

func (l *lane) pausedUntil() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.paused
}

// sendAll sends some notices, a few at a time; false when what became of them could
// not be stored.
func (l *lane) sendAll(ctx context.Context, due []store.Notification) bool {
	way, err := l.notifier.open(ctx, l.channel)
	if err != nil {
		l.notifier.Log.Error("opening a channel", "channel", l.channel, "err", err)
		return false
	}
	var stored atomic.Bool
	stored.Store(true)
	slots := make(chan struct{}, atOnce)
	var group sync.WaitGroup
	for i := range due {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if !l.pausedUntil().IsZero() && l.pausedUntil().After(l.notifier.Clock()) {
				return // the channel was given up meanwhile
			}
			if err := l.one(ctx, way, &due[i]); err != nil {
				stored.Store(false)
				if ctx.Err() == nil {
					l.notifier.Log.Error("storing what became of a message", "channel", l.channel, "err", err)
				}
			}
		})
	}
	group.Wait()
	return stored.Load()
}

// one judges and sends one notice. Its error is the database's.
func (l *lane) one(ctx context.Context, way *way, notice *store.Notification) error {
	n := l.notifier
	q, err := n.read(ctx, notice.Question)
	if err != nil {
		if errors.Is(err, schema.ErrNotFound) {
			return nil // and the notice with it
		}
		return err
	}
	verdict, err := n.judge(ctx, notice, q)
	if err != nil {
		return err
	}
	if verdict.why != "" {
		return l.finish(ctx, notice, schema.NotificationSuppressed, verdict.why)
	}
	// The lease ends well after the message's own time, so that nobody sends it twice.
	claim, err := n.Store.ClaimNotification(ctx, notice, n.Clock().Add(3*n.pace.timeout), verdict.since)
	switch {
	case err != nil || claim == store.ClaimLost:
		return err
	case claim == store.ClaimCooldown:
		return l.finish(ctx, notice, schema.NotificationSuppressed, schema.SuppressedCooldown)
	case claim == store.ClaimInFlight:
		notice.Due = n.Clock().Add(busy)
		return n.Store.SetNotification(ctx, notice)
	}
	m, err := n.message(ctx, notice, q)
	if err == nil && way.apart {
		m.link, m.linkEnds, err = n.link(q, notice.Person)
	}
	if err != nil {
		return err
	}
	notice.Attempts++
	err = l.try(ctx, way, m)
	if ctx.Err() != nil {
		return ctx.Err() // the hub stops: it is sent again when it is back
	}
	l.note(err)
	if err == nil {
		return l.finish(ctx, notice, schema.NotificationSent, "")
	}
	notice.Error = way.scrub(err)
	if next, again := l.again(notice, q, err); again {
		notice.Due = next
		n.shown.touch(notice.Question)
		return n.Store.SetNotification(ctx, notice)
	}
	return l.finish(ctx, notice, schema.NotificationFailed, "")
}

func (l *lane) finish(ctx context.Context, notice *store.Notification, state, why string) error {
	notice.State, notice.Why = state, why
	if state == schema.NotificationSent {
		notice.Error = ""
	}
	// What has left is noted even while the hub stops.
	err := l.notifier.Store.SetNotification(context.WithoutCancel(ctx), notice)
	l.notifier.shown.touch(notice.Question)
	return err
}

// again is when a message that failed is tried again, if it is.
func (l *lane) again(notice *store.Notification, q *question, err error) (time.Time, bool) {
	p := &l.notifier.pace
	var final finalError
	if errors.As(err, &final) || notice.Attempts > len(p.retries) {
		return time.Time{}, false
	}
	now := l.notifier.Clock()
	next := now.Add(p.retries[notice.Attempts-1])
	if !q.Deadline.IsZero() && next.After(q.Deadline) || next.After(notice.MadeAt.Add(p.giveUp)) {
		return time.Time{}, false
	}
	return next, true
}

// errSilent is the failure of a channel that does not answer.
var errSilent = errors.New("the other side did not answer in time")

// try sends a message and waits no longer than its time, whatever a library does.
func (l *lane) try(ctx context.Context, way *way, m *message) error {
	if l.stuck.Load() >= atOnce {
		return errSilent // its goroutines wait already
	}
	ctx, cancel := context.WithTimeout(ctx, l.notifier.pace.timeout)
	defer cancel()
	done := make(chan error, 1)
	l.stuck.Add(1)
	go func() {
		defer l.stuck.Add(-1)
		done <- way.send(ctx, m)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return errSilent
	}
}

// note counts failures: after some in a row the channel is left alone for a while,
// and longer each time. A message that nobody would take says nothing of the channel.
func (l *lane) note(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var final finalError
	if err == nil || errors.As(err, &final) {
		l.failed, l.last, l.paused = 0, 0, time.Time{}
		return
	}
	l.failed++
	p := &l.notifier.pace
	if l.failed < p.trip || l.notifier.Clock().Before(l.paused) {
		return
	}
	l.last = min(max(2*l.last, p.pause), p.longest)
	l.paused = l.notifier.Clock().Add(l.last)
}

// finalError is a failure that trying again does not help.
type finalError struct{ error }

func (f finalError) Unwrap() error { return f.error }
