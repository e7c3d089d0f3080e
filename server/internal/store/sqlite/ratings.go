package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

const queryRatingCursor = `SELECT cursor FROM cursors WHERE name = 'ratings'`

func (s *engine) RatingCursor(ctx context.Context) (cursor int64, err error) {
	return cursor, s.readers.get(ctx, []any{&cursor}, queryRatingCursor)
}

func (s *engine) RatingEntries(ctx context.Context, seq int64, limit int) (entries []store.LogEntry, upTo int64, err error) {
	if err := ctx.Err(); err != nil {
		return nil, seq, err
	}
	entries, upTo, ok := s.tail.Entries(kit.TailRatings, seq, limit)
	if !ok {
		entries, upTo, err = s.readEntries(ctx, seq, limit)
	}
	return entries, upTo, err
}

const queryOverruledCalls = `SELECT used_by, 'grant' FROM grants WHERE used_by > ?1 AND used_by <= ?2
	UNION ALL SELECT seq, 'person' FROM frozen_calls WHERE seq > ?1 AND seq <= ?2`

func (s *engine) OverruledCalls(ctx context.Context, after, upTo int64) (map[schema.EventID]history.CallDecider, error) {
	calls := map[schema.EventID]history.CallDecider{}
	rows, err := s.readers.query(ctx, queryOverruledCalls, after, upTo)
	return calls, eachRow(rows, err, func(rows *sql.Rows) error {
		var id schema.EventID
		var by history.CallDecider
		err := rows.Scan(&id, &by)
		calls[id] = by
		return err
	})
}

const queryOpenCalls = `SELECT seq, facts FROM open_calls ORDER BY seq`

func (s *engine) OpenCalls(ctx context.Context) ([]store.RatedCall, error) {
	rows, err := s.readers.query(ctx, queryOpenCalls)
	return collect(rows, err, func(rows *sql.Rows, c *store.RatedCall) error {
		var seq int64
		var facts []byte
		if err := rows.Scan(&seq, &facts); err != nil {
			return err
		}
		if err := json.Unmarshal(facts, c); err != nil {
			return fmt.Errorf("read open call %d: %w", seq, err)
		}
		return nil
	})
}

func (s *engine) ApplyRatings(ctx context.Context, b *store.RatingBatch) error {
	o := &op{needsSavepoint: true, run: func(t *tx) error { return t.applyRatings(b) }}
	if b.JoinUntil != nil {
		return s.writer.join(ctx, o, b.JoinUntil)
	}
	return s.writer.do(ctx, o)
}

func (t *tx) applyRatings(b *store.RatingBatch) error {
	moved, err := t.exec(`UPDATE cursors SET cursor = ? WHERE name = 'ratings' AND cursor = ?`, b.To, b.From)
	if err != nil {
		return err
	}
	if moved == 0 {
		return store.ErrConflict
	}
	for i := range b.Calls {
		if err := t.upsertCall(&b.Calls[i]); err != nil {
			return err
		}
	}
	for key, n := range b.Counts {
		_, err := t.exec(`INSERT INTO machine_decisions (quarter, app, agent, decided, risk, outcome, calls, appealed)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET calls = calls + excluded.calls, appealed = appealed + excluded.appealed`,
			key.Quarter, key.App, key.Agent, string(key.Decided), string(key.Risk), string(key.Outcome), n.Calls, n.Appealed)
		if err != nil {
			return err
		}
	}
	return nil
}

// upsertCall stores a call unless retention has removed its event.
func (t *tx) upsertCall(c *store.RatedCall) error {
	if int64(c.ID) <= t.counters.pruned {
		var found int64
		if err := t.get([]any{&found}, queryIsEvent, int64(c.ID)); err != nil {
			return ignoreNoRows(err)
		}
	}
	if c.Closed {
		if _, err := t.exec(`DELETE FROM open_calls WHERE seq = ?`, c.ID); err != nil {
			return err
		}
	} else {
		facts, err := json.Marshal(c)
		if err != nil {
			return fmt.Errorf("encode call %d: %w", c.ID, err)
		}
		_, err = t.exec(`INSERT INTO open_calls (seq, facts) VALUES (?, ?)
			ON CONFLICT DO UPDATE SET facts = excluded.facts`, c.ID, facts)
		if err != nil {
			return err
		}
	}
	if !c.IsListed() {
		return nil
	}
	_, err := t.exec(`INSERT INTO risky_calls (seq, app, session, tool_use_id, digest, tool, risk, codes, decided, outcome)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET decided = excluded.decided, outcome = excluded.outcome`,
		c.ID, c.SourceApp, c.SessionID, c.UseID, c.Digest, c.ToolName, string(c.Risk),
		strings.Join(c.Codes, " "), string(c.Decided), string(c.Outcome))
	return err
}

