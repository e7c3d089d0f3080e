package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/grams"
	"github.com/hookback/hookback/server/internal/store/kit"
)

// maxPruneBatch is the number of events or questions that one transaction removes.
const maxPruneBatch = 256

func (s *engine) Prune(ctx context.Context, p store.RetentionPolicy) (result store.PruneResult, err error) {
	s.pruning.Add(1)
	defer s.indexerWake.Wake()
	defer s.pruning.Add(-1)
	batch := maxPruneBatch
	if p.Batch > 0 {
		batch = min(batch, p.Batch)
	}
	run := pruneRun{engine: s, RetentionPolicy: p, batch: batch}
	for _, step := range []func(context.Context) error{
		run.pruneEvents, run.pruneSize, run.pruneImports, run.pruneQuestions, run.pruneTests, run.pruneMessages,
		run.pruneProjections,
	} {
		if err := step(ctx); err != nil {
			return run.result, err
		}
	}
	return run.result, nil
}

// pruneRun is one call of Prune.
type pruneRun struct {
	*engine
	store.RetentionPolicy
	batch  int
	result store.PruneResult
}

// repeat commits batches until remove finds nothing. It leaves the writer to others for as long as
// each batch took.
func (r *pruneRun) repeat(ctx context.Context, remove func(t *tx) (n int, err error)) error {
	for {
		began, n := time.Now(), 0
		err := r.writer.do(ctx, &op{run: func(t *tx) (err error) {
			n, err = remove(t)
			return err
		}})
		if err != nil || n == 0 {
			return err
		}
		feed.Sleep(ctx, time.Since(began)) // the next batch checks ctx
	}
}

const queryPrunable = `SELECT seq, app, session, type, tool FROM events WHERE seq >= $1 AND seq < $2 AND NOT asks ORDER BY seq LIMIT $3`

func (r *pruneRun) pruneEvents(ctx context.Context) error {
	if r.EventsBefore.IsZero() {
		return nil
	}
	end, err := r.firstSeqSince(ctx, r.EventsBefore)
	if err != nil {
		return err
	}
	return r.pruneEventsUntil(ctx, end, func(*tx) bool { return true })
}

// pruneSize removes the oldest events while the envelopes and payloads have too many bytes. Their
// tables do not get smaller, but reuse the space.
func (r *pruneRun) pruneSize(ctx context.Context) error {
	if r.MaxBytes <= 0 {
		return nil
	}
	return r.pruneEventsUntil(ctx, r.head.Load()+1, func(t *tx) bool { return t.counters.bytes > r.MaxBytes })
}

func (r *pruneRun) pruneEventsUntil(ctx context.Context, end int64, goesOn func(*tx) bool) error {
	from := int64(0)
	return r.repeat(ctx, func(t *tx) (int, error) {
		if !goesOn(t) {
			return 0, nil
		}
		pruned, err := t.selectPrunable(queryPrunable, from, end, r.batch)
		if err != nil || len(pruned) == 0 {
			return 0, err
		}
		t.AfterCommit(func() {
			from = pruned[len(pruned)-1].seq + 1
			r.result.Events += int64(len(pruned))
		})
		return len(pruned), t.removeEvents(pruned)
	})
}

const (
	queryPrunableImports = `SELECT active FROM sessions WHERE imported AND active > $1 AND active < $2 ORDER BY active LIMIT $3`
	queryImportEvents    = `SELECT e.seq, e.app, e.session, e.type, e.tool
		FROM sessions s JOIN zones z ON z.kind = 2 AND z.name = s.session JOIN events e ON e.seq BETWEEN z.zone << 9 AND (z.zone << 9) + 511
		WHERE s.imported AND s.active > $1 AND s.active <= $2 AND e.app = s.app AND e.session = s.session AND e.type = $3 AND NOT e.asks ORDER BY e.seq`
)

