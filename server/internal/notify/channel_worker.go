package notify

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/notify/buttons"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// maxConcurrent is the number of messages that a channel sends concurrently.
	maxConcurrent = 4
	// maxBatch is the number of notifications that a worker reads at a time.
	maxBatch = 16
	// maxSleep is the longest sleep of a worker.
	maxSleep = 30 * time.Second
	// inFlightDelay is how long a notification is postponed while another one to the same
	// person is in flight.
	inFlightDelay = time.Second
)

// channelWorker sends the notifications of one channel. Each has its own goroutines, so
// that an unresponsive channel delays no other.
type channelWorker struct {
	*outlet
	statuses       *statusBatcher
	due            feed.Wakeup // a notification may be due
	stop           context.CancelFunc
	announcing     sync.Mutex           // held while an alert is sent
	alerted        map[string]time.Time // time of the last alert by person; guarded by announcing
	abandonedCalls atomic.Int64         // library calls that timed out and have not returned

	mu               sync.Mutex
	failures         int       // consecutive
	breakerOpenUntil time.Time // circuit breaker: nothing is sent before
	lastPause        time.Duration
}

func newChannelWorker(o *outlet, statuses *statusBatcher) *channelWorker {
	return &channelWorker{outlet: o, statuses: statuses, due: feed.NewWakeup(), stop: func() {}, alerted: map[string]time.Time{}}
}

// readers returns the people out of a list who each get a message; "" means all readers of a shared
// channel.
func (w *channelWorker) readers(people []string) []string {
	switch {
	case w.channel.Person != "" && !slices.Contains(people, w.channel.Person):
		return nil
	case w.channel.Person != "":
		return []string{w.channel.Person}
	case w.perPerson:
		return people
	default:
		return []string{""}
	}
}

// run sends due notifications until ctx ends.
func (w *channelWorker) run(ctx context.Context) {
	for ctx.Err() == nil {
		now := w.Clock()
		wait := w.pausedUntil().Sub(now)
		if wait <= 0 {
			due, next, err := w.Store.DueNotifications(ctx, w.channel.ID, now, w.batchSize())
			switch {
			case err != nil:
				if ctx.Err() == nil {
					w.Log.Error("due notifications not read", "channel", w.channel.ID, "err", err)
				}
				wait = time.Second
			case len(due) > 0:
				if w.sendAll(ctx, due) {
					continue
				}
				wait = time.Second // the database rejects writes
			case next.IsZero():
				wait = maxSleep
			default:
				wait = next.Sub(now)
			}
		}
		if !w.due.Wait(ctx, min(max(wait, time.Millisecond), maxSleep)) {
			return
		}
	}
}

// batchSize returns the number of notifications to read: one after the circuit breaker has
// opened (half-open), to probe whether the channel is back.
func (w *channelWorker) batchSize() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failures >= w.timing.breakerThreshold {
		return 1
	}
	return maxBatch
}

func (w *channelWorker) pausedUntil() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.breakerOpenUntil
}

// sendAll sends notifications, at most maxConcurrent at a time (a semaphore). It returns
// false if a result could not be stored.
func (w *channelWorker) sendAll(ctx context.Context, due []store.Notification) bool {
	var stored atomic.Bool
	stored.Store(true)
	slots := make(chan struct{}, maxConcurrent)
	var group sync.WaitGroup
	for i := range due {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if !w.pausedUntil().IsZero() && w.pausedUntil().After(w.Clock()) {
				return // the circuit breaker opened in the meantime
			}
			if err := w.sendOne(ctx, &due[i]); err != nil {
				stored.Store(false)
				if ctx.Err() == nil {
					w.Log.Error("notification result not stored", "channel", w.channel.ID, "err", err)
				}
			}
		})
	}
	group.Wait()
	return stored.Load()
}

