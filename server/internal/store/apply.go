package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/hookback/hookback/schema"
)

// Change is one guarded change of a question: all of it or nothing.
type Change struct {
	Event   *Event // the question's event as read; carries the ID
	Version int64  // guard: the question is still at this version
	State   schema.State
	Status  []byte // the new humanInTheLoopStatus
	Answer  []byte // nil leaves it as it is
	// Delivery is stored as the question's delivery; nil leaves it as it is.
	Delivery *Delivery
	// Deadline is the question's new one; zero leaves it as it is. Unlimited takes it away.
	Deadline   time.Time
	NoDeadline bool
	// UndoWindow is the question's new one; nil leaves it as it is, an empty one takes it away.
	UndoWindow *UndoWindow
	// Awaiting is whom the question waits for; nil leaves it as it is. Everyone is one
	// empty name.
	Awaiting []string
	// Timers are the question's new ones; nil leaves them as they are.
	Timers *Timers
	// Duplicates are the ends of the questions that ask the same and are answered with it.
	Duplicates []Change
	// Rule is the rule that decided, which is counted with it; 0: none did.
	Rule int64
	// Ends marks the change that takes the question out of pending.
	Ends bool
	// Ledger is what the ledger is to tell of it, in the same transaction.
	Ledger []LedgerRecord
}

// Apply changes a question, all of c or nothing, and returns once it is committed
// and published. It fails with ErrConflict when the question is no longer at
// c.Version, with schema.ErrNotFound and schema.ErrNoQuestion. Of ctx and c's
// bytes holds what is said at Append.
func (s *Store) Apply(ctx context.Context, c Change) error {
	return s.writer.do(ctx, &op{
		essential:      true,
		needsSavepoint: true,
		run:            func(t *tx) error { return t.apply(&c) },
	})
}

func (t *tx) apply(c *Change) error {
	if err := t.applyOne(c); err != nil {
		return err
	}
	for i := range c.Duplicates {
		if err := t.applyOne(&c.Duplicates[i]); err != nil {
			return err
		}
	}
	if !c.Ends {
		return nil
	}
	return t.leaveGroup(c.Event.ID)
}

// applyOne writes a change of one question.
func (t *tx) applyOne(c *Change) error {
	id := c.Event.ID
	changed, err := t.exec(`UPDATE questions
		SET version = version + 1, state = ?, status = ?, answer = coalesce(?, answer), changed_at = ?
		WHERE stream_id = 1 AND seq = ? AND version = ?`,
		c.State, c.Status, nullable(c.Answer), toMillis(t.now), id, c.Version)
	if err != nil {
		return err
	}
	if changed == 0 {
		return t.explainUnchanged(id)
	}
	if !c.Deadline.IsZero() || c.NoDeadline {
		if _, err := t.exec(`UPDATE questions SET deadline = ? WHERE stream_id = 1 AND seq = ?`, toMillis(c.Deadline), id); err != nil {
			return err
		}
	}
	if h := c.UndoWindow; h != nil {
		if _, err := t.exec(`UPDATE questions SET held = ?, held_until = ? WHERE stream_id = 1 AND seq = ?`, nullable(h.Answer), toMillis(h.Until), id); err != nil {
			return err
		}
	}
	if w := c.Timers; w != nil {
		if _, err := t.exec(`UPDATE questions SET remind_at = ?, escalate_at = ?, next_at = ? WHERE stream_id = 1 AND seq = ?`,
			toMillis(w.Remind), toMillis(w.Escalate), toMillis(w.next()), id); err != nil {
			return err
		}
	}
	if err := t.updateInboxIndex(c); err != nil {
		return err
	}
	if c.Rule != 0 {
		if err := t.recordRuleUse(c.Rule); err != nil {
			return err
		}
	}
	seq := t.nextSeq()
	_, err = t.exec(`INSERT INTO changes (stream_id, seq, question, ends, status) VALUES (1, ?, ?, ?, ?)`,
		seq, id, c.Ends, c.Status)
	if err == nil && c.Delivery != nil {
		err = t.upsertDelivery(id, c.Delivery)
	}
	if err == nil {
		err = t.appendLedger(c.Ledger...)
	}
	if err != nil {
		return err
	}
	t.rows = append(t.rows, changeLogRow(seq, c.Event, c.Status, c.Ends))
	return nil
}

// changeLogRow is the log's row for a change: the whole event at the end of a
// question, which version 1 pages get once more.
func changeLogRow(seq int64, e *Event, status []byte, ends bool) LogRow {
	row := LogRow{Seq: seq, Event: &Event{ID: e.ID, Status: status}, Change: true, Ends: ends}
	if ends {
		whole := *e
		whole.Status = status
		row.Event = &whole
	}
	return row
}

func (t *tx) explainUnchanged(id schema.EventID) error {
	var found int
	err := t.get([]any{&found}, queryIsEvent, id)
	if errors.Is(err, sql.ErrNoRows) {
		return schema.ErrNotFound
	}
	if err != nil {
		return err
	}
	err = t.get([]any{&found}, `SELECT 1 FROM questions WHERE stream_id = 1 AND seq = ?`, id)
	if errors.Is(err, sql.ErrNoRows) {
		return schema.ErrNoQuestion
	}
	if err != nil {
		return err
	}
	return ErrConflict
}
