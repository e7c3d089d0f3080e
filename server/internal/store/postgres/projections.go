package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

const queryCursor = `SELECT cursor FROM cursors WHERE name = 'projections'`

func (s *engine) ProjectionCursor(ctx context.Context) (cursor int64, err error) {
	return cursor, s.readers.get(ctx, []any{&cursor}, queryCursor)
}

var queryEntryEvents = `SELECT ` + eventColumns + fullPayload + `q.question, q.asked, c.chat FROM ` + eventTables + `
	LEFT JOIN chats c ON c.seq = e.seq
	WHERE e.seq > $1 AND e.seq <= $2 ORDER BY e.seq`

const queryEntryEnds = `SELECT seq, question, status FROM changes
	WHERE seq > $1 AND seq <= $2 AND ends ORDER BY seq`

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
		entries[i] = store.LogEntry{Seq: r.seq, Event: r.build(), Transcript: r.transcript}
	}
	return entries, full, nil
}

func (s entrySource) EntryEnds(ctx context.Context, seq, upTo int64) ([]store.LogEntry, error) {
	rows, err := s.readers.query(ctx, queryEntryEnds, seq, upTo)
	return collect(rows, err, func(rows pgx.Rows, e *store.LogEntry) error {
		e.Event = &store.Event{}
		return rows.Scan(&e.Seq, &e.Event.ID, &e.Event.Status)
	})
}

func (s *engine) ApplyProjection(ctx context.Context, d *store.ProjectionBatch) error {
	err := s.writer.join(ctx, &op{run: func(t *tx) error { return t.applyProjection(d) }}, d.JoinUntil)
	if err == nil {
		s.projected.Reach(d.To)
	}
	return err
}

func (t *tx) applyProjection(d *store.ProjectionBatch) error {
	if err := t.moveCursor("projections", d.From, d.To); err != nil {
		return err
	}
	return kit.ApplyProjection(t, d)
}

// AddDecisions implements kit.ProjectionStore.
func (t *tx) AddDecisions(key store.Decision, n int64) error {
	return t.exec(`INSERT INTO decisions (quarter, app, outcome, person, bin, count) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (quarter, app, outcome, person, bin) DO UPDATE SET count = decisions.count + excluded.count`, key.Quarter, key.App, key.Outcome, key.Person, key.Bucket, n)
}

// RemoveSession implements kit.SessionStore.
func (t *tx) RemoveSession(key store.SessionKey) error {
	return t.exec(`DELETE FROM sessions WHERE app = $1 AND session = $2`, key.App, key.Session)
}

// UpsertSession implements kit.SessionStore.
func (t *tx) UpsertSession(r *store.SessionRow) error {
	if err := t.upsertSession(r); err != nil || r.Transcript == nil {
		return err
	}
	return t.setTranscript(r)
}

