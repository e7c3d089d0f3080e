package postgres

import (
	"context"
	"strings"
	"time"
	"unique"

	"github.com/jackc/pgx/v5"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

func (s *engine) SessionFacts(ctx context.Context, app, session string) (facts []byte, err error) {
	err = ignoreNoRows(s.readers.get(ctx, []any{&facts}, querySessionFacts, app, session))
	return facts, err
}

const querySessionFacts = `SELECT facts FROM sessions WHERE app = $1 AND session = $2`

func (s *engine) SessionsWithID(ctx context.Context, session string) ([]store.SessionKey, error) {
	rows, err := s.readers.query(ctx, querySessionsWithID, session)
	found, err := collect(rows, err, func(rows pgx.Rows, s *kit.LastOfSession) error { return rows.Scan(&s.App, &s.Last) })
	return kit.SessionsWithID(session, found), err
}

// querySessionsWithID reads the newest 1,000.
const querySessionsWithID = `SELECT app, last FROM sessions
	WHERE session = $1 ORDER BY first DESC LIMIT 1000`

// sessionScanLimit is how many sessions one call of a text search examines.
const sessionScanLimit = 20_000

// Queries of a page of sessions. A text search reads only their texts, until it has a page
// or has examined sessionScanLimit sessions.
const (
	querySessions = `SELECT active, facts FROM sessions
		WHERE active < $1 ORDER BY active DESC LIMIT $2`
	querySessionsOf = `SELECT active, facts FROM sessions
		WHERE app = $1 AND active < $2 ORDER BY active DESC LIMIT $3`
	querySessionsOfPerson = `SELECT active, facts FROM sessions
		WHERE person = $1 AND person <> '' AND ($2 = '' OR app = $2) AND active < $3 ORDER BY active DESC LIMIT $4`
	querySessionTexts = `SELECT last, app, person, text FROM sessions
		WHERE last < $1 ORDER BY last DESC LIMIT $2`
	querySessionByLast = `SELECT active, facts FROM sessions WHERE last = $1`
)

func (s *engine) Sessions(ctx context.Context, f store.SessionFilter) (facts [][]byte, next int64, err error) {
	if f.Before <= 0 {
		f.Before = 1 << 62
	}
	if f.Text != "" {
		return s.texts.Search(ctx, sessionSource{s}, s.sessionTextReader(ctx), s.head.Load(), f)
	}
	query, args := querySessions, []any{f.Before, f.Limit + 1}
	switch {
	case f.Person != "":
		query, args = querySessionsOfPerson, append([]any{f.Person, f.App}, args...)
	case f.App != "":
		query, args = querySessionsOf, append([]any{f.App}, args...)
	}
	rows, err := s.readers.query(ctx, query, args...)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		if len(facts) == f.Limit {
			return facts, next, rows.Err()
		}
		var raw []byte
		if err := rows.Scan(&next, &raw); err != nil {
			return nil, 0, err
		}
		facts = append(facts, raw)
	}
	return facts, 0, rows.Err()
}

// sessionSource implements kit.SessionSource.
type sessionSource struct{ *engine }

func (s sessionSource) SessionByLast(ctx context.Context, last schema.EventID) (row kit.SessionRow, err error) {
	err = s.readers.get(ctx, []any{&row.Active, &row.Facts}, querySessionByLast, last)
	return row, ignoreNoRows(err)
}

func (s sessionSource) OlderSessions(ctx context.Context, f store.SessionFilter) (found []schema.EventID, next int64, err error) {
	rows, err := s.readers.query(ctx, querySessionTexts, f.Before, sessionScanLimit)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	scanned := 0
	for rows.Next() {
		var app, person, text string
		if err := rows.Scan(&next, &app, &person, &text); err != nil {
			return nil, 0, err
		}
		scanned++
		if f.App != "" && f.App != app || f.Person != "" && f.Person != person || !strings.Contains(text, f.Text) {
			continue
		}
		if found = append(found, schema.EventID(next)); len(found) == f.Limit {
			return found, next, rows.Err()
		}
	}
	if scanned < sessionScanLimit {
		next = 0
	}
	return found, next, rows.Err()
}

