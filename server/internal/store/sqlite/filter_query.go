package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

// Bounds in log rows, for one step of a query and for all steps of a query without
// matches. Names are compared in a narrow index, about ten events per microsecond. Text
// is compared in the wide rows, about two microseconds per event.
const (
	nameScanStep  = 64 << 10
	nameScanLimit = 1 << 20
	textScanStep  = 16 << 10
	textScanLimit = 128 << 10
	maxTextBytes  = 1 << 10
)

// filterQuery is a Filter translated to the tables. It scans one index, named in the
// statement: left to choose, SQLite picks indexes that take seconds.
type filterQuery struct {
	names     []nameTerm // usually most selective first
	status    string
	patterns  []string // LIKE patterns of the text: as typed, and as JSON may escape it
	from, to  int64    // sequence numbers, both inclusive
	limit     int
	ascending bool
}

type nameTerm struct {
	column string
	id     int64
}

func (q *filterQuery) hasValidStatus() bool {
	switch schema.State(q.status) {
	case "", schema.Pending, schema.Responded, schema.TimedOut, schema.Failed, store.Undelivered:
		return true
	default:
		return false
	}
}

func (s *engine) Find(ctx context.Context, f store.Filter) ([]*store.Event, error) {
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

// newFilterQuery translates f. It returns false if nothing can match.
func (s *engine) newFilterQuery(ctx context.Context, f *store.Filter) (*filterQuery, bool, error) {
	if len(f.Text) > maxTextBytes || !utf8.ValidString(f.Text) {
		return nil, false, &schema.FieldError{Field: "q", Detail: "must be UTF-8 text of at most 1024 bytes"}
	}
	q := &filterQuery{limit: f.Limit, ascending: f.Oldest || f.After > 0, status: f.Status, patterns: kit.LikePatterns(f.Text)}
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

// setBounds sets q's range of sequence numbers from f's IDs and times.
func (s *engine) setBounds(ctx context.Context, f *store.Filter, q *filterQuery) error {
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

// The table time_marks has the first event of each quarter-hour. The days of every time
// zone begin with one, so the first event of a day is usually one lookup in a small table,
// and any other time is between two marks.
const (
	queryMarkSince = `SELECT seq, previous FROM time_marks
		WHERE stream_id = 1 AND received_at >= ? ORDER BY received_at LIMIT 1`
	queryMarkBefore = `SELECT seq FROM time_marks
		WHERE stream_id = 1 AND received_at < ? ORDER BY received_at DESC LIMIT 1`
	queryReceived = `SELECT seq, received_at FROM events WHERE stream_id = 1 AND seq >= ? ORDER BY seq LIMIT 1`
)

// firstSeqSince returns the number of the first event received at t or later, or the
// head plus one. received_at does not decrease, so without an index a binary search
// between two time marks finds the event.
func (s *engine) firstSeqSince(ctx context.Context, t time.Time) (int64, error) {
	low, high, err := s.seqBounds(ctx, t)
	if err != nil {
		return 0, err
	}
	for low < high {
		mid := low + (high-low)/2
		var seq, at int64
		err := s.readers.getByKey(ctx, []any{&seq, &at}, queryReceived, mid)
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

// seqBounds returns the lowest and the highest possible result of firstSeqSince, from the
// marks next to t.
func (s *engine) seqBounds(ctx context.Context, t time.Time) (low, high int64, err error) {
	low, high = 1, s.head.Load()+1
	var since, previous, before int64
	err = s.readers.get(ctx, []any{&since, &previous}, queryMarkSince, t.UnixMilli())
	if ignoreNoRows(err) != nil {
		return 0, 0, err
	}
	if err == nil {
		high = min(high, since)
		if previous < t.UnixMilli() {
			return high, high, nil
		}
	}
	err = s.readers.get(ctx, []any{&before}, queryMarkBefore, t.UnixMilli())
	if err == nil {
		low = min(before+1, high)
	}
	return low, high, ignoreNoRows(err)
}

// collect returns the matches in the order of the query. It scans step by step and
// stops after the first step with matches.
func (q *filterQuery) collect(ctx context.Context, s *engine) (events []*store.Event, err error) {
	step, limit := int64(nameScanStep), int64(nameScanLimit)
	if q.patterns != nil {
		step, limit = textScanStep, textScanLimit
	}
	for scanned := int64(0); q.from <= q.to && len(events) < q.limit && scanned < limit; scanned += step {
		if scanned > 0 && len(events) > 0 {
			break
		}
		from, to, ok, err := q.window(ctx, s, step)
		if err != nil || !ok {
			return events, err
		}
		query, args := q.sql(from, to, q.limit-len(events))
		rows, err := s.readers.db.QueryContext(ctx, query, args...)
		found, full, err := s.readEventsUpTo(ctx, store.MaxPageBytes, rows, err)
		if err != nil {
			return nil, err
		}
		if events = append(events, found...); full {
			break
		}
		if q.ascending {
			q.from = to + 1
		} else {
			q.to = from - 1
		}
	}
	return events, nil
}

// window returns the range for the next step, which compares about step events. It
// returns false if nothing is left.
func (q *filterQuery) window(ctx context.Context, s *engine, step int64) (from, to int64, ok bool, err error) {
	switch {
	case q.status != "" || len(q.names) == 0 && q.patterns == nil:
		return q.from, q.to, true, nil
	case len(q.names) == 0 && q.ascending:
		return q.from, min(q.to, q.from+step-1), true, nil
	case len(q.names) == 0:
		return max(q.from, q.to-step+1), q.to, true, nil
	}
	var segment sql.NullInt64
	query, args := q.nameSegmentSQL(step >> nameSegmentBits)
	err = s.readers.db.QueryRowContext(ctx, query, args...).Scan(&segment)
	if q.ascending {
		return q.from, min(q.to, segment.Int64<<nameSegmentBits+nameSegmentSize-1), segment.Valid, err
	}
	return max(q.from, segment.Int64<<nameSegmentBits), q.to, segment.Valid, err
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

func (q *filterQuery) order() string {
	if q.ascending {
		return "ASC"
	}
	return "DESC"
}

// nameSegmentSQL returns the query for the end of the next n segments that have all names.
func (q *filterQuery) nameSegmentSQL(n int64) (string, []any) {
	var b sqlBuilder
	edge := "min"
	if q.ascending {
		edge = "max"
	}
	b.add(`SELECT ` + edge + `(zone) FROM (SELECT z.zone FROM `)
	q.joinNameSegments(&b)
	b.add(` WHERE z.stream_id = 1 AND z.name = ? AND z.zone BETWEEN ? AND ?`, q.names[0].id, q.from>>nameSegmentBits, q.to>>nameSegmentBits)
	b.add(` ORDER BY z.zone `+q.order()+` LIMIT ?)`, n)
	return b.String(), b.args
}

// joinNameSegments joins the segments of the first name to the segments of the other
// names. EXISTS is equivalent, but SQLite would evaluate it for every event.
func (q *filterQuery) joinNameSegments(b *sqlBuilder) {
	b.add(`zones z`)
	for i, n := range q.names[1:] {
		b.add(fmt.Sprintf(` CROSS JOIN zones z%d ON z%d.stream_id = 1 AND z%d.name = ? AND z%d.zone = z.zone`, i, i, i, i), n.id)
	}
}

// sql returns the statement that reads the matches in a range of sequence numbers.
func (q *filterQuery) sql(from, to int64, limit int) (string, []any) {
	var b sqlBuilder
	b.add(`SELECT ` + eventColumns + listedPayload + `q.question, q.status FROM `)
	switch {
	case q.status == store.Undelivered:
		b.add(`deliveries d INDEXED BY deliveries_undelivered
			CROSS JOIN questions q ON q.stream_id = d.stream_id AND q.seq = d.seq
			CROSS JOIN events e ON e.stream_id = d.stream_id AND e.seq = d.seq
			WHERE d.stream_id = 1 AND d.undelivered = 1 AND d.seq >= ? AND d.seq <= ?`, from, to)
		q.addConditions(&b, "q")
		b.add(` ORDER BY d.seq ` + q.order())
	case q.status != "":
		index, condition := questionState(schema.State(q.status))
		b.add(`questions q INDEXED BY `+index+`
			CROSS JOIN events e ON e.stream_id = q.stream_id AND e.seq = q.seq
			WHERE q.stream_id = 1 AND `+condition+` AND q.seq >= ? AND q.seq <= ?`, from, to)
		q.addConditions(&b, "q")
		b.add(` ORDER BY q.seq ` + q.order())
	case len(q.names) > 0:
		q.joinNameSegments(&b)
		b.add(fmt.Sprintf(` CROSS JOIN events e INDEXED BY events_scan ON e.stream_id = 1
				AND e.seq BETWEEN max(z.zone << %d, ?) AND min((z.zone << %d) + %d, ?)
			LEFT JOIN questions q ON q.stream_id = e.stream_id AND q.seq = iif(e.asks, e.seq, NULL)
			WHERE z.stream_id = 1 AND z.name = ? AND z.zone BETWEEN ? AND ?`,
			nameSegmentBits, nameSegmentBits, nameSegmentSize-1), from, to, q.names[0].id, from>>nameSegmentBits, to>>nameSegmentBits)
		q.addConditions(&b, "e")
		b.add(` ORDER BY z.zone ` + q.order() + `, e.seq ` + q.order())
	default:
		b.add(eventTables+` WHERE e.stream_id = 1 AND e.seq BETWEEN ? AND ?`, from, to)
		q.addConditions(&b, "e")
		b.add(` ORDER BY e.seq ` + q.order())
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
	if q.patterns == nil {
		return
	}
	b.add(` AND (q.text LIKE ? ESCAPE '\'`, q.patterns[0])
	for _, p := range q.patterns {
		b.add(` OR CAST(e.payload AS TEXT) LIKE ? ESCAPE '\' OR CAST(e.envelope AS TEXT) LIKE ? ESCAPE '\'`, p, p)
	}
	b.add(`)`)
}
