package tables

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/filter"
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
func (w *Work) moveCursor(name string, from, to int64) {
	w.doGuarded("cursor", `UPDATE cursors SET cursor = $1 WHERE name = $2 AND cursor = $3 RETURNING 1`, to, name, from)
}

func (t *Tables) ProjectionLag() store.Lag { return t.State.Projected.Lag(time.Now()) }

func (t *Tables) ApplyProjection(ctx context.Context, d *store.ProjectionBatch) error {
	err := t.Commit(ctx, &Op{Run: leavingErrors(func(w *Work) { w.applyProjection(d) })}, d.JoinUntil)
	if err == nil {
		t.State.Projected.Reach(d.To)
	}
	return err
}

// The tables of sums.
var (
	decisions    = newSumTable("decisions", "quarter, app, outcome, person, bin", "", "count")
	activity     = newSumTable("activity", "span, at, app", "", "events, tools, failures, asked, waited, input, output, cache_read, cache_write, cost")
	sessionTools = newSumTable("session_tools", "first, tool, bin", "", "calls, failures, total")
	spend        = newSumTable("spend", "first, quarter, model", "app, person, project, imported, ", "input, output, cache_read, cache_write, cost")
)

// spans are the sizes of the buckets of activity and tool_histograms, in quarters.
var spans = [...]int64{1, quartersPerDay}

func (w *Work) applyProjection(d *store.ProjectionBatch) {
	w.moveCursor("projections", d.From, d.To)
	for key, n := range d.Decisions {
		decisions.add(w, key.Quarter, key.App, key.Outcome, key.Person, key.Bucket, n)
	}
	for key, a := range d.Activity {
		for _, span := range spans {
			activity.add(w, span, key.Quarter/span, key.App, a.Events, a.Tools, a.Failures, a.Questions, a.WaitedMS,
				a.Tokens.Input, a.Tokens.Output, a.Tokens.CacheRead, a.Tokens.CacheWrite, a.CostUSD)
		}
	}
	w.addToolTimes(d.ToolTimes)
	for _, key := range d.RemovedSessions {
		w.do(`DELETE FROM sessions WHERE app = $1 AND session = $2`, key.App, key.Session)
	}
	w.applySessions(d)
}

func (w *Work) addToolTimes(times map[store.ToolKey]store.ToolTime) {
	type period struct {
		span, at int64
		tool     string
	}
	periods := map[period]Histogram{}
	for key, u := range times {
		sessionTools.add(w, key.Session, key.Tool, key.Bucket, u.Calls, u.Failures, u.TotalMS)
		for _, span := range spans {
			p := period{span, key.Quarter / span, key.Tool}
			if periods[p] == nil {
				periods[p] = Histogram{}
			}
			periods[p][key.Bucket] = periods[p][key.Bucket].Add(u)
		}
	}
	for p, h := range periods {
		bins := get[string](w, `SELECT bins FROM tool_histograms WHERE span = $1 AND at = $2 AND tool = $3`, p.span, p.at, p.tool)
		w.fail(h.Add([]byte(bins)))
		w.do(`INSERT INTO tool_histograms (span, at, tool, bins) VALUES ($1, $2, $3, $4)
			ON CONFLICT (span, at, tool) DO UPDATE SET bins = excluded.bins`, p.span, p.at, p.tool, h.Encode())
	}
}

func (w *Work) applySessions(d *store.ProjectionBatch) {
	owners := make(map[schema.EventID]*store.SessionRow, len(d.Sessions))
	for i := range d.Sessions {
		owners[d.Sessions[i].First] = &d.Sessions[i]
	}
	for key, s := range d.Spend {
		owner := owners[key.Session]
		if owner == nil {
			w.fail(fmt.Errorf("add the spending of session %d: its row is missing", key.Session))
			return
		}
		spend.add(w, key.Session, key.Quarter, key.Model, owner.App, owner.Person, owner.Project, owner.Imported,
			s.Tokens.Input, s.Tokens.Output, s.Tokens.CacheRead, s.Tokens.CacheWrite, s.CostUSD)
	}
	for i := range d.Sessions {
		w.upsertSession(&d.Sessions[i])
	}
}

// upsertSession writes a row, and the text of its transcript if it has one.
func (w *Work) upsertSession(r *store.SessionRow) {
	w.do(`INSERT INTO sessions (app, session, person, first, last, active, imported, text, facts)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (app, session) DO UPDATE SET first = excluded.first, last = excluded.last, active = excluded.active,
			imported = excluded.imported, text = excluded.text, facts = excluded.facts`,
		r.App, r.Session, r.Person, r.First, r.Last, activeKey(r.Active, r.Last), r.Imported, r.Text, r.Facts)
	if r.Moved { // rarely; so that other changes don't write the index by person
		w.do(`UPDATE sessions SET person = $1 WHERE app = $2 AND session = $3`, r.Person, r.App, r.Session)
		w.do(`UPDATE spend SET app = $1, person = $2, project = $3 WHERE first = $4`, r.App, r.Person, r.Project, r.First)
	}
	if int64(r.Last) <= w.Pruned { // retention may have overtaken the projector
		w.deleteSessionIfEmpty(r.App, r.Session)
	}
	if r.Transcript == nil {
		return
	}
	w.do(`DELETE FROM transcript_texts WHERE first = $1`, r.First)
	if r.Transcript.Text != "" { // unless retention has removed the event
		w.do(`INSERT INTO transcript_texts (seq, first, text)
			SELECT $1::bigint, $2::bigint, $3::text WHERE EXISTS (SELECT 1 FROM events WHERE seq = $1)`,
			r.Transcript.Event, r.First, r.Transcript.Text)
	}
}

