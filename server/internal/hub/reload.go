package hub

import (
	"context"
	"reflect"

	"github.com/hookback/hookback/server/internal/feed"
)

// Reload reads the rules again after another hub has changed something, and reports to pages and waiting
// hooks what has changed in the freezes and messages. What had to be written, the other hub has written.
// See reload.Reloader.
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

func (h *Hub) reportFollowed() {
	f := &h.followed
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := h.Store.ActiveFreezes(); len(now)+len(f.freezes) > 0 && !reflect.DeepEqual(now, f.freezes) {
		f.freezes = now
		h.frozen.drop(h.Store)
		h.Feed.PublishFact(feed.Fact{Kinds: feed.Frozen})
	}
	before := f.messages
	f.messages = h.Store.OpenMessages()
	for key, n := range f.messages {
		if before[key] != n {
			h.messagesChanged(key)
		}
	}
	for key := range before {
		if f.messages[key] == 0 {
			h.messagesChanged(key)
		}
	}
}
