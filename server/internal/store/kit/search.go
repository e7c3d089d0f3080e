package kit

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/grams"
)

// SearchSource reads the log for a search.
type SearchSource interface {
	// Candidates returns the segments of a window that may contain a match.
	Candidates(ctx context.Context, from, to int64) (*grams.Set, error)
	// Read returns up to n events of a range that may match, in the direction of the search, and
	// reports whether it stopped because they are big.
	Read(ctx context.Context, r grams.Range, n int) (events []*store.Event, full bool, err error)
	// Ratings returns the ratings of events, which are sorted by ID in either direction.
	Ratings(ctx context.Context, events []*store.Event) (map[int64]filter.Rating, error)
}

// SearchRun is the state of one call of store.History.Search.
type SearchRun struct {
	store.Search
	Ascending bool
	// Transcript returns the text of the transcript of an event of the last Read; empty without one.
	Transcript func(ctx context.Context, id schema.EventID) (string, error)

	from, to int64 // range left to search, both inclusive
	deadline time.Time
	examined int // events examined, plus firstBatch for every window
	bytes    int
	page     store.SearchPage
}

// NewSearchRun returns the run of a search.
func NewSearchRun(q store.Search) *SearchRun {
	run := &SearchRun{Search: q, Ascending: q.Oldest || q.After > 0, deadline: time.Now().Add(q.Timeout)}
	if run.Limit <= 0 {
		run.Limit = schema.RecentLimit
	}
	if run.MaxBytes <= 0 {
		run.MaxBytes = math.MaxInt
	}
	return run
}

// SetBounds sets the range of the search, both inclusive.
func (run *SearchRun) SetBounds(from, to int64) {
	run.from, run.to = from, to
	run.page.SearchedTo = schema.EventID(to + 1)
	if run.Ascending {
		run.page.SearchedTo = schema.EventID(from - 1)
	}
	if id := run.Filter.ID(); id > 0 {
		run.from, run.to = max(run.from, id), min(run.to, id)
	}
}

// SetEmpty is SetBounds for a search that can match nothing.
func (run *SearchRun) SetEmpty(from, to int64) {
	run.SetBounds(from, to)
	run.to = run.from - 1
}

// Run searches the range.
func (run *SearchRun) Run(ctx context.Context, source SearchSource) (store.SearchPage, error) {
	err := run.search(ctx, source)
	if !run.Ascending {
		slices.Reverse(run.page.Events)
	}
	return run.page, err
}

// search examines one window after the other until it has enough matches or the time is up.
// The window bounds a statement that finds no match, because a running statement can't be stopped.
func (run *SearchRun) search(ctx context.Context, source SearchSource) (err error) {
	for {
		from, to, ok := run.NextWindow()
		if !ok {
			break
		}
		candidates, err := source.Candidates(ctx, from, to)
		if err != nil {
			return err
		}
		for r := range candidates.Ranges(from, to, run.Ascending) {
			if more, err := run.scanRange(ctx, source, r); err != nil || !more {
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

// NextWindow returns the next window; ok is false if nothing is left. Windows end at multiples of grams.WindowSize, which are
// also bounds of name segments and index blocks.
func (run *SearchRun) NextWindow() (from, to int64, ok bool) {
	if run.Ascending {
		return run.from, min(run.to, run.from|(grams.WindowSize-1)), run.from <= run.to
	}
	return max(run.from, run.to&^(grams.WindowSize-1)), run.to, run.from <= run.to
}

// advancePast records that a range was searched completely.
func (run *SearchRun) advancePast(from, to int64) {
	if run.Ascending {
		run.from, run.page.SearchedTo = to+1, schema.EventID(to)
		return
	}
	run.to, run.page.SearchedTo = from-1, schema.EventID(from)
}

// isOverTime reports whether the time is up. A first batch of events is always examined:
// on a busy machine the time could be up immediately in every call. But if those few
// events take too long, as with a filter crafted to be slow, maxOvertime applies.
func (run *SearchRun) isOverTime() bool {
	if run.Timeout <= 0 || run.examined == 0 {
		return false
	}
	overtime := time.Since(run.deadline)
	return overtime > 0 && run.examined >= firstBatch || overtime > maxOvertime
}

// maxOvertime is how long a search may exceed its time limit.
const maxOvertime = 500 * time.Millisecond

// MaxSearchBatch bounds the bytes of a batch of events.
const MaxSearchBatch = 1 << 20

// Events are read in batches: small ones first, since the newest often match.
const (
	firstBatch = 32
	lastBatch  = 256
)

// scanRange examines the events of a range. It returns false if it stopped before the end.
func (run *SearchRun) scanRange(ctx context.Context, source SearchSource, remaining grams.Range) (more bool, err error) {
	for n := firstBatch; remaining.From <= remaining.To; n = min(2*n, lastBatch) {
		events, full, err := source.Read(ctx, remaining, n)
		if err != nil {
			return false, err
		}
		if more, err := run.visitAll(ctx, source, events); err != nil || !more {
			return false, err
		}
		if len(events) < n && !full {
			break
		}
		if last := int64(events[len(events)-1].ID); run.Ascending {
			remaining.From = last + 1
		} else {
			remaining.To = last - 1
		}
	}
	run.advancePast(remaining.From, remaining.To)
	return !run.isOverTime(), nil
}

// visitAll examines events. It returns false if the search has to stop.
func (run *SearchRun) visitAll(ctx context.Context, source SearchSource, events []*store.Event) (more bool, err error) {
	var ratings map[int64]filter.Rating
	if run.Filter.UsesRatings() {
		if ratings, err = source.Ratings(ctx, events); err != nil {
			return false, err
		}
	}
	for _, e := range events {
		view := e.FilterEvent()
		view.Rating = ratings[int64(e.ID)]
		if run.Filter.UsesTranscripts() {
			if view.Transcript, err = run.Transcript(ctx, e.ID); err != nil {
				return false, err
			}
		}
		if !run.visit(e, view) {
			return false, nil
		}
	}
	return true, nil
}

// visit examines one event. It returns false if the search has to stop.
func (run *SearchRun) visit(e *store.Event, view *filter.Event) bool {
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
