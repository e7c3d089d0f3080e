package tables

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

// SearchRun is the state of one call of store.History.Search.
type SearchRun struct {
	*Tables
	store.Search
	ascending       bool
	questionsOnly   bool // only questions can match
	ratedOnly       bool // only questions and rated calls can match
	transcriptsOnly bool // only the newest transcripts can match
	conditions      []nameCondition
	trigrams        []uint32         // hashes of trigrams that every match contains
	transcripts     []schema.EventID // the events of the last read that have a text of a transcript

	from, to int64 // range left to search, both inclusive
	deadline time.Time
	examined int // events examined, plus firstBatch for every window
	bytes    int
	page     store.SearchPage
}

func (t *Tables) Search(ctx context.Context, q store.Search) (store.SearchPage, error) {
	run, err := t.NewSearch(ctx, q)
	if err != nil {
		return store.SearchPage{}, err
	}
	err = run.search(ctx)
	if !run.ascending {
		slices.Reverse(run.page.Events)
	}
	return run.page, err
}

// NewSearch returns the run of a search.
func (t *Tables) NewSearch(ctx context.Context, q store.Search) (*SearchRun, error) {
	run := &SearchRun{
		Tables: t, Search: q, ascending: q.Oldest || q.After > 0, deadline: time.Now().Add(q.Timeout),
		trigrams: grams.Required(q.Filter.RequiredLiterals()), questionsOnly: q.Filter.QuestionsOnly(),
		ratedOnly: q.Filter.RatedOnly(), transcriptsOnly: q.Filter.TranscriptsOnly(),
	}
	if run.Limit <= 0 {
		run.Limit = schema.RecentLimit
	}
	if run.MaxBytes <= 0 {
		run.MaxBytes = math.MaxInt
	}
	from, to, err := t.seqRange(ctx, seqFilter{q.After, q.Before, q.From, q.To})
	if err != nil {
		return nil, err
	}
	run.from, run.to, run.page.SearchedTo = from, to, schema.EventID(to+1)
	if run.ascending {
		run.page.SearchedTo = schema.EventID(from - 1)
	}
	if id := run.Filter.ID(); id > 0 {
		run.from, run.to = max(run.from, id), min(run.to, id)
	}
	run.conditions, err = t.nameConditions(ctx, q.Filter.Names())
	if slices.ContainsFunc(run.conditions, nameCondition.matchesNothing) {
		run.to = run.from - 1
	}
	return run, err
}

