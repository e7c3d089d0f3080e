package notify

import (
	"context"

	"github.com/hookback/hookback/schema"
)

// Reachable returns how many notifications of a new question to everyone would be sent now: those
// of people without quiet hours, through channels that are not paused. See hub.Reach.
func (n *Notifier) Reachable(ctx context.Context) (count int) {
	r, err := n.loadRecipients(ctx)
	if err != nil {
		n.Log.Error("notification channels not read; a request is treated as if there were none", "err", err)
		return 0
	}
	paused := map[int64]bool{}
	for _, c := range r.channels {
		paused[c.ID] = n.PublicChannel(&c).Paused > 0
	}
	for _, notification := range r.notifications("", 0, r.forQuestion(&question{})) {
		settings, err := n.Store.NotificationSettings(ctx, notification.Person)
		if err == nil && notification.State == schema.NotificationQueued && !paused[notification.Channel] && !inQuietHours(&settings, n.Clock()) {
			count++
		}
	}
	return count
}
