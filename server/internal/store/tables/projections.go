package tables

import (
	"context"
	"fmt"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

func (t *Tables) ProjectionCursor(ctx context.Context) (int64, error) {
	return t.cursor(ctx, "projections")
}

func (t *Tables) cursor(ctx context.Context, name string) (cursor int64, err error) {
	found, err := t.ReadOne(ctx, []any{&cursor}, `SELECT cursor FROM cursors WHERE name = $1`, name)
	return cursor, orNotFound(found, err)
}

// moveCursor advances the position of a reader of the log, which is the guard of its batches.
func (w *Work) moveCursor(name string, from, to int64) error {
	return w.ExecOne("cursor", `UPDATE cursors SET cursor = $1 WHERE name = $2 AND cursor = $3 RETURNING 1`, to, name, from)
}

func (t *Tables) ProjectionLag() store.Lag { return t.State.Projected.Lag(time.Now()) }

func (t *Tables) ApplyProjection(ctx context.Context, d *store.ProjectionBatch) error {
	err := t.Commit(ctx, &Op{Run: func(w *Work) error { return w.applyProjection(d) }}, d.JoinUntil)
	if err == nil {
		t.State.Projected.Reach(d.To)
	}
	return err
}

// spans are the sizes of the buckets of activity and tool_histograms, in quarters.
var spans = [...]int64{1, quartersPerDay}

func (w *Work) applyProjection(d *store.ProjectionBatch) error {
	if err := w.moveCursor("projections", d.From, d.To); err != nil {
		return err
	}
	for key, n := range d.Decisions {
		if err := w.Exec(`INSERT INTO decisions (quarter, app, outcome, person, bin, count) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (quarter, app, outcome, person, bin) DO UPDATE SET count = decisions.count + excluded.count`,
			key.Quarter, key.App, key.Outcome, key.Person, key.Bucket, n); err != nil {
			return err
		}
	}
	for key, a := range d.Activity {
		for _, span := range spans {
			if err := w.addActivity(span, key, &a); err != nil {
				return err
			}
		}
	}
	if err := w.addToolTimes(d.ToolTimes); err != nil {
		return err
	}
	for _, key := range d.RemovedSessions {
		if err := w.Exec(`DELETE FROM sessions WHERE app = $1 AND session = $2`, key.App, key.Session); err != nil {
			return err
		}
	}
	return w.applySessions(d)
}

func (w *Work) addActivity(span int64, key store.ActivityKey, a *store.Activity) error {
	return w.Exec(`INSERT INTO activity (span, at, app, events, tools, failures, asked, waited, input, output, cache_read, cache_write, cost)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
		ON CONFLICT (span, at, app) DO UPDATE SET events = activity.events + excluded.events, tools = activity.tools + excluded.tools,
			failures = activity.failures + excluded.failures, asked = activity.asked + excluded.asked, waited = activity.waited + excluded.waited,
			input = activity.input + excluded.input, output = activity.output + excluded.output,
			cache_read = activity.cache_read + excluded.cache_read, cache_write = activity.cache_write + excluded.cache_write,
			cost = activity.cost + excluded.cost`,
		span, key.Quarter/span, key.App, a.Events, a.Tools, a.Failures, a.Questions, a.WaitedMS,
		a.Tokens.Input, a.Tokens.Output, a.Tokens.CacheRead, a.Tokens.CacheWrite, a.CostUSD)
}

func (w *Work) addToolTimes(times map[store.ToolKey]store.ToolTime) error {
	type period struct {
		span, at int64
		tool     string
	}
	periods := map[period]Histogram{}
	for key, u := range times {
		if err := w.Exec(`INSERT INTO session_tools (first, tool, bin, calls, failures, total) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (first, tool, bin) DO UPDATE SET calls = session_tools.calls + excluded.calls,
				failures = session_tools.failures + excluded.failures, total = session_tools.total + excluded.total`,
			key.Session, key.Tool, key.Bucket, u.Calls, u.Failures, u.TotalMS); err != nil {
			return err
		}
		for _, span := range spans {
			p := period{span, key.Quarter / span, key.Tool}
			if periods[p] == nil {
				periods[p] = Histogram{}
			}
			periods[p][key.Bucket] = periods[p][key.Bucket].Add(u)
		}
	}
	for p, h := range periods {
		var bins string
		if _, err := w.Get([]any{&bins}, `SELECT bins FROM tool_histograms WHERE span = $1 AND at = $2 AND tool = $3`, p.span, p.at, p.tool); err != nil {
			return err
		}
		if err := h.Add([]byte(bins)); err != nil {
			return err
		}
		if err := w.Exec(`INSERT INTO tool_histograms (span, at, tool, bins) VALUES ($1, $2, $3, $4)
			ON CONFLICT (span, at, tool) DO UPDATE SET bins = excluded.bins`, p.span, p.at, p.tool, h.Encode()); err != nil {
			return err
		}
	}
	return nil
}

func (w *Work) applySessions(d *store.ProjectionBatch) error {
	owners := make(map[schema.EventID]*store.SessionRow, len(d.Sessions))
	for i := range d.Sessions {
		owners[d.Sessions[i].First] = &d.Sessions[i]
	}
	for key, s := range d.Spend {
		owner := owners[key.Session]
		if owner == nil {
			return fmt.Errorf("add the spending of session %d: its row is missing", key.Session)
		}
		if err := w.addSpend(key, &s, owner); err != nil {
			return err
		}
	}
	for i := range d.Sessions {
		if err := w.upsertSession(&d.Sessions[i]); err != nil {
			return err
		}
	}
	return nil
}

// addSpend adds the usage of a session, which has the row owner.
func (w *Work) addSpend(key store.SpendKey, s *store.Spend, owner *store.SessionRow) error {
	return w.Exec(`INSERT INTO spend (first, quarter, model, app, person, project, imported, input, output, cache_read, cache_write, cost)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (first, quarter, model) DO UPDATE SET input = spend.input + excluded.input, output = spend.output + excluded.output,
			cache_read = spend.cache_read + excluded.cache_read, cache_write = spend.cache_write + excluded.cache_write,
			cost = spend.cost + excluded.cost, imported = excluded.imported`,
		key.Session, key.Quarter, key.Model, owner.App, owner.Person, owner.Project, owner.Imported,
		s.Tokens.Input, s.Tokens.Output, s.Tokens.CacheRead, s.Tokens.CacheWrite, s.CostUSD)
}

// upsertSession writes a row, and the text of its transcript if it has one.
func (w *Work) upsertSession(r *store.SessionRow) error {
	err := w.Exec(`INSERT INTO sessions (app, session, person, first, last, active, imported, text, facts)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (app, session) DO UPDATE SET first = excluded.first, last = excluded.last, active = excluded.active,
			imported = excluded.imported, text = excluded.text, facts = excluded.facts`,
		r.App, r.Session, r.Person, r.First, r.Last, activeKey(r.Active, r.Last), r.Imported, r.Text, r.Facts)
	if err == nil && r.Moved { // rarely; so that other changes don't write the index by person
		if err = w.Exec(`UPDATE sessions SET person = $1 WHERE app = $2 AND session = $3`, r.Person, r.App, r.Session); err == nil {
			err = w.Exec(`UPDATE spend SET app = $1, person = $2, project = $3 WHERE first = $4`, r.App, r.Person, r.Project, r.First)
		}
	}
	if err == nil && int64(r.Last) <= w.Pruned { // retention may have overtaken the projector
		err = w.deleteSessionIfEmpty(r.App, r.Session)
	}
	if err != nil || r.Transcript == nil {
		return err
	}
	err = w.Exec(`DELETE FROM transcript_texts WHERE first = $1`, r.First)
	if err == nil && r.Transcript.Text != "" { // unless retention has removed the event
		err = w.Exec(`INSERT INTO transcript_texts (seq, first, text)
			SELECT $1::bigint, $2::bigint, $3::text WHERE EXISTS (SELECT 1 FROM events WHERE seq = $1)`,
			r.Transcript.Event, r.First, r.Transcript.Text)
	}
	return err
}

const queryIsEvent = `SELECT 1 FROM events WHERE seq = $1`

var queryRemainingEvent = fmt.Sprintf(`SELECT 1 FROM zones z
	/*!CROSS*/ JOIN events e /*!INDEXED BY events_scan*/ ON e.seq BETWEEN z.zone << %d AND (z.zone << %d) + %d
	WHERE z.kind = %d AND z.name = $2 AND e.app = $1 AND e.session = $2 LIMIT 1`,
	NameSegmentBits, NameSegmentBits, NameSegmentSize-1, SessionName)

// deleteSessionIfEmpty removes a session without events from the projections, with its share links.
func (w *Work) deleteSessionIfEmpty(app, session string) error {
	var first, last, one int64
	found, err := w.Get([]any{&first, &last}, `SELECT first, last FROM sessions WHERE app = $1 AND session = $2`, app, session)
	if err != nil || !found {
		return err
	}
	// The session's last event usually still exists.
	if found, err = w.Get([]any{&one}, queryIsEvent, last); err == nil && !found {
		found, err = w.Get([]any{&one}, queryRemainingEvent, Name{AppName, app}, Name{SessionName, session})
	}
	if err != nil || found {
		return err
	}
	if err := w.Exec(`DELETE FROM session_tools WHERE first = $1`, first); err != nil {
		return err
	}
	if err := w.Exec(`DELETE FROM sessions WHERE app = $1 AND session = $2`, app, session); err != nil {
		return err
	}
	return w.Exec(`DELETE FROM shares WHERE app = $1 AND session = $2`, app, session)
}

const (
	queryDecisions = `SELECT quarter, app, outcome, person, bin, count FROM decisions WHERE quarter >= $1 AND quarter < $2`
	queryActivity  = `SELECT app, events, tools, failures, asked, waited, input, output, cache_read, cache_write, cost FROM activity
		WHERE span = $1 AND at >= $2 AND at < $3`
	querySpend = `SELECT quarter, app, model, person, project, imported, sum(input)::bigint, sum(output)::bigint,
			sum(cache_read)::bigint, sum(cache_write)::bigint, sum(cost)
		FROM spend /*!INDEXED BY spend_by_quarter*/ WHERE quarter >= $1 AND quarter < $2 GROUP BY quarter, app, model, person, project, imported`
	queryToolTimes = `SELECT tool, bins FROM tool_histograms WHERE span = $1 AND at >= $2 AND at < $3`
)

func (t *Tables) Decisions(ctx context.Context, from, to int64) (map[store.Decision]int64, error) {
	decisions := map[store.Decision]int64{}
	return decisions, t.Read(ctx, func(rows Rows) error {
		var d store.Decision
		var n int64
		err := rows.Scan(&d.Quarter, &d.App, &d.Outcome, &d.Person, &d.Bucket, &n)
		decisions[d] = n
		return err
	}, queryDecisions, from, to)
}

func (t *Tables) Activity(ctx context.Context, from int64) (map[string]store.Activity, error) {
	sums := map[string]store.Activity{}
	for _, part := range bucketRanges(from) {
		err := t.Read(ctx, func(rows Rows) error {
			var app string
			var a store.Activity
			n := &a.Tokens
			err := rows.Scan(&app, &a.Events, &a.Tools, &a.Failures, &a.Questions, &a.WaitedMS,
				&n.Input, &n.Output, &n.CacheRead, &n.CacheWrite, &a.CostUSD)
			sums[app] = a.Add(sums[app])
			return err
		}, queryActivity, part.Unit, part.From, part.To)
		if err != nil {
			return nil, err
		}
	}
	return sums, nil
}

func (t *Tables) Spend(ctx context.Context, from, to int64) (map[store.SpendGroup]store.Spend, error) {
	sums := map[store.SpendGroup]store.Spend{}
	return sums, t.Read(ctx, func(rows Rows) error {
		var key store.SpendGroup
		var u store.Spend
		n := &u.Tokens
		err := rows.Scan(&key.Quarter, &key.App, &key.Model, &key.Person, &key.Project,
			&key.Imported, &n.Input, &n.Output, &n.CacheRead, &n.CacheWrite, &u.CostUSD)
		sums[key] = u
		return err
	}, querySpend, from, to)
}

func (t *Tables) ToolTimes(ctx context.Context, from int64) (map[store.ToolKey]store.ToolTime, error) {
	byTool := map[string]Histogram{}
	for _, part := range bucketRanges(from) {
		err := t.Read(ctx, func(rows Rows) error {
			var tool, bins string
			if err := rows.Scan(&tool, &bins); err != nil {
				return err
			}
			if byTool[tool] == nil {
				byTool[tool] = Histogram{}
			}
			return byTool[tool].Add([]byte(bins))
		}, queryToolTimes, part.Unit, part.From, part.To)
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
