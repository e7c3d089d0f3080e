package tables

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/store"
)

func (t *Tables) RatingCursor(ctx context.Context) (int64, error) { return t.cursor(ctx, "ratings") }

const queryOverruledCalls = `SELECT used_by, 'grant' FROM grants WHERE used_by > $1 AND used_by <= $2
	UNION ALL SELECT seq, 'person' FROM frozen_calls WHERE seq > $1 AND seq <= $2`

func (t *Tables) OverruledCalls(ctx context.Context, after, upTo int64) (map[schema.EventID]history.CallDecider, error) {
	return collectMap(ctx, t, func(id *schema.EventID, by *history.CallDecider) []any { return []any{id, by} }, queryOverruledCalls, after, upTo)
}

func (t *Tables) OpenCalls(ctx context.Context) ([]store.RatedCall, error) {
	return collect(ctx, t, func(c *store.RatedCall) []any { return []any{JSONBytes(c)} }, `SELECT facts FROM open_calls ORDER BY seq`)
}

var machineDecisions = newSumTable("machine_decisions", "quarter, app, agent, decided, risk, outcome", "", "calls, appealed")

func (t *Tables) ApplyRatings(ctx context.Context, b *store.RatingBatch) error {
	return t.Commit(ctx, &Op{Run: func(w *Work) error {
		if err := w.moveCursor("ratings", b.From, b.To); err != nil {
			return err
		}
		for i := range b.Calls {
			if err := w.upsertCall(&b.Calls[i]); err != nil {
				return err
			}
		}
		for key, n := range b.Counts {
			if err := machineDecisions.add(w, key.Quarter, key.App, key.Agent, key.Decided, key.Risk, key.Outcome, n.Calls, n.Appealed); err != nil {
				return err
			}
		}
		return nil
	}}, b.JoinUntil)
}

// upsertCall stores a call unless retention has removed its event.
func (w *Work) upsertCall(c *store.RatedCall) error {
	if int64(c.ID) <= w.Pruned {
		var one int64
		if found, err := w.Get([]any{&one}, queryIsEvent, c.ID); err != nil || !found {
			return err
		}
	}
	if c.Closed {
		if err := w.Exec(`DELETE FROM open_calls WHERE seq = $1`, c.ID); err != nil {
			return err
		}
	} else {
		if err := w.Exec(`INSERT INTO open_calls (seq, facts) VALUES ($1, $2)
			ON CONFLICT (seq) DO UPDATE SET facts = excluded.facts`, c.ID, JSONBytes(c)); err != nil {
			return err
		}
	}
	if !c.IsListed() {
		return nil
	}
	return w.Exec(`INSERT INTO risky_calls (seq, app, session, tool_use_id, digest, tool, risk, codes, decided, outcome)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		ON CONFLICT (seq) DO UPDATE SET decided = excluded.decided, outcome = excluded.outcome`,
		c.ID, c.SourceApp, c.SessionID, c.UseID, c.Digest, c.ToolName, c.Risk, strings.Join(c.Codes, " "), c.Decided, c.Outcome)
}

const (
	riskyCallColumns   = `SELECT seq, app, session, tool, risk, codes, decided, outcome FROM risky_calls `
	queryRiskyCalls    = riskyCallColumns + `WHERE seq > $1 AND seq < $2 ORDER BY seq DESC LIMIT $3`
	queryAppsRisky     = riskyCallColumns + `WHERE seq > $1 AND seq < $2 AND app = $3 ORDER BY seq DESC LIMIT $4`
	querySessionsRisky = riskyCallColumns + `/*!INDEXED BY risky_calls_by_session*/
		WHERE session = $1 AND app = $2 AND seq > $3 AND seq < $4 ORDER BY seq DESC LIMIT $5`
	maxSeq          = int64(1)<<53 - 1
	queryCallCounts = `SELECT app, agent, decided, risk, outcome, sum(calls)::bigint, sum(appealed)::bigint
		FROM machine_decisions WHERE quarter >= $1 AND quarter < $2 GROUP BY app, agent, decided, risk, outcome`
)

func (t *Tables) RiskyCalls(ctx context.Context, f store.RiskyCallFilter) ([]history.RiskyCall, error) {
	before := cmp.Or(int64(f.Before), maxSeq)
	limit := cmp.Or(f.Limit, schema.RecentLimit)
	query, args := queryRiskyCalls, []any{f.After, before, limit}
	switch {
	case f.Session != "":
		query, args = querySessionsRisky, []any{f.Session, f.App, f.After, before, limit}
	case f.App != "":
		query, args = queryAppsRisky, []any{f.After, before, f.App, limit}
	}
	calls, err := t.riskyCalls(ctx, query, args...)
	slices.Reverse(calls)
	return calls, err
}

func (t *Tables) riskyCalls(ctx context.Context, query string, args ...any) (calls []history.RiskyCall, err error) {
	err = t.Read(ctx, func(rows Rows) error {
		var c history.RiskyCall
		var codes string
		err := rows.Scan(&c.ID, &c.SourceApp, &c.SessionID, &c.ToolName, &c.Risk, &codes, &c.Decided, &c.Outcome)
		c.Codes = strings.Fields(codes)
		calls = append(calls, c)
		return err
	}, query, args...)
	return calls, err
}

func (t *Tables) CallCounts(ctx context.Context, from, to int64) (map[store.CallKey]store.CallCount, error) {
	return collectMap(ctx, t, func(key *store.CallKey, n *store.CallCount) []any {
		return []any{&key.App, &key.Agent, &key.Decided, &key.Risk, &key.Outcome, &n.Calls, &n.Appealed}
	}, queryCallCounts, from, to)
}

// ratingsOf returns the ratings of events, which are sorted by ID in either direction.
func (t *Tables) ratingsOf(ctx context.Context, events []*store.Event) (map[int64]filter.Rating, error) {
	ratings := map[int64]filter.Rating{}
	if len(events) == 0 {
		return ratings, nil
	}
	first, last := int64(events[0].ID), int64(events[len(events)-1].ID)
	calls, err := t.riskyCalls(ctx, queryRiskyCalls, min(first, last)-1, max(first, last)+1, len(events))
	for _, c := range calls {
		ratings[int64(c.ID)] = filter.Rating{Risk: string(c.Risk), Decided: string(c.Decided), Outcome: string(c.Outcome)}
	}
	return ratings, err
}
