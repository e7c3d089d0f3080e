package sqlite

import (
	"context"
	"database/sql"
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
	if run.stmt, err = s.readers.db.PrepareContext(ctx, run.sql()); err != nil {
		return page, err
	}
	defer func() { _ = run.stmt.Close() }()
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
	trigrams        []uint32  // hashes of trigrams that every match contains
	stmt            *sql.Stmt // reads the events of a range that satisfy the name conditions
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
	rows, err := run.stmt.QueryContext(ctx, r.From, r.To, n)
	return run.store.readEventsUpTo(ctx, kit.MaxSearchBatch, rows, err)
}

// Ratings implements kit.SearchSource.
func (run *searchRun) Ratings(ctx context.Context, events []*store.Event) (map[int64]filter.Rating, error) {
	return run.store.ratingsOf(ctx, events)
}

// transcript is kit.SearchRun.Transcript.
func (run *searchRun) transcript(ctx context.Context, id schema.EventID) (text string, err error) {
	return text, ignoreNoRows(run.store.readers.get(ctx, []any{&text}, queryTranscript, id))
}

const queryTranscript = `SELECT text FROM transcript_texts WHERE seq = ?`

// sql returns the statement that reads the events of a range. It scans the questions if
// only they can match, questions and rated calls if only those can, and otherwise the narrow index.
func (run *searchRun) sql() string {
	var b sqlBuilder
	b.add(`SELECT ` + eventColumns + listedPayload + `q.question, q.status FROM `)
	table := "q"
	switch {
	case kit.IsListedStatus(run.status):
		index, condition := questionState(schema.State(run.status))
		b.add(`questions q INDEXED BY ` + index + ` CROSS JOIN events e ON e.seq = q.seq WHERE ` + condition)
	case run.questionsOnly:
		b.add(`questions q CROSS JOIN events e ON e.seq = q.seq WHERE TRUE`)
	case run.ratedOnly:
		b.add(`events e INDEXED BY events_scan
			LEFT JOIN questions q ON q.seq = iif(e.asks, e.seq, NULL)
			WHERE (e.asks OR EXISTS (SELECT 1 FROM risky_calls r WHERE r.seq = e.seq))`)
		table = "e"
	default:
		table = "e"
		b.add(`events e INDEXED BY events_scan
			LEFT JOIN questions q ON q.seq = iif(e.asks, e.seq, NULL) WHERE TRUE`)
	}
	for _, condition := range run.conditions {
		b.add(condition.sql(table))
	}
	if run.transcriptsOnly {
		b.add(` AND EXISTS (SELECT 1 FROM transcript_texts t WHERE t.seq = ` + table + `.seq)`)
	}
	b.add(` AND ` + table + `.seq >= ? AND ` + table + `.seq <= ? ORDER BY ` + table + `.seq ` + kit.Order(run.Ascending) + ` LIMIT ?`)
	return b.String()
}
