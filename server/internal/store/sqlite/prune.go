package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

const (
	// pruneBudget is how long the writer may be busy with one batch, because other writes wait for
	// it. Afterwards the writer is left to them for at least as long.
	pruneBudget = 2 * time.Millisecond
	// The sizes of the first and of the largest batch, in events.
	firstPruneBatch, maxPruneBatch = 16, 1024
)

func (s *engine) Prune(ctx context.Context, p store.RetentionPolicy) (store.PruneResult, error) {
	s.pruning.Add(1)
	defer s.notifyIndexer()
	defer s.pruning.Add(-1)
	pace := prunePace{batch: firstPruneBatch, limit: maxPruneBatch}
	if p.Batch > 0 {
		pace = prunePace{batch: min(p.Batch, firstPruneBatch), limit: p.Batch}
	}
	var result store.PruneResult
	err := s.pruneEvents(ctx, &p, &pace, &result)
	if err == nil {
		err = s.pruneImports(ctx, &p, &pace, &result)
	}
	if err == nil {
		err = s.pruneQuestions(ctx, &p, &pace, &result)
	}
	if err == nil {
		err = s.pruneTests(ctx, &p, &pace, &result)
	}
	if err == nil {
		err = s.pruneMessages(ctx, &p, &pace)
	}
	if err == nil {
		err = s.pruneProjections(ctx, p.ProjectionsBefore)
	}
	return result, err
}

// prunePace adapts the size of batches to the time that they take.
type prunePace struct{ batch, limit int }

// run commits one batch, which remove deletes, and pauses. It returns false if remove found
// nothing.
func (p *prunePace) run(ctx context.Context, w *writer, remove func(t *tx, limit int) (n int, err error)) (more bool, err error) {
	var began time.Time
	n := 0
	err = w.do(ctx, &op{essential: true, needsSavepoint: true, run: func(t *tx) (err error) {
		began = time.Now()
		n, err = remove(t, p.batch)
		return err
	}})
	if err != nil || n == 0 {
		return false, err
	}
	worked := time.Since(began) // with the commit
	p.adapt(worked)
	feed.Sleep(ctx, worked) // the next batch checks ctx
	return true, nil
}

// adapt sets the size of the next batch. It grows slowly, because the time per event varies.
func (p *prunePace) adapt(worked time.Duration) {
	fits := int(float64(p.batch) * float64(pruneBudget) / float64(max(worked, time.Microsecond)))
	p.batch = max(1, min(fits, p.batch+p.batch/2+1, p.limit))
}

func (s *engine) pruneEvents(ctx context.Context, p *store.RetentionPolicy, pace *prunePace, result *store.PruneResult) error {
	var events pruneRange
	if !p.EventsBefore.IsZero() {
		var err error
		if events.end, err = s.firstSeqSince(ctx, p.EventsBefore); err != nil {
			return err
		}
		for more := true; more; {
			if more, err = s.pruneBatch(ctx, &events, pace, result); err != nil {
				return err
			}
		}
	}
	events.end = s.head.Load() + 1
	for more := p.MaxBytes > 0; more; {
		exceeded, err := s.exceedsSize(ctx, p.MaxBytes)
		if err != nil || !exceeded {
			return err
		}
		if more, err = s.pruneBatch(ctx, &events, pace, result); err != nil {
			return err
		}
	}
	return nil
}

const (
	queryPrunableImports = `SELECT active, app, session FROM sessions INDEXED BY sessions_imported
		WHERE imported AND active > ? AND active < ? ORDER BY active LIMIT ?`
	queryImportEvents = `SELECT e.seq, e.app, e.session, e.type, e.tool
		FROM names a CROSS JOIN names n CROSS JOIN names y CROSS JOIN zones z
		CROSS JOIN events e INDEXED BY events_scan ON e.seq BETWEEN z.zone << ?4 AND (z.zone << ?4) + ?5
		WHERE a.kind = 1 AND a.name = ?1 AND n.kind = 2 AND n.name = ?2 AND y.kind = 3 AND y.name = ?3 AND z.name = n.id
			AND e.app = a.id AND e.session = n.id AND e.type = y.id AND NOT e.asks
		ORDER BY z.zone, e.seq`
)