const queryIsEvent = `SELECT 1 FROM events WHERE seq = $1`

var queryRemainingEvent = fmt.Sprintf(`SELECT 1 FROM zones z
	/*!CROSS*/ JOIN events e /*!INDEXED BY events_scan*/ ON e.seq BETWEEN z.zone << %d AND (z.zone << %d) + %d
	WHERE z.kind = %d AND z.name = $2 AND e.app = $1 AND e.session = $2 LIMIT 1`,
	NameSegmentBits, NameSegmentBits, NameSegmentSize-1, SessionName)

// deleteSessionIfEmpty removes a session without events from the projections, with its share links.
func (w *Work) deleteSessionIfEmpty(app, session string) {
	var first, last, one int64
	if !w.find([]any{&first, &last}, `SELECT first, last FROM sessions WHERE app = $1 AND session = $2`, app, session) {
		return
	}
	// The session's last event usually still exists.
	if w.find([]any{&one}, queryIsEvent, last) || w.find([]any{&one}, queryRemainingEvent, Name{AppName, app}, Name{SessionName, session}) {
		return
	}
	w.do(`DELETE FROM session_tools WHERE first = $1`, first)
	w.doAll([]string{
		`DELETE FROM sessions WHERE app = $1 AND session = $2`, `DELETE FROM shares WHERE app = $1 AND session = $2`,
	}, app, session)
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
	return collectMap(ctx, t, func(d *store.Decision, n *int64) []any {
		return []any{&d.Quarter, &d.App, &d.Outcome, &d.Person, &d.Bucket, n}
	}, queryDecisions, from, to)
}

func (t *Tables) Activity(ctx context.Context, from int64) (map[string]store.Activity, error) {
	sums := map[string]store.Activity{}
	return sums, t.readBuckets(ctx, func(rows Rows) error {
		var app string
		var a store.Activity
		n := &a.Tokens
		err := rows.Scan(&app, &a.Events, &a.Tools, &a.Failures, &a.Questions, &a.WaitedMS,
			&n.Input, &n.Output, &n.CacheRead, &n.CacheWrite, &a.CostUSD)
		sums[app] = a.Add(sums[app])
		return err
	}, queryActivity, from)
}

func (t *Tables) Spend(ctx context.Context, from, to int64) (map[store.SpendGroup]store.Spend, error) {
	return collectMap(ctx, t, func(g *store.SpendGroup, s *store.Spend) []any {
		n := &s.Tokens
		return []any{&g.Quarter, &g.App, &g.Model, &g.Person, &g.Project, &g.Imported, &n.Input, &n.Output, &n.CacheRead, &n.CacheWrite, &s.CostUSD}
	}, querySpend, from, to)
}

func (t *Tables) ToolTimes(ctx context.Context, from int64) (map[store.ToolKey]store.ToolTime, error) {
	byTool := map[string]Histogram{}
	err := t.readBuckets(ctx, func(rows Rows) error {
		var tool, bins string
		if err := rows.Scan(&tool, &bins); err != nil {
			return err
		}
		if byTool[tool] == nil {
			byTool[tool] = Histogram{}
		}
		return byTool[tool].Add([]byte(bins))
	}, queryToolTimes, from)
	sums := map[store.ToolKey]store.ToolTime{}
	for tool, h := range byTool {
		for bucket, u := range h {
			sums[store.ToolKey{Tool: tool, Bucket: bucket}] = u
		}
	}
	return sums, err
}

// quartersPerDay is the number of quarter-hours in a UTC day.
const quartersPerDay = 96

// readBuckets reads the buckets of all time since quarter from: in quarters until the end of that UTC
// day, then in days.
func (t *Tables) readBuckets(ctx context.Context, each func(Rows) error, query string, from int64) error {
	tomorrow := (from + quartersPerDay - 1) / quartersPerDay
	if err := t.Read(ctx, each, query, 1, from, tomorrow*quartersPerDay); err != nil {
		return err
	}
	return t.Read(ctx, each, query, quartersPerDay, tomorrow, int64(1)<<40)
}

// Histogram has the uses of a tool by duration bucket.
type Histogram map[int64]store.ToolTime

