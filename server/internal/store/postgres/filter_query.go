package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

// filterQuery is a Filter translated to the tables.
type filterQuery struct {
	kit.FilterQuery
	store    *engine
	names    []nameTerm // usually most selective first
	patterns []string   // q.Patterns in the escaped bytes of JSON
}

type nameTerm struct {
	column string
	kind   nameKind
	name   string
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
	for _, p := range q.Patterns {
		q.patterns = append(q.patterns, escapeBytes(p))
	}
	for _, n := range []nameTerm{{"session", sessionName, f.Session}, {"tool", toolName, f.Tool}, {"app", appName, f.App}, {"type", typeName, f.Type}} {
		if n.name != "" {
			q.names = append(q.names, n)
		}
	}
	q.From, q.To, err = s.seqRange(ctx, kit.SeqBounds{After: f.After, Before: f.Before, From: f.From, To: f.To})
	return q, err == nil && q.From <= q.To, err
}

const (
	queryMarkSince = `SELECT seq, previous FROM time_marks
		WHERE received_at >= $1 ORDER BY received_at LIMIT 1`
	queryMarkBefore = `SELECT seq FROM time_marks
		WHERE received_at < $1 ORDER BY received_at DESC LIMIT 1`
	queryReceived = `SELECT seq, received_at FROM events WHERE seq >= $1 ORDER BY seq LIMIT 1`
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
	err = m.get(ctx, []any{&found, &at}, queryReceived, seq)
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
	err = q.store.readers.get(ctx, []any{&next}, query, args...)
	return next.Int64, next.Valid, err
}

// ReadMatches implements kit.FilterSource.
func (q *filterQuery) ReadMatches(ctx context.Context, from, to int64, limit int) (events []*store.Event, full bool, err error) {
	query, args := q.sql(from, to, limit)
	rows, err := q.store.readers.query(ctx, query, args...)
	return readEventsUpTo(store.MaxPageBytes, rows, err)
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

// nameSegmentSQL returns the query for the end of the next n segments that have all names.
func (q *filterQuery) nameSegmentSQL(n int64) (string, []any) {
	var b sqlBuilder
	edge := "min"
	if q.Ascending {
		edge = "max"
	}
	b.add(`SELECT ` + edge + `(zone) FROM (SELECT z.zone FROM `)
	q.joinNameSegments(&b)
	b.add(` ORDER BY z.zone `+kit.Order(q.Ascending)+` LIMIT ?) next`, n)
	return b.String(), b.args
}

// joinNameSegments joins the segments of the first name to the segments of the other names.
func (q *filterQuery) joinNameSegments(b *sqlBuilder) {
	b.add(`zones z`)
	for i, n := range q.names[1:] {
		b.add(fmt.Sprintf(` JOIN zones z%d ON z%d.kind = ? AND z%d.name = ? AND z%d.zone = z.zone`, i, i, i, i), n.kind, n.name)
	}
	b.add(` WHERE z.kind = ? AND z.name = ? AND z.zone BETWEEN ? AND ?`, q.names[0].kind, q.names[0].name, q.From>>nameSegmentBits, q.To>>nameSegmentBits)
}

// sql returns the statement that reads the matches in a range of sequence numbers.
func (q *filterQuery) sql(from, to int64, limit int) (string, []any) {
	var b sqlBuilder
	b.add(`SELECT ` + eventColumns + listedPayload + `q.question, q.status FROM `)
	table := "q"
	switch {
	case q.Status == store.Undelivered:
		b.add(`deliveries d JOIN questions q ON q.seq = d.seq JOIN events e ON e.seq = d.seq WHERE d.undelivered AND d.seq BETWEEN ? AND ?`, from, to)
	case q.Status != "":
		b.add(`questions q JOIN events e ON e.seq = q.seq WHERE `+questionState(schema.State(q.Status))+` AND q.seq BETWEEN ? AND ?`, from, to)
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
	b.add(` ORDER BY `+table+`.seq `+kit.Order(q.Ascending)+` LIMIT ?`, limit)
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
	b.add(` AND (q.text ILIKE ? COLLATE "C"`, q.Patterns[0])
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
