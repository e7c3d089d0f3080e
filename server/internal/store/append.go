package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/hookback/hookback/schema"
)

// EventDraft is an event to append. Its ID is ignored.
type EventDraft struct {
	Event
	Transcript     []byte       // transcript, stored in its own table
	IdempotencyKey string       // idempotency key; empty: none
	NewQuestion    *NewQuestion // set together with Event.Question and Event.Status
}

// Receipt is the result of appending an EventDraft.
type Receipt struct {
	Event    *Event // with its ID and, if Replayed, its current status
	Replayed bool   // the key was known: only the new callback address was stored
}

// Append stores an event and returns once it is committed and published. If d's key is
// known, Append returns the first event with that key instead and stores d's address and
// listener key for the question. An answer in the outbox becomes due immediately, unless
// a version 1 listener may have received it already.
//
// The receipt holds the final ReceivedAt: d's, or the hub's clock if d has none. It
// never decreases from one event to the next, except when the clock was wrong by more
// than an hour.
//
// Errors: schema.ErrKeyConflict if the key belongs to a different question or one of them
// is a plain event, schema.ErrBusy if the write queue is full, schema.ErrFull if the disk is
// nearly full and d has no question, and schema.ErrStopping. If ctx ends while d is
// queued, Append returns ctx.Err() and nothing is stored. Once the writer has taken d,
// Append waits for the commit, so the caller owns d's bytes again when it returns.
func (s *Store) Append(ctx context.Context, d *EventDraft) (Receipt, error) {
	return s.startAppend(d).wait(ctx, s)
}

// AppendAll appends several events. They keep their order and share commits where
// possible. Each draft has its own result: a failed one does not stop the others.
func (s *Store) AppendAll(ctx context.Context, drafts []*EventDraft) []Result {
	pending := make([]*pendingAppend, len(drafts))
	for i, d := range drafts {
		pending[i] = s.startAppend(d)
	}
	results := make([]Result, len(drafts))
	for i, a := range pending {
		results[i].Receipt, results[i].Err = a.wait(ctx, s)
	}
	return results
}

// Result is the outcome for one draft of AppendAll.
type Result struct {
	Receipt Receipt
	Err     error
}

// pendingAppend is an EventDraft that is queued for the writer.
type pendingAppend struct {
	op      op
	receipt Receipt
	err     error // set if the draft was not queued
}

func (s *Store) startAppend(d *EventDraft) *pendingAppend {
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
	a.op.essential, a.op.needsSavepoint = hasQuestion, hasQuestion || d.Transcript != nil
	a.op.run = func(t *tx) (err error) {
		a.receipt, err = t.append(d, uid)
		return err
	}
	a.err = s.writer.enqueue(&a.op)
	return a
}

func (a *pendingAppend) wait(ctx context.Context, s *Store) (Receipt, error) {
	if a.err != nil {
		return Receipt{}, a.err
	}
	if err := s.writer.wait(ctx, &a.op); err != nil {
		return Receipt{}, err
	}
	if !a.receipt.Replayed {
		return a.receipt, nil
	}
	// A reader loads the event: it is committed, and the writer stays free.
	e, _, err := s.Event(ctx, a.receipt.Event.ID)
	return Receipt{Event: e, Replayed: true}, err
}

