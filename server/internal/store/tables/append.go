package tables

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
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
	takes := d.Directive != nil && (d.Directive.Later || t.hasOutstanding(&d.Event))
	endsGrants := strings.HasPrefix(d.Type, "PostToolUse") && t.HasGrants(d.App, d.Session)
	switch {
	case hasQuestion:
		a.op.Kind = Essential
	case d.Transcript != nil || d.Messages != nil || takes || endsGrants:
		a.op.Kind = PlainEvent
	default:
		a.op.Kind = PlainEvent | OneRow
	}
	a.op.Key, a.op.Bytes = hashKey(d.IdempotencyKey), len(d.Envelope)+len(d.Payload)+len(d.Transcript)
	a.op.Run = leavingErrors(func(w *Work) {
		a.receipt = w.appendDraft(d, uid, a.op.Key, takes)
		if endsGrants && !a.receipt.Replayed {
			w.endRepeats(a.receipt.Event)
		}
	})
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
func (w *Work) Append(d *store.EventDraft, uid uuid.UUID, key []byte, takes bool) (store.Receipt, error) {
	receipt := w.appendDraft(d, uid, key, takes)
	return receipt, w.err
}

func (w *Work) appendDraft(d *store.EventDraft, uid uuid.UUID, key []byte, takes bool) (receipt store.Receipt) {
	if key != nil && w.err == nil {
		var seq int64
		var found bool
		if seq, found, w.err = w.EventByKey(key); found || w.err != nil {
			return w.replay(seq, d)
		}
	}
	e := d.Event
	seq, previous := w.nextSeq(), w.Received
	e.ID, e.ReceivedAt = schema.EventID(seq), w.receivedAt(d.ReceivedAt)
	w.markTime(seq, previous)
	if w.err == nil {
		w.err = w.InsertEvent(&e, uid, key)
	}
	if d.Transcript != nil {
		w.do(`INSERT INTO chats (seq, chat) VALUES ($1, $2)`, seq, d.Transcript)
	}
	var leader *groupRow
	if d.NewQuestion != nil {
		leader = w.insertQuestion(&e, d.NewQuestion)
	}
	w.Events++
	w.Bytes += int64(len(e.Envelope) + len(e.Payload))
	w.publish(store.LogRow{Seq: seq, Event: &e, Kinds: d.NewQuestion.Kinds(), HasTranscript: d.Transcript != nil})
	w.joinGroup(e.ID, leader)
	w.fail(w.AdvanceMessages(&e, d.Messages))
	receipt.Event = &e
	if takes {
		receipt.Directive = w.directive(&e, d.Directive)
	}
	w.fail(w.Supersede(e.ID, d.NewQuestion))
	return receipt
}

