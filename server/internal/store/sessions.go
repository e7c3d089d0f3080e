package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/hookback/hookback/schema"
)

// SessionFilter selects sessions. Zero values select everything.
type SessionFilter struct {
	App    string
	Text   string // in the title, the application, the session ID or its directory
	Before schema.EventID
	Limit  int
}

// SessionFacts returns the stored facts of a session; nil if there is none.
func (s *Store) SessionFacts(ctx context.Context, app, session string) (facts []byte, err error) {
	err = s.readers.get(ctx, []any{&facts}, querySessionFacts, app, session)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return facts, err
}

const querySessionFacts = `SELECT facts FROM sessions WHERE stream_id = 1 AND app = ? AND session = ?`

// SessionsWithID returns the sessions with this session ID in any application, latest
// active first.
func (s *Store) SessionsWithID(ctx context.Context, session string) (keys []SessionKey, _ error) {
	rows, err := s.readers.query(ctx, querySessionsWithID, session)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		key := SessionKey{Session: session}
		if err := rows.Scan(&key.App); err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, rows.Err()
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

// Sessions returns the facts of the sessions that f selects, latest active first. next is
// the Before of the next page; 0: this is the last one. A text search may return a short
// or empty page that still has a next one.
func (s *Store) Sessions(ctx context.Context, f SessionFilter) (facts [][]byte, next schema.EventID, err error) {
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

func (s *Store) searchSessions(ctx context.Context, f SessionFilter) (facts [][]byte, next schema.EventID, err error) {
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

func (s *Store) findSessions(ctx context.Context, f SessionFilter) (found []schema.EventID, next schema.EventID, err error) {
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

// SessionTools returns the tool uses of the session whose first event is given.
func (s *Store) SessionTools(ctx context.Context, first schema.EventID) (map[ToolKey]ToolTime, error) {
	rows, err := s.readers.query(ctx, querySessionTools, first)
	return scanToolTimes(rows, err)
}

// scanToolTimes adds rows up by tool and duration bucket.
func scanToolTimes(rows *sql.Rows, err error) (map[ToolKey]ToolTime, error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	tools := map[ToolKey]ToolTime{}
	for rows.Next() {
		var key ToolKey
		var u ToolTime
		if err := rows.Scan(&key.Tool, &key.Bucket, &u.Calls, &u.Failures, &u.TotalMS); err != nil {
			return nil, err
		}
		sum := tools[key]
		tools[key] = ToolTime{sum.Calls + u.Calls, sum.Failures + u.Failures, sum.TotalMS + u.TotalMS}
	}
	return tools, rows.Err()
}

// SessionKey identifies a session.
type SessionKey struct{ App, Session string }

const queryPendingCounts = `SELECT app, session, count(*) FROM questions INDEXED BY questions_by_session
	WHERE stream_id = 1 AND state = 'pending' GROUP BY session, app`

// PendingCounts returns the number of pending questions of each session that has any.
func (s *Store) PendingCounts(ctx context.Context) (map[SessionKey]int64, error) {
	found, err := s.scanPendingCounts(ctx)
	if err != nil {
		return nil, err
	}
	counts := make(map[SessionKey]int64, len(found))
	for ids, n := range found {
		var key SessionKey
		if key.App, err = s.nameText(ctx, appName, ids.app); err != nil {
			return nil, err
		}
		if key.Session, err = s.nameText(ctx, sessionName, ids.session); err != nil {
			return nil, err
		}
		counts[key] = n
	}
	return counts, nil
}

func (s *Store) scanPendingCounts(ctx context.Context) (map[nameIDs]int64, error) {
	rows, err := s.readers.query(ctx, queryPendingCounts)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	counts := map[nameIDs]int64{}
	for rows.Next() {
		var ids nameIDs
		var n int64
		if err := rows.Scan(&ids.app, &ids.session, &n); err != nil {
			return nil, err
		}
		counts[ids] = n
	}
	return counts, rows.Err()
}