func (t *tx) upsertSession(r *store.SessionRow) error {
	err := t.exec(`INSERT INTO sessions (app, session, person, first, last, active, imported, text, facts) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (app, session) DO UPDATE SET first = excluded.first, last = excluded.last, active = excluded.active, imported = excluded.imported,
			text = excluded.text, facts = excluded.facts`,
		r.App, r.Session, r.Person, r.First, r.Last, kit.ActiveKey(r.Active, r.Last), r.Imported, r.Text, r.Facts)
	if err == nil && r.Moved { // rarely; so that other changes don't write the index by person
		if err = t.exec(`UPDATE sessions SET person = $1 WHERE app = $2 AND session = $3`, r.Person, r.App, r.Session); err == nil {
			err = t.exec(`UPDATE spend SET app = $1, person = $2, project = $3 WHERE first = $4`, r.App, r.Person, r.Project, r.First)
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
	err := t.exec(`DELETE FROM transcript_texts WHERE first = $1`, r.First)
	if err == nil && r.Transcript.Text != "" {
		err = t.exec(`INSERT INTO transcript_texts (seq, first, text)
			SELECT $1::bigint, $2::bigint, $3::text WHERE EXISTS (SELECT 1 FROM events WHERE seq = $1)`, r.Transcript.Event, r.First, r.Transcript.Text)
	}
	return err
}

// AddActivity implements kit.BucketStore.
func (t *tx) AddActivity(unit int64, key store.ActivityKey, a *store.Activity) error {
	return t.exec(`INSERT INTO activity (span, at, app, events, tools, failures, asked, waited,
			input, output, cache_read, cache_write, cost)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
		ON CONFLICT (span, at, app) DO UPDATE SET events = activity.events + excluded.events, tools = activity.tools + excluded.tools, failures = activity.failures + excluded.failures, asked = activity.asked + excluded.asked, waited = activity.waited + excluded.waited, input = activity.input + excluded.input, output = activity.output + excluded.output, cache_read = activity.cache_read + excluded.cache_read, cache_write = activity.cache_write + excluded.cache_write, cost = activity.cost + excluded.cost`,
		unit, key.Quarter/unit, key.App, a.Events, a.Tools, a.Failures, a.Questions, a.WaitedMS,
		a.Tokens.Input, a.Tokens.Output, a.Tokens.CacheRead, a.Tokens.CacheWrite, a.CostUSD)
}

// AddSpend implements kit.SessionStore.
func (t *tx) AddSpend(key store.SpendKey, s *store.Spend, owner *store.SessionRow) error {
	return t.exec(`INSERT INTO spend (first, quarter, model, app, person, project, imported, input, output, cache_read, cache_write, cost)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (first, quarter, model) DO UPDATE SET input = spend.input + excluded.input, output = spend.output + excluded.output, cache_read = spend.cache_read + excluded.cache_read, cache_write = spend.cache_write + excluded.cache_write, cost = spend.cost + excluded.cost, imported = excluded.imported`,
		key.Session, key.Quarter, key.Model, owner.App, owner.Person, owner.Project, owner.Imported,
		s.Tokens.Input, s.Tokens.Output, s.Tokens.CacheRead, s.Tokens.CacheWrite, s.CostUSD)
}

// AddToolTime implements kit.BucketStore.
func (t *tx) AddToolTime(key store.ToolKey, u store.ToolTime) error {
	return t.exec(`INSERT INTO session_tools (first, tool, bin, calls, failures, total) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (first, tool, bin) DO UPDATE SET calls = session_tools.calls + excluded.calls, failures = session_tools.failures + excluded.failures, total = session_tools.total + excluded.total`,
		key.Session, key.Tool, key.Bucket, u.Calls, u.Failures, u.TotalMS)
}

// AddHistogram implements kit.BucketStore.
func (t *tx) AddHistogram(p kit.ToolPeriod, h kit.Histogram) error {
	var bins string
	err := t.get([]any{&bins}, `SELECT bins FROM tool_histograms WHERE span = $1 AND at = $2 AND tool = $3`, p.Unit, p.At, p.Tool)
	if err := ignoreNoRows(err); err != nil {
		return err
	}
	if err := h.Add([]byte(bins)); err != nil {
		return err
	}
	err = t.exec(`INSERT INTO tool_histograms (span, at, tool, bins) VALUES ($1, $2, $3, $4)
		ON CONFLICT (span, at, tool) DO UPDATE SET bins = excluded.bins`, p.Unit, p.At, p.Tool, h.Encode())
	return err
}

// moveCursor advances the position of a reader of the log, which is the guard of its batches.
func (t *tx) moveCursor(name string, from, to int64) error {
	return t.execOne("cursor", `UPDATE cursors SET cursor = $1 WHERE name = $2 AND cursor = $3 RETURNING 1`, to, name, from)
}

var queryRemainingEvent = fmt.Sprintf(`SELECT 1 FROM zones z JOIN events e ON e.seq BETWEEN z.zone << %d AND (z.zone << %d) + %d
	WHERE z.kind = %d AND z.name = $2 AND e.app = $1 AND e.session = $2 LIMIT 1`, nameSegmentBits, nameSegmentBits, nameSegmentSize-1, sessionName)

// deleteSessionIfEmpty removes a session without events from the projections, with its share links.
func (t *tx) deleteSessionIfEmpty(app, session string) error {
	var first, last, found int64
	err := t.get([]any{&first, &last}, `SELECT first, last FROM sessions WHERE app = $1 AND session = $2`, app, session)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err == nil {
		err = t.get([]any{&found}, queryIsEvent, last) // fast path: usually the session's last event still exists
	}
	if errors.Is(err, pgx.ErrNoRows) {
		err = t.get([]any{&found}, queryRemainingEvent, app, session)
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	if err := t.exec(`DELETE FROM session_tools WHERE first = $1`, first); err != nil {
		return err
	}
	if err := t.exec(`DELETE FROM sessions WHERE app = $1 AND session = $2`, app, session); err != nil {
		return err
	}
	return t.exec(`DELETE FROM shares WHERE app = $1 AND session = $2`, app, session)
}
