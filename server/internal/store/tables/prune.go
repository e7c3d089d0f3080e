package tables

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

// The sizes of the first and of the largest batch, in events.
const firstPruneBatch, maxPruneBatch = 16, 1024

func (t *Tables) Prune(ctx context.Context, p store.RetentionPolicy) (store.PruneResult, error) {
	t.State.Pruning.Add(1)
	defer t.State.IndexerWake.Wake()
	defer t.State.Pruning.Add(-1)
	run := pruneRun{Tables: t, RetentionPolicy: p, batch: firstPruneBatch, limit: maxPruneBatch}
	if p.Batch > 0 {
		run.batch, run.limit = min(p.Batch, firstPruneBatch), p.Batch
	}
	for _, step := range []func(context.Context) error{
		run.pruneEvents, run.pruneSize, run.pruneImports, run.pruneQuestions, run.pruneTests, run.pruneMessages, run.pruneProjections,
	} {
		if err := step(ctx); err != nil {
			return run.result, err
		}
	}
	return run.result, nil
}

// pruneRun is one call of Prune. It adapts the size of batches to the time that they take.
type pruneRun struct {
	*Tables
	store.RetentionPolicy
	batch, limit int
	result       store.PruneResult
}

// repeat commits batches until remove finds nothing. It leaves the writer to others for as long as
// each batch took.
func (r *pruneRun) repeat(ctx context.Context, remove func(w *Work) (n int)) error {
	for {
		var began time.Time
		n, err := write(ctx, r.Tables, Essential, func(w *Work) int {
			began = time.Now()
			return remove(w)
		})
		if err != nil || n == 0 {
			return err
		}
		worked := time.Since(began) // with the commit
		fits := int(float64(r.batch) * float64(r.State.PruneBudget) / float64(max(worked, time.Microsecond)))
		r.batch = max(1, min(fits, r.batch+r.batch/2+1, r.limit)) // grows slowly, because the time per event varies
		feed.Sleep(ctx, worked)                                   // the next batch checks ctx
	}
}

const queryPrunable = `SELECT seq, app, session, type, tool FROM events /*!INDEXED BY events_scan*/
	WHERE seq >= $1 AND seq < $2 AND NOT asks ORDER BY seq LIMIT $3`

func (r *pruneRun) pruneEvents(ctx context.Context) error {
	if r.EventsBefore.IsZero() {
		return nil
	}
	end, err := r.firstSeqSince(ctx, r.EventsBefore)
	if err != nil {
		return err
	}
	return r.pass(ctx, 0, queryPrunable, r.removeEvents, end)
}

// pruneSize removes the oldest events while the database exceeds its size.
func (r *pruneRun) pruneSize(ctx context.Context) error {
	if r.MaxBytes <= 0 {
		return nil
	}
	return r.pass(ctx, 0, queryPrunable, func(w *Work, pruned []prunedEvent) int {
		size, err := w.Size()
		w.fail(err)
		if size <= r.MaxBytes {
			return 0
		}
		return r.removeEvents(w, pruned)
	}, r.Head()+1)
}

// pass removes the rows that a query selects from a position on, one batch after the other, until remove
// removes nothing. args are the query's between that position and the number of rows.
func (r *pruneRun) pass(
	ctx context.Context, from int64, query string, remove func(*Work, []prunedEvent) int, args ...any,
) error {
	return r.repeat(ctx, func(w *Work) int {
		pruned := w.selectPrunable(query, append(append([]any{from}, args...), r.batch)...)
		if len(pruned) == 0 {
			return 0
		}
		w.afterCommit(func() { from = pruned[len(pruned)-1].seq + 1 })
		return remove(w, pruned)
	})
}

// removeEvents removes events, and counts them when that is committed.
func (r *pruneRun) removeEvents(w *Work, pruned []prunedEvent) int {
	w.afterCommit(func() { r.result.Events += int64(len(pruned)) })
	w.removeEvents(pruned)
	return len(pruned)
}

const queryPrunableImports = `SELECT active, app, session FROM sessions /*!INDEXED BY sessions_imported*/
	WHERE imported AND active > $1 AND active < $2 ORDER BY active LIMIT $3`

var queryImportEvents = fmt.Sprintf(`SELECT e.seq, e.app, e.session, e.type, e.tool
	FROM zones z /*!CROSS*/ JOIN events e /*!INDEXED BY events_scan*/ ON e.seq BETWEEN z.zone << %d AND (z.zone << %d) + %d
	WHERE z.kind = %d AND z.name = $2 AND e.app = $1 AND e.session = $2 AND e.type = $3 AND NOT e.asks ORDER BY z.zone, e.seq`,
	NameSegmentBits, NameSegmentBits, NameSegmentSize-1, SessionName)

