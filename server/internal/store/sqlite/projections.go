package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

const queryCursor = `SELECT cursor FROM cursors WHERE name = 'projections'`

func (s *engine) ProjectionCursor(ctx context.Context) (cursor int64, err error) {
	return cursor, s.readers.get(ctx, []any{&cursor}, queryCursor)
}

var queryEntryEvents = `SELECT ` + eventColumns + fullPayload + `q.question, q.asked, c.chat FROM ` + eventTables + `
	LEFT JOIN chats c ON c.seq = e.seq
	WHERE e.seq > ? AND e.seq <= ? ORDER BY e.seq`

const queryEntryEnds = `SELECT seq, question, status FROM changes
	WHERE seq > ? AND seq <= ? AND ends ORDER BY seq`

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
	return kit.ReadEntries(ctx, entrySource{s}, s.head.Load(), seq, limit)
}

// entrySource implements kit.EntrySource.
type entrySource struct{ *engine }

func (s entrySource) EntryEvents(ctx context.Context, seq, upTo int64) ([]store.LogEntry, bool, error) {
	rows, err := s.readers.query(ctx, queryEntryEvents, seq, upTo)
	scanned, full, err := scanEvents(rows, err, store.MaxPageBytes, (*eventRow).destWithTranscript)
	if err != nil {
		return nil, false, err
	}
	entries := make([]store.LogEntry, len(scanned))
	for i, r := range scanned {
		entries[i] = store.LogEntry{Seq: r.seq, Transcript: r.transcript}
		if entries[i].Event, err = s.buildEvent(ctx, r); err != nil {
			return nil, false, err
		}
		if entries[i].Event.App == "" { // it was pruned during the read, with its names
			entries[i].Event = nil
		}
	}
	return entries, full, nil
}

func (s entrySource) EntryEnds(ctx context.Context, seq, upTo int64) ([]store.LogEntry, error) {
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
	moved, err := t.exec(`UPDATE cursors SET cursor = ? WHERE name = 'projections' AND cursor = ?`, d.To, d.From)
	if err != nil {
		return err
	}
	if moved == 0 {
		return store.ErrConflict
	}
	return kit.ApplyProjection(t, d)
}

// AddDecisions implements kit.ProjectionStore.
func (t *tx) AddDecisions(key store.Decision, n int64) error {
	_, err := t.exec(`INSERT INTO decisions (quarter, app, outcome, person, bin, count) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET count = count + excluded.count`, key.Quarter, key.App, key.Outcome, key.Person, key.Bucket, n)
	return err
}

// RemoveSession implements kit.SessionStore.
func (t *tx) RemoveSession(key store.SessionKey) error {
	_, err := t.exec(`DELETE FROM sessions WHERE app = ? AND session = ?`, key.App, key.Session)
	return err
}

// UpsertSession implements kit.SessionStore.
func (t *tx) UpsertSession(r *store.SessionRow) error {
	if err := t.upsertSession(r); err != nil || r.Transcript == nil {
		return err
	}
	return t.setTranscript(r)
}

