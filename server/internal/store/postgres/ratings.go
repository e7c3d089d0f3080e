package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

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

const queryOverruledCalls = `SELECT used_by, 'grant' FROM grants WHERE used_by > $1 AND used_by <= $2
	UNION ALL SELECT seq, 'person' FROM frozen_calls WHERE seq > $1 AND seq <= $2`

func (s *engine) OverruledCalls(ctx context.Context, after, upTo int64) (map[schema.EventID]history.CallDecider, error) {
	calls := map[schema.EventID]history.CallDecider{}
	rows, err := s.readers.query(ctx, queryOverruledCalls, after, upTo)
	return calls, eachRow(rows, err, func(rows pgx.Rows) error {
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
	return collect(rows, err, func(rows pgx.Rows, c *store.RatedCall) error {
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
	return s.writer.join(ctx, &op{run: func(t *tx) error { return t.applyRatings(b) }}, b.JoinUntil)
}

func (t *tx) applyRatings(b *store.RatingBatch) error {
	if err := t.moveCursor("ratings", b.From, b.To); err != nil {
		return err
	}
	for i := range b.Calls {
		if err := t.upsertCall(&b.Calls[i]); err != nil {
			return err
		}
	}
	for key, n := range b.Counts {
		err := t.exec(`INSERT INTO machine_decisions (quarter, app, agent, decided, risk, outcome, calls, appealed)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
			ON CONFLICT (quarter, app, agent, decided, risk, outcome) DO UPDATE SET calls = machine_decisions.calls + excluded.calls, appealed = machine_decisions.appealed + excluded.appealed`,
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
		if err := t.exec(`DELETE FROM open_calls WHERE seq = $1`, c.ID); err != nil {
			return err
		}
	} else {
		facts, err := json.Marshal(c)
		if err != nil {
			return fmt.Errorf("encode call %d: %w", c.ID, err)
		}
		err = t.exec(`INSERT INTO open_calls (seq, facts) VALUES ($1, $2)
			ON CONFLICT (seq) DO UPDATE SET facts = excluded.facts`, c.ID, facts)
		if err != nil {
			return err
		}
	}
	if !c.IsListed() {
		return nil
	}
	err := t.exec(`INSERT INTO risky_calls (seq, app, session, tool_use_id, digest, tool, risk, codes, decided, outcome)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		ON CONFLICT (seq) DO UPDATE SET decided = excluded.decided, outcome = excluded.outcome`,
		c.ID, c.SourceApp, c.SessionID, c.UseID, c.Digest, c.ToolName, string(c.Risk),
		strings.Join(c.Codes, " "), string(c.Decided), string(c.Outcome))
	return err
}

const (
	riskyCallColumns   = `SELECT seq, app, session, tool, risk, codes, decided, outcome FROM risky_calls `
	queryRiskyCalls    = riskyCallColumns + `WHERE seq > $1 AND seq < $2 ORDER BY seq DESC LIMIT $3`
	queryAppsRisky     = riskyCallColumns + `WHERE seq > $1 AND seq < $2 AND app = $3 ORDER BY seq DESC LIMIT $4`
	querySessionsRisky = riskyCallColumns + `WHERE session = $1 AND app = $2 AND seq > $3 AND seq < $4 ORDER BY seq DESC LIMIT $5`
	maxSeq             = int64(1)<<53 - 1
	queryCallCounts    = `SELECT app, agent, decided, risk, outcome, sum(calls)::bigint, sum(appealed)::bigint FROM machine_decisions
		WHERE quarter >= $1 AND quarter < $2 GROUP BY app, agent, decided, risk, outcome`
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

func scanRiskyCall(rows pgx.Rows, c *history.RiskyCall) error {
	var codes string
	err := rows.Scan(&c.ID, &c.SourceApp, &c.SessionID, &c.ToolName, &c.Risk, &codes, &c.Decided, &c.Outcome)
	c.Codes = strings.Fields(codes)
	return err
}

func (s *engine) CallCounts(ctx context.Context, from, to int64) (map[store.CallKey]store.CallCount, error) {
	counts := map[store.CallKey]store.CallCount{}
	rows, err := s.readers.query(ctx, queryCallCounts, from, to)
	return counts, eachRow(rows, err, func(rows pgx.Rows) error {
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
	return ratings, eachRow(rows, err, func(rows pgx.Rows) error {
		var c history.RiskyCall
		if err := scanRiskyCall(rows, &c); err != nil {
			return err
		}
		ratings[int64(c.ID)] = filter.Rating{Risk: string(c.Risk), Decided: string(c.Decided), Outcome: string(c.Outcome)}
		return nil
	})
}
