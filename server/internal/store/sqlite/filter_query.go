package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

// filterQuery is a Filter translated to the tables. It scans one index, named in the
// statement: left to choose, SQLite picks indexes that take seconds.
type filterQuery struct {
	kit.FilterQuery
	store *engine
	names []nameTerm // usually most selective first
}

type nameTerm struct {
	column string
	id     int64
}

func (s *engine) Find(ctx context.Context, f store.Filter) ([]*store.Event, error) {
	q, ok, err := s.newFilterQuery(ctx, &f)
	if err != nil || !ok {
		return nil, err
	}
	return q.Find(ctx, q)
}

// newFilterQuery translates f. It returns false if nothing can match.
func (s *engine) newFilterQuery(ctx context.Context, f *store.Filter) (*filterQuery, bool, error) {
	query, err := kit.NewFilterQuery(f)
	if err != nil {
		return nil, false, err
	}
	q := &filterQuery{FilterQuery: query, store: s}
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
	q.From, q.To, err = s.seqRange(ctx, kit.SeqBounds{After: f.After, Before: f.Before, From: f.From, To: f.To})
	return q, err == nil && q.From <= q.To, err
}

const (
	queryMarkSince = `SELECT seq, previous FROM time_marks
		WHERE received_at >= ? ORDER BY received_at LIMIT 1`
	queryMarkBefore = `SELECT seq FROM time_marks
		WHERE received_at < ? ORDER BY received_at DESC LIMIT 1`
	queryReceived = `SELECT seq, received_at FROM events WHERE seq >= ? ORDER BY seq LIMIT 1`
)

// timeMarks implements kit.TimeMarks.
type timeMarks struct{ *readers }

func (m timeMarks) Since(ctx context.Context, ms int64) (seq, previous int64, err error) {
	err = m.get(ctx, []any{&seq, &previous}, queryMarkSince, ms)
	return seq, previous, ignoreNoRows(err)
}

func (m timeMarks) Before(ctx context.Context, ms int64) (seq int64, err error) {
	err = m.get(ctx, []any{&seq}, queryMarkBefore, ms)
	return seq, ignoreNoRows(err)
}

func (m timeMarks) Received(ctx context.Context, seq int64) (found, at int64, err error) {
	err = m.getByKey(ctx, []any{&found, &at}, queryReceived, seq)
	return found, at, ignoreNoRows(err)
}

// firstSeqSince is kit.FirstSeqSince.
func (s *engine) firstSeqSince(ctx context.Context, t time.Time) (int64, error) {
	return kit.FirstSeqSince(ctx, timeMarks{&s.readers}, s.head.Load(), t)
}

// seqRange returns the range of sequence numbers of bounds, both inclusive.
func (s *engine) seqRange(ctx context.Context, b kit.SeqBounds) (from, to int64, err error) {
	return b.Range(ctx, timeMarks{&s.readers}, s.head.Load())
}

// HasNames implements kit.FilterSource.
func (q *filterQuery) HasNames() bool { return len(q.names) > 0 }

// LastSegment implements kit.FilterSource.
func (q *filterQuery) LastSegment(ctx context.Context, n int64) (segment int64, ok bool, err error) {
	var next sql.NullInt64
	query, args := q.nameSegmentSQL(n)
	err = q.store.readers.db.QueryRowContext(ctx, query, args...).Scan(&next)
	return next.Int64, next.Valid, err
}

// ReadMatches implements kit.FilterSource.
func (q *filterQuery) ReadMatches(ctx context.Context, from, to int64, limit int) (events []*store.Event, full bool, err error) {
	query, args := q.sql(from, to, limit)
	rows, err := q.store.readers.db.QueryContext(ctx, query, args...)
	return q.store.readEventsUpTo(ctx, store.MaxPageBytes, rows, err)
}

// sqlBuilder builds a statement and its arguments.
type sqlBuilder struct {
	strings.Builder
	args []any
}

func (b *sqlBuilder) add(text string, args ...any) {
	b.WriteString(text)
	b.args = append(b.args, args...)
}

