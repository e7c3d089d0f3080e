package tables

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/server/internal/store"
)

// Bounds in log rows, for one step of a query and for all steps of a query without
// matches. Names are compared in a narrow index, about ten events per microsecond. Text
// is compared in the wide rows, about two microseconds per event.
const (
	nameScanStep  = 64 << 10
	nameScanLimit = 1 << 20
	textScanStep  = 16 << 10
	textScanLimit = 128 << 10
	// maxTextBytes is the size up to which a text is searched for.
	maxTextBytes = 1 << 10
)

// A name segment is a range of NameSegmentSize sequence numbers. The table zones is a zone
// map: it lists for every name the segments with events of that name, so a filter by a
// rare name skips the rest of the log.
const (
	NameSegmentBits = 9
	NameSegmentSize = 1 << NameSegmentBits
)

// findQuery is a store.Filter in terms of the log. It scans one index, named in the statement: left to
// choose, SQLite picks indexes that take seconds.
type findQuery struct {
	*Tables
	status    string
	names     []nameTerm // usually most selective first
	patterns  []string   // LIKE patterns of the text: as typed, and as JSON may escape it
	from, to  int64      // sequence numbers, both inclusive
	limit     int
	ascending bool
}

type nameTerm struct {
	column string
	Name
}

func (t *Tables) Find(ctx context.Context, f store.Filter) ([]*store.Event, error) {
	q, err := t.newFindQuery(ctx, &f)
	if err != nil {
		return nil, err
	}
	events, err := q.find(ctx)
	if !q.ascending {
		slices.Reverse(events)
	}
	return events, err
}

// newFindQuery translates f.
func (t *Tables) newFindQuery(ctx context.Context, f *store.Filter) (*findQuery, error) {
	q := &findQuery{Tables: t, limit: f.Limit, ascending: f.Oldest || f.After > 0, status: f.Status, patterns: likePatterns(f.Text)}
	switch {
	case len(f.Text) > maxTextBytes || !utf8.ValidString(f.Text):
		return nil, &schema.FieldError{Field: "q", Detail: "must be UTF-8 text of at most 1024 bytes"}
	case f.Status != "" && !isListedStatus(f.Status):
		return nil, &schema.FieldError{Field: "status", Detail: "must be pending, responded, timeout, error or undelivered"}
	}
	if q.limit <= 0 {
		q.limit = schema.RecentLimit
	}
	for _, n := range []nameTerm{
		{"session", Name{SessionName, f.Session}}, {"tool", Name{ToolName, f.Tool}}, {"app", Name{AppName, f.App}}, {"type", Name{TypeName, f.Type}},
	} {
		if n.Text != "" {
			q.names = append(q.names, n)
		}
	}
	var err error
	q.from, q.to, err = t.seqRange(ctx, seqFilter{f.After, f.Before, f.From, f.To})
	return q, err
}

// isListedStatus reports whether a filter may name the status.
func isListedStatus(status string) bool {
	listed := []schema.State{schema.Pending, schema.Responded, schema.TimedOut, schema.Failed, store.Undelivered}
	return slices.Contains(listed, schema.State(status))
}

// order returns the direction of a query in SQL.
func order(ascending bool) string {
	if ascending {
		return "ASC"
	}
	return "DESC"
}

