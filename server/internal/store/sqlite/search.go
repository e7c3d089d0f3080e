package sqlite

import (
	"context"
	"database/sql"
	"math"
	"slices"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/grams"
)

func (s *engine) Search(ctx context.Context, q store.Search) (store.SearchPage, error) {
	run := &searchRun{
		Search: q, store: s, ascending: q.Oldest || q.After > 0,
		trigrams: grams.Required(q.Filter.RequiredLiterals()), questionsOnly: q.Filter.QuestionsOnly(), ratedOnly: q.Filter.RatedOnly(), transcriptsOnly: q.Filter.TranscriptsOnly(), status: q.Filter.Status(), deadline: time.Now().Add(q.Timeout),
	}
	if run.Limit <= 0 {
		run.Limit = schema.RecentLimit
	}
	if run.MaxBytes <= 0 {
		run.MaxBytes = math.MaxInt
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

// searchRun is the state of one call of Store.Search.
type searchRun struct {
	store.Search
	store           *engine
	ascending       bool
	from, to        int64 // range left to search, both inclusive
	questionsOnly   bool  // only questions can match
	ratedOnly       bool  // only questions and rated calls can match
	transcriptsOnly bool  // only the newest transcripts can match
	status          string
	conditions      []nameCondition
	trigrams        []uint32  // hashes of trigrams that every match contains
	stmt            *sql.Stmt // reads the events of a range that satisfy the name conditions
	deadline        time.Time
	examined        int // events examined, plus firstBatch for every window
	bytes           int
	page            store.SearchPage
}

// setBounds sets the range and the name conditions of the search.
func (run *searchRun) setBounds(ctx context.Context) (err error) {
	var q filterQuery
	if err := run.store.setBounds(ctx, &store.Filter{From: run.From, To: run.To, Before: run.Before, After: run.After}, &q); err != nil {
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

// search examines one window after the other until it has enough matches or the time is up.
// The window bounds a statement that scans the narrow index without matches, about ten
// events per microsecond, because a running statement can't be stopped.
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
		for r := range candidates.Ranges(from, to, run.ascending) {
			if more, err := run.scanRange(ctx, r); err != nil || !more {
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

// nextWindow returns the next window. Windows end at multiples of grams.WindowSize, which are
// also bounds of name segments and index blocks.
func (run *searchRun) nextWindow() (from, to int64) {
	if run.ascending {
		return run.from, min(run.to, run.from|(grams.WindowSize-1))
	}
	return max(run.from, run.to&^(grams.WindowSize-1)), run.to
}

// advancePast records that a range was searched completely.
func (run *searchRun) advancePast(from, to int64) {
	if run.ascending {
		run.from, run.page.SearchedTo = to+1, schema.EventID(to)
		return
	}
	run.to, run.page.SearchedTo = from-1, schema.EventID(from)
}

// isOverTime reports whether the time is up. A first batch of events is always examined:
// on a busy machine the time could be up immediately in every call. But if those few
// events take too long, as with a filter crafted to be slow, maxOvertime applies.
func (run *searchRun) isOverTime() bool {
	if run.Timeout <= 0 || run.examined == 0 {
		return false
	}
	overtime := time.Since(run.deadline)
	return overtime > 0 && run.examined >= firstBatch || overtime > maxOvertime
}

// maxOvertime is how long a search may exceed its time limit.
const maxOvertime = 500 * time.Millisecond

// Events are read in batches: small ones first, since the newest often match, and never
// more than batchBytes.
const (
	firstBatch = 32
	lastBatch  = 256
	batchBytes = 1 << 20
)

// scanRange examines the events of a range. It returns false if it stopped before the end.
func (run *searchRun) scanRange(ctx context.Context, remaining grams.Range) (more bool, err error) {
	for n := firstBatch; remaining.From <= remaining.To; n = min(2*n, lastBatch) {
		rows, err := run.stmt.QueryContext(ctx, remaining.From, remaining.To, n)
		events, full, err := run.store.readEventsUpTo(ctx, batchBytes, rows, err)
		if err != nil {
			return false, err
		}
		if more, err := run.visitAll(ctx, events); err != nil || !more {
			return false, err
		}
		if len(events) < n && !full {
			break
		}
		if last := int64(events[len(events)-1].ID); run.ascending {
			remaining.From = last + 1
		} else {
			remaining.To = last - 1
		}
	}
	run.advancePast(remaining.From, remaining.To)
	return !run.isOverTime(), nil
}

// visitAll examines events. It returns false if the search has to stop.
func (run *searchRun) visitAll(ctx context.Context, events []*store.Event) (more bool, err error) {
	var ratings map[int64]filter.Rating
	if run.Filter.UsesRatings() {
		if ratings, err = run.store.ratingsOf(ctx, events); err != nil {
			return false, err
		}
	}
	for _, e := range events {
		view := e.FilterEvent()
		view.Rating = ratings[int64(e.ID)]
		if run.Filter.UsesTranscripts() {
			err := run.store.readers.get(ctx, []any{&view.Transcript}, queryTranscript, e.ID)
			if ignoreNoRows(err) != nil {
				return false, err
			}
		}
		if !run.visit(e, view) {
			return false, nil
		}
	}
	return true, nil
}

const queryTranscript = `SELECT text FROM transcript_texts WHERE stream_id = 1 AND seq = ?`

// visit examines one event. It returns false if the search has to stop.
func (run *searchRun) visit(e *store.Event, view *filter.Event) bool {
	run.examined++
	if run.Filter.Match(view) {
		size := len(e.Envelope) + len(e.Payload) + len(e.Question) + len(e.Status) + jsonOverhead
		if len(run.page.Events) > 0 && run.bytes+size > run.MaxBytes {
			return false
		}
		run.bytes += size
		run.page.Events = append(run.page.Events, e)
	}
	run.advancePast(int64(e.ID), int64(e.ID))
	return len(run.page.Events) < run.Limit && !run.isOverTime()
}

// jsonOverhead is the maximum that AppendJSON adds to the pieces of an event, in bytes.
const jsonOverhead = 256

// sql returns the statement that reads the events of a range. It scans the questions if
// only they can match, questions and rated calls if only those can, and otherwise the narrow index.
func (run *searchRun) sql() string {
	var b sqlBuilder
	b.add(`SELECT ` + eventColumns + listedPayload + `q.question, q.status FROM `)
	table := "q"
	switch {
	case run.status != "" && (&filterQuery{status: run.status}).hasValidStatus():
		index, condition := questionState(schema.State(run.status))
		b.add(`questions q INDEXED BY ` + index + ` CROSS JOIN events e ON e.stream_id = q.stream_id AND e.seq = q.seq
			WHERE q.stream_id = 1 AND ` + condition)
	case run.questionsOnly:
		b.add(`questions q CROSS JOIN events e ON e.stream_id = q.stream_id AND e.seq = q.seq WHERE q.stream_id = 1`)
	case run.ratedOnly:
		b.add(`events e INDEXED BY events_scan
			LEFT JOIN questions q ON q.stream_id = e.stream_id AND q.seq = iif(e.asks, e.seq, NULL)
			WHERE e.stream_id = 1 AND (e.asks = 1 OR EXISTS (SELECT 1 FROM risky_calls r WHERE r.stream_id = 1 AND r.seq = e.seq))`)
		table = "e"
	default:
		table = "e"
		b.add(`events e INDEXED BY events_scan
			LEFT JOIN questions q ON q.stream_id = e.stream_id AND q.seq = iif(e.asks, e.seq, NULL) WHERE e.stream_id = 1`)
	}
	for _, condition := range run.conditions {
		b.add(condition.sql(table))
	}
	if run.transcriptsOnly {
		b.add(` AND EXISTS (SELECT 1 FROM transcript_texts t WHERE t.stream_id = 1 AND t.seq = ` + table + `.seq)`)
	}
	b.add(` AND ` + table + `.seq >= ? AND ` + table + `.seq <= ? ORDER BY ` + table + `.seq ` + (&filterQuery{ascending: run.ascending}).order() + ` LIMIT ?`)
	return b.String()
}
