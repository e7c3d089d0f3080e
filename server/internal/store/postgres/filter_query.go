package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

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

// filterQuery is a Filter translated to the tables.
type filterQuery struct {
	names     []nameTerm // usually most selective first
	status    string
	text      string   // pattern of the text as typed
	patterns  []string // patterns in the escaped bytes of JSON: as typed, and as JSON may escape it
	from, to  int64    // sequence numbers, both inclusive
	limit     int
	ascending bool
}

type nameTerm struct {
	column string
	kind   nameKind
	name   string
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
	q := &filterQuery{limit: f.Limit, ascending: f.Oldest || f.After > 0, status: f.Status}
	for i, p := range kit.LikePatterns(f.Text) {
		if i == 0 {
			q.text = p
		}
		q.patterns = append(q.patterns, escapeBytes(p))
	}
	if !q.hasValidStatus() {
		return nil, false, &schema.FieldError{Field: "status", Detail: "must be pending, responded, timeout, error or undelivered"}
	}
	if q.limit <= 0 {
		q.limit = schema.RecentLimit
	}
	for _, n := range []nameTerm{{"session", sessionName, f.Session}, {"tool", toolName, f.Tool}, {"app", appName, f.App}, {"type", typeName, f.Type}} {
		if n.name != "" {
			q.names = append(q.names, n)
		}
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
		WHERE received_at >= $1 ORDER BY received_at LIMIT 1`
	queryMarkBefore = `SELECT seq FROM time_marks
		WHERE received_at < $1 ORDER BY received_at DESC LIMIT 1`
	queryReceived = `SELECT seq, received_at FROM events WHERE seq >= $1 ORDER BY seq LIMIT 1`
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
		err := s.readers.get(ctx, []any{&seq, &at}, queryReceived, mid)
		none := errors.Is(err, pgx.ErrNoRows)
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
		rows, err := s.readers.query(ctx, query, args...)
		found, full, err := readEventsUpTo(store.MaxPageBytes, rows, err)
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
	err = s.readers.get(ctx, []any{&segment}, query, args...)
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

// add adds text, in which each ? stands for the next argument.
func (b *sqlBuilder) add(text string, args ...any) {
	for _, arg := range args {
		before, after, _ := strings.Cut(text, "?")
		b.args = append(b.args, arg)
		b.WriteString(before + "$" + strconv.Itoa(len(b.args)))
		text = after
	}
	b.WriteString(text)
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
	b.add(` ORDER BY z.zone `+q.order()+` LIMIT ?) next`, n)
	return b.String(), b.args
}

// joinNameSegments joins the segments of the first name to the segments of the other names.
func (q *filterQuery) joinNameSegments(b *sqlBuilder) {
	b.add(`zones z`)
	for i, n := range q.names[1:] {
		b.add(fmt.Sprintf(` JOIN zones z%d ON z%d.kind = ? AND z%d.name = ? AND z%d.zone = z.zone`, i, i, i, i), n.kind, n.name)
	}
	b.add(` WHERE z.kind = ? AND z.name = ? AND z.zone BETWEEN ? AND ?`, q.names[0].kind, q.names[0].name, q.from>>nameSegmentBits, q.to>>nameSegmentBits)
}

// sql returns the statement that reads the matches in a range of sequence numbers.
func (q *filterQuery) sql(from, to int64, limit int) (string, []any) {
	var b sqlBuilder
	b.add(`SELECT ` + eventColumns + listedPayload + `q.question, q.status FROM `)
	table := "q"
	switch {
	case q.status == store.Undelivered:
		b.add(`deliveries d JOIN questions q ON q.seq = d.seq JOIN events e ON e.seq = d.seq WHERE d.undelivered AND d.seq BETWEEN ? AND ?`, from, to)
	case q.status != "":
		b.add(`questions q JOIN events e ON e.seq = q.seq WHERE `+questionState(schema.State(q.status))+` AND q.seq BETWEEN ? AND ?`, from, to)
	case len(q.names) > 0:
		b.add(`(SELECT z.zone FROM `)
		q.joinNameSegments(&b)
		b.add(fmt.Sprintf(`) s JOIN events e ON e.seq BETWEEN s.zone << %d AND (s.zone << %d) + %d
			LEFT JOIN questions q ON e.asks AND q.seq = e.seq WHERE e.seq BETWEEN ? AND ?`, nameSegmentBits, nameSegmentBits, nameSegmentSize-1), from, to)
		table = "e"
	default:
		b.add(eventTables+` WHERE e.seq BETWEEN ? AND ?`, from, to)
		table = "e"
	}
	q.addConditions(&b, table)
	b.add(` ORDER BY `+table+`.seq `+q.order()+` LIMIT ?`, limit)
	return b.String(), b.args
}

// questionState returns the condition for the questions of a valid state. It names the status in the
// inbox, which has an index.
func questionState(state schema.State) string {
	if state == schema.Failed { // the only one with several statuses in the inbox
		return "q.state = 'error'"
	}
	listed := inbox.StatusOf(&schema.Status{Status: state})
	return fmt.Sprintf("q.inbox = '%s' AND q.state = '%s'", listed, state)
}

// addConditions adds the conditions on names and text.
func (q *filterQuery) addConditions(b *sqlBuilder, table string) {
	for _, n := range q.names {
		b.add(` AND `+table+`.`+n.column+` = ?`, n.name)
	}
	if q.patterns == nil {
		return
	}
	// Bytes are compared in an escaped form, because an agent's JSON need not be valid UTF-8.
	b.add(` AND (q.text ILIKE ? COLLATE "C"`, q.text)
	for _, p := range q.patterns {
		b.add(` OR encode(e.payload, 'escape') ILIKE ? COLLATE "C" OR encode(e.envelope, 'escape') ILIKE ? COLLATE "C"`, p, p)
	}
	b.add(`)`)
}

// escapeBytes converts a LIKE pattern to one for the format escape of bytes, in which a backslash is
// doubled and a byte above ASCII is a backslash with three octal digits.
func escapeBytes(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case strings.HasPrefix(pattern[i:], `\\`): // an escaped backslash: two in the text
			b.WriteString(`\\\\`)
			i++
		case c >= utf8.RuneSelf || c == 0:
			fmt.Fprintf(&b, `\\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
