package tables

import (
	"context"
	"errors"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/server/internal/store"
)

// insertQuestion stores the question of the new event e. The caller publishes the event, and then joins the
// question to the group of the leader.
func (w *Work) insertQuestion(e *store.Event, q *store.NewQuestion) (leader *groupRow, err error) {
	leader, err = w.groupLeader(e, q)
	if err != nil {
		return nil, err
	}
	isAddressed := q.Awaiting != nil && !slices.Contains(q.Awaiting, Everyone)
	place := w.t.placeOf(q.URL)
	err = w.Exec(`INSERT INTO questions (seq, app, session, type, tool, question, asked, status, state, version, changed_at,
			deadline, url, listener_key, protocol, asker, text, call, lifeline, remind_at, escalate_at, next_at, same, requester, listener,
			body_hash, ask_hash, secret_hash, has_nonce, addressed, owner, machine)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8, 1, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25,
			$26, $27, $28, $29, $30)`,
		e.ID, Name{AppName, e.App}, Name{SessionName, e.Session}, Name{TypeName, e.Type}, Name{ToolName, e.Tool},
		e.Question, e.Status, schema.Pending, Millis(w.Now),
		Millis(q.Deadline), q.URL, q.ListenerKey, q.Protocol,
		Nullable(q.RequesterProcess), q.Text, Nullable(q.Call), q.Lifeline,
		Millis(q.Timers.Remind), Millis(q.Timers.Escalate), Millis(q.Timers.Next()),
		Nullable(q.DuplicateKey), q.Requester, Nullable(q.SharedListener),
		Nullable(q.BodyHash), Nullable(q.AskHash), Nullable(q.SecretHash),
		q.HasNonce, isAddressed, place.Owner, place.Machine)
	if err == nil {
		err = w.insertAppeal(e, q.Appeal)
	}
	if err != nil {
		return nil, err
	}
	waiter, err := waiterOf(e.Status)
	if err != nil {
		return nil, err
	}
	w.pending = append(w.pending, PendingUpdate{ID: e.ID, Row: pendingQuestion{
		App: e.App, Session: e.Session, Deadline: Millis(q.Deadline), TimerAt: Millis(q.Timers.Next()),
		Lifeline: q.Lifeline, Waiter: waiter, IsAddressed: isAddressed, Same: string(q.DuplicateKey),
	}})
	if isAddressed {
		err = w.insertAwaiting(e.ID, e.App, q.Awaiting)
	}
	return leader, err
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
		return nil
	}
	var older []schema.EventID
	for _, query := range []string{querySharedListener, queryUnsentToListener} {
		ids, err := collectIn(w, column[schema.EventID], query, q.SharedListener, id)
		if err != nil {
			return err
		}
		older = append(older, ids...)
	}
	for _, seq := range older {
		question, err := w.questionAsOf(seq)
		if err != nil {
			return err
		}
		change, err := q.Supersede(question, id)
		if err != nil {
			return err
		}
		if err := w.apply(change); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tables) Apply(ctx context.Context, c store.Change) error {
	err := t.Write(ctx, Essential, func(w *Work) error {
		if err := t.RequireCurrent(c.Authority); err != nil {
			return err
		}
		return w.apply(&c)
	})
	if errors.Is(err, store.ErrConflict) {
		return t.explainConflict(ctx, c.Event.ID)
	}
	return err
}

// apply writes the change of a question, with those of its duplicates.
func (w *Work) apply(c *store.Change) error {
	before, _ := w.pendingQuestion(c.Event.ID)
	if err := w.applyOne(c); err != nil {
		return err
	}
	for i := range c.Duplicates {
		if err := w.applyOne(&c.Duplicates[i]); err != nil {
			return err
		}
	}
	switch {
	case c.Ends:
		return w.leaveGroup(c.Event.ID, before.Same, before.SameAs)
	case isGrouped(c.Status):
		return w.replaceLostLeader(c.Event.ID)
	default:
		return nil
	}
}