// Add adds the column bins of tool_histograms.
func (h Histogram) Add(bins []byte) error {
	for len(bins) > 0 {
		var numbers [4]int64
		for i := range numbers {
			n, rest, ok := cutNumber(bins)
			if !ok {
				return fmt.Errorf("read a histogram of tool uses at %q", bins)
			}
			numbers[i], bins = n, rest
		}
		h[numbers[0]] = h[numbers[0]].Add(store.ToolTime{Calls: numbers[1], Failures: numbers[2], TotalMS: numbers[3]})
	}
	return nil
}

// cutNumber returns the number before the first separator, and the text after it.
func cutNumber(text []byte) (n int64, rest []byte, ok bool) {
	sign := int64(1)
	for i, c := range text {
		switch {
		case c >= '0' && c <= '9':
			n, ok = 10*n+int64(c-'0'), true
		case c == '-' && i == 0:
			sign = -1
		default:
			return sign * n, text[i+1:], ok && (c == ' ' || c == ';')
		}
	}
	return sign * n, nil, ok
}

// Encode returns the column bins of tool_histograms.
func (h Histogram) Encode() string {
	var b []byte
	for _, bucket := range slices.Sorted(maps.Keys(h)) {
		u := h[bucket]
		if b != nil {
			b = append(b, ';')
		}
		b = fmt.Appendf(b, "%d %d %d %d", bucket, u.Calls, u.Failures, u.TotalMS)
	}
	return string(b)
}

func (t *Tables) RatingCursor(ctx context.Context) (int64, error) { return t.cursor(ctx, "ratings") }

const queryOverruledCalls = `SELECT used_by, 'grant' FROM grants WHERE used_by > $1 AND used_by <= $2
	UNION ALL SELECT seq, 'person' FROM frozen_calls WHERE seq > $1 AND seq <= $2`

func (t *Tables) OverruledCalls(ctx context.Context, after, upTo int64) (map[schema.EventID]history.CallDecider, error) {
	return collectMap(ctx, t, func(id *schema.EventID, by *history.CallDecider) []any { return []any{id, by} }, queryOverruledCalls, after, upTo)
}

func (t *Tables) OpenCalls(ctx context.Context) ([]store.RatedCall, error) {
	return collect(ctx, t, func(c *store.RatedCall) []any { return []any{JSONBytes(c)} }, `SELECT facts FROM open_calls ORDER BY seq`)
}

var machineDecisions = newSumTable("machine_decisions", "quarter, decided, risk, outcome", "", "calls, appealed")

func (t *Tables) ApplyRatings(ctx context.Context, b *store.RatingBatch) error {
	return t.Commit(ctx, &Op{Run: leavingErrors(func(w *Work) {
		w.moveCursor("ratings", b.From, b.To)
		for i := range b.Calls {
			w.upsertCall(&b.Calls[i])
		}
		for key, n := range b.Counts {
			machineDecisions.add(w, key.Quarter, key.Decided, key.Risk, key.Outcome, n.Calls, n.Appealed)
		}
	})}, b.JoinUntil)
}

// upsertCall stores a call unless retention has removed its event.
func (w *Work) upsertCall(c *store.RatedCall) {
	var one int64
	if int64(c.ID) <= w.Pruned && !w.find([]any{&one}, queryIsEvent, c.ID) {
		return
	}
	if c.Closed {
		w.do(`DELETE FROM open_calls WHERE seq = $1`, c.ID)
	} else {
		w.do(`INSERT INTO open_calls (seq, facts) VALUES ($1, $2)
			ON CONFLICT (seq) DO UPDATE SET facts = excluded.facts`, c.ID, JSONBytes(c))
	}
	if c.IsListed() {
		w.do(`INSERT INTO risky_calls (seq, app, session, tool_use_id, digest, tool, risk, codes, decided, outcome)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
			ON CONFLICT (seq) DO UPDATE SET decided = excluded.decided, outcome = excluded.outcome`,
			c.ID, c.SourceApp, c.SessionID, c.UseID, c.Digest, c.ToolName, c.Risk, strings.Join(c.Codes, " "), c.Decided, c.Outcome)
	}
}

const (
	riskyCallColumns   = `SELECT seq, app, session, tool, risk, codes, decided, outcome FROM risky_calls `
	queryRiskyCalls    = riskyCallColumns + `WHERE seq > $1 AND seq < $2 ORDER BY seq DESC LIMIT $3`
	queryAppsRisky     = riskyCallColumns + `WHERE seq > $1 AND seq < $2 AND app = $3 ORDER BY seq DESC LIMIT $4`
	querySessionsRisky = riskyCallColumns + `/*!INDEXED BY risky_calls_by_session*/
		WHERE session = $1 AND app = $2 AND seq > $3 AND seq < $4 ORDER BY seq DESC LIMIT $5`
	maxSeq          = int64(1)<<53 - 1
	queryCallCounts = `SELECT decided, risk, outcome, sum(calls)::bigint, sum(appealed)::bigint
		FROM machine_decisions WHERE quarter >= $1 AND quarter < $2 GROUP BY decided, risk, outcome`
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
		return []any{&key.Decided, &key.Risk, &key.Outcome, &n.Calls, &n.Appealed}
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