// transcriptBatch is how many transcripts one statement of a search compares.
const transcriptBatch = 32

// querySessionTranscripts reads the next transcripts, each with the facts of its session if that matches:
// one whose own text matches was found already.
const querySessionTranscripts = `SELECT t.seq, s.facts
	FROM (SELECT seq, text FROM transcript_texts WHERE seq < $1 ORDER BY seq DESC LIMIT $2) t
	LEFT JOIN events e ON e.seq = t.seq AND strpos(t.text, $3) > 0
	LEFT JOIN sessions s ON s.app = e.app AND s.session = e.session
		AND ($4 = '' OR s.app = $4) AND ($5 = '' OR s.person = $5) AND strpos(s.text, $6) = 0
	ORDER BY t.seq DESC`

func (s sessionSource) SearchTranscripts(ctx context.Context, f store.SessionFilter, before int64) (facts [][]byte, next int64, err error) {
	type row struct {
		seq   int64
		facts []byte
	}
	word, deadline := filter.Fold(f.Text), time.Now().Add(kit.TranscriptSearchTime)
	for {
		rows, err := s.readers.query(ctx, querySessionTranscripts, before, transcriptBatch, word, f.App, f.Person, f.Text)
		read, err := collect(rows, err, func(rows pgx.Rows, r *row) error { return rows.Scan(&r.seq, &r.facts) })
		if err != nil {
			return nil, 0, err
		}
		for _, r := range read {
			before = r.seq
			if r.facts != nil {
				facts = append(facts, r.facts)
			}
			if len(facts) == f.Limit {
				return facts, kit.PositionBefore(before), nil
			}
		}
		if len(read) < transcriptBatch {
			return facts, 0, nil
		}
		if time.Now().After(deadline) {
			return facts, kit.PositionBefore(before), nil
		}
	}
}

const queryNewSessionTexts = `SELECT first, last, app, person, text FROM sessions
	WHERE last > $1 ORDER BY last DESC LIMIT $2`

// sessionTextReader returns the function that reads texts for kit.SessionTexts.
func (s *engine) sessionTextReader(ctx context.Context) func(schema.EventID, int) ([]kit.SessionText, error) {
	return func(after schema.EventID, limit int) ([]kit.SessionText, error) {
		rows, err := s.readers.query(ctx, queryNewSessionTexts, after, limit)
		return collect(rows, err, func(rows pgx.Rows, e *kit.SessionText) error {
			var app, person string
			err := rows.Scan(&e.First, &e.Last, &app, &person, &e.Text)
			e.App, e.Person = unique.Make(app), unique.Make(person)
			return err
		})
	}
}

const querySessionTools = `SELECT tool, bin, calls, failures, total FROM session_tools WHERE first = $1`

func (s *engine) SessionTools(ctx context.Context, first schema.EventID) (map[store.ToolKey]store.ToolTime, error) {
	rows, err := s.readers.query(ctx, querySessionTools, first)
	times := map[store.ToolKey]store.ToolTime{}
	return times, eachRow(rows, err, func(rows pgx.Rows) error {
		var key store.ToolKey
		var u store.ToolTime
		err := rows.Scan(&key.Tool, &key.Bucket, &u.Calls, &u.Failures, &u.TotalMS)
		times[key] = u
		return err
	})
}

func (s *engine) PendingCounts(ctx context.Context) (map[store.SessionKey]int64, error) {
	counts := map[store.SessionKey]int64{}
	for key, n := range s.pending.CountSessions() {
		counts[store.SessionKey{App: key.App, Session: key.Session}] = n
	}
	return counts, ctx.Err()
}
