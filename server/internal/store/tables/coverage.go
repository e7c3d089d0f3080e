package tables

import (
	"context"
	"time"

	"github.com/hookback/hookback/server/internal/store"
)

var coverage = newTable("coverage AS c", "host, account, agent", "host, account, agent, report, reported_at, proof, proven_at, requester",
	func(r *store.CoverageRow) []any {
		return []any{
			&r.Host, &r.Account, &r.Agent, &r.Report, ScanTime(&r.ReportedAt), &r.Proof, ScanTime(&r.ProvenAt), &r.Requester,
		}
	})

func (t *Tables) PutCoverage(ctx context.Context, rows []store.CoverageRow, now time.Time) error {
	return t.change(ctx, Plain, func(w *Work) {
		for _, r := range rows {
			r.Report, r.Proof = NonNil(r.Report), NonNil(r.Proof)
			w.do(coverage.inserts+` ON CONFLICT (host, account, agent) DO UPDATE SET
				report = CASE WHEN excluded.reported_at >= c.reported_at THEN excluded.report ELSE c.report END,
				reported_at = greatest(excluded.reported_at, c.reported_at),
				proof = CASE WHEN excluded.proven_at >= c.proven_at THEN excluded.proof ELSE c.proof END,
				proven_at = greatest(excluded.proven_at, c.proven_at)`, coverage.values(&r)...)
		}
		w.do(`DELETE FROM coverage WHERE greatest(reported_at, proven_at) < $1`, Millis(now.Add(-store.CoverageAge)))
		w.do(`DELETE FROM coverage WHERE (host, account, agent) IN (SELECT host, account, agent FROM (SELECT *, row_number() OVER
			(PARTITION BY requester ORDER BY greatest(reported_at, proven_at) DESC, host, account, agent) AS n FROM coverage) AS c WHERE n > $1)`, store.MaxCoverage)
	})
}

func (t *Tables) Coverage(ctx context.Context) ([]store.CoverageRow, error) {
	return coverage.list(ctx, t, `ORDER BY host, account, agent`)
}