// pruneImports removes the sessions that are known only from transcripts and were last active before
// EventsBefore: their events were received later, by the import.
func (r *pruneRun) pruneImports(ctx context.Context) error {
	if r.EventsBefore.IsZero() {
		return nil
	}
	last := int64(0)
	return r.repeat(ctx, func(t *tx) (int, error) {
		rows, err := t.query(queryPrunableImports, last, kit.ActiveSince(r.EventsBefore), r.batch)
		sessions, err := collect(rows, err, scanColumn[int64])
		if err != nil || len(sessions) == 0 {
			return 0, err
		}
		newest := sessions[len(sessions)-1]
		pruned, err := t.selectPrunable(queryImportEvents, last, newest, history.EventSessionImported)
		if err != nil {
			return 0, err
		}
		t.AfterCommit(func() {
			last = newest
			r.result.Events += int64(len(pruned))
		})
		return len(sessions), t.removeEvents(pruned)
	})
}

// prunedEvent is an event to remove with its names.
type prunedEvent struct {
	seq   int64
	names [4]string // app, session, type, tool
}

func (t *tx) selectPrunable(query string, args ...any) ([]prunedEvent, error) {
	rows, err := t.query(query, args...)
	return collect(rows, err, func(rows pgx.Rows, p *prunedEvent) error {
		return rows.Scan(&p.seq, &p.names[0], &p.names[1], &p.names[2], &p.names[3])
	})
}

const deleteEvents = `WITH removed AS (DELETE FROM events WHERE seq = ANY($1) RETURNING octet_length(envelope) + octet_length(payload) AS size)
	SELECT count(*), coalesce(sum(size), 0)::bigint FROM removed`

// removeEvents removes events and everything that only they use.
func (t *tx) removeEvents(pruned []prunedEvent) error {
	if len(pruned) == 0 {
		return nil
	}
	seqs := make([]int64, len(pruned))
	for i, e := range pruned {
		seqs[i] = e.seq
	}
	for _, query := range [...]string{
		`DELETE FROM chats WHERE seq = ANY($1)`, `DELETE FROM transcript_texts WHERE seq = ANY($1)`, `DELETE FROM open_calls WHERE seq = ANY($1)`,
		`DELETE FROM risky_calls WHERE seq = ANY($1)`, `DELETE FROM frozen_calls WHERE seq = ANY($1)`,
	} {
		if err := t.exec(query, seqs); err != nil {
			return err
		}
	}
	var n, size int64
	if err := t.get([]any{&n, &size}, deleteEvents, seqs); err != nil {
		return err
	}
	t.counters.events -= n
	t.counters.bytes -= size
	t.counters.pruned = max(t.counters.pruned, seqs[len(seqs)-1])
	if err := t.removeFromIndex(seqs); err != nil {
		return err
	}
	return t.deleteUnreferenced(pruned)
}

const (
	deleteEmptySegments = `DELETE FROM zones z USING (SELECT DISTINCT * FROM unnest($1::smallint[], $2::text[], $3::bigint[])) AS n (kind, name, zone)
		WHERE z.kind = n.kind AND z.name = n.name AND z.zone = n.zone AND NOT EXISTS (SELECT 1 FROM events e WHERE e.seq BETWEEN n.zone << 9 AND (n.zone << 9) + 511
			AND n.name = CASE n.kind WHEN 1 THEN e.app WHEN 2 THEN e.session WHEN 3 THEN e.type ELSE e.tool END)`
	deleteUnusedNames = `DELETE FROM names d USING (SELECT DISTINCT * FROM unnest($1::smallint[], $2::text[])) AS n (kind, name)
		WHERE d.kind = n.kind AND d.name = n.name AND NOT EXISTS (SELECT 1 FROM zones z WHERE z.kind = n.kind AND z.name = n.name)`
)

