package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

const queryCursor = `SELECT cursor FROM derived WHERE stream_id = 1`

func (s *engine) ProjectionCursor(ctx context.Context) (cursor int64, err error) {
	return cursor, s.readers.get(ctx, []any{&cursor}, queryCursor)
}

var queryEntryEvents = `SELECT ` + eventColumns + fullPayload + `q.question, q.asked, c.chat FROM ` + eventTables + `
	LEFT JOIN chats c ON c.stream_id = e.stream_id AND c.seq = e.seq
	WHERE e.stream_id = 1 AND e.seq > ? AND e.seq <= ? ORDER BY e.seq`

const queryEntryEnds = `SELECT seq, question, status FROM changes
	WHERE stream_id = 1 AND seq > ? AND seq <= ? AND ends = 1 ORDER BY seq`

func (s *engine) LogEntries(ctx context.Context, seq int64, limit int) (entries []store.LogEntry, upTo int64, err error) {
	if err := ctx.Err(); err != nil {
		return nil, seq, err
	}
	s.projected.Reach(seq)
	entries, upTo, ok := s.tail.Entries(kit.TailProjector, seq, limit)
	if !ok {
		entries, upTo, err = s.readEntries(ctx, seq, limit)
	}
	if len(entries) == 0 && err == nil {
		s.projected.Reach(upTo)
	}
	return entries, upTo, err
}

// readEntries is LogEntries without the tail.
func (s *engine) readEntries(ctx context.Context, seq int64, limit int) (entries []store.LogEntry, upTo int64, err error) {
	upTo = min(s.head.Load(), seq+int64(limit))
	if upTo <= seq {
		return nil, seq, nil
	}
	rows, err := s.readers.query(ctx, queryEntryEvents, seq, upTo)
	scanned, full, err := scanEvents(rows, err, store.MaxPageBytes, (*eventRow).destWithTranscript)
	if err != nil {
		return nil, seq, err
	}
	if full {
		upTo = scanned[len(scanned)-1].seq
	}
	ends, err := s.readEnds(ctx, seq, upTo)
	if err != nil {
		return nil, seq, err
	}
	for _, r := range scanned {
		for len(ends) > 0 && ends[0].Seq < r.seq {
			entries, ends = append(entries, ends[0]), ends[1:]
		}
		e, err := s.buildEvent(ctx, r)
		if err != nil {
			return nil, seq, err
		}
		if e.App != "" { // otherwise it was pruned during the read, with its names
			entries = append(entries, store.LogEntry{Seq: r.seq, Event: e, Transcript: r.transcript})
		}
	}
	return append(entries, ends...), upTo, nil
}

// readEnds reads the resolutions of questions, each with its event.
func (s *engine) readEnds(ctx context.Context, seq, upTo int64) ([]store.LogEntry, error) {
	found, err := s.scanEnds(ctx, seq, upTo)
	if err != nil {
		return nil, err
	}
	ends := found[:0]
	for _, end := range found {
		e, _, err := s.Event(ctx, end.Event.ID)
		if errors.Is(err, schema.ErrNotFound) {
			continue // pruned during the read
		}
		if err != nil {
			return nil, err
		}
		e.Status = end.Event.Status
		ends = append(ends, store.LogEntry{Seq: end.Seq, Event: e, Ends: true})
	}
	return ends, nil
}

func (s *engine) scanEnds(ctx context.Context, seq, upTo int64) ([]store.LogEntry, error) {
	rows, err := s.readers.query(ctx, queryEntryEnds, seq, upTo)
	return collect(rows, err, func(rows *sql.Rows, e *store.LogEntry) error {
		e.Event = &store.Event{}
		return rows.Scan(&e.Seq, &e.Event.ID, &e.Event.Status)
	})
}

func (s *engine) ApplyProjection(ctx context.Context, d *store.ProjectionBatch) error {
	o := &op{needsSavepoint: true, run: func(t *tx) error { return t.applyProjection(d) }}
	var err error
	if d.JoinUntil != nil {
		err = s.writer.join(ctx, o, d.JoinUntil)
	} else {
		err = s.writer.do(ctx, o)
	}
	if err == nil {
		s.projected.Reach(d.To)
	}
	return err
}

