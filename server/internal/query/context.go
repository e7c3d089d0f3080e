package query

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
)

// A context shows the last contextEvents events before a question. At most
// contextCandidates events are read to find them, because telemetry is skipped: it does
// not explain why the agent asks.
const (
	contextEvents     = 8
	contextCandidates = 40
)

// Context returns the history.QuestionContext of a question as JSON: the last events of
// its session before it, how earlier requests for the same call ended, and who else changes its files.
func (s *Service) Context(ctx context.Context, id schema.EventID) ([]byte, error) {
	q, err := s.Store.Question(ctx, id)
	if err != nil {
		return nil, err
	}
	before, err := s.Store.Find(ctx, store.Filter{App: q.App, Session: q.Session, Before: id, Limit: contextCandidates})
	if err != nil {
		return nil, err
	}
	before = slices.DeleteFunc(before, func(e *store.Event) bool { return digest.IsTelemetry(e.Type) })
	before = before[max(0, len(before)-contextEvents):]
	earlier, err := s.Store.EarlierOutcomes(ctx, id)
	if err != nil {
		return nil, err
	}
	var last *store.Event
	if len(earlier) > 0 {
		if last, _, err = s.Store.Event(ctx, earlier[0].ID); err != nil {
			return nil, err
		}
	}
	result, err := s.resultOf(ctx, q)
	if err != nil {
		return nil, err
	}
	b := appendContext(before, earlier, last, result)
	collisions, err := s.collisionsOf(ctx, q)
	if err != nil || len(collisions) == 0 {
		return b, err
	}
	list, err := json.Marshal(collisions)
	return append(append(append(b[:len(b)-1], `,"collisions":`...), list...), '}'), err
}

func appendContext(before []*store.Event, earlier []store.EarlierOutcome, last *store.Event, result []byte) []byte {
	var count history.EarlierOutcomes
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
	b := append([]byte(`{"before":`), encodeList(before, true)...)
	b = append(b, `,"earlier":`...)
	b = fmt.Appendf(b, `{"approved":%d,"denied":%d,"other":%d`, count.Approved, count.Denied, count.Other)
	if last != nil {
		b = last.AppendJSON(append(b, `,"last":`...), schema.MaxListed)
	}
	b = append(b, '}')
	if result != nil {
		b = append(append(b, `,"result":`...), result...)
	}
	return append(b, '}')
}
