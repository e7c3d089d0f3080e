package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

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
	takes := d.Directive != nil && s.HasOutstanding(&d.Event)
	a.op.key, a.op.bytes = tables.HashKey(d.IdempotencyKey), len(d.Envelope)+len(d.Payload)+len(d.Transcript)
	a.op.run = func(t *tx) (err error) {
		a.receipt, err = t.append(d, uid, a.op.key, takes)
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

// append appends a draft. takes is set if a directive may wait for the draft's session. A key that is
// not known is taken as new: if it is stored, the insertion fails, and the group runs again.
func (t *tx) append(d *store.EventDraft, uid uuid.UUID, key []byte, takes bool) (store.Receipt, error) {
	if key != nil {
		if seq, ok := t.keys[string(key)]; ok {
			return t.replay(seq, d)
		}
	}
	e := d.Event
	for _, name := range [...]*string{&e.App, &e.Session, &e.Type, &e.Tool} {
		*name = cleanText(*name) // as the search index and the other hubs read it
	}
	seq, previous := t.nextSeq(), t.counters.received
	e.ID, e.ReceivedAt = schema.EventID(seq), t.receivedAt(d.ReceivedAt)
	if err := t.markTime(seq, previous); err != nil {
		return store.Receipt{}, err
	}
	t.events.add(&e, uid, key)
	if key != nil {
		t.keys[string(key)] = seq
	}
	if d.Transcript != nil {
		if err := t.exec(`INSERT INTO chats (seq, chat) VALUES ($1, $2)`, seq, d.Transcript); err != nil {
			return store.Receipt{}, err
		}
	}
	join := func() error { return nil }
	if d.NewQuestion != nil {
		var err error
		join, err = t.InsertQuestion(&e, d.NewQuestion)
		if err != nil {
			return store.Receipt{}, err
		}
	}
	t.counters.events++
	t.counters.bytes += int64(len(e.Envelope) + len(e.Payload))
	t.Publish(store.LogRow{Seq: seq, Event: &e, Kinds: d.NewQuestion.Kinds(), HasTranscript: d.Transcript != nil})
	if err := join(); err != nil {
		return store.Receipt{}, err
	}
	if err := t.AdvanceMessages(&e, d.Messages); err != nil {
		return store.Receipt{}, err
	}
	receipt := store.Receipt{Event: &e}
	if takes {
		var err error
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

func (s *engine) HasKey(ctx context.Context, key string) (has bool, err error) {
	return has, s.readers.get(ctx, []any{&has}, `SELECT EXISTS (SELECT 1 FROM events WHERE key = $1)`, tables.HashKey(key))
}

// replayIdempotent stores the address of a repeated question. An answer in the outbox
// becomes due now, unless the agent has it or a version 1 listener may have it. It fails
// with schema.ErrKeyConflict if the repeat is not the request that the key belongs to.
func (t *tx) replayIdempotent(seq int64, q *store.NewQuestion) error {
	var first store.NewQuestion
	err := t.get([]any{&first.BodyHash, &first.AskHash, &first.SecretHash}, `SELECT body_hash, ask_hash, secret_hash FROM questions WHERE seq = $1`, seq)
	switch isPlain := errors.Is(err, pgx.ErrNoRows); {
	case isPlain && q == nil:
		return nil
	case err != nil && !isPlain:
		return err
	case isPlain || q == nil || !q.Repeats(&first):
		return schema.ErrKeyConflict
	}
	err = t.exec(`UPDATE questions SET url = $1, listener_key = $2, version = version + 1, owner = $3, machine = $4 WHERE seq = $5`, q.URL, q.ListenerKey, t.w.store.Self(), t.w.store.machineOf(q.URL), seq)
	if err != nil || q.URL == "" {
		return err
	}
	now := tables.Millis(t.now)
	return t.exec(`UPDATE deliveries SET state = $1, open = true, undelivered = true, handled = 0, due = $2, wake = greatest($2, leased), until = greatest(until, $3), machine = $8
		WHERE seq = $4 AND NOT sent AND state NOT IN ($5, $6, $7)`,
		schema.Queued, now, now+tables.CallbackRetryWindow.Milliseconds(), seq,
		schema.Acked, schema.Pulled, schema.Delivered, t.w.store.machineOf(q.URL))
}

// receivedAt returns the time an event counts as received, and advances the counter.
func (t *tx) receivedAt(at time.Time) time.Time {
	if at.IsZero() {
		at = t.now
	}
	t.counters.received = tables.ReceivedAt(at, t.counters.received)
	return time.UnixMilli(t.counters.received)
}

// markTime adds a mark if the event seq is the first one of its quarter-hour. The event
// before it was received at previous.
func (t *tx) markTime(seq, previous int64) error {
	at := t.counters.received
	if at/store.QuarterMS == previous/store.QuarterMS {
		return nil
	}
	return t.exec(`INSERT INTO time_marks (received_at, seq, previous) VALUES ($1, $2, $3)
		ON CONFLICT (received_at) DO UPDATE SET seq = excluded.seq, previous = excluded.previous`, at, seq, previous)
}
