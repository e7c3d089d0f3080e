package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/hookback/hookback/schema"
)

const (
	queryDecisions = `SELECT quarter, app, outcome, person, bin, count FROM decisions
		WHERE stream_id = 1 AND quarter >= ? AND quarter < ?`
	queryActivity = `SELECT app, events, tools, failures, asked, waited, input, output, cache_read, cache_write, cost FROM activity
		WHERE stream_id = 1 AND span = ? AND at >= ? AND at < ?`
	queryToolTimes = `SELECT tool, bin, calls, failures, total FROM tool_times
		WHERE stream_id = 1 AND span = ? AND at >= ? AND at < ?`
)

// Decisions returns how questions were resolved in the quarter-hours from (inclusive) to
// to (exclusive).
func (s *Store) Decisions(ctx context.Context, from, to int64) (map[Decision]int64, error) {
	rows, err := s.readers.query(ctx, queryDecisions, from, to)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	decisions := map[Decision]int64{}
	for rows.Next() {
		var d Decision
		var n int64
		if err := rows.Scan(&d.Quarter, &d.App, &d.Outcome, &d.Person, &d.Bucket, &n); err != nil {
			return nil, err
		}
		decisions[d] = n
	}
	return decisions, rows.Err()
}

// bucketRange is a part of a period that is covered by buckets of one unit, in quarters.
type bucketRange struct{ unit, from, to int64 }

// bucketRanges covers all time since quarter from: in quarters until the end of that UTC
// day, then in days.
func bucketRanges(from int64) []bucketRange {
	tomorrow := (from + quartersPerDay - 1) / quartersPerDay
	return []bucketRange{{1, from, tomorrow * quartersPerDay}, {quartersPerDay, tomorrow, 1 << 40}}
}

// Activity returns the activity of each application since quarter from.
func (s *Store) Activity(ctx context.Context, from int64) (map[string]Activity, error) {
	sums := map[string]Activity{}
	for _, part := range bucketRanges(from) {
		rows, err := s.readers.query(ctx, queryActivity, part.unit, part.from, part.to)
		if err := scanActivity(rows, err, sums); err != nil {
			return nil, err
		}
	}
	return sums, nil
}

func scanActivity(rows *sql.Rows, err error, sums map[string]Activity) error {
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var app string
		var a Activity
		t := &a.Tokens
		if err := rows.Scan(&app, &a.Events, &a.Tools, &a.Failures, &a.Questions, &a.WaitedMS,
			&t.Input, &t.Output, &t.CacheRead, &t.CacheWrite, &a.CostUSD); err != nil {
			return err
		}
		sums[app] = a.Add(sums[app])
	}
	return rows.Err()
}

// Add returns a + b.
func (a Activity) Add(b Activity) Activity {
	return Activity{
		Events: a.Events + b.Events, Tools: a.Tools + b.Tools, Failures: a.Failures + b.Failures,
		Questions: a.Questions + b.Questions, WaitedMS: a.WaitedMS + b.WaitedMS,
		Tokens: schema.Tokens{
			Input: a.Tokens.Input + b.Tokens.Input, Output: a.Tokens.Output + b.Tokens.Output,
			CacheRead: a.Tokens.CacheRead + b.Tokens.CacheRead, CacheWrite: a.Tokens.CacheWrite + b.Tokens.CacheWrite,
		},
		CostUSD: a.CostUSD + b.CostUSD,
	}
}

// Negate returns -a, which Add uses to subtract.
func (a Activity) Negate() Activity {
	return Activity{
		Events: -a.Events, Tools: -a.Tools, Failures: -a.Failures, Questions: -a.Questions, WaitedMS: -a.WaitedMS,
		Tokens: schema.Tokens{
			Input: -a.Tokens.Input, Output: -a.Tokens.Output, CacheRead: -a.Tokens.CacheRead, CacheWrite: -a.Tokens.CacheWrite,
		},
		CostUSD: -a.CostUSD,
	}
}

// ToolTimes returns the uses of all tools since quarter from. Keys have only Tool and Bin.
func (s *Store) ToolTimes(ctx context.Context, from int64) (map[ToolKey]ToolTime, error) {
	sums := map[ToolKey]ToolTime{}
	for _, part := range bucketRanges(from) {
		rows, err := s.readers.query(ctx, queryToolTimes, part.unit, part.from, part.to)
		tools, err := scanToolTimes(rows, err)
		if err != nil {
			return nil, err
		}
		for key, u := range tools {
			sum := sums[key]
			sums[key] = ToolTime{sum.Calls + u.Calls, sum.Failures + u.Failures, sum.TotalMS + u.TotalMS}
		}
	}
	return sums, nil
}

const (
	queryCountSessions = `SELECT count(*) FROM sessions INDEXED BY sessions_by_app WHERE stream_id = 1 AND app = ? AND last >= ?`
	queryLatestSession = `SELECT facts FROM sessions INDEXED BY sessions_by_app WHERE stream_id = 1 AND app = ? ORDER BY last DESC LIMIT 1`
)

// SessionsOf returns the number of sessions of an application that were active since the
// given time, and the facts of its latest session; nil if it has none.
func (s *Store) SessionsOf(ctx context.Context, app string, since time.Time) (active int64, latest []byte, err error) {
	first, err := s.firstSeqSince(ctx, since)
	if err != nil {
		return 0, nil, err
	}
	if err := s.readers.get(ctx, []any{&active}, queryCountSessions, app, first); err != nil {
		return 0, nil, err
	}
	err = s.readers.get(ctx, []any{&latest}, queryLatestSession, app)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return active, latest, err
}

// pruneProjections removes decisions, activity and tool times from before the given time.
func (s *Store) pruneProjections(ctx context.Context, before time.Time) error {
	if before.IsZero() {
		return nil
	}
	quarter := before.UnixMilli() / QuarterMS
	return s.writer.do(ctx, &op{essential: true, needsSavepoint: true, run: func(t *tx) error {
		if _, err := t.exec(`DELETE FROM decisions WHERE stream_id = 1 AND quarter < ?`, quarter); err != nil {
			return err
		}
		for _, unit := range [...]int64{1, quartersPerDay} {
			for _, query := range [...]string{
				`DELETE FROM activity WHERE stream_id = 1 AND span = ? AND at < ?`,
				`DELETE FROM tool_times WHERE stream_id = 1 AND span = ? AND at < ?`,
			} {
				if _, err := t.exec(query, unit, quarter/unit); err != nil {
					return err
				}
			}
		}
		return nil
	}})
}