// sendOne decides about one notification and sends it. It returns errors of the database
// only.
func (w *channelWorker) sendOne(ctx context.Context, notification *store.Notification) error {
	q, err := w.readQuestion(ctx, notification.Question)
	if err != nil {
		if errors.Is(err, schema.ErrNotFound) {
			return nil // the notification was removed with its question
		}
		return err
	}
	decision, err := w.shouldSend(ctx, notification, q)
	if err != nil {
		return err
	}
	if decision.suppressedBy != "" {
		return w.finish(ctx, notification, schema.NotificationSuppressed, decision.suppressedBy)
	}
	// The lease outlasts the attempt, so that no one else sends the message.
	claim, err := w.Store.ClaimNotification(ctx, notification, w.Clock().Add(3*w.timing.timeout), decision.cooldownStart)
	switch {
	case err != nil || claim == store.ClaimLost:
		return err
	case claim == store.ClaimCooldown:
		return w.finish(ctx, notification, schema.NotificationSuppressed, schema.SuppressedCooldown)
	case claim == store.ClaimInFlight:
		notification.Due = w.Clock().Add(inFlightDelay)
		return w.Store.SetNotification(ctx, notification)
	}
	m := w.message(ctx, notification, q)
	if m.onlyOn == "" && w.maySendLinks(notification.Person) {
		if m.link, m.linkExpires, err = w.signedLink(q, notification.Person); err != nil {
			return err
		}
	}
	notification.Attempts++
	err = w.sendWithTimeout(ctx, m)
	if ctx.Err() != nil {
		return ctx.Err() // the hub stops; the message is sent again after a restart
	}
	w.recordResult(err)
	if err == nil {
		return w.finish(ctx, notification, schema.NotificationSent, "")
	}
	notification.Error = w.redactor.redact(err)
	if next, again := w.retryAt(notification, q, err); again {
		notification.Due = next
		w.outcomes[outcomeRetry].Add(1)
		w.statuses.markChanged(notification.Question)
		return w.Store.SetNotification(ctx, notification)
	}
	return w.finish(ctx, notification, schema.NotificationFailed, "")
}

func (w *channelWorker) finish(ctx context.Context, notification *store.Notification, state, why string) error {
	notification.State, notification.Why = state, why
	if state == schema.NotificationSent {
		notification.Error = ""
	}
	// The result of a message that was sent is stored even while the hub stops.
	err := w.Store.SetNotification(context.WithoutCancel(ctx), notification)
	if err == nil {
		w.outcomes[state].Add(1)
	}
	w.statuses.markChanged(notification.Question)
	return err
}

// retryAt returns when to retry a failed message, and false if it must not be retried.
func (w *channelWorker) retryAt(notification *store.Notification, q *buttons.Question, err error) (time.Time, bool) {
	p := &w.timing
	var permanent permanentError
	if errors.As(err, &permanent) || notification.Attempts > len(p.retries) {
		return time.Time{}, false
	}
	now := w.Clock()
	next := now.Add(p.retries[notification.Attempts-1])
	if !q.Deadline.IsZero() && next.After(q.Deadline) || next.After(notification.CreatedAt.Add(p.maxAge)) {
		return time.Time{}, false
	}
	return next, true
}

// errTimeout reports a channel that does not answer within the timeout.
var errTimeout = errors.New("the other side did not answer in time")

// sendWithTimeout sends a message. It returns after the timeout even if a library ignores
// its context.
func (w *channelWorker) sendWithTimeout(ctx context.Context, m *message) error {
	if w.abandonedCalls.Load() >= maxConcurrent {
		return errTimeout // its abandoned goroutines still wait
	}
	ctx, cancel := context.WithTimeout(ctx, w.timing.timeout)
	defer cancel()
	done := make(chan error, 1)
	w.abandonedCalls.Add(1)
	go func() {
		defer w.abandonedCalls.Add(-1)
		done <- w.deliver(ctx, m)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return errTimeout
	}
}

// recordResult implements the circuit breaker: after breakerThreshold consecutive failures
// the channel pauses, with exponential backoff up to maxBreakerPause. A permanent error
// concerns one message only and counts as a response of the channel.
func (w *channelWorker) recordResult(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var permanent permanentError
	if err == nil || errors.As(err, &permanent) {
		w.failures, w.lastPause, w.breakerOpenUntil = 0, 0, time.Time{}
		return
	}
	w.failures++
	p := &w.timing
	if w.failures < p.breakerThreshold || w.Clock().Before(w.breakerOpenUntil) {
		return
	}
	w.lastPause = min(max(2*w.lastPause, p.breakerPause), p.maxBreakerPause)
	w.breakerOpenUntil = w.Clock().Add(w.lastPause)
}
