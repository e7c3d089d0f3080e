package hub

import (
	"context"
	"encoding/json"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
)

// recentSessions is the number of sessions that Freezes reads.
const recentSessions = 200

// openCallLimit is the age beyond which a call counts as abandoned.
const openCallLimit = schema.Millis(60 * 60 * 1000)

// Freezes returns the active freezes, and the state of their agents.
func (h *Hub) Freezes(ctx context.Context) (control.FreezeList, error) {
	list := control.FreezeList{Freezes: append([]control.Freeze{}, h.Store.ActiveFreezes()...)}
	if len(list.Freezes) == 0 {
		return list, nil
	}
	known := map[store.SessionKey]bool{}
	h.frozen.mu.Lock()
	for key, state := range h.frozen.states {
		known[key] = true
		if state == sessionUncontrolled {
			list.Uncontrolled++
		} else {
			list.Stopped++
		}
	}
	for _, calls := range h.frozen.unchecked {
		list.Unchecked += calls
	}
	h.frozen.mu.Unlock()
	sessions, _, err := h.Store.Sessions(ctx, store.SessionFilter{Limit: recentSessions})
	if err != nil {
		return list, err
	}
	for _, raw := range sessions {
		var s struct {
			Sum struct {
				App     string        `json:"source_app"`
				Session string        `json:"session_id"`
				Ended   bool          `json:"ended"`
				LastAt  schema.Millis `json:"lastAt"`
			} `json:"sum"`
			Open []json.RawMessage `json:"open"`
		}
		if json.Unmarshal(raw, &s) != nil || s.Sum.Ended || len(s.Open) == 0 || s.Sum.LastAt < h.nowMillis()-openCallLimit {
			continue
		}
		key := store.SessionKey{App: s.Sum.App, Session: s.Sum.Session}
		if !known[key] && h.Store.FreezeOf(key.App, key.Session) != nil {
			list.Finishing++
		}
	}
	return list, nil
}
