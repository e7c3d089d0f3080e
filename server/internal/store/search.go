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
	run := &searchRun{
		Search: q, store: s, ascending: q.Oldest || q.After > 0,
		trigrams: requiredTrigrams(q.Filter.RequiredLiterals()), questionsOnly: q.Filter.QuestionsOnly(), status: q.Filter.Status(), deadline: time.Now().Add(q.Within),
	}
	if run.Limit <= 0 {
		run.Limit = schema.RecentLimit
	}
	if run.Bytes <= 0 {
		run.Bytes = math.MaxInt
	}
	err := run.setBounds(ctx)
	if err == nil {
		err = run.search(ctx)
	}
	if !run.ascending {
		slices.Reverse(run.page.Events)
	}
	return run.page, err
}

// searchRun is a Search under way.
type searchRun struct {
	Search
	store         *Store
	ascending     bool
	from, to      int64 // what is left of the log to look at, both included
	questionsOnly bool  // only questions match
	status        string
	conditions    []nameCondition
	trigrams      []uint32  // of the texts that all must be there
	stmt          *sql.Stmt // reads the events of a span that have the names
	deadline      time.Time
	examined      int // events, and as many as a first batch for every span
	bytes         int
	page          SearchPage
}

// setBounds finds the part of the log and the names that the search speaks of.
func (run *searchRun) setBounds(ctx context.Context) (err error) {
	var q filterQuery
	if err := run.store.setBounds(ctx, &Filter{From: run.From, To: run.To, Before: run.Before, After: run.After}, &q); err != nil {
		return err
	}
	run.from, run.to = q.from, q.to
	run.page.SearchedTo = schema.EventID(run.to + 1)
	if run.ascending {
		run.page.SearchedTo = schema.EventID(run.from - 1)
	}
	if id := run.Filter.ID(); id > 0 {
		run.from, run.to = max(run.from, id), min(run.to, id)
	}
	run.conditions, err = run.store.nameConditions(ctx, run.Filter.Names())
	if slices.ContainsFunc(run.conditions, nameCondition.matchesNothing) {
		run.to = run.from - 1
	}
	return err
}

// windowSize is how many numbers of the log are looked at in one go. It bounds a
// statement that walks the narrow index and finds nothing, some ten events per
// microsecond, since it can't be stopped.
const windowSize = 64 << 10

// search looks at one span after the other until enough is found or time is up.
func (run *searchRun) search(ctx context.Context) (err error) {
	if run.stmt, err = run.store.readers.db.PrepareContext(ctx, run.sql()); err != nil {
		return err
	}
	defer func() { _ = run.stmt.Close() }()
	for run.from <= run.to {
		from, to := run.nextWindow()
		candidates, err := run.candidates(ctx, from, to)
		if err != nil {
			return err
		}
		for piece := range candidates.ranges(from, to, run.ascending) {
			if more, err := run.scanRange(ctx, piece); err != nil || !more {
				return err
			}
		}
		run.advancePast(from, to)
		run.examined += firstBatch
		if run.from <= run.to && run.isOverTime() {
			return nil
		}
	}
	run.page.Complete = true
	return nil
}

// nextWindow is what to look at next. All end at multiples of windowSize, as zones and the
// blocks of the index do.
func (run *searchRun) nextWindow() (from, to int64) {
	if run.ascending {
		return run.from, min(run.to, run.from|(windowSize-1))
	}
	return max(run.from, run.to&^(windowSize-1)), run.to
}

// advancePast notes that the walk is through with a span.
func (run *searchRun) advancePast(from, to int64) {
	if run.ascending {
		run.from, run.page.SearchedTo = to+1, schema.EventID(to)
		return
	}
	run.to, run.page.SearchedTo = from-1, schema.EventID(from)
}

// isOverTime reports whether time is up. On a machine that is busy with other things it
// would be up at once, call after call: a few events are looked at in any case. But
// a few may be too much, too, of what is made to be slow.
func (run *searchRun) isOverTime() bool {
	if run.Within <= 0 || run.examined == 0 {
		return false
	}
	overtime := time.Since(run.deadline)
	return overtime > 0 && run.examined >= firstBatch || overtime > maxOvertime
}

// maxOvertime is how long after its time a search is given up in any case.
const maxOvertime = 500 * time.Millisecond

// Events are read some at a time: few at first, since the newest often match, and
// never more than a batch may weigh.
const (
	firstBatch = 32
	lastBatch  = 256
	batchBytes = 1 << 20
)

// scanRange matches the events of a run. false: it stopped before the end.
func (run *searchRun) scanRange(ctx context.Context, r seqRange) (more bool, err error) {
	for n := firstBatch; r.from <= r.to; n = min(2*n, lastBatch) {
		rows, err := run.stmt.QueryContext(ctx, r.from, r.to, n)
		events, full, err := run.store.readEventsUpTo(ctx, batchBytes, rows, err)
		if err != nil {
			return false, err
		}
		for _, e := range events {
			if !run.visit(e) {
				return false, nil
			}
		}
		if len(events) < n && !full {
			break
		}
		if last := int64(events[len(events)-1].ID); run.ascending {
			r.from = last + 1
		} else {
			r.to = last - 1
		}
	}
	run.advancePast(r.from, r.to)
	return !run.isOverTime(), nil
}

// visit looks at one event. false: that was enough.
func (run *searchRun) visit(e *Event) bool {
	run.examined++
	if run.Filter.Match(e.toFilterEvent()) {
		size := len(e.Envelope) + len(e.Payload) + len(e.Question) + len(e.Status) + jsonOverhead
		if len(run.page.Events) > 0 && run.bytes+size > run.Bytes {
			return false
		}
		run.bytes += size
		run.page.Events = append(run.page.Events, e)
	}
	run.advancePast(int64(e.ID), int64(e.ID))
	return len(run.page.Events) < run.Limit && !run.isOverTime()
}

// jsonOverhead is what AppendJSON puts around the pieces of an event, at most.
const jsonOverhead = 256

func (e *Event) toFilterEvent() *filter.Event {
	return &filter.Event{
		ID: int64(e.ID), App: e.App, Session: e.Session, Type: e.Type, Tool: e.Tool,
		Envelope: e.Envelope, Payload: e.Payload, Question: e.Question, Status: e.Status,
	}
}

// sql is the statement that reads the events between two numbers. It walks the
// questions where only they can match, else the narrow index.
func (run *searchRun) sql() string {
	var b sqlBuilder
	b.add(`SELECT ` + eventColumns + listedPayload + `q.question, q.status FROM `)
	table := "q"
	switch {
	case run.status != "" && (&filterQuery{status: run.status}).hasValidStatus():
		b.add(`questions q INDEXED BY questions_by_state CROSS JOIN events e ON e.stream_id = q.stream_id AND e.seq = q.seq
			WHERE q.stream_id = 1 AND q.state = '` + run.status + `'`)
	case run.questionsOnly:
		b.add(`questions q CROSS JOIN events e ON e.stream_id = q.stream_id AND e.seq = q.seq WHERE q.stream_id = 1`)
	default:
		table = "e"
		b.add(`events e INDEXED BY events_scan
			LEFT JOIN questions q ON q.stream_id = e.stream_id AND q.seq = iif(e.asks, e.seq, NULL) WHERE e.stream_id = 1`)
	}
	for _, set := range run.conditions {
		b.add(set.sql(table))
	}
	b.add(` AND ` + table + `.seq >= ? AND ` + table + `.seq <= ? ORDER BY ` + table + `.seq ` + (&filterQuery{ascending: run.ascending}).order() + ` LIMIT ?`)
	return b.String()
}
