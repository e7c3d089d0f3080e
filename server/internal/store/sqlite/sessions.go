package sqlite

import (
	"context"
	"database/sql"
	"strings"
	"time"
	"unique"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

func (s *engine) SessionFacts(ctx context.Context, app, session string) (facts []byte, err error) {
	err = ignoreNoRows(s.readers.getByKey(ctx, []any{&facts}, querySessionFacts, app, session))
	return facts, err
}

const querySessionFacts = `SELECT facts FROM sessions WHERE app = ? AND session = ?`

func (s *engine) SessionsWithID(ctx context.Context, session string) ([]store.SessionKey, error) {
	rows, err := s.readers.query(ctx, querySessionsWithID, session)
	found, err := collect(rows, err, func(rows *sql.Rows, s *kit.LastOfSession) error { return rows.Scan(&s.App, &s.Last) })
	return kit.SessionsWithID(session, found), err
}

// querySessionsWithID reads the newest 1,000.
const querySessionsWithID = `SELECT app, last FROM sessions INDEXED BY sessions_by_id
	WHERE session = ? ORDER BY rowid DESC LIMIT 1000`

// sessionScanLimit is how many sessions one call of a text search examines.
const sessionScanLimit = 20_000

// Queries of a page of sessions. A text search reads only their texts, until it has a page
// or has examined sessionScanLimit sessions.
const (
	querySessions = `SELECT active, facts FROM sessions INDEXED BY sessions_by_active
		WHERE active < ? ORDER BY active DESC LIMIT ?`
	querySessionsOf = `SELECT active, facts FROM sessions INDEXED BY sessions_by_app
		WHERE app = ? AND active < ? ORDER BY active DESC LIMIT ?`
	querySessionsOfPerson = `SELECT active, facts FROM sessions WHERE rowid IN (
		SELECT rowid FROM sessions INDEXED BY sessions_by_person
		WHERE person = ?1 AND person <> '' AND (?2 = '' OR app = ?2) AND active < ?3 ORDER BY active DESC LIMIT ?4
	) ORDER BY active DESC`
	querySessionTexts = `SELECT last, app, person, text FROM sessions INDEXED BY sessions_by_last
		WHERE last < ? ORDER BY last DESC LIMIT ?`
	querySessionByLast = `SELECT active, facts FROM sessions INDEXED BY sessions_by_last WHERE last = ?`
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
	defer func() { _ = rows.Close() }()
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
	defer func() { _ = rows.Close() }()
	scanned := 0
	for rows.Next() {
		var app, person, text sql.RawBytes
		if err := rows.Scan(&next, &app, &person, &text); err != nil {
			return nil, 0, err
		}
		scanned++
		if f.App != "" && f.App != string(app) || f.Person != "" && f.Person != string(person) || !strings.Contains(string(text), f.Text) {
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

const (
	querySessionTranscripts = `SELECT t.seq, t.text, e.app, e.session FROM transcript_texts t
		CROSS JOIN events e INDEXED BY events_scan ON e.seq = t.seq
		WHERE t.seq < ? ORDER BY t.seq DESC`
	querySessionOfTranscript = `SELECT person, text, facts FROM sessions WHERE app = ? AND session = ?`
)

func (s sessionSource) SearchTranscripts(ctx context.Context, f store.SessionFilter, before int64) (facts [][]byte, next int64, err error) {
	word, deadline := filter.Fold(f.Text), time.Now().Add(kit.TranscriptSearchTime)
	rows, err := s.readers.query(ctx, querySessionTranscripts, before)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var seq int64
		var text string
		var ids nameIDs
		if err := rows.Scan(&seq, &text, &ids.app, &ids.session); err != nil {
			return nil, 0, err
		}
		if strings.Contains(text, word) {
			found, err := s.sessionOfTranscript(ctx, ids, &f)
			if err != nil {
				return nil, 0, err
			}
			facts = append(facts, found...)
		}
		if len(facts) == f.Limit || time.Now().After(deadline) {
			return facts, kit.PositionBefore(seq), rows.Err()
		}
	}
	return facts, 0, rows.Err()
}

// sessionOfTranscript returns the facts of a session, unless f excludes it or its own text matches: then
// it was found already.
func (s *engine) sessionOfTranscript(ctx context.Context, ids nameIDs, f *store.SessionFilter) (facts [][]byte, err error) {
	app, err := s.dictionary.nameText(ctx, &s.readers.statements, appName, ids.app)
	if err != nil || f.App != "" && f.App != app {
		return nil, err
	}
	session, err := s.dictionary.nameText(ctx, &s.readers.statements, sessionName, ids.session)
	if err != nil {
		return nil, err
	}
	var person, text string
	var raw []byte
	err = s.readers.get(ctx, []any{&person, &text, &raw}, querySessionOfTranscript, app, session)
	if err != nil || f.Person != "" && f.Person != person || strings.Contains(text, f.Text) {
		return nil, ignoreNoRows(err)
	}
	return [][]byte{raw}, nil
}

const queryNewSessionTexts = `SELECT first, last, app, person, text FROM sessions INDEXED BY sessions_by_last
	WHERE last > ? ORDER BY last DESC LIMIT ?`

// sessionTextReader returns the function that reads texts for kit.SessionTexts.
func (s *engine) sessionTextReader(ctx context.Context) func(schema.EventID, int) ([]kit.SessionText, error) {
	return func(after schema.EventID, limit int) ([]kit.SessionText, error) {
		rows, err := s.readers.query(ctx, queryNewSessionTexts, after, limit)
		return collect(rows, err, func(rows *sql.Rows, e *kit.SessionText) error {
			var app, person string
			err := rows.Scan(&e.First, &e.Last, &app, &person, &e.Text)
			e.App, e.Person = unique.Make(app), unique.Make(person)
			return err
		})
	}
}

const querySessionTools = `SELECT tool, bin, calls, failures, total FROM session_tools WHERE first = ?`

func (s *engine) SessionTools(ctx context.Context, first schema.EventID) (map[store.ToolKey]store.ToolTime, error) {
	rows, err := s.readers.query(ctx, querySessionTools, first)
	times := map[store.ToolKey]store.ToolTime{}
	return times, eachRow(rows, err, func(rows *sql.Rows) error {
		var key store.ToolKey
		var u store.ToolTime
		err := rows.Scan(&key.Tool, &key.Bucket, &u.Calls, &u.Failures, &u.TotalMS)
		times[key] = u
		return err
	})
}

func (s *engine) PendingCounts(ctx context.Context) (map[store.SessionKey]int64, error) {
	found := s.pending.CountSessions()
	counts := make(map[store.SessionKey]int64, len(found))
	for ids, n := range found {
		var key store.SessionKey
		var err error
		if key.App, err = s.dictionary.nameText(ctx, &s.readers.statements, appName, ids.App); err != nil {
			return nil, err
		}
		if key.Session, err = s.dictionary.nameText(ctx, &s.readers.statements, sessionName, ids.Session); err != nil {
			return nil, err
		}
		counts[key] = n
	}
	return counts, ctx.Err()
}
