package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

func (s *engine) SessionFacts(ctx context.Context, app, session string) (facts []byte, err error) {
	err = ignoreNoRows(s.readers.get(ctx, []any{&facts}, querySessionFacts, app, session))
	return facts, err
}

const querySessionFacts = `SELECT facts FROM sessions WHERE stream_id = 1 AND app = ? AND session = ?`

func (s *engine) SessionsWithID(ctx context.Context, session string) ([]store.SessionKey, error) {
	rows, err := s.readers.query(ctx, querySessionsWithID, session)
	return collect(rows, err, func(rows *sql.Rows, key *store.SessionKey) error {
		key.Session = session
		return rows.Scan(&key.App)
	})
}

const querySessionsWithID = `SELECT app FROM sessions INDEXED BY sessions_by_id
	WHERE stream_id = 1 AND session = ? ORDER BY last DESC LIMIT 16`

// sessionScanLimit is how many sessions one call of a text search examines.
const sessionScanLimit = 20_000

// Queries of a page of sessions. A text search reads only their texts, until it has a page
// or has examined sessionScanLimit sessions.
const (
	querySessions = `SELECT last, facts FROM sessions INDEXED BY sessions_by_last
		WHERE stream_id = 1 AND last < ? ORDER BY last DESC LIMIT ?`
	querySessionsOf = `SELECT last, facts FROM sessions INDEXED BY sessions_by_app
		WHERE stream_id = 1 AND app = ? AND last < ? ORDER BY last DESC LIMIT ?`
	querySessionTexts = `SELECT last, text FROM sessions INDEXED BY sessions_by_last
		WHERE stream_id = 1 AND last < ? ORDER BY last DESC LIMIT ?`
	querySessionTextsOf = `SELECT last, text FROM sessions INDEXED BY sessions_by_app
		WHERE stream_id = 1 AND app = ? AND last < ? ORDER BY last DESC LIMIT ?`
	querySessionByLast = `SELECT facts FROM sessions INDEXED BY sessions_by_last WHERE stream_id = 1 AND last = ?`
)

func (s *engine) Sessions(ctx context.Context, f store.SessionFilter) (facts [][]byte, next schema.EventID, err error) {
	if f.Before <= 0 {
		f.Before = 1 << 62
	}
	if f.Text != "" {
		return s.searchSessions(ctx, f)
	}
	query, args := querySessions, []any{f.Before, f.Limit + 1}
	if f.App != "" {
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

func (s *engine) searchSessions(ctx context.Context, f store.SessionFilter) (facts [][]byte, next schema.EventID, err error) {
	found, next, err := s.findSessions(ctx, f)
	if err != nil {
		return nil, 0, err
	}
	for _, last := range found {
		var raw []byte
		err := s.readers.get(ctx, []any{&raw}, querySessionByLast, last)
		if errors.Is(err, sql.ErrNoRows) {
			continue // it was active just now and moved to an earlier page
		}
		if err != nil {
			return nil, 0, err
		}
		facts = append(facts, raw)
	}
	return facts, next, nil
}

func (s *engine) findSessions(ctx context.Context, f store.SessionFilter) (found []schema.EventID, next schema.EventID, err error) {
	needle := strings.ToLower(f.Text)
	query, args := querySessionTexts, []any{f.Before, sessionScanLimit}
	if f.App != "" {
		query, args = querySessionTextsOf, append([]any{f.App}, args...)
	}
	rows, err := s.readers.query(ctx, query, args...)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = rows.Close() }()
	scanned := 0
	for rows.Next() {
		var text sql.RawBytes
		if err := rows.Scan(&next, &text); err != nil {
			return nil, 0, err
		}
		scanned++
		if !strings.Contains(string(text), needle) {
			continue
		}
		if found = append(found, next); len(found) == f.Limit {
			return found, next, rows.Err()
		}
	}
	if scanned < sessionScanLimit {
		next = 0
	}
	return found, next, rows.Err()
}

const querySessionTools = `SELECT tool, bin, calls, failures, total FROM session_tools WHERE stream_id = 1 AND first = ?`

func (s *engine) SessionTools(ctx context.Context, first schema.EventID) (map[store.ToolKey]store.ToolTime, error) {
	rows, err := s.readers.query(ctx, querySessionTools, first)
	sums := map[store.ToolKey]store.ToolTime{}
	return sums, addToolTimes(sums, rows, err)
}

// addToolTimes adds rows to the sums by tool and duration bucket.
func addToolTimes(sums map[store.ToolKey]store.ToolTime, rows *sql.Rows, err error) error {
	return eachRow(rows, err, func(rows *sql.Rows) error {
		var key store.ToolKey
		var u store.ToolTime
		err := rows.Scan(&key.Tool, &key.Bucket, &u.Calls, &u.Failures, &u.TotalMS)
		sums[key] = sums[key].Add(u)
		return err
	})
}

func (s *engine) PendingCounts(ctx context.Context) (map[store.SessionKey]int64, error) {
	found := s.pending.countSessions()
	counts := make(map[store.SessionKey]int64, len(found))
	for ids, n := range found {
		var key store.SessionKey
		var err error
		if key.App, err = s.dictionary.nameText(ctx, &s.readers.statements, appName, ids.app); err != nil {
			return nil, err
		}
		if key.Session, err = s.dictionary.nameText(ctx, &s.readers.statements, sessionName, ids.session); err != nil {
			return nil, err
		}
		counts[key] = n
	}
	return counts, ctx.Err()
}