// find returns the matches in the order of the query. It scans step by step and stops after the first
// step with matches.
func (q *findQuery) find(ctx context.Context) (events []*store.Event, err error) {
	step, limit := int64(nameScanStep), int64(nameScanLimit)
	if q.patterns != nil {
		step, limit = textScanStep, textScanLimit
	}
	for scanned := int64(0); q.from <= q.to && len(events) < q.limit && scanned < limit; scanned += step {
		if scanned > 0 && len(events) > 0 {
			break
		}
		from, to, ok, err := q.window(ctx, step)
		if err != nil || !ok {
			return events, err
		}
		query, args := q.sql(from, to, q.limit-len(events))
		found, full, err := q.readEventsUpTo(ctx, store.MaxPageBytes, query, args...)
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
func (q *findQuery) window(ctx context.Context, step int64) (from, to int64, ok bool, err error) {
	hasNames := len(q.names) > 0
	switch {
	case q.status != "" || !hasNames && q.patterns == nil:
		return q.from, q.to, true, nil
	case !hasNames && q.ascending:
		return q.from, min(q.to, q.from+step-1), true, nil
	case !hasNames:
		return max(q.from, q.to-step+1), q.to, true, nil
	}
	var last sql.NullInt64
	query, args := q.lastSegmentSQL(step >> NameSegmentBits)
	_, err = q.ReadOne(ctx, []any{&last}, query, args...)
	if q.ascending {
		return q.from, min(q.to, last.Int64<<NameSegmentBits+NameSegmentSize-1), last.Valid, err
	}
	return max(q.from, last.Int64<<NameSegmentBits), q.to, last.Valid, err
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

// lastSegmentSQL returns the query for the end of the next n segments that have all names.
func (q *findQuery) lastSegmentSQL(n int64) (string, []any) {
	var b sqlBuilder
	edge := "min"
	if q.ascending {
		edge = "max"
	}
	b.add(`SELECT ` + edge + `(zone) FROM (SELECT z.zone FROM `)
	q.joinNameSegments(&b)
	q.selectNameSegments(&b, q.from, q.to)
	b.add(` ORDER BY z.zone `+order(q.ascending)+` LIMIT ?) next`, n)
	return b.String(), b.args
}

// joinNameSegments joins the segments of the first name to the segments of the other names.
// EXISTS is equivalent, but SQLite would evaluate it for every event.
func (q *findQuery) joinNameSegments(b *sqlBuilder) {
	b.add(`zones z`)
	for i, n := range q.names[1:] {
		b.add(fmt.Sprintf(` /*!CROSS*/ JOIN zones z%d ON z%d.kind = %d AND z%d.name = ? AND z%d.zone = z.zone`, i, i, n.Kind, i, i), n.Name)
	}
}

func (q *findQuery) selectNameSegments(b *sqlBuilder, from, to int64) {
	n := q.names[0].Name
	b.add(fmt.Sprintf(` WHERE z.kind = %d AND z.name = ? AND z.zone BETWEEN ? AND ?`, n.Kind), n, from>>NameSegmentBits, to>>NameSegmentBits)
}

// sql returns the statement that reads the matches in a range of sequence numbers.
func (q *findQuery) sql(from, to int64, limit int) (string, []any) {
	var b sqlBuilder
	b.add(`SELECT ` + eventColumns + listedPayload + `q.question, q.status FROM `)
	table, by := "q", `q.seq `+order(q.ascending)
	switch {
	case q.status == store.Undelivered:
		b.add(`deliveries d /*!INDEXED BY deliveries_undelivered CROSS*/ JOIN questions q ON q.seq = d.seq
			/*!CROSS*/ JOIN events e ON e.seq = d.seq WHERE d.undelivered AND d.seq BETWEEN ? AND ?`, from, to)
		by = `d.seq ` + order(q.ascending)
	case q.status != "":
		index, condition := questionState(schema.State(q.status))
		b.add(`questions q `+index+` /*!CROSS*/ JOIN events e ON e.seq = q.seq WHERE `+condition+` AND q.seq BETWEEN ? AND ?`, from, to)
	case len(q.names) > 0:
		q.joinNameSegments(&b)
		b.add(fmt.Sprintf(` /*!CROSS*/ JOIN events e /*!INDEXED BY events_scan*/
				ON e.seq BETWEEN greatest(z.zone << %d, ?::bigint) AND least((z.zone << %d) + %d, ?::bigint)
			LEFT JOIN questions q ON q.seq = CASE WHEN e.asks THEN e.seq END`, NameSegmentBits, NameSegmentBits, NameSegmentSize-1), from, to)
		q.selectNameSegments(&b, from, to)
		table, by = "e", `z.zone `+order(q.ascending)+`, e.seq `+order(q.ascending)
	default:
		b.add(eventTables+` WHERE e.seq BETWEEN ? AND ?`, from, to)
		table, by = "e", `e.seq `+order(q.ascending)
	}
	q.addConditions(&b, table)
	b.add(` ORDER BY `+by+` LIMIT ?`, limit)
	return b.String(), b.args
}

// questionState returns the hint and the condition for the questions of a valid state. The condition names
// the status in the inbox, which has an index.
func questionState(state schema.State) (index, condition string) {
	if state == schema.Failed { // the only one with several statuses in the inbox
		return "/*!INDEXED BY questions_failed*/", "q.state = 'error'"
	}
	listed := inbox.StatusOf(&schema.Status{Status: state})
	return "/*!INDEXED BY questions_by_inbox*/", fmt.Sprintf("q.inbox = '%s' AND q.state = '%s'", listed, state)
}

// addConditions adds the conditions on names and text. Names are compared in the scanned table, whose index
// contains them.
func (q *findQuery) addConditions(b *sqlBuilder, table string) {
	for _, n := range q.names {
		b.add(` AND `+table+`.`+n.column+` = ?`, n.Name)
	}
	if q.patterns == nil {
		return
	}
	// Bytes are compared in an escaped form, because an agent's JSON need not be valid UTF-8.
	b.add(` AND (q.text ILIKE ? COLLATE "C" /*!ESCAPE '\'*/`, q.patterns[0])
	for _, p := range q.patterns {
		for _, column := range []string{"e.payload", "e.envelope"} {
			b.add(` OR encode(`+column+`, 'escape') ILIKE ? COLLATE "C" /*!ESCAPE '\'*/`, BytesPattern(p))
		}
	}
	b.add(`)`)
}

// BytesPattern is a LIKE pattern for a column of bytes, which are compared in the format escape.
type BytesPattern string

// likeFragments returns the LIKE pattern for the fragments in order, with anything in
// between.
func likeFragments(pieces []string) string {
	escaped := make([]string, len(pieces))
	for i, p := range pieces {
		escaped[i] = likeEscapes.Replace(p)
	}
	return strings.Join(escaped, "%")
}

// likePatterns returns the LIKE patterns for a text, or nil for an empty text. Events
// are stored as sent, so the text may appear literally, JSON-escaped, escaped by Go
// (<, > and &), or in ASCII as Python writes it.
func likePatterns(text string) (list []string) {
	if text == "" {
		return nil
	}
	html, _ := json.Marshal(text) // strings always encode
	var plain bytes.Buffer
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text)
	asIs := unquote(strings.TrimSuffix(plain.String(), "\n"))
	spellings := []string{text, asIs, unquote(string(html)), escapeNonASCII(asIs)}
	if strings.ContainsRune(text, 0) { // NUL would end the pattern, and JSON always escapes it
		spellings = spellings[1:]
	}
	for _, s := range slices.Compact(spellings) {
		list = append(list, likePattern(s))
	}
	return list
}

func unquote(literal string) string { return literal[1 : len(literal)-1] }

var likeEscapes = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// likePattern returns the pattern for anything that contains text.
func likePattern(text string) string { return "%" + likeEscapes.Replace(text) + "%" }

func escapeNonASCII(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
