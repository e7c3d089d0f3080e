package hub

import (
	"context"
	"strconv"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// searchWithin is how long one search may look, so that a page can say how far it
// has come and a person can change their mind.
const searchWithin = 40 * time.Millisecond

// Search is a schema.SearchResult in JSON: what matches q in a part of the log
// that is looked through in good time, within pageBudget.
func (h *Hub) Search(ctx context.Context, q store.Search) ([]byte, error) {
	q.Bytes, q.Within = pageBudget, searchWithin
	found, err := h.Store.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	b := []byte(`{"events":[`)
	for i, e := range found.Events {
		if i > 0 {
			b = append(b, ',')
		}
		b = e.AppendJSON(b, schema.MaxListed)
	}
	b = append(b, `],"searchedTo":`...)
	b = strconv.AppendInt(b, int64(found.SearchedTo), 10)
	b = append(b, `,"complete":`...)
	return append(strconv.AppendBool(b, found.Complete), '}'), nil
}