// pruneImports removes the sessions that are known only from transcripts and were last active before
// p.EventsBefore: their events were received later, by the import.
func (s *engine) pruneImports(ctx context.Context, p *store.RetentionPolicy, pace *prunePace, result *store.PruneResult) error {
	if p.EventsBefore.IsZero() {
		return nil
	}
	type importedSession struct {
		active int64
		key    store.SessionKey
	}
	var last importedSession
	for more := true; more; {
		var events int64
		var err error
		if more, err = pace.run(ctx, s.writer, func(t *tx, limit int) (n int, err error) {
			rows, err := t.query(queryPrunableImports, last.active, kit.ActiveSince(p.EventsBefore), limit)
			sessions, err := collect(rows, err, func(rows *sql.Rows, s *importedSession) error {
				return rows.Scan(&s.active, &s.key.App, &s.key.Session)
			})
			for events = 0; err == nil && n < len(sessions); n++ {
				last = sessions[n]
				var pruned []prunedEvent
				rows, err := t.query(queryImportEvents, last.key.App, last.key.Session,
					history.EventSessionImported, nameSegmentBits, nameSegmentSize-1)
				if pruned, err = scanPruned(rows, err); err == nil {
					err = t.removeEvents(pruned)
				}
				if err != nil {
					return 0, err
				}
				events += int64(len(pruned))
			}
			return n, err
		}); err != nil {
			return err
		}
		result.Events += events
	}
	return nil
}

// pruneRange is the remaining range of sequence numbers to prune; end is exclusive.
type pruneRange struct{ from, end int64 }

// exceedsSize reports whether the database holds more than limit bytes, not counting
// free pages.
func (s *engine) exceedsSize(ctx context.Context, limit int64) (bool, error) {
	var pages, free, size int64
	for _, p := range []struct {
		dest  *int64
		query string
	}{{&pages, `PRAGMA page_count`}, {&free, `PRAGMA freelist_count`}, {&size, `PRAGMA page_size`}} {
		if err := s.readers.get(ctx, []any{p.dest}, p.query); err != nil {
			return false, err
		}
	}
	return (pages-free)*size > limit, nil
}

// pruneBatch removes the next events without a question. It returns false if none is left.
func (s *engine) pruneBatch(ctx context.Context, r *pruneRange, pace *prunePace, result *store.PruneResult) (more bool, err error) {
	var pruned []prunedEvent
	more, err = pace.run(ctx, s.writer, func(t *tx, limit int) (n int, err error) {
		pruned, err = t.pruneEvents(r, limit)
		return len(pruned), err
	})
	if !more {
		return false, err
	}
	result.Events += int64(len(pruned))
	r.from = pruned[len(pruned)-1].seq + 1
	return true, nil
}

// prunedEvent is a removed event with its name IDs.
type prunedEvent struct {
	seq int64
	ids nameIDs
}

func scanPruned(rows *sql.Rows, err error) ([]prunedEvent, error) {
	return collect(rows, err, func(rows *sql.Rows, p *prunedEvent) error {
		return rows.Scan(&p.seq, &p.ids.app, &p.ids.session, &p.ids.typ, &p.ids.tool)
	})
}

const queryPrunable = `SELECT seq, app, session, type, tool FROM events INDEXED BY events_scan
	WHERE seq >= ? AND seq < ? AND NOT asks ORDER BY seq LIMIT ?`

func (t *tx) pruneEvents(r *pruneRange, limit int) ([]prunedEvent, error) {
	rows, err := t.query(queryPrunable, r.from, r.end, limit)
	pruned, err := scanPruned(rows, err)
	if err != nil {
		return nil, err
	}
	return pruned, t.removeEvents(pruned)
}

func (t *tx) removeEvents(pruned []prunedEvent) error {
	if len(pruned) == 0 {
		return nil
	}
	for _, e := range pruned {
		if err := t.deleteEvent(e.seq); err != nil {
			return err
		}
	}
	t.counters.pruned = max(t.counters.pruned, pruned[len(pruned)-1].seq)
	return t.deleteUnreferenced(pruned)
}

func (t *tx) deleteEvent(seq int64) error {
	if _, err := t.exec(`DELETE FROM chats WHERE seq = ?`, seq); err != nil {
		return err
	}
	if _, err := t.exec(`DELETE FROM transcript_texts WHERE seq = ?`, seq); err != nil {
		return err
	}
	if err := t.deleteRating(seq); err != nil {
		return err
	}
	n, err := t.exec(`DELETE FROM events WHERE seq = ?`, seq)
	t.counters.events -= n
	t.counters.deleted += n
	return err
}