// replay returns the receipt of a draft whose idempotency key belongs to the event seq.
func (w *Work) replay(seq int64, d *store.EventDraft) store.Receipt {
	w.replayIdempotent(seq, d.NewQuestion)
	return store.Receipt{Event: &store.Event{ID: schema.EventID(seq)}, Replayed: true, Directive: w.repeatedDirective(seq, d)}
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
func (w *Work) replayIdempotent(seq int64, q *store.NewQuestion) {
	var first store.NewQuestion
	isQuestion := w.find([]any{&first.BodyHash, &first.AskHash, &first.SecretHash},
		`SELECT body_hash, ask_hash, secret_hash FROM questions WHERE seq = $1`, seq)
	if !isQuestion && q == nil {
		return
	}
	w.require(isQuestion && q != nil && q.Repeats(&first), schema.ErrKeyConflict)
	if w.err != nil {
		return
	}
	place := w.t.placeOf(q.URL)
	w.do(`UPDATE questions SET url = $1, listener_key = $2, version = version + 1, owner = $3, machine = $4 WHERE seq = $5`,
		q.URL, q.ListenerKey, place.Owner, place.Machine, seq)
	if q.URL == "" {
		return
	}
	now := Millis(w.Now)
	w.do(`UPDATE deliveries SET state = $1, open = true, undelivered = true, handled = 0, due = $2, wake = greatest($2, leased),
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
func (w *Work) markTime(seq, previous int64) {
	if w.Received/store.QuarterMS != previous/store.QuarterMS {
		w.do(`INSERT INTO time_marks (received_at, seq, previous) VALUES ($1, $2, $3)
			ON CONFLICT (received_at) DO UPDATE SET seq = excluded.seq, previous = excluded.previous`, w.Received, seq, previous)
	}
}

// insertQuestion stores the question of the new event e. The caller publishes the event, and then joins the
// question to the group of the leader.
func (w *Work) insertQuestion(e *store.Event, q *store.NewQuestion) (leader *groupRow) {
	leader = w.groupLeader(e, q)
	place := w.t.placeOf(q.URL)
	w.do(`INSERT INTO questions (seq, app, session, type, tool, question, asked, status, state, version, changed_at,
			deadline, url, listener_key, protocol, asker, text, call, lifeline, remind_at, escalate_at, next_at, same, requester, listener,
			body_hash, ask_hash, secret_hash, has_nonce, owner, machine)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8, 1, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25,
			$26, $27, $28, $29)`,
		e.ID, Name{AppName, e.App}, Name{SessionName, e.Session}, Name{TypeName, e.Type}, Name{ToolName, e.Tool},
		e.Question, e.Status, schema.Pending, Millis(w.Now),
		Millis(q.Deadline), q.URL, q.ListenerKey, q.Protocol,
		Nullable(q.RequesterProcess), q.Text, Nullable(q.Call), q.Lifeline,
		Millis(q.Timers.Remind), Millis(q.Timers.Escalate), Millis(q.Timers.Next()),
		Nullable(q.DuplicateKey), q.Requester, Nullable(q.SharedListener),
		Nullable(q.BodyHash), Nullable(q.AskHash), Nullable(q.SecretHash),
		q.HasNonce, place.Owner, place.Machine)
	w.insertAppeal(e, q.Appeal)
	row := pendingQuestion{
		App: e.App, Session: e.Session, Deadline: Millis(q.Deadline), TimerAt: Millis(q.Timers.Next()),
		Lifeline: q.Lifeline, Same: string(q.DuplicateKey),
	}
	w.fail(row.setStatus(e.Status))
	w.pending = append(w.pending, PendingUpdate{ID: e.ID, Row: row})
	return leader
}

// The sample listener of protocol version 1 gives an answer to the newest question of its
// permission_type, whichever question was answered. A new question therefore ends the older
// one, in the transaction that stores it: at no time can both be approved. An answer to an
// older question that was not sent yet is not sent any more.

const (
	querySharedListener = `SELECT seq FROM questions /*!INDEXED BY questions_by_listener*/
		WHERE state = 'pending' AND listener IS NOT NULL AND listener = $1 AND seq < $2 ORDER BY seq`
	queryUnsentToListener = `SELECT d.seq FROM deliveries d /*!INDEXED BY deliveries_undelivered CROSS*/ JOIN questions q ON q.seq = d.seq
		WHERE d.undelivered AND d.open AND NOT d.sent AND q.listener = $1 AND +q.seq < $2`
)

// Supersede ends the pending questions that share a listener with the new question id, and
// the delivery of unsent answers to it.
func (w *Work) Supersede(id schema.EventID, q *store.NewQuestion) error {
	if q == nil || q.SharedListener == nil {
		return w.err
	}
	var older []schema.EventID
	for _, query := range []string{querySharedListener, queryUnsentToListener} {
		older = append(older, collectIn(w, column[schema.EventID], query, q.SharedListener, id)...)
	}
	for _, seq := range older {
		question := w.questionAsOf(seq)
		if w.err != nil {
			return w.err
		}
		change, err := q.Supersede(question, id)
		if err != nil {
			return err
		}
		w.apply(change)
	}
	return w.err
}

func (t *Tables) Apply(ctx context.Context, c store.Change) error {
	err := t.change(ctx, Essential, func(w *Work) {
		w.fail(t.RequireCurrent(c.Authority))
		w.apply(&c)
	})
	if errors.Is(err, store.ErrConflict) {
		return t.explainConflict(ctx, c.Event.ID)
	}
	return err
}

// apply writes the change of a question, with those of its duplicates.
func (w *Work) apply(c *store.Change) {
	before, _ := w.pendingQuestion(c.Event.ID)
	w.applyOne(c)
	for i := range c.Duplicates {
		w.applyOne(&c.Duplicates[i])
	}
	switch {
	case c.Ends:
		w.leaveGroup(c.Event.ID, before.Same, before.SameAs)
	case isGrouped(c.Status):
		w.replaceLostLeader(c.Event.ID)
	}
}

// applyOne writes the change of a single question, without its duplicates.
func (w *Work) applyOne(c *store.Change) {
	id := c.Event.ID
	version, isChanged := w.versions[id]
	w.require(!isChanged || version == c.Version, store.ErrConflict)
	w.require(!c.Approves || w.freezeOf(c.Event.App, c.Event.Session) == nil, schema.ErrFrozen)
	if w.err != nil {
		return
	}
	pending, isPending := w.pendingQuestion(id)
	settles := c.Ends || isPending && c.State != schema.Pending
	seq := w.nextSeq()
	w.err = w.InsertChange(seq, id, c.Ends, c.Status)
	w.updateQuestion(c, settles)
	w.versions[id] = c.Version + 1
	if isPending {
		w.updatePending(c, pending, settles)
	}
	if c.Rule != 0 {
		w.recordRuleUse(c.Rule)
	}
	if c.Delivery != nil {
		w.upsertDelivery(id, c.Delivery)
	}
	w.record(c.Ledger...)
	w.endAppeal(c.Event, c.Grant)
	row := changeLogRow(seq, c.Event, c.Status, c.Ends)
	row.Kinds = c.Kinds()
	w.publish(row)
}

// updateQuestion writes the row of a question once, guarded by its version. The columns of indexes are assigned
// only if it settles: SQLite would rewrite their entries even if the values are the same.
func (w *Work) updateQuestion(c *store.Change, settles bool) {
	args := append([]any{c.Status, Nullable(c.Answer), Nullable(c.Receipt), Nullable(c.Proofs), Millis(w.Now)}, changedColumns(c)...)
	args = append(args, c.Event.ID, c.Version)
	var ended string
	if settles {
		ended, args = `, state = $14, inbox = $15`, append(args, c.State, string(w.inboxStatus(c)))
	}
	w.doGuarded(guardVersion, `UPDATE questions SET /*!last_change = last_insert_rowid(),*/ version = version + 1, status = $1,
			answer = coalesce($2, answer), receipt = coalesce($3, receipt), proofs = coalesce($4, proofs), changed_at = $5, deadline = coalesce($6, deadline),
			held = CASE WHEN $8::bigint IS NULL THEN held ELSE $7 END, held_until = coalesce($8, held_until),
			remind_at = coalesce($9, remind_at), escalate_at = coalesce($10, escalate_at), next_at = coalesce($11, next_at)`+ended+`
		WHERE seq = $12 AND version = $13 RETURNING 1`, args...)
}

const guardVersion Guard = "version"

// updatePending updates the facts in memory about a pending question.
func (w *Work) updatePending(c *store.Change, row pendingQuestion, settles bool) {
	id := c.Event.ID
	if settles {
		if w.inboxStatus(c) == inbox.HitlDecided {
			w.Decided++
		}
		w.pending = append(w.pending, PendingUpdate{ID: id, Ended: true})
		return
	}
	w.fail(row.update(c))
	w.pending = append(w.pending, PendingUpdate{ID: id, Row: row})
}

// explainConflict returns the error of a change that failed a guard.
func (t *Tables) explainConflict(ctx context.Context, id schema.EventID) error {
	isQuestion, err := read[bool](ctx, t, `SELECT true FROM questions WHERE seq = $1`, id)
	if err == nil && !isQuestion {
		err = t.explainNoQuestion(ctx, id)
	}
	return cmp.Or(err, store.ErrConflict)
}

// isGrouped reports whether a status may belong to a member of a group. It is a cheap test
// before a query.
func isGrouped(status []byte) bool {
	return bytes.Contains(status, []byte(`"waiters":`)) || bytes.Contains(status, []byte(`"sameAs":`))
}

// inboxStatus returns the status in the inbox of a question that c settles.
func (w *Work) inboxStatus(c *store.Change) inbox.HitlStatus {
	var outcome struct {
		Outcome schema.Outcome `json:"outcome"`
	}
	if c.State == schema.Failed { // only its outcome shows whether people decided it
		w.fail(json.Unmarshal(c.Status, &outcome))
	}
	return inbox.StatusOf(&schema.Status{Status: c.State, Outcome: outcome.Outcome})
}

// changeLogRow returns the log row of a change. A resolution carries the whole event,
// because version 1 pages expect the event again.
func changeLogRow(seq int64, e *store.Event, status []byte, ends bool) store.LogRow {
	row := store.LogRow{Seq: seq, Event: &store.Event{ID: e.ID, Status: status}, Change: true, Ends: ends}
	if ends {
		full := *e
		full.Status = status
		row.Event = &full
	}
	return row
}

// hashKey returns the 16 bytes of an idempotency key's hash that the index stores.
func hashKey(key string) []byte {
	if key == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(key))
	return sum[:16]
}

// maxClockBackstep is the largest clock step back for which events keep the time of
// their predecessor. After a larger step the old clock was wrong, and the new time is
// accepted as is.
const maxClockBackstep = time.Hour

// callbackRetryWindow is the minimum time for retries at a new callback address.
const callbackRetryWindow = time.Minute

// isTestApp reports whether an application is the one of test requests.
func isTestApp(name string) bool { return name == schema.TestApp }

// receivedAt returns the Unix milliseconds at which an event counts as received. last is the time of
// its predecessor.
func receivedAt(at time.Time, last int64) int64 {
	if ms := at.UnixMilli(); ms >= last || last-ms >= maxClockBackstep.Milliseconds() {
		return ms
	}
	return last
}

// changedColumns returns the columns deadline, held, held_until, remind_at, escalate_at and next_at of
// a question after a change. A value that the change keeps is nil.
func changedColumns(c *store.Change) []any {
	columns := make([]any, 6)
	if !c.Deadline.IsZero() || c.NoDeadline {
		columns[0] = Millis(c.Deadline)
	}
	if window := c.UndoWindow; window != nil {
		columns[1], columns[2] = Nullable(window.Answer), Millis(window.Until)
	}
	if timers := c.Timers; timers != nil {
		columns[3], columns[4], columns[5] = Millis(timers.Remind), Millis(timers.Escalate), Millis(timers.Next())
	}
	return columns
}