func (t *tx) upsertSession(r *store.SessionRow) error {
	_, err := t.exec(`INSERT INTO sessions (app, session, person, first, last, active, imported, text, facts) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET first = excluded.first, last = excluded.last, active = excluded.active, imported = excluded.imported,
			text = excluded.text, facts = excluded.facts`,
		r.App, r.Session, r.Person, r.First, r.Last, kit.ActiveKey(r.Active, r.Last), r.Imported, r.Text, r.Facts)
	if err == nil && r.Moved { // rarely; so that other changes don't write the index by person
		if _, err = t.exec(`UPDATE sessions SET person = ? WHERE app = ? AND session = ?`, r.Person, r.App, r.Session); err == nil {
			_, err = t.exec(`UPDATE spend SET app = ?, person = ?, project = ? WHERE first = ?`, r.App, r.Person, r.Project, r.First)
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
	_, err := t.exec(`DELETE FROM transcript_texts WHERE first = ?`, r.First)
	if err == nil && r.Transcript.Text != "" {
		_, err = t.exec(`INSERT INTO transcript_texts (seq, first, text)
			SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM events WHERE seq = ?1)`, r.Transcript.Event, r.First, r.Transcript.Text)
	}
	return err
}

// AddActivity implements kit.BucketStore.
func (t *tx) AddActivity(unit int64, key store.ActivityKey, a *store.Activity) error {
	_, err := t.exec(`INSERT INTO activity (span, at, app, events, tools, failures, asked, waited,
			input, output, cache_read, cache_write, cost)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET events = events + excluded.events, tools = tools + excluded.tools,
			failures = failures + excluded.failures, asked = asked + excluded.asked, waited = waited + excluded.waited,
			input = input + excluded.input, output = output + excluded.output,
			cache_read = cache_read + excluded.cache_read, cache_write = cache_write + excluded.cache_write,
			cost = cost + excluded.cost`,
		unit, key.Quarter/unit, key.App, a.Events, a.Tools, a.Failures, a.Questions, a.WaitedMS,
		a.Tokens.Input, a.Tokens.Output, a.Tokens.CacheRead, a.Tokens.CacheWrite, a.CostUSD)
	return err
}

// AddSpend implements kit.SessionStore.
func (t *tx) AddSpend(key store.SpendKey, s *store.Spend, owner *store.SessionRow) error {
	_, err := t.exec(`INSERT INTO spend (first, quarter, model, app, person, project, imported, input, output, cache_read, cache_write, cost)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET input = input + excluded.input, output = output + excluded.output,
			cache_read = cache_read + excluded.cache_read, cache_write = cache_write + excluded.cache_write,
			cost = cost + excluded.cost, imported = excluded.imported`,
		key.Session, key.Quarter, key.Model, owner.App, owner.Person, owner.Project, owner.Imported,
		s.Tokens.Input, s.Tokens.Output, s.Tokens.CacheRead, s.Tokens.CacheWrite, s.CostUSD)
	return err
}

// AddToolTime implements kit.BucketStore.
func (t *tx) AddToolTime(key store.ToolKey, u store.ToolTime) error {
	_, err := t.exec(`INSERT INTO session_tools (first, tool, bin, calls, failures, total) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET calls = calls + excluded.calls, failures = failures + excluded.failures, total = total + excluded.total`,
		key.Session, key.Tool, key.Bucket, u.Calls, u.Failures, u.TotalMS)
	return err
}

// AddHistogram implements kit.BucketStore.
func (t *tx) AddHistogram(p kit.ToolPeriod, h kit.Histogram) error {
	var bins []byte
	err := t.get([]any{&bins}, `SELECT bins FROM tool_histograms WHERE span = ? AND at = ? AND tool = ?`, p.Unit, p.At, p.Tool)
	if err := ignoreNoRows(err); err != nil {
		return err
	}
	if err := h.Add(bins); err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO tool_histograms (span, at, tool, bins) VALUES (?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET bins = excluded.bins`, p.Unit, p.At, p.Tool, h.Encode())
	return err
}

var queryRemainingEvent = fmt.Sprintf(`SELECT 1 FROM names a CROSS JOIN names n CROSS JOIN zones z
	CROSS JOIN events e INDEXED BY events_scan ON e.seq BETWEEN z.zone << %d AND (z.zone << %d) + %d
	WHERE a.kind = 1 AND a.name = ? AND n.kind = 2 AND n.name = ? AND z.name = n.id AND e.app = a.id AND e.session = n.id LIMIT 1`, nameSegmentBits, nameSegmentBits, nameSegmentSize-1)

// deleteSessionIfEmpty removes a session without events from the projections, with its share links.
func (t *tx) deleteSessionIfEmpty(app, session string) error {
	var first, last, found int64
	err := t.get([]any{&first, &last}, `SELECT first, last FROM sessions WHERE app = ? AND session = ?`, app, session)
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
	if _, err := t.exec(`DELETE FROM session_tools WHERE first = ?`, first); err != nil {
		return err
	}
	if _, err = t.exec(`DELETE FROM sessions WHERE app = ? AND session = ?`, app, session); err != nil {
		return err
	}
	_, err = t.exec(`DELETE FROM shares WHERE app = ? AND session = ?`, app, session)
	return err
}

func (s *engine) TraceEntries(ctx context.Context, seq int64, limit int) (entries []store.LogEntry, upTo int64, err error) {
	if err := ctx.Err(); err != nil {
		return nil, seq, err
	}
	return s.readEntries(ctx, seq, limit)
}