// deleteUnreferenced removes the rows that only the pruned events used: name segments,
// names, sessions, time marks and trigrams.
func (t *tx) deleteUnreferenced(pruned []prunedEvent) error {
	sessions, err := t.sessionKeysOf(pruned)
	if err != nil {
		return err
	}
	if err := t.deleteEmptyNameSegments(pruned); err != nil {
		return err
	}
	for key := range sessions {
		if err := t.deleteSessionIfEmpty(key.App, key.Session); err != nil {
			return err
		}
	}
	// Both caches may hold removed names.
	t.clearCaches()
	if err := t.pruneTimeMarks(); err != nil {
		return err
	}
	return t.removeFromIndex(pruned)
}

// sessionKeysOf returns the sessions of removed events.
func (t *tx) sessionKeysOf(pruned []prunedEvent) (map[store.SessionKey]bool, error) {
	sessions, seen := map[store.SessionKey]bool{}, map[nameIDs]bool{}
	for _, e := range pruned {
		ids := nameIDs{app: e.ids.app, session: e.ids.session}
		if seen[ids] {
			continue
		}
		seen[ids] = true
		var key store.SessionKey
		err := t.get([]any{&key.App, &key.Session}, querySessionKey, ids.app, ids.session)
		switch {
		case err == nil:
			sessions[key] = true
		case !errors.Is(err, sql.ErrNoRows): // a session without names has no row
			return nil, err
		}
	}
	return sessions, nil
}

const querySessionKey = `SELECT a.name, s.name FROM names a CROSS JOIN names s
	WHERE a.kind = 1 AND a.id = ? AND s.kind = 2 AND s.id = ?`