// deleteRating removes the rating of an event.
func (t *tx) deleteRating(seq int64) error {
	for _, query := range [...]string{
		`DELETE FROM open_calls WHERE seq = ?`,
		`DELETE FROM risky_calls WHERE seq = ?`,
		`DELETE FROM frozen_calls WHERE seq = ?`,
	} {
		if _, err := t.exec(query, seq); err != nil {
			return err
		}
	}
	return nil
}

const (
	riskyCallColumns   = `SELECT seq, app, session, tool, risk, codes, decided, outcome FROM risky_calls `
	queryRiskyCalls    = riskyCallColumns + `WHERE seq > ? AND seq < ? ORDER BY seq DESC LIMIT ?`
	queryAppsRisky     = riskyCallColumns + `WHERE seq > ? AND seq < ? AND app = ? ORDER BY seq DESC LIMIT ?`
	querySessionsRisky = riskyCallColumns + `INDEXED BY risky_calls_by_session WHERE session = ? AND app = ? AND seq > ? AND seq < ? ORDER BY seq DESC LIMIT ?`
	maxSeq             = int64(1)<<53 - 1
	queryCallCounts    = `SELECT app, agent, decided, risk, outcome, sum(calls), sum(appealed) FROM machine_decisions
		WHERE quarter >= ? AND quarter < ? GROUP BY app, agent, decided, risk, outcome`
)

func (s *engine) RiskyCalls(ctx context.Context, f store.RiskyCallFilter) ([]history.RiskyCall, error) {
	before := cmp.Or(int64(f.Before), maxSeq)
	limit := cmp.Or(f.Limit, schema.RecentLimit)
	query, args := queryRiskyCalls, []any{int64(f.After), before, limit}
	switch {
	case f.Session != "":
		query, args = querySessionsRisky, []any{f.Session, f.App, int64(f.After), before, limit}
	case f.App != "":
		query, args = queryAppsRisky, []any{int64(f.After), before, f.App, limit}
	}
	rows, err := s.readers.query(ctx, query, args...)
	calls, err := collect(rows, err, scanRiskyCall)
	slices.Reverse(calls)
	return calls, err
}

func scanRiskyCall(rows *sql.Rows, c *history.RiskyCall) error {
	var codes string
	err := rows.Scan(&c.ID, &c.SourceApp, &c.SessionID, &c.ToolName, &c.Risk, &codes, &c.Decided, &c.Outcome)
	c.Codes = strings.Fields(codes)
	return err
}

func (s *engine) CallCounts(ctx context.Context, from, to int64) (map[store.CallKey]store.CallCount, error) {
	counts := map[store.CallKey]store.CallCount{}
	rows, err := s.readers.query(ctx, queryCallCounts, from, to)
	return counts, eachRow(rows, err, func(rows *sql.Rows) error {
		var key store.CallKey
		var n store.CallCount
		err := rows.Scan(&key.App, &key.Agent, &key.Decided, &key.Risk, &key.Outcome, &n.Calls, &n.Appealed)
		counts[key] = n
		return err
	})
}

// ratingsOf returns the ratings of events, which are sorted by ID in either direction.
func (s *engine) ratingsOf(ctx context.Context, events []*store.Event) (map[int64]filter.Rating, error) {
	ratings := map[int64]filter.Rating{}
	if len(events) == 0 {
		return ratings, nil
	}
	first, last := int64(events[0].ID), int64(events[len(events)-1].ID)
	rows, err := s.readers.query(ctx, queryRiskyCalls, min(first, last)-1, max(first, last)+1, len(events))
	return ratings, eachRow(rows, err, func(rows *sql.Rows) error {
		var c history.RiskyCall
		if err := scanRiskyCall(rows, &c); err != nil {
			return err
		}
		ratings[int64(c.ID)] = filter.Rating{Risk: string(c.Risk), Decided: string(c.Decided), Outcome: string(c.Outcome)}
		return nil
	})
}
