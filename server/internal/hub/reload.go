package hub

import (
	"context"
	"maps"
	"reflect"
	"sync"

	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

// followedState is this hub's last report of the state that other hubs change.
type followedState struct {
	mu       sync.Mutex
	freezes  []control.Freeze
	messages map[store.SessionKey]int64
}

// Reload reads the rules again after another hub has changed something, and reports other changes to pages
// and waiting hooks. The other hub has written all rows. See reload.Reloader.
func (h *Hub) Reload(ctx context.Context) error {
	h.reportFollowed()
	known := h.newestRule.Load()
	if err := h.loadRules(ctx); err != nil {
		return err
	}
	if h.newestRule.Load() > known { // this hub may have stored questions that the rule should have answered
		h.Feed.PublishFact(feed.Fact{Kinds: feed.Rules})
	}
	return nil
}

// reportFollowed reports changes of the freezes and messages. Rows of other hubs can take messages.
func (h *Hub) reportFollowed() {
	f := &h.followed
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := h.Store.ActiveFreezes(); len(now)+len(f.freezes) > 0 && !reflect.DeepEqual(now, f.freezes) {
		f.freezes = now
		h.repeatFreezes()
		h.frozen.drop(h.Store)
		h.Feed.PublishFact(feed.Fact{Kinds: feed.Frozen})
	}
	before, sessions := f.messages, map[store.SessionKey]int64{}
	f.messages = h.Store.OpenMessages()
	maps.Copy(sessions, before)
	maps.Copy(sessions, f.messages)
	for key := range sessions {
		if before[key] != f.messages[key] {
			h.messagesChanged(key)
		}
	}
}