func (t *tx) deleteEmptyNameSegments(pruned []prunedEvent) error {
	type nameSegment struct{ segment, name int64 }
	seen := map[nameSegment]bool{}
	for _, e := range pruned {
		for _, id := range [...]int64{e.ids.app, e.ids.session, e.ids.typ, e.ids.tool} {
			key := nameSegment{e.seq >> nameSegmentBits, id}
			if id == 0 || seen[key] {
				continue
			}
			seen[key] = true
			if err := t.deleteNameSegmentIfEmpty(key.segment, id); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tx) deleteNameSegmentIfEmpty(segment, id int64) error {
	removed, err := t.exec(`DELETE FROM zones WHERE name = ?1 AND zone = ?2
		AND NOT EXISTS (SELECT 1 FROM events INDEXED BY events_scan
			WHERE seq BETWEEN ?3 AND ?4 AND ?1 IN (app, session, type, tool))`,
		id, segment, segment<<nameSegmentBits, segment<<nameSegmentBits+nameSegmentSize-1)
	if err != nil || removed == 0 {
		return err
	}
	_, err = t.exec(`DELETE FROM names WHERE id = ?1 AND kind IN (1, 2, 3, 4)
		AND NOT EXISTS (SELECT 1 FROM zones WHERE name = ?1)`, id)
	return err
}

const queryPrunableQuestions = `SELECT seq, app, session, type, tool FROM questions q
	WHERE seq >= ? AND seq < ? AND state <> 'pending' AND changed_at < ?
	AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.seq = q.seq AND d.open)
	ORDER BY seq LIMIT ?`

func (s *engine) pruneQuestions(ctx context.Context, p *store.RetentionPolicy, pace *prunePace, result *store.PruneResult) error {
	if p.QuestionsBefore.IsZero() {
		return nil
	}
	end, err := s.firstSeqSince(ctx, p.QuestionsBefore)
	if err != nil {
		return err
	}
	r := pruneRange{from: 1, end: end}
	for {
		var pruned []prunedEvent
		var changes int64
		more, err := pace.run(ctx, s.writer, func(t *tx, limit int) (n int, err error) {
			pruned, changes, err = t.pruneQuestions(&r, kit.Millis(p.QuestionsBefore), limit)
			return len(pruned), err
		})
		if !more {
			return err
		}
		result.Questions += int64(len(pruned))
		result.Changes += changes
		r.from = pruned[len(pruned)-1].seq + 1
	}
}

// Test requests are few, and those of a day are in few segments of the log.
const (
	queryTestSegments = `SELECT zone FROM zones WHERE name = ? AND zone <= ?`
	queryPrunableTest = `SELECT seq, app, session, type, tool FROM events INDEXED BY events_scan
		WHERE seq >= ? AND seq < ? AND app = ? AND NOT asks ORDER BY seq LIMIT ?`
	queryPrunableTestQuestions = `SELECT seq, app, session, type, tool FROM questions q
		WHERE seq >= ? AND seq < ? AND app = ? AND state <> 'pending'
		AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.seq = q.seq AND d.open)
		ORDER BY seq LIMIT ?`
)

// pruneTests removes test requests and the events of their agent.
func (s *engine) pruneTests(ctx context.Context, p *store.RetentionPolicy, pace *prunePace, result *store.PruneResult) error {
	if p.TestsBefore.IsZero() {
		return nil
	}
	end, err := s.firstSeqSince(ctx, p.TestsBefore)
	if err != nil {
		return err
	}
	app, err := s.testAppID(ctx)
	if err != nil {
		return err
	}
	rows, err := s.readers.query(ctx, queryTestSegments, app, end>>nameSegmentBits)
	segments, err := collect(rows, err, scanColumn[int64])
	for _, segment := range segments {
		r := pruneRange{from: segment << nameSegmentBits, end: min(end, (segment+1)<<nameSegmentBits)}
		for more := err == nil; more; {
			var events, questions []prunedEvent
			var changes int64
			more, err = pace.run(ctx, s.writer, func(t *tx, limit int) (n int, err error) {
				rows, err := t.query(queryPrunableTest, r.from, r.end, app, limit)
				if events, err = scanPruned(rows, err); err == nil {
					err = t.removeEvents(events)
				}
				if err != nil {
					return 0, err
				}
				rows, err = t.query(queryPrunableTestQuestions, r.from, r.end, app, limit)
				if questions, err = scanPruned(rows, err); err == nil {
					changes, err = t.removeQuestions(questions)
				}
				return len(events) + len(questions), err
			})
			if more {
				result.Events += int64(len(events))
				result.Questions += int64(len(questions))
				result.Changes += changes
			}
		}
	}
	return err
}

func (t *tx) pruneQuestions(r *pruneRange, before int64, limit int) (pruned []prunedEvent, changes int64, _ error) {
	rows, err := t.query(queryPrunableQuestions, r.from, r.end, before, limit)
	if pruned, err = scanPruned(rows, err); err != nil {
		return nil, 0, err
	}
	changes, err = t.removeQuestions(pruned)
	return pruned, changes, err
}

func (t *tx) removeQuestions(pruned []prunedEvent) (changes int64, err error) {
	if len(pruned) == 0 {
		return 0, nil
	}
	for _, e := range pruned {
		n, err := t.deleteChanges(e.seq)
		if err != nil {
			return 0, err
		}
		changes += n
		if n, err = t.exec(`DELETE FROM questions WHERE seq = ? AND inbox = 'decided'`, e.seq); err != nil {
			return 0, err
		}
		t.counters.decided -= n
		for _, query := range []string{
			`DELETE FROM deliveries WHERE seq = ?`,
			`DELETE FROM notices WHERE question = ?`,
			`DELETE FROM noticed WHERE question = ?`,
			`DELETE FROM links_used WHERE question = ?`,
			`DELETE FROM chat_messages WHERE question = ?`,
			`DELETE FROM grants WHERE question = ?`,
			`DELETE FROM questions WHERE seq = ?`,
		} {
			if _, err := t.exec(query, e.seq); err != nil {
				return 0, err
			}
		}
		if err := t.deleteEvent(e.seq); err != nil {
			return 0, err
		}
	}
	return changes, t.deleteUnreferenced(pruned)
}

// pruneTimeMarks removes the marks before the first event.
func (t *tx) pruneTimeMarks() error {
	_, err := t.exec(`DELETE FROM time_marks WHERE received_at <
		(SELECT received_at FROM events WHERE seq > 0 ORDER BY seq LIMIT 1)`)
	return err
}

// deleteChanges deletes the changes of a question, from the newest to the oldest.
func (t *tx) deleteChanges(question int64) (n int64, err error) {
	var seq int64
	if err := t.get([]any{&seq}, `SELECT last_change FROM questions WHERE seq = ?`, question); err != nil {
		return 0, err
	}
	t.counters.pruned = max(t.counters.pruned, question, seq)
	for ; seq > 0; n++ {
		change := seq
		if err := t.get([]any{&seq}, `SELECT previous FROM changes WHERE seq = ?`, change); err != nil {
			return 0, err
		}
		if _, err := t.exec(`DELETE FROM changes WHERE seq = ?`, change); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// pruneMessages removes messages that wait no more. They are as old as the events next to them.
func (s *engine) pruneMessages(ctx context.Context, p *store.RetentionPolicy, pace *prunePace) error {
	if p.EventsBefore.IsZero() {
		return nil
	}
	for more := true; more; {
		var err error
		more, err = pace.run(ctx, s.writer, func(t *tx, limit int) (int, error) {
			return t.PruneMessages(kit.Millis(p.EventsBefore), limit)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
