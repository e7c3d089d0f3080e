package notify

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

// statusBatcher writes the status of notifications to questions. It combines changes: a
// question is updated at most once per statusInterval, and less often while changes
// continue (debounce with backoff).
type statusBatcher struct {
	*core
	changed feed.Wakeup

	mu      sync.Mutex
	pending map[schema.EventID]*pendingStatus
}

// pendingStatus is a question whose notifications changed recently.
type pendingStatus struct {
	nextAt   time.Time // earliest time of the next update
	interval time.Duration
	dirty    bool
}

func newStatusBatcher(k *core) *statusBatcher {
	return &statusBatcher{core: k, changed: feed.NewWakeup(), pending: map[schema.EventID]*pendingStatus{}}
}

// markChanged schedules an update of a question.
func (b *statusBatcher) markChanged(id schema.EventID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.pending[id]
	if c == nil {
		c = &pendingStatus{interval: b.timing.statusInterval}
		c.nextAt = time.Now().Add(c.interval)
		b.pending[id] = c
	}
	if c.dirty {
		return
	}
	c.dirty = true
	b.changed.Wake()
}

// takeDue returns the questions to update now and the time until the next one is due. It
// drops questions without changes since their last update.
func (b *statusBatcher) takeDue(now time.Time) (ids []schema.EventID, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	wait = maxSleep
	for id, c := range b.pending {
		switch untilNext := c.nextAt.Sub(now); {
		case untilNext > 0:
			wait = min(wait, untilNext)
		case !c.dirty:
			delete(b.pending, id)
		default:
			ids = append(ids, id)
			c.dirty = false
			c.interval = min(2*c.interval, b.timing.maxStatusInterval)
			c.nextAt = now.Add(c.interval)
			wait = min(wait, c.interval)
		}
	}
	return ids, wait
}

func (b *statusBatcher) run(ctx context.Context, h Hub) {
	for ctx.Err() == nil {
		ids, wait := b.takeDue(time.Now())
		for _, id := range ids {
			err := b.publish(ctx, h, id)
			if err != nil && !errors.Is(err, schema.ErrNotFound) && ctx.Err() == nil {
				b.Log.Error("notification status not updated", "question", id, "err", err)
				b.markChanged(id)
			}
		}
		if !b.changed.Wait(ctx, wait) {
			return
		}
	}
}

func (b *statusBatcher) publish(ctx context.Context, h Hub, id schema.EventID) error {
	notifications, err := b.Store.NotificationsOf(ctx, id)
	if err != nil || len(notifications) == 0 {
		return err
	}
	list, counts := summarize(notifications)
	return h.SetNotifications(ctx, id, list, counts)
}

// summarize returns the newest notifications, and counts by state if some are left out.
func summarize(notifications []store.Notification) (list []schema.Notification, counts *schema.NotificationCounts) {
	slices.SortFunc(notifications, func(a, b store.Notification) int { return cmp.Compare(a.ID, b.ID) })
	if len(notifications) > schema.MaxNotifications {
		counts = &schema.NotificationCounts{}
		for i := range notifications {
			switch notifications[i].State {
			case schema.NotificationQueued:
				counts.Queued++
			case schema.NotificationSent:
				counts.Sent++
			case schema.NotificationSuppressed:
				counts.Suppressed++
			case schema.NotificationFailed:
				counts.Failed++
			}
		}
		notifications = notifications[len(notifications)-schema.MaxNotifications:]
	}
	for i := range notifications {
		list = append(list, notifications[i].Notification)
	}
	return list, counts
}
