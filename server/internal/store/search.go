package store

import (
	"context"
	"database/sql"
	"math"
	"slices"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/filter"
)

// Search selects events by a filter in the language that people write.
type Search struct {
	Filter        *filter.Filter
	From, To      time.Time // ReceivedAt, To exclusive
	Before, After schema.EventID
	Oldest        bool // upwards, the oldest matches first; After implies it

	Limit  int           // matches, schema.RecentLimit
	Bytes  int           // of what they hold, but at least one event; 0: no limit
	Within time.Duration // how long to look on while there is more to look at; 0: to the end
}

// SearchPage is what a Search found: all that matches from where it began to
// SearchedTo, that included, the oldest first. Complete says that nothing else
// matches in that direction.
type SearchPage struct {
	Events     []*Event
	SearchedTo schema.EventID
	Complete   bool
}

// Search looks for what matches, and stops when it has looked for Within: ask on
// from SearchedTo until it is Complete. However short Within is, every call gets
// on.
//
// What the index of texts does not reach yet is looked through row by row.
func (s *Store) Search(ctx context.Context, q Search) (SearchPage, error) {
	w := &walk{
		Search: q, store: s, up: q.Oldest || q.After > 0,
		grams: gramsOf(q.Filter.RequiredLiterals()), asks: q.Filter.QuestionsOnly(), status: q.Filter.Status(), deadline: time.Now().Add(q.Within),
	}
	if w.Limit <= 0 {
		w.Limit = schema.RecentLimit
	}
	if w.Bytes <= 0 {
		w.Bytes = math.MaxInt
	}
	err := w.bounds(ctx)
	if err == nil {
		err = w.run(ctx)
	}
	if !w.up {
		slices.Reverse(w.found.Events)
	}
	return w.found, err
}

// walk is a Search under way.
type walk struct {
	Search
	store    *Store
	up       bool
	from, to int64 // what is left of the log to look at, both included
	asks     bool  // only questions match
	status   string
	names    []nameSet
	grams    []uint32  // of the texts that all must be there
	stmt     *sql.Stmt // reads the events of a span that have the names
	deadline time.Time
	looked   int // events, and as many as a first batch for every span
	bytes    int
	found    SearchPage
}

// bounds finds the part of the log and the names that the search speaks of.
func (w *walk) bounds(ctx context.Context) (err error) {
	var q query
	if err := w.store.bound(ctx, &Filter{From: w.From, To: w.To, Before: w.Before, After: w.After}, &q); err != nil {
		return err
	}
	w.from, w.to = q.from, q.to
	w.found.SearchedTo = schema.EventID(w.to + 1)
	if w.up {
		w.found.SearchedTo = schema.EventID(w.from - 1)
	}
	if id := w.Filter.ID(); id > 0 {
		w.from, w.to = max(w.from, id), min(w.to, id)
	}
	w.names, err = w.store.nameSets(ctx, w.Filter.Names())
	if slices.ContainsFunc(w.names, nameSet.nobody) {
		w.to = w.from - 1
	}
	return err
}

// maxSpan is how many numbers of the log are looked at in one go. It bounds a
// statement that walks the narrow index and finds nothing, some ten events per
// microsecond, since it can't be stopped.
const maxSpan = 64 << 10

// run looks at one span after the other until enough is found or time is up.
func (w *walk) run(ctx context.Context) (err error) {
	if w.stmt, err = w.store.reads.db.PrepareContext(ctx, w.sql()); err != nil {
		return err
	}
	defer func() { _ = w.stmt.Close() }()
	for w.from <= w.to {
		from, to := w.span()
		candidates, err := w.candidates(ctx, from, to)
		if err != nil {
			return err
		}
		for piece := range candidates.runs(from, to, w.up) {
			if more, err := w.look(ctx, piece); err != nil || !more {
				return err
			}
		}
		w.passed(from, to)
		w.looked += firstBatch
		if w.from <= w.to && w.late() {
			return nil
		}
	}
	w.found.Complete = true
	return nil
}