// nameSegmentSQL returns the query for the end of the next n segments that have all names.
func (q *filterQuery) nameSegmentSQL(n int64) (string, []any) {
	var b sqlBuilder
	edge := "min"
	if q.Ascending {
		edge = "max"
	}
	b.add(`SELECT ` + edge + `(zone) FROM (SELECT z.zone FROM `)
	q.joinNameSegments(&b)
	b.add(` WHERE z.name = ? AND z.zone BETWEEN ? AND ?`, q.names[0].id, q.From>>nameSegmentBits, q.To>>nameSegmentBits)
	b.add(` ORDER BY z.zone `+kit.Order(q.Ascending)+` LIMIT ?)`, n)
	return b.String(), b.args
}

// joinNameSegments joins the segments of the first name to the segments of the other
// names. EXISTS is equivalent, but SQLite would evaluate it for every event.
func (q *filterQuery) joinNameSegments(b *sqlBuilder) {
	b.add(`zones z`)
	for i, n := range q.names[1:] {
		b.add(fmt.Sprintf(` CROSS JOIN zones z%d ON z%d.name = ? AND z%d.zone = z.zone`, i, i, i), n.id)
	}
}

// sql returns the statement that reads the matches in a range of sequence numbers.
func (q *filterQuery) sql(from, to int64, limit int) (string, []any) {
	var b sqlBuilder
	b.add(`SELECT ` + eventColumns + listedPayload + `q.question, q.status FROM `)
	switch {
	case q.Status == store.Undelivered:
		b.add(`deliveries d INDEXED BY deliveries_undelivered
			CROSS JOIN questions q ON q.seq = d.seq
			CROSS JOIN events e ON e.seq = d.seq
			WHERE d.undelivered AND d.seq >= ? AND d.seq <= ?`, from, to)
		q.addConditions(&b, "q")
		b.add(` ORDER BY d.seq ` + kit.Order(q.Ascending))
	case q.Status != "":
		index, condition := questionState(schema.State(q.Status))
		b.add(`questions q INDEXED BY `+index+`
			CROSS JOIN events e ON e.seq = q.seq
			WHERE `+condition+` AND q.seq >= ? AND q.seq <= ?`, from, to)
		q.addConditions(&b, "q")
		b.add(` ORDER BY q.seq ` + kit.Order(q.Ascending))
	case len(q.names) > 0:
		q.joinNameSegments(&b)
		b.add(fmt.Sprintf(` CROSS JOIN events e INDEXED BY events_scan ON e.seq BETWEEN max(z.zone << %d, ?) AND min((z.zone << %d) + %d, ?)
			LEFT JOIN questions q ON q.seq = iif(e.asks, e.seq, NULL)
			WHERE z.name = ? AND z.zone BETWEEN ? AND ?`,
			nameSegmentBits, nameSegmentBits, nameSegmentSize-1), from, to, q.names[0].id, from>>nameSegmentBits, to>>nameSegmentBits)
		q.addConditions(&b, "e")
		b.add(` ORDER BY z.zone ` + kit.Order(q.Ascending) + `, e.seq ` + kit.Order(q.Ascending))
	default:
		b.add(eventTables+` WHERE e.seq BETWEEN ? AND ?`, from, to)
		q.addConditions(&b, "e")
		b.add(` ORDER BY e.seq ` + kit.Order(q.Ascending))
	}
	b.add(` LIMIT ?`, limit)
	return b.String(), b.args
}

// questionState returns the index for the questions of a valid state, and the condition.
func questionState(state schema.State) (index, condition string) {
	if state == schema.Failed { // the only one with several statuses in the inbox
		return "questions_failed", "q.state = 'error'"
	}
	listed := inbox.StatusOf(&schema.Status{Status: state})
	return "questions_by_inbox", fmt.Sprintf("q.inbox = '%s' AND q.state = '%s'", listed, state)
}

// addConditions adds the conditions that the index can't resolve. Names are compared in
// the scanned table, whose index contains them.
func (q *filterQuery) addConditions(b *sqlBuilder, table string) {
	for _, n := range q.names {
		b.add(` AND `+table+`.`+n.column+` = ?`, n.id)
	}
	if q.Patterns == nil {
		return
	}
	b.add(` AND (q.text LIKE ? ESCAPE '\'`, q.Patterns[0])
	for _, p := range q.Patterns {
		b.add(` OR CAST(e.payload AS TEXT) LIKE ? ESCAPE '\' OR CAST(e.envelope AS TEXT) LIKE ? ESCAPE '\'`, p, p)
	}
	b.add(`)`)
}
