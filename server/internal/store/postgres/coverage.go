package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

func (s *engine) PutCoverage(ctx context.Context, rows []store.CoverageRow, now time.Time) error {
	return s.writer.do(ctx, &op{run: func(t *tx) error {
		for i := range rows {
			r := &rows[i]
			_ = t.exec(`INSERT INTO coverage AS c (host, account, agent, report, reported_at, proof, proven_at, requester)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (host, account, agent) DO UPDATE SET
				report = CASE WHEN excluded.reported_at >= c.reported_at THEN excluded.report ELSE c.report END, reported_at = greatest(excluded.reported_at, c.reported_at),
				proof = CASE WHEN excluded.proven_at >= c.proven_at THEN excluded.proof ELSE c.proof END, proven_at = greatest(excluded.proven_at, c.proven_at)`,
				r.Host, r.Account, r.Agent, append([]byte{}, r.Report...), kit.Millis(r.ReportedAt), append([]byte{}, r.Proof...), kit.Millis(r.ProvenAt),
				r.Requester)
		}
		_ = t.exec(`DELETE FROM coverage WHERE greatest(reported_at, proven_at) < $1`, kit.Millis(now.Add(-store.CoverageAge)))
		return t.exec(`DELETE FROM coverage WHERE (host, account, agent) IN (SELECT host, account, agent FROM (SELECT *, row_number() OVER
			(PARTITION BY requester ORDER BY greatest(reported_at, proven_at) DESC, host, account, agent) AS n FROM coverage) AS c WHERE n > $1)`, store.MaxCoverage)
	}})
}

func (s *engine) Coverage(ctx context.Context) ([]store.CoverageRow, error) {
	rows, err := s.readers.query(ctx, `SELECT host, account, agent, report, reported_at, proof, proven_at, requester FROM coverage ORDER BY host, account, agent`)
	return collect(rows, err, func(rows pgx.Rows, r *store.CoverageRow) error {
		return rows.Scan(&r.Host, &r.Account, &r.Agent, &r.Report, kit.ScanTime(&r.ReportedAt), &r.Proof,
			kit.ScanTime(&r.ProvenAt), &r.Requester)
	})
}
