package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

func (s *engine) Append(ctx context.Context, d *store.EventDraft) (store.Receipt, error) {
	if d.NewQuestion == nil {
		s.AwaitReaders(ctx)
	}
	return s.startAppend(d).wait(ctx, s)
}

func (s *engine) AppendAll(ctx context.Context, drafts []*store.EventDraft) []store.Result {
	if !slices.ContainsFunc(drafts, func(d *store.EventDraft) bool { return d.NewQuestion != nil }) {
		s.AwaitReaders(ctx)
	}
	pending := make([]*pendingAppend, len(drafts))
	for i, d := range drafts {
		pending[i] = s.startAppend(d)
	}
	results := make([]store.Result, len(drafts))
	for i, a := range pending {
		results[i].Receipt, results[i].Err = a.wait(ctx, s)
	}
	return results
}

// pendingAppend is an EventDraft that is queued for the writer.
type pendingAppend struct {
	op      op
	receipt store.Receipt
	err     error // set if the draft was not queued
}

func (s *engine) startAppend(d *store.EventDraft) *pendingAppend {
	a := &pendingAppend{}
	if (d.NewQuestion == nil) != (d.Question == nil) || (d.NewQuestion == nil) != (d.Status == nil) {
		a.err = errors.New("a draft needs all or none of NewQuestion, Question and Status")
		return a
	}
	uid, err := uuid.Parse(d.UID)
	if err != nil {
		a.err = fmt.Errorf("parse the UID of a draft: %w", err)
		return a
	}
	hasQuestion := d.NewQuestion != nil
	if !hasQuestion {
		if a.err = s.diskSpace.requireRoom(); a.err != nil {
			return a
		}
	}
	takes := d.Directive != nil && s.HasOutstanding(&d.Event)
	a.op.essential, a.op.needsSavepoint = hasQuestion, hasQuestion || d.Transcript != nil || d.Messages != nil || takes
	a.op.run = func(t *tx) (err error) {
		a.receipt, err = t.append(d, uid, takes)
		return err
	}
	a.err = s.writer.enqueue(&a.op)
	return a
}

func (a *pendingAppend) wait(ctx context.Context, s *engine) (store.Receipt, error) {
	if a.err != nil {
		return store.Receipt{}, a.err
	}
	if err := s.writer.wait(ctx, &a.op); err != nil {
		return store.Receipt{}, err
	}
	if !a.receipt.Replayed {
		return a.receipt, nil
	}
	// A reader loads the event: it is committed, and the writer stays free.
	e, _, err := s.Event(ctx, a.receipt.Event.ID)
	return store.Receipt{Event: e, Replayed: true, Directive: a.receipt.Directive}, err
}

