package tables

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

func (t *Tables) Append(ctx context.Context, d *store.EventDraft) (store.Receipt, error) {
	if d.NewQuestion == nil {
		t.awaitReaders(ctx)
	}
	return t.startAppend(d).wait(ctx, t)
}

func (t *Tables) AppendAll(ctx context.Context, drafts []*store.EventDraft) []store.Result {
	if !slices.ContainsFunc(drafts, func(d *store.EventDraft) bool { return d.NewQuestion != nil }) {
		t.awaitReaders(ctx)
	}
	pending := make([]*pendingAppend, len(drafts))
	for i, d := range drafts {
		pending[i] = t.startAppend(d)
	}
	results := make([]store.Result, len(drafts))
	for i, a := range pending {
		results[i].Receipt, results[i].Err = a.wait(ctx, t)
	}
	return results
}

// pendingAppend is an EventDraft that is queued for the writer.
type pendingAppend struct {
	op      Op
	receipt store.Receipt
	err     error // set if the draft was not queued
}

func (t *Tables) startAppend(d *store.EventDraft) *pendingAppend {
	a := &pendingAppend{}
	hasQuestion := d.NewQuestion != nil
	if hasQuestion != (d.Question != nil) || hasQuestion != (d.Status != nil) {
		a.err = errors.New("a draft needs all or none of NewQuestion, Question and Status")
		return a
	}
	uid, err := uuid.Parse(d.UID)
	if err != nil {
		a.err = fmt.Errorf("parse the UID of a draft: %w", err)
		return a
	}
	takes := d.Directive != nil && t.hasOutstanding(&d.Event)
	switch {
	case hasQuestion:
		a.op.Kind = Essential
	case d.Transcript != nil || d.Messages != nil || takes:
		a.op.Kind = PlainEvent
	default:
		a.op.Kind = PlainEvent | OneRow
	}
	a.op.Key, a.op.Bytes = hashKey(d.IdempotencyKey), len(d.Envelope)+len(d.Payload)+len(d.Transcript)
	a.op.Run = func(w *Work) (err error) {
		a.receipt, err = w.Append(d, uid, a.op.Key, takes)
		return err
	}
	a.err = t.Queue.Add(&a.op)
	return a
}

func (a *pendingAppend) wait(ctx context.Context, t *Tables) (store.Receipt, error) {
	if a.err != nil {
		return store.Receipt{}, a.err
	}
	if err := t.Queue.Wait(ctx, &a.op); err != nil {
		return store.Receipt{}, err
	}
	if !a.receipt.Replayed {
		return a.receipt, nil
	}
	// A reader loads the event: it is committed, and the writer stays free.
	e, _, err := t.Event(ctx, a.receipt.Event.ID)
	return store.Receipt{Event: e, Replayed: true, Directive: a.receipt.Directive}, err
}

// Append appends a draft. takes is set if a directive may wait for the draft's session.
func (w *Work) Append(d *store.EventDraft, uid uuid.UUID, key []byte, takes bool) (receipt store.Receipt, err error) {
	if key != nil {
		if seq, found, err := w.EventByKey(key); err != nil || found {
			return w.replay(seq, d, err)
		}
	}
	e := d.Event
	seq, previous := w.nextSeq(), w.Received
	e.ID, e.ReceivedAt = schema.EventID(seq), w.receivedAt(d.ReceivedAt)
	if err = w.markTime(seq, previous); err == nil {
		err = w.InsertEvent(&e, uid, key)
	}
	if err == nil && d.Transcript != nil {
		err = w.Exec(`INSERT INTO chats (seq, chat) VALUES ($1, $2)`, seq, d.Transcript)
	}
	var leader *groupRow
	if err == nil && d.NewQuestion != nil {
		leader, err = w.insertQuestion(&e, d.NewQuestion)
	}
	if err != nil {
		return receipt, err
	}
	w.Events++
	w.Bytes += int64(len(e.Envelope) + len(e.Payload))
	w.publish(store.LogRow{Seq: seq, Event: &e, Kinds: d.NewQuestion.Kinds(), HasTranscript: d.Transcript != nil})
	if err = w.joinGroup(e.ID, leader); err == nil {
		err = w.AdvanceMessages(&e, d.Messages)
	}
	receipt.Event = &e
	if err == nil && takes {
		receipt.Directive, err = w.directive(&e, d.Directive)
	}
	if err == nil {
		err = w.Supersede(e.ID, d.NewQuestion)
	}
	return receipt, err
}

