package hub

import (
	"context"
	"fmt"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/digest"
	"github.com/hookback/hookback/server/internal/store"
)

// contextEvents is how many events of a session are shown before its question, of so many
// that are looked at: telemetry says nothing of what led to it.
const (
	contextEvents     = 8
	contextCandidates = 40
)

// Context is what led to a question, as schema.Led: the session's last events before
// it, and how the same call ended before.
func (h *Hub) Context(ctx context.Context, id schema.EventID) ([]byte, error) {
	q, err := h.Store.Question(ctx, id)
	if err != nil {
		return nil, err
	}
	before, err := h.Store.Find(ctx, store.Filter{App: q.App, Session: q.Session, Before: id, Limit: contextCandidates})
	if err != nil {
		return nil, err
	}
	before = slices.DeleteFunc(before, func(e *store.Event) bool { return digest.Telemetry(e.Type) })
	before = before[max(0, len(before)-contextEvents):]
	earlier, err := h.Store.EarlierOutcomes(ctx, id)
	if err != nil {
		return nil, err
	}
	var last *store.Event
	if len(earlier) > 0 {
		if last, _, err = h.Store.Event(ctx, earlier[0].ID); err != nil {
			return nil, err
		}
	}
	return appendContext(before, earlier, last), nil
}

func appendContext(before []*store.Event, earlier []store.EarlierOutcome, last *store.Event) []byte {
	var count schema.EarlierOutcomes
	for _, e := range earlier {
		switch e.Outcome {
		case schema.Approve:
			count.Approved++
		case schema.Deny:
			count.Denied++
		default:
			count.Other++
		}
	}
	b := append([]byte(`{"before":`), encodeList(before, nil, true)...)
	b = append(b, `,"earlier":`...)
	b = fmt.Appendf(b, `{"approved":%d,"denied":%d,"other":%d`, count.Approved, count.Denied, count.Other)
	if last != nil {
		b = last.AppendJSON(append(b, `,"last":`...), schema.MaxListed)
	}
	return append(b, `}}`...)
}