func (t *tx) append(d *EventDraft, uid uuid.UUID) (Receipt, error) {
	key := hashKey(d.IdempotencyKey)
	if key != nil {
		var seq int64
		err := t.get([]any{&seq}, queryByKey, key)
		if err == nil {
			return Receipt{Event: &Event{ID: schema.EventID(seq)}, Replayed: true}, t.replayIdempotent(seq, d.NewQuestion)
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return Receipt{}, err
		}
	}
	e := d.Event
	ids, err := t.ensureNameIDs(&e)
	if err != nil {
		return Receipt{}, err
	}
	seq := t.nextSeq()
	e.ID, e.ReceivedAt = schema.EventID(seq), t.receivedAt(d.ReceivedAt)
	_, err = t.exec(`INSERT INTO events (stream_id, seq, uid, received_at, timestamp, app, session, type, tool, asks, key, envelope, payload)
		VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		seq, uid[:], t.counters.received, e.Timestamp, ids.app, ids.session, ids.typ, ids.tool, d.NewQuestion != nil, nullable(key), nonNilBlob(e.Envelope), nonNilBlob(e.Payload))
	if err == nil {
		err = t.recordNames(seq, ids)
	}
	if err == nil && d.Transcript != nil {
		_, err = t.exec(`INSERT INTO chats (stream_id, seq, chat) VALUES (1, ?, ?)`, seq, d.Transcript)
	}
	var leader *groupRow
	if err == nil && d.NewQuestion != nil {
		if leader, err = t.groupLeader(&e, d.NewQuestion); err == nil {
			err = t.insertQuestion(&e, d.NewQuestion, ids)
		}
	}
	if err != nil {
		return Receipt{}, err
	}
	t.counters.events++
	t.rows = append(t.rows, LogRow{Seq: seq, Event: &e})
	if err := t.joinGroup(e.ID, leader); err != nil {
		return Receipt{}, err
	}
	return Receipt{Event: &e}, t.supersede(e.ID, d.NewQuestion)
}

func (t *tx) insertQuestion(e *Event, q *NewQuestion, ids nameIDs) error {
	_, err := t.exec(`INSERT INTO questions (stream_id, seq, app, session, type, tool, question, asked, status, state, version, changed_at,
			deadline, url, listener_key, protocol, asker, text, call, lifeline, remind_at, escalate_at, next_at, same, requester, listener,
			body_hash, ask_hash, secret_hash, has_nonce)
		VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8, 1, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27)`,
		e.ID, ids.app, ids.session, ids.typ, ids.tool, e.Question, e.Status, schema.Pending, toMillis(t.now),
		toMillis(q.Deadline), q.URL, q.ListenerKey, q.Protocol, nullable(q.RequesterProcess), q.Text, nullable(q.Call), q.Lifeline,
		toMillis(q.Timers.Remind), toMillis(q.Timers.Escalate), toMillis(q.Timers.next()), nullable(q.DuplicateKey), q.Requester, nullable(q.SharedListener),
		nullable(q.BodyHash), nullable(q.AskHash), nullable(q.SecretHash), q.HasNonce)
	if err != nil {
		return err
	}
	names := q.Awaiting
	if names == nil {
		names = []string{everyone}
	}
	return t.insertAwaiting(e.ID, ids.app, names)
}

const queryByKey = `SELECT seq FROM events WHERE stream_id = 1 AND key = ?`

// HasKey reports whether an event with this idempotency key is stored.
func (s *Store) HasKey(ctx context.Context, key string) (bool, error) {
	rows, err := s.readers.query(ctx, queryByKey, hashKey(key))
	ids, err := scanIDs(rows, err)
	return len(ids) > 0, err
}

// callbackRetryWindow is the minimum time for retries at a new callback address.
const callbackRetryWindow = time.Minute

// replayIdempotent stores the address of a repeated question. An answer in the outbox
// becomes due now, unless the agent has it or a version 1 listener may have it. It fails
// with schema.ErrKeyConflict if the repeat is not the request that the key belongs to.
func (t *tx) replayIdempotent(seq int64, q *NewQuestion) error {
	var first NewQuestion
	err := t.get([]any{&first.BodyHash, &first.AskHash, &first.SecretHash},
		`SELECT body_hash, ask_hash, secret_hash FROM questions WHERE stream_id = 1 AND seq = ?`, seq)
	switch isPlain := errors.Is(err, sql.ErrNoRows); {
	case isPlain && q == nil:
		return nil
	case err != nil && !isPlain:
		return err
	case isPlain || q == nil || !q.repeats(&first):
		return schema.ErrKeyConflict
	}
	_, err = t.exec(`UPDATE questions SET url = ?, listener_key = ?, version = version + 1
		WHERE stream_id = 1 AND seq = ?`, q.URL, q.ListenerKey, seq)
	if err != nil || q.URL == "" {
		return err
	}
	now := toMillis(t.now)
	_, err = t.exec(`UPDATE deliveries SET state = ?1, open = 1, undelivered = 1, handled = 0, due = ?2, wake = max(?2, leased), until = max(until, ?3)
		WHERE stream_id = 1 AND seq = ?4 AND sent = 0 AND state NOT IN (?5, ?6, ?7)`,
		schema.Queued, now, now+callbackRetryWindow.Milliseconds(), seq, schema.Acked, schema.Pulled, schema.Delivered)
	return err
}

// repeats reports whether q is the same request as first: the same body, or the same
// question by an agent that knows the request secret. The agent may have a new listener.
func (q *NewQuestion) repeats(first *NewQuestion) bool {
	equal := func(a, b []byte) bool { return a != nil && hmac.Equal(a, b) }
	return equal(first.BodyHash, q.BodyHash) || equal(first.AskHash, q.AskHash) && equal(first.SecretHash, q.SecretHash)
}

// maxClockBackstep is the largest clock step back for which events keep the time of
// their predecessor. After a larger step the old clock was wrong, and the new time is
// accepted as is.
const maxClockBackstep = time.Hour

// receivedAt returns the time an event counts as received, and advances the counter.
func (t *tx) receivedAt(at time.Time) time.Time {
	if at.IsZero() {
		at = t.now
	}
	ms := at.UnixMilli()
	if last := t.counters.received; ms < last && last-ms < maxClockBackstep.Milliseconds() {
		ms = last
	}
	t.counters.received = ms
	return time.UnixMilli(ms)
}

// hashKey returns the 16 bytes of an idempotency key's hash that the index stores.
func hashKey(key string) []byte {
	if key == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(key))
	return sum[:16]
}

// nullable stores a nil slice as NULL instead of an empty blob. nonNilBlob does the
// reverse.

func nullable(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

func nonNilBlob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