// search examines one window after the other until it has enough matches or the time is up.
// The window bounds a statement that finds no match, because a running statement can't be stopped.
func (run *SearchRun) search(ctx context.Context) (err error) {
	for {
		from, to, ok := run.NextWindow()
		if !ok {
			break
		}
		candidates, err := run.Candidates(ctx, from, to)
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

// NextWindow returns the next window; ok is false if nothing is left. Windows end at multiples of grams.WindowSize, which are
// also bounds of name segments and index blocks.
func (run *SearchRun) NextWindow() (from, to int64, ok bool) {
	if run.ascending {
		return run.from, min(run.to, run.from|(grams.WindowSize-1)), run.from <= run.to
	}
	return max(run.from, run.to&^(grams.WindowSize-1)), run.to, run.from <= run.to
}

// advancePast records that a range was searched completely.
func (run *SearchRun) advancePast(from, to int64) {
	if run.ascending {
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

// maxSearchBatch bounds the bytes of a batch of events.
const maxSearchBatch = 1 << 20

// Events are read in batches: small ones first, since the newest often match.
const (
	firstBatch = 32
	lastBatch  = 256
)

// scanRange examines the events of a range. It returns false if it stopped before the end.
func (run *SearchRun) scanRange(ctx context.Context, remaining grams.Range) (more bool, err error) {
	for n := firstBatch; remaining.From <= remaining.To; n = min(2*n, lastBatch) {
		events, full, err := run.read(ctx, remaining, n)
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
func (run *SearchRun) visitAll(ctx context.Context, events []*store.Event) (more bool, err error) {
	var ratings map[int64]filter.Rating
	if run.Filter.UsesRatings() {
		if ratings, err = run.ratingsOf(ctx, events); err != nil {
			return false, err
		}
	}
	for _, e := range events {
		view := e.FilterEvent()
		view.Rating = ratings[int64(e.ID)]
		if run.Filter.UsesTranscripts() {
			if view.Transcript, err = run.transcript(ctx, e.ID); err != nil {
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

const queryTranscript = `SELECT text FROM transcript_texts WHERE seq = $1`

// transcript returns the text of the transcript of an event of the last read; empty without one.
func (run *SearchRun) transcript(ctx context.Context, id schema.EventID) (text string, err error) {
	if slices.Contains(run.transcripts, id) {
		text, err = read[string](ctx, run, queryTranscript, id)
	}
	return text, err
}

// read returns up to n events of a range that may match, in the direction of the search, and
// reports whether it stopped because they are big.
func (run *SearchRun) read(ctx context.Context, r grams.Range, n int) (events []*store.Event, full bool, err error) {
	query, args := run.sql(r, n)
	events, full, err = run.readEventsUpTo(ctx, maxSearchBatch, query, args...)
	if err == nil && run.Filter.UsesTranscripts() {
		run.transcripts, err = collect(ctx, run, column[schema.EventID], queryTranscriptsBetween, r.From, r.To)
	}
	return events, full, err
}

// sql returns the statement that reads the events of a range. It scans the questions if
// only they can match, questions and rated calls if only those can, and otherwise the narrow index.
func (run *SearchRun) sql(r grams.Range, limit int) (string, []any) {
	const scan = `events e /*!INDEXED BY events_scan*/ LEFT JOIN questions q ON q.seq = CASE WHEN e.asks THEN e.seq END WHERE true`
	var b sqlBuilder
	b.add(`SELECT ` + eventColumns + listedPayload + `q.question, q.status FROM `)
	table := "q"
	switch status := run.Filter.Status(); {
	case isListedStatus(status):
		index, condition := questionState(schema.State(status))
		b.add(`questions q ` + index + ` /*!CROSS*/ JOIN events e ON e.seq = q.seq WHERE ` + condition)
	case run.questionsOnly:
		b.add(`questions q /*!CROSS*/ JOIN events e ON e.seq = q.seq WHERE true`)
	case run.ratedOnly:
		table = "e"
		b.add(scan + ` AND (e.asks OR EXISTS (SELECT 1 FROM risky_calls r WHERE r.seq = e.seq))`)
	default:
		table = "e"
		b.add(scan)
	}
	for _, condition := range run.conditions {
		condition.add(&b, table)
	}
	if run.transcriptsOnly {
		b.add(` AND EXISTS (SELECT 1 FROM transcript_texts t WHERE t.seq = ` + table + `.seq)`)
	}
	b.add(` AND `+table+`.seq BETWEEN ? AND ? ORDER BY `+table+`.seq `+order(run.ascending)+` LIMIT ?`, r.From, r.To, limit)
	return b.String(), b.args
}

// Candidates returns the segments of a window that may contain a match.
func (run *SearchRun) Candidates(ctx context.Context, from, to int64) (*grams.Set, error) {
	set, r := new(grams.Set).Fill(), grams.Range{From: from, To: to}
	if run.questionsOnly { // its index is narrow enough
		return set, nil
	}
	if run.ratedOnly {
		if err := run.keepSegmentsOf(ctx, set, r, queryQuestionsBetween, queryRatedBetween); err != nil {
			return nil, err
		}
	}
	if run.transcriptsOnly {
		if err := run.keepSegmentsOf(ctx, set, r, queryTranscriptsBetween); err != nil {
			return nil, err
		}
	}
	for _, n := range run.conditions {
		if err := run.keepNameSegments(ctx, n, set, r); err != nil {
			return nil, err
		}
	}
	return set, run.keepSegmentsWithText(ctx, set, r)
}

// The questions, the rated calls and the transcripts in a range.
const (
	queryQuestionsBetween   = `SELECT seq FROM questions WHERE seq BETWEEN $1 AND $2`
	queryRatedBetween       = `SELECT seq FROM risky_calls WHERE seq BETWEEN $1 AND $2`
	queryTranscriptsBetween = `SELECT seq FROM transcript_texts WHERE seq BETWEEN $1 AND $2`
)

// keepSegmentsOf removes the segments without a row of any of the queries.
func (run *SearchRun) keepSegmentsOf(ctx context.Context, set *grams.Set, r grams.Range, queries ...string) error {
	var found grams.Set
	for _, query := range queries {
		seqs, err := collect(ctx, run, column[int64], query, r.From, r.To)
		if err != nil {
			return err
		}
		for _, seq := range seqs {
			found[seq>>grams.SegmentBits%grams.SegmentsPerWindow] = true
		}
	}
	keep(set, &found)
	return nil
}

const queryNameSegments = `SELECT zone FROM zones WHERE kind = $1 AND name = ANY($2) AND zone BETWEEN $3 AND $4`

// keepNameSegments removes the segments in which no event satisfies the name condition.
func (run *SearchRun) keepNameSegments(ctx context.Context, c nameCondition, set *grams.Set, r grams.Range) error {
	if c.negated || c.column == "tool" {
		return nil
	}
	segments, err := collect(ctx, run, column[int64], queryNameSegments, c.kind, c.names, r.From>>NameSegmentBits, r.To>>NameSegmentBits)
	if err != nil {
		return err
	}
	var found grams.Set
	for _, segment := range segments {
		const perNameSegment = NameSegmentSize >> grams.SegmentBits
		for i := range int64(perNameSegment) {
			found[(segment*perNameSegment+i)%grams.SegmentsPerWindow] = true
		}
	}
	keep(set, &found)
	return nil
}

func keep(set, found *grams.Set) {
	for i := range set {
		set[i] = set[i] && found[i]
	}
}

// queryTrigrams reads slices of the index. See slicePlace.
const queryTrigrams = `SELECT g.place, b.crowded, g.grams FROM search_grams g /*!CROSS*/ JOIN search_blocks b ON b.block = g.place >> 6
	WHERE g.place = ANY($1) AND b.made = $2`

// slicePlace returns the key of a slice of a block in the table search_grams. One integer is the fastest key.
func slicePlace(block int64, slice int) int64 { return block<<6 | int64(slice) }

// trigramsAtOnce is the number of trigrams that one query looks up.
const trigramsAtOnce = 6

// keepSegmentsWithText removes the segments that lack one of the trigrams. Segments that
// are not indexed stay.
func (run *SearchRun) keepSegmentsWithText(ctx context.Context, set *grams.Set, r grams.Range) error {
	n := 1 // the first one is the rarest, and leaves few blocks for the others
	for left := run.trigrams; len(left) > 0; n = trigramsAtOnce {
		hashes := left[:min(n, len(left))]
		left = left[len(hashes):]
		var places []int64
		for block := r.From >> grams.BlockBits; block <= r.To>>grams.BlockBits; block++ {
			if !set.HasBlock(block) {
				continue
			}
			for _, hash := range hashes {
				places = append(places, slicePlace(block, grams.Slice(hash)))
			}
		}
		if len(places) == 0 {
			return nil
		}
		if err := run.keepSegmentsWithTrigrams(ctx, hashes, set, places); err != nil {
			return err
		}
	}
	return nil
}

func (run *SearchRun) keepSegmentsWithTrigrams(ctx context.Context, hashes []uint32, set *grams.Set, places []int64) error {
	return run.Read(ctx, func(rows Rows) error {
		var place, saturated int64
		var encoded sql.RawBytes
		if err := rows.Scan(&place, &saturated, &encoded); err != nil {
			return err
		}
		block := place >> 6
		for _, hash := range hashes {
			if slicePlace(block, grams.Slice(hash)) == place {
				keepIndexed(set, block, grams.Lookup(encoded, hash)|uint16(saturated))
			}
		}
		return nil
	}, queryTrigrams, places, filter.IndexVersion)
}

// keepIndexed removes the segments of a block that are not in a bit mask.
func keepIndexed(set *grams.Set, block int64, mask uint16) {
	const perBlock = grams.BlockSize >> grams.SegmentBits
	for i := range int64(perBlock) {
		at := (block*perBlock + i) % grams.SegmentsPerWindow
		set[at] = set[at] && mask&(1<<i) != 0
	}
}
