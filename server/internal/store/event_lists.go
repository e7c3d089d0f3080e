package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/hookback/hookback/schema"
)

var queryRecent = `SELECT ` + eventColumns + listedPayload + `q.question, q.status FROM ` + eventTables + `
	WHERE e.stream_id = 1 ORDER BY e.seq DESC LIMIT ?`

// Recent returns the newest limit events, the oldest first; fewer when they are
// big.
func (s *Store) Recent(ctx context.Context, limit int) ([]*Event, error) {
	rows, err := s.readers.query(ctx, queryRecent, limit)
	events, err := s.readEvents(ctx, rows, err)
	slices.Reverse(events)
	return events, err
}

var queryPending = `SELECT ` + eventColumns + listedPayload + `q.question, q.status
	FROM questions q CROSS JOIN events e ON e.stream_id = q.stream_id AND e.seq = q.seq
	WHERE q.stream_id = 1 AND q.state = 'pending' AND q.seq > ? ORDER BY q.seq LIMIT 1000`

// Pending returns every pending question, the oldest first.
func (s *Store) Pending(ctx context.Context) ([]*Event, error) {
	var all []*Event
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

// Find returns the events that f selects, the oldest first: the newest f.Limit
// of them or, with Oldest or After, the oldest. Without a limit they are
// schema.RecentLimit.
//
// A page may be short when the matches are far apart or big: ask on from its
// oldest event (from its newest, with Oldest or After). It is empty only when nothing
// matches, at least not among the next million events (for a text, the next
// hundred thousand) that have all the names of f.
//
// Text is looked for in the question and in the event's JSON as it was sent,
// without regard to the case of ASCII letters.
func (s *Store) Find(ctx context.Context, f Filter) ([]*Event, error) {
	q, ok, err := s.newFilterQuery(ctx, &f)
	if err != nil || !ok {
		return nil, err
	}
	events, err := q.collect(ctx, s)
	if !q.ascending {
		slices.Reverse(events)
	}
	return events, err
}

// newFilterQuery makes the query for a filter; false when nothing can match.
func (s *Store) newFilterQuery(ctx context.Context, f *Filter) (*filterQuery, bool, error) {
	if len(f.Text) > maxTextBytes || !utf8.ValidString(f.Text) {
		return nil, false, &schema.FieldError{Field: "q", Detail: "must be UTF-8 text of at most 1024 bytes"}
	}
	q := &filterQuery{limit: f.Limit, ascending: f.Oldest || f.After > 0, status: f.Status, patterns: likePatterns(f.Text)}
	if !q.hasValidStatus() {
		return nil, false, &schema.FieldError{Field: "status", Detail: "must be pending, responded, timeout, error or undelivered"}
	}
	if q.limit <= 0 {
		q.limit = schema.RecentLimit
	}
	for _, n := range []struct {
		column string
		kind   nameKind
		text   string
	}{{"session", sessionName, f.Session}, {"tool", toolName, f.Tool}, {"app", appName, f.App}, {"type", typeName, f.Type}} {
		if n.text == "" {
			continue
		}
		id, ok, err := s.findNameID(ctx, n.kind, n.text)
		if err != nil || !ok {
			return nil, false, err
		}
		q.names = append(q.names, nameTerm{n.column, id})
	}
	err := s.setBounds(ctx, f, q)
	return q, err == nil && q.from <= q.to, err
}

// setBounds finds the part of the log that f speaks of.
func (s *Store) setBounds(ctx context.Context, f *Filter, q *filterQuery) error {
	q.from, q.to = int64(f.After)+1, s.head.Load()
	if f.Before > 0 {
		q.to = min(q.to, int64(f.Before)-1)
	}
	if !f.From.IsZero() {
		first, err := s.firstSeqSince(ctx, f.From)
		if err != nil {
			return err
		}
		q.from = max(q.from, first)
	}
	if !f.To.IsZero() {
		first, err := s.firstSeqSince(ctx, f.To)
		if err != nil {
			return err
		}
		q.to = min(q.to, first-1)
	}
	return nil
}

const queryReceived = `SELECT seq, received_at FROM events WHERE stream_id = 1 AND seq >= ? ORDER BY seq LIMIT 1`

// firstSeqSince returns the number of the first event received at t or later, or one
// more than the head. received_at does not go back, so a search by halves finds it
// with some twenty reads and no index.
func (s *Store) firstSeqSince(ctx context.Context, t time.Time) (int64, error) {
	low, high := int64(1), s.head.Load()+1
	for low < high {
		mid := low + (high-low)/2
		var seq, at int64
		err := s.readers.get(ctx, []any{&seq, &at}, queryReceived, mid)
		none := errors.Is(err, sql.ErrNoRows)
		switch {
		case err != nil && !none:
			return 0, err
		case none || at >= t.UnixMilli():
			high = mid
		default:
			low = seq + 1
		}
	}
	return low, nil
}
