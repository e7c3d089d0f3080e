package hub

import (
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/store"
)

// publish encodes committed rows once and adds them to the feed, the fan-out to all
// streams. It runs on the store's writer goroutine before the posters get their
// results, so the feed has the order of the commits.
func (h *Hub) publish(rows []store.LogRow) {
	h.notifyRows(rows)
	h.Feed.Publish(query.EncodeFrames(rows)...)
}
