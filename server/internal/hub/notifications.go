package hub

import (
	"context"
	"reflect"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// SetNotifications stores in the status of a question, settled or not, who was notified
// of it. Unchanged values cause no commit.
func (h *Hub) SetNotifications(ctx context.Context, id schema.EventID, notices []schema.Notification, counts *schema.NotificationCounts) error {
	_, err := h.transition(ctx, id, func(s *snapshot) (*store.Change, error) {
		st := s.status
		if reflect.DeepEqual(st.Notifications, notices) && reflect.DeepEqual(st.NotificationCounts, counts) {
			return nil, nil
		}
		st.Notifications, st.NotificationCounts = notices, counts
		return s.change(st)
	})
	return err
}
