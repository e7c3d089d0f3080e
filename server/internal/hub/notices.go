package hub

import (
	"context"
	"reflect"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// ShowNotices puts on the card of a question who was told of it, settled or not. What
// is there already changes nothing.
func (h *Hub) ShowNotices(ctx context.Context, id schema.EventID, notices []schema.Notice, counts *schema.NoticeCounts) error {
	_, err := h.transition(ctx, id, func(a *asking) (*store.Change, error) {
		st := a.status
		if reflect.DeepEqual(st.Notices, notices) && reflect.DeepEqual(st.NoticeCounts, counts) {
			return nil, nil
		}
		st.Notices, st.NoticeCounts = notices, counts
		return a.change(st)
	})
	return err
}