// pruneImports removes the sessions that are known only from transcripts and were last active before
// EventsBefore: their events were received later, by the import.
func (r *pruneRun) pruneImports(ctx context.Context) error {
	if r.EventsBefore.IsZero() {
		return nil
	}
	type importedSession struct {
		active int64
		key    store.SessionKey
	}
	last := int64(0)
	return r.repeat(ctx, func(w *Work) int {
		sessions := collectIn(w, func(s *importedSession) []any { return []any{&s.active, &s.key.App, &s.key.Session} },
			queryPrunableImports, last, activeSince(r.EventsBefore), r.batch)
		for _, s := range sessions {
			r.removeEvents(w, w.selectPrunable(queryImportEvents, Name{AppName, s.key.App}, Name{SessionName, s.key.Session},
				Name{TypeName, history.EventSessionImported}))
			w.afterCommit(func() { last = s.active })
		}
		return len(sessions)
	})
}

// prunedEvent is an event to remove with its names: app, session, type, tool.
type prunedEvent struct {
	seq     int64
	numbers [4]int64 // of an engine with a dictionary
	names   [4]string
}

// selectPrunable reads events with their names; none after an error.
func (w *Work) selectPrunable(query string, args ...any) []prunedEvent {
	pruned := collectIn(w, func(p *prunedEvent) []any {
		n, s := &p.numbers, &p.names
		return []any{&p.seq, w.NameColumn(&n[0], &s[0]), w.NameColumn(&n[1], &s[1]), w.NameColumn(&n[2], &s[2]), w.NameColumn(&n[3], &s[3])}
	}, query, args...)
	for i := range pruned {
		if n, s := &pruned[i].numbers, &pruned[i].names; w.err == nil {
			w.err = nameTexts(context.Background(), w, n[:], &s[0], &s[1], &s[2], &s[3])
		}
	}
	if w.err != nil {
		return nil
	}
	return pruned
}

// perEvent are the statements that remove the rows of events.
var perEvent = [...]string{
	`DELETE FROM chats WHERE seq = ANY($1)`, `DELETE FROM transcript_texts WHERE seq = ANY($1)`, `DELETE FROM open_calls WHERE seq = ANY($1)`,
	`DELETE FROM risky_calls WHERE seq = ANY($1)`, `DELETE FROM frozen_calls WHERE seq = ANY($1)`,
}

// removeEvents removes events and everything that only they use.
func (w *Work) removeEvents(pruned []prunedEvent) {
	if len(pruned) == 0 {
		return
	}
	seqs := seqsOf(pruned)
	w.doAll(perEvent[:], seqs)
	var n, size int64
	w.find([]any{&n, &size}, queryEventSizes, seqs)
	w.do(`DELETE FROM events WHERE seq = ANY($1)`, seqs)
	w.Events, w.Bytes, w.Deleted, w.Pruned = w.Events-n, w.Bytes-size, w.Deleted+n, max(w.Pruned, slices.Max(seqs))
	w.removeFromIndex(seqs)
	w.deleteUnreferenced(pruned)
}

const queryEventSizes = `SELECT count(*), coalesce(sum(length(envelope) + length(payload)), 0)::bigint FROM events WHERE seq = ANY($1)`

func seqsOf(pruned []prunedEvent) []int64 {
	seqs := make([]int64, len(pruned))
	for i, e := range pruned {
		seqs[i] = e.seq
	}
	return seqs
}

// deleteSegmentIfEmpty removes a name from a segment of the log without events of that name.
var deleteSegmentIfEmpty = fmt.Sprintf(`DELETE FROM zones WHERE kind = $1 AND name = $2 AND zone = $3
	AND NOT EXISTS (SELECT 1 FROM events /*!INDEXED BY events_scan*/ WHERE seq BETWEEN $3::bigint << %d AND ($3::bigint << %d) + %d
		AND $2 = CASE $1 WHEN 1 THEN app WHEN 2 THEN session WHEN 3 THEN type ELSE tool END)`, NameSegmentBits, NameSegmentBits, NameSegmentSize-1)

