package tables

import (
	"context"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/store"
)

// The statements of Recount read their tables directly; the lists of a report come from Search and Spend.
const (
	queryRecountWaiting = `SELECT count(*) FROM questions WHERE inbox = 'pending' AND state = 'pending' AND app <> $1`
	queryRecountExpired = `SELECT count(*) FROM questions WHERE inbox = 'expired' AND state = 'timeout' AND seq >= $1 AND seq <= $2 AND app <> $3`
	queryRecountRefused = `SELECT count(*) FROM risky_calls WHERE seq >= $1 AND seq <= $2 AND outcome = 'refused'`
	queryRecountUnasked = `SELECT count(*) FROM risky_calls WHERE seq >= $1 AND seq <= $2
		AND decided = 'agent' AND risk IN ('medium', 'high', 'critical') AND outcome IN ('ran', 'failed')`
	queryRecountCost = `SELECT sum(cost) FROM spend /*!INDEXED BY spend_by_quarter*/ WHERE quarter >= $1 AND quarter <= $2`
)

func (t *Tables) Recount(ctx context.Context, since, until time.Time) (c store.Recount, err error) {
	from, to, err := t.seqRange(ctx, seqFilter{from: since, to: until})
	if err != nil {
		return c, err
	}
	c.Rows = map[history.ReportKind]int64{}
	tests := Name{AppName, schema.TestApp}
	for _, of := range []struct {
		kind  history.ReportKind
		query string
		args  []any
	}{
		{history.ReportWaiting, queryRecountWaiting, []any{tests}},
		{history.ReportExpired, queryRecountExpired, []any{from, to, tests}},
		{history.ReportRefused, queryRecountRefused, []any{from, to}},
		{history.ReportUnasked, queryRecountUnasked, []any{from, to}},
	} {
		if c.Rows[of.kind], err = read[int64](ctx, t, of.query, of.args...); err != nil {
			return c, err
		}
	}
	c.CostUSD, err = read[float64](ctx, t, queryRecountCost, since.UnixMilli()/store.QuarterMS, until.UnixMilli()/store.QuarterMS)
	return c, err
}