// append appends a draft. takes is set if a directive may wait for the draft's session.
func (t *tx) append(d *store.EventDraft, uid uuid.UUID, takes bool) (store.Receipt, error) {
	key := tables.HashKey(d.IdempotencyKey)
	if key != nil {
		var seq int64
		err := t.get([]any{&seq}, queryByKey, key)
		if err == nil {
			return t.replay(seq, d)
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return store.Receipt{}, err
		}
	}
	e := d.Event
	ids, err := t.ensureNameIDs(&e)
	if err != nil {
		return store.Receipt{}, err
	}
	seq, previous := t.nextSeq(), t.counters.received
	e.ID, e.ReceivedAt = schema.EventID(seq), t.receivedAt(d.ReceivedAt)
	if err := t.markTime(seq, previous); err != nil {
		return store.Receipt{}, err
	}
	_, err = t.exec(`INSERT INTO events (seq, uid, received_at, timestamp, app, session, type, tool, asks, key, envelope, payload)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		seq, uid[:], t.counters.received, e.Timestamp, ids.app, ids.session, ids.typ, ids.tool,
		d.NewQuestion != nil, tables.Nullable(key), tables.NonNil(e.Envelope), tables.NonNil(e.Payload))
	if err == nil {
		err = t.recordNames(seq, ids)
	}
	if err == nil && d.Transcript != nil {
		_, err = t.exec(`INSERT INTO chats (seq, chat) VALUES (?, ?)`, seq, d.Transcript)
	}
	join := func() error { return nil }
	if err == nil && d.NewQuestion != nil {
		join, err = t.InsertQuestion(&e, d.NewQuestion)
	}
	if err != nil {
		return store.Receipt{}, err
	}
	t.counters.events++
	t.Publish(store.LogRow{Seq: seq, Event: &e, Kinds: d.NewQuestion.Kinds(), HasTranscript: d.Transcript != nil})
	if err := join(); err != nil {
		return store.Receipt{}, err
	}
	if err := t.AdvanceMessages(&e, d.Messages); err != nil {
		return store.Receipt{}, err
	}
	receipt := store.Receipt{Event: &e}
	if takes {
		if receipt.Directive, err = t.Directive(&e, d.Directive); err != nil {
			return store.Receipt{}, err
		}
	}
	return receipt, t.Supersede(e.ID, d.NewQuestion)
}

// replay returns the receipt of a draft whose idempotency key belongs to the event seq.
func (t *tx) replay(seq int64, d *store.EventDraft) (store.Receipt, error) {
	r := store.Receipt{Event: &store.Event{ID: schema.EventID(seq)}, Replayed: true}
	err := t.replayIdempotent(seq, d.NewQuestion)
	if err == nil {
		r.Directive, err = t.RepeatedDirective(seq, d)
	}
	return r, err
}

const queryByKey = `SELECT seq FROM events WHERE key = ?`

func (s *engine) HasKey(ctx context.Context, key string) (bool, error) {
	rows, err := s.readers.query(ctx, queryByKey, tables.HashKey(key))
	ids, err := scanIDs(rows, err)
	return len(ids) > 0, err
}

// replayIdempotent stores the address of a repeated question. An answer in the outbox
// becomes due now, unless the agent has it or a version 1 listener may have it. It fails
// with schema.ErrKeyConflict if the repeat is not the request that the key belongs to.
func (t *tx) replayIdempotent(seq int64, q *store.NewQuestion) error {
	var first store.NewQuestion
	err := t.get([]any{&first.BodyHash, &first.AskHash, &first.SecretHash},
		`SELECT body_hash, ask_hash, secret_hash FROM questions WHERE seq = ?`, seq)
	switch isPlain := errors.Is(err, sql.ErrNoRows); {
	case isPlain && q == nil:
		return nil
	case err != nil && !isPlain:
		return err
	case isPlain || q == nil || !q.Repeats(&first):
		return schema.ErrKeyConflict
	}
	_, err = t.exec(`UPDATE questions SET url = ?, listener_key = ?, version = version + 1
		WHERE seq = ?`, q.URL, q.ListenerKey, seq)
	if err != nil || q.URL == "" {
		return err
	}
	now := tables.Millis(t.now)
	_, err = t.exec(`UPDATE deliveries SET state = ?1, open = 1, undelivered = 1, handled = 0, due = ?2, wake = max(?2, leased), until = max(until, ?3)
		WHERE seq = ?4 AND NOT sent AND state NOT IN (?5, ?6, ?7)`,
		schema.Queued, now, now+tables.CallbackRetryWindow.Milliseconds(), seq, schema.Acked, schema.Pulled, schema.Delivered)
	return err
}

// receivedAt returns the time an event counts as received, and advances the counter.
func (t *tx) receivedAt(at time.Time) time.Time {
	if at.IsZero() {
		at = t.now
	}
	ms := tables.ReceivedAt(at, t.counters.received)
	t.counters.received = ms
	return time.UnixMilli(ms)
}

// markTime adds a mark if the event seq is the first one of its quarter-hour. The event
// before it was received at previous.
func (t *tx) markTime(seq, previous int64) error {
	at := t.counters.received
	if at/store.QuarterMS == previous/store.QuarterMS {
		return nil
	}
	_, err := t.exec(`INSERT INTO time_marks (received_at, seq, previous) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET seq = excluded.seq, previous = excluded.previous`, at, seq, previous)
	return err
}