// span is what to look at next. All end at multiples of maxSpan, as zones and the
// blocks of the index do.
func (w *walk) span() (from, to int64) {
	if w.up {
		return w.from, min(w.to, w.from|(maxSpan-1))
	}
	return max(w.from, w.to&^(maxSpan-1)), w.to
}

// passed notes that the walk is through with a span.
func (w *walk) passed(from, to int64) {
	if w.up {
		w.from, w.found.SearchedTo = to+1, schema.EventID(to)
		return
	}
	w.to, w.found.SearchedTo = from-1, schema.EventID(from)
}

// late reports whether time is up. On a machine that is busy with other things it
// would be up at once, call after call: a few events are looked at in any case. But
// a few may be too much, too, of what is made to be slow.
func (w *walk) late() bool {
	if w.Within <= 0 || w.looked == 0 {
		return false
	}
	over := time.Since(w.deadline)
	return over > 0 && w.looked >= firstBatch || over > tooLate
}

// tooLate is how long after its time a search is given up in any case.
const tooLate = 500 * time.Millisecond

// Events are read some at a time: few at first, since the newest often match, and
// never more than a batch may weigh.
const (
	firstBatch = 32
	lastBatch  = 256
	batchBytes = 1 << 20
)

// look matches the events of a run. false: it stopped before the end.
func (w *walk) look(ctx context.Context, r run) (more bool, err error) {
	for n := firstBatch; r.from <= r.to; n = min(2*n, lastBatch) {
		rows, err := w.stmt.QueryContext(ctx, r.from, r.to, n)
		events, full, err := w.store.upTo(ctx, batchBytes, rows, err)
		if err != nil {
			return false, err
		}
		for _, e := range events {
			if !w.take(e) {
				return false, nil
			}
		}
		if len(events) < n && !full {
			break
		}
		if last := int64(events[len(events)-1].ID); w.up {
			r.from = last + 1
		} else {
			r.to = last - 1
		}
	}
	w.passed(r.from, r.to)
	return !w.late(), nil
}

// take looks at one event. false: that was enough.
func (w *walk) take(e *Event) bool {
	w.looked++
	if w.Filter.Match(e.filterable()) {
		size := len(e.Envelope) + len(e.Payload) + len(e.Question) + len(e.Status) + jsonAround
		if len(w.found.Events) > 0 && w.bytes+size > w.Bytes {
			return false
		}
		w.bytes += size
		w.found.Events = append(w.found.Events, e)
	}
	w.passed(int64(e.ID), int64(e.ID))
	return len(w.found.Events) < w.Limit && !w.late()
}

// jsonAround is what AppendJSON puts around the pieces of an event, at most.
const jsonAround = 256

func (e *Event) filterable() *filter.Event {
	return &filter.Event{
		ID: int64(e.ID), App: e.App, Session: e.Session, Type: e.Type, Tool: e.Tool,
		Envelope: e.Envelope, Payload: e.Payload, Question: e.Question, Status: e.Status,
	}
}

// sql is the statement that reads the events between two numbers. It walks the
// questions where only they can match, else the narrow index.
func (w *walk) sql() string {
	var b builder
	b.add(`SELECT ` + eventColumns + asListed + `q.question, q.status FROM `)
	table := "q"
	switch {
	case w.status != "" && (&query{status: w.status}).knowsStatus():
		b.add(`questions q INDEXED BY questions_by_state CROSS JOIN events e ON e.stream_id = q.stream_id AND e.seq = q.seq
			WHERE q.stream_id = 1 AND q.state = '` + w.status + `'`)
	case w.asks:
		b.add(`questions q CROSS JOIN events e ON e.stream_id = q.stream_id AND e.seq = q.seq WHERE q.stream_id = 1`)
	default:
		table = "e"
		b.add(`events e INDEXED BY events_scan
			LEFT JOIN questions q ON q.stream_id = e.stream_id AND q.seq = iif(e.asks, e.seq, NULL) WHERE e.stream_id = 1`)
	}
	for _, set := range w.names {
		b.add(set.sql(table))
	}
	b.add(` AND ` + table + `.seq >= ? AND ` + table + `.seq <= ? ORDER BY ` + table + `.seq ` + (&query{ascending: w.up}).order() + ` LIMIT ?`)
	return b.String()
}