// deleteUnreferenced removes the rows that only the pruned events used: name segments,
// names, sessions and time marks.
func (t *tx) deleteUnreferenced(pruned []prunedEvent) error {
	var kinds []int16
	var names []string
	var zones []int64
	sessions := map[store.SessionKey]bool{}
	for _, e := range pruned {
		for i, name := range e.names {
			if name != "" {
				kinds, names, zones = append(kinds, int16(i+1)), append(names, name), append(zones, e.seq>>nameSegmentBits)
			}
		}
		sessions[store.SessionKey{App: e.names[0], Session: e.names[1]}] = true
	}
	if err := t.exec(deleteEmptySegments, kinds, names, zones); err != nil {
		return err
	}
	if err := t.exec(deleteUnusedNames, kinds, names); err != nil {
		return err
	}
	t.w.segmentNames.clear() // a later event of this group lists its names again
	for key := range sessions {
		if err := t.deleteSessionIfEmpty(key.App, key.Session); err != nil {
			return err
		}
	}
	return t.exec(`DELETE FROM time_marks WHERE received_at < (SELECT received_at FROM events ORDER BY seq LIMIT 1)`)
}

const staleBlocks = `WITH stale AS (UPDATE search_blocks SET made = '' WHERE block = ANY($1) AND made <> '' RETURNING block)
	DELETE FROM search_grams g USING stale WHERE g.block = stale.block`

// removeFromIndex removes the blocks of pruned events from the index. They will be
// rebuilt.
func (t *tx) removeFromIndex(seqs []int64) error {
	var blocks []int64
	for _, seq := range seqs {
		if n := seq >> grams.BlockBits; !slices.Contains(blocks, n) {
			blocks = append(blocks, n)
		}
	}
	return t.exec(staleBlocks, blocks)
}

const queryPrunableQuestions = `SELECT seq, app, session, type, tool FROM questions q
	WHERE seq >= $1 AND seq < $2 AND state <> 'pending' AND changed_at < $3
	AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.seq = q.seq AND d.open) ORDER BY seq LIMIT $4`

func (r *pruneRun) pruneQuestions(ctx context.Context) error {
	if r.QuestionsBefore.IsZero() {
		return nil
	}
	end, err := r.firstSeqSince(ctx, r.QuestionsBefore)
	if err != nil {
		return err
	}
	from := int64(0)
	return r.repeat(ctx, func(t *tx) (int, error) {
		pruned, err := t.selectPrunable(queryPrunableQuestions, from, end, kit.Millis(r.QuestionsBefore), r.batch)
		if err != nil || len(pruned) == 0 {
			return 0, err
		}
		t.AfterCommit(func() { from = pruned[len(pruned)-1].seq + 1 })
		return len(pruned), r.removeQuestions(t, pruned)
	})
}

const deleteChanges = `WITH removed AS (DELETE FROM changes WHERE question = ANY($1) RETURNING seq) SELECT count(*), coalesce(max(seq), 0) FROM removed`

// removeQuestions removes questions with all their rows, and counts them when that is committed.
func (r *pruneRun) removeQuestions(t *tx, pruned []prunedEvent) error {
	if len(pruned) == 0 {
		return nil
	}
	seqs := make([]int64, len(pruned))
	for i, e := range pruned {
		seqs[i] = e.seq
	}
	var changes, last, decided int64
	if err := t.get([]any{&changes, &last}, deleteChanges, seqs); err != nil {
		return err
	}
	t.counters.pruned = max(t.counters.pruned, last)
	if err := t.get([]any{&decided}, `WITH removed AS (DELETE FROM questions WHERE seq = ANY($1) RETURNING inbox) SELECT count(*) FROM removed WHERE inbox = 'decided'`, seqs); err != nil {
		return err
	}
	t.counters.decided -= decided
	for _, query := range [...]string{
		`DELETE FROM deliveries WHERE seq = ANY($1)`, `DELETE FROM notices WHERE question = ANY($1)`, `DELETE FROM noticed WHERE question = ANY($1)`,
		`DELETE FROM links_used WHERE question = ANY($1)`, `DELETE FROM chat_messages WHERE question = ANY($1)`, `DELETE FROM grants WHERE question = ANY($1)`,
	} {
		if err := t.exec(query, seqs); err != nil {
			return err
		}
	}
	t.AfterCommit(func() {
		r.result.Questions += int64(len(pruned))
		r.result.Changes += changes
	})
	return t.removeEvents(pruned)
}