// applyOne writes the change of a single question, without its duplicates.
func (w *Work) applyOne(c *store.Change) error {
	id := c.Event.ID
	if version, ok := w.versions[id]; ok && version != c.Version {
		return store.ErrConflict
	}
	if c.Approves {
		if err := w.requireNotFrozen(c.Event.App, c.Event.Session); err != nil {
			return err
		}
	}
	pending, isPending := w.pendingQuestion(id)
	settles := c.Ends || isPending && c.State != schema.Pending
	seq := w.nextSeq()
	err := w.InsertChange(seq, id, c.Ends, c.Status)
	if err != nil {
		return err
	}
	if err := w.updateQuestion(c, settles); err != nil {
		return err
	}
	w.versions[id] = c.Version + 1
	if isPending {
		if err := w.updatePending(c, pending, settles); err != nil {
			return err
		}
	}
	if c.Rule != 0 {
		if err := w.recordRuleUse(c.Rule); err != nil {
			return err
		}
	}
	if c.Delivery != nil {
		err = w.upsertDelivery(id, c.Delivery)
	}
	if err == nil {
		err = w.AppendLedger(c.Ledger...)
	}
	if err == nil {
		err = w.endAppeal(c.Event, c.Grant)
	}
	if err != nil {
		return err
	}
	row := changeLogRow(seq, c.Event, c.Status, c.Ends)
	row.Kinds = c.Kinds()
	w.publish(row)
	return nil
}

// updateQuestion writes the row of a question once, guarded by its version. The columns of indexes are assigned
// only if it settles: SQLite would rewrite their entries even if the values are the same.
func (w *Work) updateQuestion(c *store.Change, settles bool) error {
	args := append([]any{c.Status, Nullable(c.Answer), Nullable(c.Receipt), Nullable(c.Proofs), Millis(w.Now)}, changedColumns(c)...)
	args = append(args, c.Event.ID, c.Version)
	var ended string
	if settles {
		listed, err := inboxStatus(c)
		if err != nil {
			return err
		}
		ended, args = `, state = $15, inbox = $16`, append(args, c.State, string(listed))
	}
	return w.ExecOne(guardVersion, `UPDATE questions SET /*!last_change = last_insert_rowid(),*/ version = version + 1, status = $1,
			answer = coalesce($2, answer), receipt = coalesce($3, receipt), proofs = coalesce($4, proofs), changed_at = $5, deadline = coalesce($6, deadline),
			held = CASE WHEN $8::bigint IS NULL THEN held ELSE $7 END, held_until = coalesce($8, held_until),
			remind_at = coalesce($9, remind_at), escalate_at = coalesce($10, escalate_at), next_at = coalesce($11, next_at),
			addressed = coalesce($12, addressed)`+ended+`
		WHERE seq = $13 AND version = $14 RETURNING 1`, args...)
}

const guardVersion Guard = "version"

// updatePending updates the copy of a pending question: its awaiting rows, and the
// facts in memory.
func (w *Work) updatePending(c *store.Change, row pendingQuestion, settles bool) error {
	id := c.Event.ID
	if row.IsAddressed && (settles || c.Awaiting != nil) {
		if err := w.Exec(`DELETE FROM awaiting WHERE seq = $1`, id); err != nil {
			return err
		}
	}
	if settles {
		listed, err := inboxStatus(c)
		if err == nil && listed == inbox.HitlDecided {
			w.Decided++
		}
		w.pending = append(w.pending, PendingUpdate{ID: id, Ended: true})
		return err
	}
	if err := row.update(c); err != nil {
		return err
	}
	w.pending = append(w.pending, PendingUpdate{ID: id, Row: row})
	if c.Awaiting != nil && row.IsAddressed {
		return w.insertAwaiting(id, row.App, c.Awaiting)
	}
	return nil
}

// explainConflict returns the error of a change that failed a guard.
func (t *Tables) explainConflict(ctx context.Context, id schema.EventID) error {
	isQuestion, err := read[bool](ctx, t, `SELECT true FROM questions WHERE seq = $1`, id)
	switch {
	case err != nil:
		return err
	case !isQuestion:
		return t.explainNoQuestion(ctx, id)
	default:
		return store.ErrConflict
	}
}
