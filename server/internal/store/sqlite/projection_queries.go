package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

const (
	queryDecisions = `SELECT quarter, app, outcome, person, bin, count FROM decisions
		WHERE quarter >= ? AND quarter < ?`
	queryActivity = `SELECT app, events, tools, failures, asked, waited, input, output, cache_read, cache_write, cost FROM activity
		WHERE span = ? AND at >= ? AND at < ?`
	queryToolTimes = `SELECT tool, bins FROM tool_histograms
		WHERE span = ? AND at >= ? AND at < ?`
)

func (s *engine) Decisions(ctx context.Context, from, to int64) (map[store.Decision]int64, error) {
	rows, err := s.readers.query(ctx, queryDecisions, from, to)
	decisions := map[store.Decision]int64{}
	return decisions, eachRow(rows, err, func(rows *sql.Rows) error {
		var d store.Decision
		var n int64
		err := rows.Scan(&d.Quarter, &d.App, &d.Outcome, &d.Person, &d.Bucket, &n)
		decisions[d] = n
		return err
	})
}

func (s *engine) Activity(ctx context.Context, from int64) (map[string]store.Activity, error) {
	sums := map[string]store.Activity{}
	for _, part := range kit.BucketRanges(from) {
		rows, err := s.readers.query(ctx, queryActivity, part.Unit, part.From, part.To)
		err = eachRow(rows, err, func(rows *sql.Rows) error {
			var app string
			var a store.Activity
			t := &a.Tokens
			err := rows.Scan(&app, &a.Events, &a.Tools, &a.Failures, &a.Questions, &a.WaitedMS,
				&t.Input, &t.Output, &t.CacheRead, &t.CacheWrite, &a.CostUSD)
			sums[app] = a.Add(sums[app])
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return sums, nil
}

const querySpend = `SELECT quarter, app, model, person, project, imported, sum(input), sum(output), sum(cache_read), sum(cache_write), sum(cost)
	FROM spend INDEXED BY spend_by_quarter WHERE quarter >= ? AND quarter < ? GROUP BY quarter, app, model, person, project, imported`

func (s *engine) Spend(ctx context.Context, from, to int64) (map[store.SpendGroup]store.Spend, error) {
	rows, err := s.readers.query(ctx, querySpend, from, to)
	sums := map[store.SpendGroup]store.Spend{}
	return sums, eachRow(rows, err, func(rows *sql.Rows) error {
		var key store.SpendGroup
		var u store.Spend
		t := &u.Tokens
		err := rows.Scan(&key.Quarter, &key.App, &key.Model, &key.Person, &key.Project,
			&key.Imported, &t.Input, &t.Output, &t.CacheRead, &t.CacheWrite, &u.CostUSD)
		sums[key] = u
		return err
	})
}

func (s *engine) ToolTimes(ctx context.Context, from int64) (map[store.ToolKey]store.ToolTime, error) {
	byTool := map[string]kit.Histogram{}
	for _, part := range kit.BucketRanges(from) {
		rows, err := s.readers.query(ctx, queryToolTimes, part.Unit, part.From, part.To)
		err = eachRow(rows, err, func(rows *sql.Rows) error {
			var tool string
			var bins sql.RawBytes
			if err := rows.Scan(&tool, &bins); err != nil {
				return err
			}
			if byTool[tool] == nil {
				byTool[tool] = kit.Histogram{}
			}
			return byTool[tool].Add(bins)
		})
		if err != nil {
			return nil, err
		}
	}
	sums := map[store.ToolKey]store.ToolTime{}
	for tool, h := range byTool {
		for bucket, u := range h {
			sums[store.ToolKey{Tool: tool, Bucket: bucket}] = u
		}
	}
	return sums, nil
}

const (
	queryCountSessions = `SELECT count(*) FROM sessions INDEXED BY sessions_by_app WHERE app = ? AND active >= ?`
	queryLatestSession = `SELECT facts FROM sessions INDEXED BY sessions_by_app WHERE app = ? ORDER BY active DESC LIMIT 1`
)

func (s *engine) SessionsOf(ctx context.Context, app string, since time.Time) (active int64, latest []byte, err error) {
	if err := s.readers.get(ctx, []any{&active}, queryCountSessions, app, kit.ActiveSince(since)); err != nil {
		return 0, nil, err
	}
	err = ignoreNoRows(s.readers.get(ctx, []any{&latest}, queryLatestSession, app))
	return active, latest, err
}

// pruneProjections removes decisions, activity and tool times from before the given time.
func (s *engine) pruneProjections(ctx context.Context, before time.Time) error {
	if before.IsZero() {
		return nil
	}
	quarter := before.UnixMilli() / store.QuarterMS
	return s.writer.do(ctx, &op{essential: true, needsSavepoint: true, run: func(t *tx) error {
		for _, query := range [...]string{
			`DELETE FROM decisions WHERE quarter < ?`,
			`DELETE FROM machine_decisions WHERE quarter < ?`,
			`DELETE FROM spend WHERE quarter < ?`,
		} {
			if _, err := t.exec(query, quarter); err != nil {
				return err
			}
		}
		for _, unit := range [...]int64{1, kit.QuartersPerDay} {
			for _, query := range [...]string{
				`DELETE FROM activity WHERE span = ? AND at < ?`,
				`DELETE FROM tool_histograms WHERE span = ? AND at < ?`,
			} {
				if _, err := t.exec(query, unit, quarter/unit); err != nil {
					return err
				}
			}
		}
		return nil
	}})
}