// Test requests are few, and a day's are in few segments of the log.
const (
	queryTestSegments = `SELECT zone FROM zones WHERE kind = 1 AND name = $1 AND zone <= $2`
	queryPrunableTest = `SELECT seq, app, session, type, tool FROM events
		WHERE seq >= $1 AND seq < $2 AND app = $3 AND NOT asks ORDER BY seq LIMIT $4`
	queryPrunableTestQuestions = `SELECT seq, app, session, type, tool FROM questions q
		WHERE seq >= $1 AND seq < $2 AND app = $3 AND state <> 'pending'
		AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.seq = q.seq AND d.open) ORDER BY seq LIMIT $4`
)

// pruneTests removes test requests and the events of their agent.
func (r *pruneRun) pruneTests(ctx context.Context) error {
	if r.TestsBefore.IsZero() {
		return nil
	}
	end, err := r.firstSeqSince(ctx, r.TestsBefore)
	if err != nil {
		return err
	}
	rows, err := r.readers.query(ctx, queryTestSegments, schema.TestApp, end>>nameSegmentBits)
	segments, err := collect(rows, err, scanColumn[int64])
	for _, segment := range segments {
		if err == nil {
			err = r.pruneTestSegment(ctx, segment<<nameSegmentBits, min(end, (segment+1)<<nameSegmentBits))
		}
	}
	return err
}

func (r *pruneRun) pruneTestSegment(ctx context.Context, from, end int64) error {
	return r.repeat(ctx, func(t *tx) (int, error) {
		events, err := t.selectPrunable(queryPrunableTest, from, end, schema.TestApp, r.batch)
		if err == nil {
			err = t.removeEvents(events)
		}
		if err != nil {
			return 0, err
		}
		t.AfterCommit(func() { r.result.Events += int64(len(events)) })
		questions, err := t.selectPrunable(queryPrunableTestQuestions, from, end, schema.TestApp, r.batch)
		if err == nil {
			err = r.removeQuestions(t, questions)
		}
		return len(events) + len(questions), err
	})
}

// pruneMessages removes messages that wait no more. They are as old as the events next to them.
func (r *pruneRun) pruneMessages(ctx context.Context) error {
	if r.EventsBefore.IsZero() {
		return nil
	}
	return r.repeat(ctx, func(t *tx) (int, error) { return t.PruneMessages(kit.Millis(r.EventsBefore), r.batch) })
}

// pruneProjections removes aggregates from before the given time.
func (r *pruneRun) pruneProjections(ctx context.Context) error {
	if r.ProjectionsBefore.IsZero() {
		return nil
	}
	quarter := r.ProjectionsBefore.UnixMilli() / store.QuarterMS
	return r.writer.do(ctx, &op{run: func(t *tx) error {
		for _, query := range [...]string{
			`DELETE FROM decisions WHERE quarter < $1`, `DELETE FROM machine_decisions WHERE quarter < $1`, `DELETE FROM spend WHERE quarter < $1`,
		} {
			if err := t.exec(query, quarter); err != nil {
				return err
			}
		}
		for _, unit := range [...]int64{1, kit.QuartersPerDay} {
			for _, query := range [...]string{`DELETE FROM activity WHERE span = $1 AND at < $2`, `DELETE FROM tool_histograms WHERE span = $1 AND at < $2`} {
				if err := t.exec(query, unit, quarter/unit); err != nil {
					return err
				}
			}
		}
		return nil
	}})
}