func (t *tx) applyProjection(d *store.ProjectionBatch) error {
	moved, err := t.exec(`UPDATE derived SET cursor = ? WHERE stream_id = 1 AND cursor = ?`, d.To, d.From)
	if err != nil {
		return err
	}
	if moved == 0 {
		return store.ErrConflict
	}
	for key, n := range d.Decisions {
		_, err := t.exec(`INSERT INTO decisions (stream_id, quarter, app, outcome, person, bin, count) VALUES (1, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET count = count + excluded.count`, key.Quarter, key.App, key.Outcome, key.Person, key.Bucket, n)
		if err != nil {
			return err
		}
	}
	for key, a := range d.Activity {
		if err := t.addActivity(key, &a); err != nil {
			return err
		}
	}
	if err := t.addToolTimes(d.ToolTimes); err != nil {
		return err
	}
	for _, key := range d.RemovedSessions {
		if _, err := t.exec(`DELETE FROM sessions WHERE stream_id = 1 AND app = ? AND session = ?`, key.App, key.Session); err != nil {
			return err
		}
	}
	owners := make(map[schema.EventID]*store.SessionRow, len(d.Sessions))
	for i := range d.Sessions {
		owners[d.Sessions[i].First] = &d.Sessions[i]
	}
	if err := t.addSpend(d.Spend, owners); err != nil {
		return err
	}
	for i := range d.Sessions {
		if err := t.upsertSession(&d.Sessions[i]); err != nil {
			return err
		}
		if err := t.setTranscript(&d.Sessions[i]); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) upsertSession(r *store.SessionRow) error {
	_, err := t.exec(`INSERT INTO sessions (stream_id, app, session, person, first, last, active, imported, text, facts) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET first = excluded.first, last = excluded.last, active = excluded.active, imported = excluded.imported,
			text = excluded.text, facts = excluded.facts`,
		r.App, r.Session, r.Person, r.First, r.Last, kit.ActiveKey(r.Active, r.Last), r.Imported, r.Text, r.Facts)
	if err == nil && r.Moved { // rarely; so that other changes don't write the index by person
		if _, err = t.exec(`UPDATE sessions SET person = ? WHERE stream_id = 1 AND app = ? AND session = ?`, r.Person, r.App, r.Session); err == nil {
			_, err = t.exec(`UPDATE spend SET app = ?, person = ?, project = ? WHERE stream_id = 1 AND first = ?`, r.App, r.Person, r.Project, r.First)
		}
	}
	if err != nil || int64(r.Last) > t.counters.pruned {
		return err
	}
	// Retention may have overtaken the projector.
	return t.deleteSessionIfEmpty(r.App, r.Session)
}

// setTranscript replaces the text of the session's transcript, unless retention has removed the event.
func (t *tx) setTranscript(r *store.SessionRow) error {
	if r.Transcript == nil {
		return nil
	}
	_, err := t.exec(`DELETE FROM transcript_texts WHERE stream_id = 1 AND first = ?`, r.First)
	if err == nil && r.Transcript.Text != "" {
		_, err = t.exec(`INSERT INTO transcript_texts (stream_id, seq, first, text)
			SELECT 1, ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM events WHERE stream_id = 1 AND seq = ?1)`, r.Transcript.Event, r.First, r.Transcript.Text)
	}
	return err
}

func (t *tx) addActivity(key store.ActivityKey, a *store.Activity) error {
	for _, unit := range [...]int64{1, kit.QuartersPerDay} {
		_, err := t.exec(`INSERT INTO activity (stream_id, span, at, app, events, tools, failures, asked, waited,
				input, output, cache_read, cache_write, cost)
			VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET events = events + excluded.events, tools = tools + excluded.tools,
				failures = failures + excluded.failures, asked = asked + excluded.asked, waited = waited + excluded.waited,
				input = input + excluded.input, output = output + excluded.output,
				cache_read = cache_read + excluded.cache_read, cache_write = cache_write + excluded.cache_write,
				cost = cost + excluded.cost`,
			unit, key.Quarter/unit, key.App, a.Events, a.Tools, a.Failures, a.Questions, a.WaitedMS,
			a.Tokens.Input, a.Tokens.Output, a.Tokens.CacheRead, a.Tokens.CacheWrite, a.CostUSD)
		if err != nil {
			return err
		}
	}
	return nil
}

// addSpend adds the usage of sessions. owners has the rows of these sessions.
func (t *tx) addSpend(spend map[store.SpendKey]store.Spend, owners map[schema.EventID]*store.SessionRow) error {
	for key, s := range spend {
		owner := owners[key.Session]
		if owner == nil {
			return fmt.Errorf("add the spending of session %d: its row is missing", key.Session)
		}
		_, err := t.exec(`INSERT INTO spend (stream_id, first, quarter, model, app, person, project, imported, input, output, cache_read, cache_write, cost)
			VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET input = input + excluded.input, output = output + excluded.output,
				cache_read = cache_read + excluded.cache_read, cache_write = cache_write + excluded.cache_write,
				cost = cost + excluded.cost, imported = excluded.imported`,
			key.Session, key.Quarter, key.Model, owner.App, owner.Person, owner.Project, owner.Imported,
			s.Tokens.Input, s.Tokens.Output, s.Tokens.CacheRead, s.Tokens.CacheWrite, s.CostUSD)
		if err != nil {
			return err
		}
	}
	return nil
}

// toolPeriod identifies a row of tool_histograms.
type toolPeriod struct {
	unit, at int64
	tool     string
}

func (t *tx) addToolTimes(times map[store.ToolKey]store.ToolTime) error {
	periods := map[toolPeriod]kit.Histogram{}
	for key, u := range times {
		_, err := t.exec(`INSERT INTO session_tools (stream_id, first, tool, bin, calls, failures, total) VALUES (1, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET calls = calls + excluded.calls, failures = failures + excluded.failures, total = total + excluded.total`,
			key.Session, key.Tool, key.Bucket, u.Calls, u.Failures, u.TotalMS)
		if err != nil {
			return err
		}
		for _, unit := range [...]int64{1, kit.QuartersPerDay} {
			period := toolPeriod{unit, key.Quarter / unit, key.Tool}
			if periods[period] == nil {
				periods[period] = kit.Histogram{}
			}
			periods[period][key.Bucket] = periods[period][key.Bucket].Add(u)
		}
	}
	for period, h := range periods {
		if err := t.addHistogram(period, h); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) addHistogram(p toolPeriod, h kit.Histogram) error {
	var bins []byte
	err := t.get([]any{&bins}, `SELECT bins FROM tool_histograms WHERE stream_id = 1 AND span = ? AND at = ? AND tool = ?`, p.unit, p.at, p.tool)
	if err := ignoreNoRows(err); err != nil {
		return err
	}
	if err := h.Add(bins); err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO tool_histograms (stream_id, span, at, tool, bins) VALUES (1, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET bins = excluded.bins`, p.unit, p.at, p.tool, h.Encode())
	return err
}

var queryRemainingEvent = fmt.Sprintf(`SELECT 1 FROM names a CROSS JOIN names n CROSS JOIN zones z
	CROSS JOIN events e INDEXED BY events_scan ON e.stream_id = 1 AND e.seq BETWEEN z.zone << %d AND (z.zone << %d) + %d
	WHERE a.stream_id = 1 AND a.kind = 1 AND a.name = ? AND n.stream_id = 1 AND n.kind = 2 AND n.name = ?
	AND z.stream_id = 1 AND z.name = n.id AND e.app = a.id AND e.session = n.id LIMIT 1`, nameSegmentBits, nameSegmentBits, nameSegmentSize-1)

// deleteSessionIfEmpty removes a session without events from the projections, with its share links.
func (t *tx) deleteSessionIfEmpty(app, session string) error {
	var first, last, found int64
	err := t.get([]any{&first, &last}, `SELECT first, last FROM sessions WHERE stream_id = 1 AND app = ? AND session = ?`, app, session)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		err = t.get([]any{&found}, queryIsEvent, last) // fast path: usually the session's last event still exists
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = t.get([]any{&found}, queryRemainingEvent, app, session)
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if _, err := t.exec(`DELETE FROM session_tools WHERE stream_id = 1 AND first = ?`, first); err != nil {
		return err
	}
	if _, err = t.exec(`DELETE FROM sessions WHERE stream_id = 1 AND app = ? AND session = ?`, app, session); err != nil {
		return err
	}
	_, err = t.exec(`DELETE FROM shares WHERE stream_id = 1 AND app = ? AND session = ?`, app, session)
	return err
}