// deleteUnreferenced removes the rows that only the pruned events used: name segments,
// names, sessions and time marks.
func (w *Work) deleteUnreferenced(pruned []prunedEvent) {
	type nameSegment struct {
		segment int64
		name    Name
	}
	segments, sessions := map[nameSegment]bool{}, map[store.SessionKey]bool{}
	for _, e := range pruned {
		for i, text := range e.names {
			if text != "" {
				segments[nameSegment{e.seq >> NameSegmentBits, Name{NameKind(i + 1), text}}] = true
			}
		}
		sessions[store.SessionKey{App: e.names[0], Session: e.names[1]}] = true
	}
	names := map[Name]bool{}
	for s := range segments {
		names[s.name] = true
		w.do(deleteSegmentIfEmpty, s.name.Kind, s.name, s.segment)
	}
	for key := range sessions { // while their names are still known
		w.deleteSessionIfEmpty(key.App, key.Session)
	}
	for name := range names {
		w.do(`DELETE FROM names WHERE kind = $1 AND name = $2 AND NOT EXISTS (SELECT 1 FROM zones WHERE kind = $1 AND name = $3)`,
			name.Kind, name.Text, name)
	}
	w.ForgetNames()
	w.do(`DELETE FROM time_marks WHERE received_at < (SELECT received_at FROM events WHERE seq > 0 ORDER BY seq LIMIT 1)`)
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
	return r.pass(ctx, 0, queryPrunableQuestions, r.removeQuestions, end, Millis(r.QuestionsBefore))
}

// perQuestion are the statements that remove the rows of questions.
var perQuestion = [...]string{
	`DELETE FROM deliveries WHERE seq = ANY($1)`, `DELETE FROM notices WHERE question = ANY($1)`, `DELETE FROM noticed WHERE question = ANY($1)`,
	`DELETE FROM links_used WHERE question = ANY($1)`, `DELETE FROM chat_messages WHERE question = ANY($1)`,
	`DELETE FROM grants WHERE question = ANY($1)`, `DELETE FROM questions WHERE seq = ANY($1)`,
}

const queryDecidedOf = `SELECT count(*) FROM questions WHERE seq = ANY($1) AND inbox = 'decided'`

// removeQuestions removes questions with all their rows, and counts them when that is committed.
func (r *pruneRun) removeQuestions(w *Work, pruned []prunedEvent) int {
	seqs := seqsOf(pruned)
	changes, last, err := w.DeleteChanges(seqs)
	w.fail(err)
	w.Decided, w.Pruned = w.Decided-get[int64](w, queryDecidedOf, seqs), max(w.Pruned, last)
	w.doAll(perQuestion[:], seqs)
	w.afterCommit(func() {
		r.result.Questions += int64(len(pruned))
		r.result.Changes += changes
	})
	w.removeEvents(pruned)
	return len(pruned)
}

// Test requests are few, and those of a day are in few segments of the log.
const (
	queryTestSegments = `SELECT zone FROM zones WHERE kind = 1 AND name = $1 AND zone <= $2`
	queryPrunableTest = `SELECT seq, app, session, type, tool FROM events /*!INDEXED BY events_scan*/
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
	segments, err := collect(ctx, r, column[int64], queryTestSegments, Name{AppName, schema.TestApp}, end>>NameSegmentBits)
	for _, segment := range segments {
		first, next := segment<<NameSegmentBits, min(end, (segment+1)<<NameSegmentBits)
		if err == nil {
			err = r.pass(ctx, first, queryPrunableTest, r.removeEvents, next, Name{AppName, schema.TestApp})
		}
		if err == nil {
			err = r.pass(ctx, first, queryPrunableTestQuestions, r.removeQuestions, next, Name{AppName, schema.TestApp})
		}
	}
	return err
}

// pruneMessages removes messages that wait no more. They are as old as the events next to them.
func (r *pruneRun) pruneMessages(ctx context.Context) error {
	if r.EventsBefore.IsZero() {
		return nil
	}
	return r.repeat(ctx, func(w *Work) int {
		n, err := w.PruneMessages(Millis(r.EventsBefore), r.batch)
		w.fail(err)
		return n
	})
}

// pruneProjections removes aggregates from before the given time.
func (r *pruneRun) pruneProjections(ctx context.Context) error {
	if r.ProjectionsBefore.IsZero() {
		return nil
	}
	quarter := r.ProjectionsBefore.UnixMilli() / store.QuarterMS
	return r.change(ctx, Essential, func(w *Work) {
		w.doAll([]string{
			`DELETE FROM decisions WHERE quarter < $1`, `DELETE FROM machine_decisions WHERE quarter < $1`, `DELETE FROM spend WHERE quarter < $1`,
		}, quarter)
		for _, span := range spans {
			w.doAll([]string{`DELETE FROM activity WHERE span = $1 AND at < $2`, `DELETE FROM tool_histograms WHERE span = $1 AND at < $2`},
				span, quarter/span)
		}
	})
}
