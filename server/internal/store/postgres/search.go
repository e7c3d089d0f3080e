package postgres

import (
	"context"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/grams"
	"github.com/hookback/hookback/server/internal/store/kit"
)

func (s *engine) Search(ctx context.Context, q store.Search) (page store.SearchPage, err error) {
	run := &searchRun{
		SearchRun: kit.NewSearchRun(q), store: s,
		trigrams: grams.Required(q.Filter.RequiredLiterals()), questionsOnly: q.Filter.QuestionsOnly(),
		ratedOnly: q.Filter.RatedOnly(), transcriptsOnly: q.Filter.TranscriptsOnly(), status: q.Filter.Status(),
	}
	run.Transcript = run.transcript
	if err := run.setBounds(ctx); err != nil {
		return page, err
	}
	return run.Run(ctx, run)
}

// searchRun is a search of this engine.
type searchRun struct {
	*kit.SearchRun
	store           *engine
	questionsOnly   bool // only questions can match
	ratedOnly       bool // only questions and rated calls can match
	transcriptsOnly bool // only the newest transcripts can match
	status          string
	conditions      []nameCondition
	trigrams        []uint32         // hashes of trigrams that every match contains
	transcripts     []schema.EventID // the events of the last Read that have a text of a transcript
}

// setBounds sets the range and the name conditions of the search.
func (run *searchRun) setBounds(ctx context.Context) error {
	from, to, err := run.store.seqRange(ctx, kit.SeqBounds{After: run.After, Before: run.Before, From: run.From, To: run.To})
	if err != nil {
		return err
	}
	run.conditions, err = run.store.nameConditions(ctx, run.Filter.Names())
	if slices.ContainsFunc(run.conditions, nameCondition.matchesNothing) {
		run.SetEmpty(from, to)
	} else {
		run.SetBounds(from, to)
	}
	return err
}

// Read implements kit.SearchSource.
func (run *searchRun) Read(ctx context.Context, r grams.Range, n int) (events []*store.Event, full bool, err error) {
	query, args := run.sql(r, n)
	rows, err := run.store.readers.query(ctx, query, args...)
	events, full, err = readEventsUpTo(kit.MaxSearchBatch, rows, err)
	if err == nil && run.Filter.UsesTranscripts() {
		rows, err = run.store.readers.query(ctx, queryTranscriptsBetween, r.From, r.To)
		run.transcripts, err = scanIDs(rows, err)
	}
	return events, full, err
}

// Ratings implements kit.SearchSource.
func (run *searchRun) Ratings(ctx context.Context, events []*store.Event) (map[int64]filter.Rating, error) {
	return run.store.ratingsOf(ctx, events)
}

// transcript is kit.SearchRun.Transcript.
func (run *searchRun) transcript(ctx context.Context, id schema.EventID) (text string, err error) {
	if slices.Contains(run.transcripts, id) {
		err = ignoreNoRows(run.store.readers.get(ctx, []any{&text}, `SELECT text FROM transcript_texts WHERE seq = $1`, id))
	}
	return text, err
}

// sql returns the statement that reads the events of a range. It scans the questions if
// only they can match.
func (run *searchRun) sql(r grams.Range, limit int) (string, []any) {
	var b sqlBuilder
	b.add(`SELECT ` + eventColumns + listedPayload + `q.question, q.status FROM `)
	table := "q"
	switch {
	case kit.IsListedStatus(run.status):
		b.add(`questions q JOIN events e ON e.seq = q.seq WHERE ` + questionState(schema.State(run.status)))
	case run.questionsOnly:
		b.add(`questions q JOIN events e ON e.seq = q.seq WHERE true`)
	case run.ratedOnly:
		table = "e"
		b.add(eventTables + ` WHERE (e.asks OR EXISTS (SELECT 1 FROM risky_calls r WHERE r.seq = e.seq))`)
	default:
		table = "e"
		b.add(eventTables + ` WHERE true`)
	}
	for _, condition := range run.conditions {
		condition.add(&b, table)
	}
	if run.transcriptsOnly {
		b.add(` AND EXISTS (SELECT 1 FROM transcript_texts t WHERE t.seq = ` + table + `.seq)`)
	}
	b.add(` AND `+table+`.seq BETWEEN ? AND ? ORDER BY `+table+`.seq `+kit.Order(run.Ascending)+` LIMIT ?`, r.From, r.To, limit)
	return b.String(), b.args
}
