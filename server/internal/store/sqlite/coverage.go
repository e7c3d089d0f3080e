package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

func (s *engine) PutCoverage(ctx context.Context, rows []store.CoverageRow, now time.Time) error {
	return s.writer.do(ctx, &op{needsSavepoint: true, run: func(t *tx) error {
		for i := range rows {
			r := &rows[i]
			if _, err := t.exec(`INSERT INTO coverage AS c (host, account, agent, report, reported_at, proof, proven_at, requester)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (host, account, agent) DO UPDATE SET
				report = CASE WHEN excluded.reported_at >= c.reported_at THEN excluded.report ELSE c.report END, reported_at = max(excluded.reported_at, c.reported_at),
				proof = CASE WHEN excluded.proven_at >= c.proven_at THEN excluded.proof ELSE c.proof END, proven_at = max(excluded.proven_at, c.proven_at)`,
				r.Host, r.Account, r.Agent, append([]byte{}, r.Report...), kit.Millis(r.ReportedAt), append([]byte{}, r.Proof...), kit.Millis(r.ProvenAt),
				r.Requester); err != nil {
				return err
			}
		}
		if _, err := t.exec(`DELETE FROM coverage WHERE max(reported_at, proven_at) < ?`, kit.Millis(now.Add(-store.CoverageAge))); err != nil {
			return err
		}
		_, err := t.exec(`DELETE FROM coverage WHERE (host, account, agent) IN (SELECT host, account, agent FROM (SELECT *, row_number() OVER
			(PARTITION BY requester ORDER BY max(reported_at, proven_at) DESC, host, account, agent) AS n FROM coverage) WHERE n > ?)`, store.MaxCoverage)
		return err
	}})
}

func (s *engine) Coverage(ctx context.Context) ([]store.CoverageRow, error) {
	rows, err := s.readers.query(ctx, `SELECT host, account, agent, report, reported_at, proof, proven_at, requester FROM coverage
		ORDER BY host, account, agent`)
	return collect(rows, err, func(rows *sql.Rows, r *store.CoverageRow) error {
		return rows.Scan(&r.Host, &r.Account, &r.Agent, &r.Report, kit.ScanTime(&r.ReportedAt), &r.Proof,
			kit.ScanTime(&r.ProvenAt), &r.Requester)
	})
}