// replay returns the receipt of a draft whose idempotency key belongs to the event seq.
func (w *Work) replay(seq int64, d *store.EventDraft, err error) (store.Receipt, error) {
	r := store.Receipt{Event: &store.Event{ID: schema.EventID(seq)}, Replayed: true}
	if err == nil {
		err = w.replayIdempotent(seq, d.NewQuestion)
	}
	if err == nil {
		r.Directive, err = w.repeatedDirective(seq, d)
	}
	return r, err
}

func (t *Tables) HasKey(ctx context.Context, key string) (bool, error) {
	var seq int64
	return t.ReadOne(ctx, []any{&seq}, QueryByKey, hashKey(key))
}

// QueryByKey selects the event with the hash of an idempotency key.
const QueryByKey = `SELECT seq FROM events WHERE key = $1`

// replayIdempotent stores the address of a repeated question. An answer in the outbox becomes due now, unless
// the agent has it or a version 1 listener may have it. It fails with schema.ErrKeyConflict if the repeat is not
// the request that the key belongs to.
func (w *Work) replayIdempotent(seq int64, q *store.NewQuestion) error {
	var first store.NewQuestion
	isQuestion, err := w.Get([]any{&first.BodyHash, &first.AskHash, &first.SecretHash},
		`SELECT body_hash, ask_hash, secret_hash FROM questions WHERE seq = $1`, seq)
	switch {
	case err != nil || !isQuestion && q == nil:
		return err
	case !isQuestion || q == nil || !q.Repeats(&first):
		return schema.ErrKeyConflict
	}
	place := w.t.placeOf(q.URL)
	err = w.Exec(`UPDATE questions SET url = $1, listener_key = $2, version = version + 1, owner = $3, machine = $4 WHERE seq = $5`,
		q.URL, q.ListenerKey, place.Owner, place.Machine, seq)
	if err != nil || q.URL == "" {
		return err
	}
	now := Millis(w.Now)
	return w.Exec(`UPDATE deliveries SET state = $1, open = true, undelivered = true, handled = 0, due = $2, wake = greatest($2, leased),
			until = greatest(until, $3)/*[*/, machine = $8/*]*/
		WHERE seq = $4 AND NOT sent AND state NOT IN ($5, $6, $7)`,
		schema.Queued, now, now+callbackRetryWindow.Milliseconds(), seq, schema.Acked, schema.Pulled, schema.Delivered, place.Machine)
}

// nextSeq assigns the next sequence number of the log.
func (w *Work) nextSeq() int64 {
	w.Head++
	return w.Head
}

// receivedAt returns the time an event counts as received, and advances the counter.
func (w *Work) receivedAt(at time.Time) time.Time {
	if at.IsZero() {
		at = w.Now
	}
	w.Received = receivedAt(at, w.Received)
	return time.UnixMilli(w.Received)
}

// markTime adds a mark if the event seq is the first one of its quarter-hour. The event before it was received
// at previous.
func (w *Work) markTime(seq, previous int64) error {
	if w.Received/store.QuarterMS == previous/store.QuarterMS {
		return nil
	}
	return w.Exec(`INSERT INTO time_marks (received_at, seq, previous) VALUES ($1, $2, $3)
		ON CONFLICT (received_at) DO UPDATE SET seq = excluded.seq, previous = excluded.previous`, w.Received, seq, previous)
}
