package sqlite

import (
	"context"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

var queryRecent = `SELECT ` + eventColumns + listedPayload + `q.question, q.status FROM ` + eventTables + `
	WHERE e.seq > 0 ORDER BY e.seq DESC LIMIT ?`

func (s *engine) Recent(ctx context.Context, limit int) ([]*store.Event, error) {
	rows, err := s.readers.query(ctx, queryRecent, limit)
	events, err := s.readEvents(ctx, rows, err)
	slices.Reverse(events)
	return events, err
}

var queryPending = `SELECT ` + eventColumns + listedPayload + `q.question, q.status
	FROM questions q CROSS JOIN events e ON e.seq = q.seq
	WHERE q.inbox = 'pending' AND q.seq > ? ORDER BY q.seq LIMIT 1000`

func (s *engine) Pending(ctx context.Context) ([]*store.Event, error) {
	var all []*store.Event
	for last := schema.EventID(0); ; last = all[len(all)-1].ID {
		rows, err := s.readers.query(ctx, queryPending, last)
		events, err := s.readEvents(ctx, rows, err)
		if err != nil {
			return nil, err
		}
		if len(events) == 0 {
			return all, nil
		}
		all = append(all, events...)
	}
}

var queryQuestions = `SELECT ` + eventColumns + listedPayload + `q.question, q.status
	FROM questions q CROSS JOIN events e ON e.seq = q.seq
	WHERE q.seq < ? ORDER BY q.seq DESC LIMIT ?`

func (s *engine) Questions(ctx context.Context, before schema.EventID, n int) ([]*store.Event, error) {
	rows, err := s.readers.query(ctx, queryQuestions, before, n)
	return s.readEvents(ctx, rows, err)
}
