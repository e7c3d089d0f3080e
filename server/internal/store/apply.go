package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/hookback/hookback/schema"
)

// Change is one atomic change of a question, guarded by its version (optimistic
// concurrency).
type Change struct {
	Event   *Event // the question's event as read; carries the ID
	Version int64  // expected version of the question
	State   schema.State
	Status  []byte // new humanInTheLoopStatus
	Answer  []byte // nil: unchanged
	// Receipt is the signed resolution; nil: unchanged. Proofs replaces the assertions of the
	// question's answers and votes; nil: unchanged.
	Receipt, Proofs []byte
	// Delivery replaces the question's outbox row; nil: unchanged.
	Delivery *Delivery
	// Deadline is the new deadline; zero: unchanged. NoDeadline removes it.
	Deadline   time.Time
	NoDeadline bool
	// UndoWindow is the new undo window; nil: unchanged, an empty one removes it.
	UndoWindow *UndoWindow
	// Awaiting lists the people the question waits for; nil: unchanged. A single empty
	// name stands for everyone.
	Awaiting []string
	// Timers are the new timers; nil: unchanged.
	Timers *Timers
	// Duplicates are the resolutions of the other questions in the duplicate group.
	Duplicates []Change
	// Rule is the ID of the rule that decided, whose use is counted; 0: none.
	Rule int64
	// Ends marks a resolution: the question is no longer pending.
	Ends bool
	// Ledger are the audit log records, written in the same transaction.
	Ledger []LedgerRecord
}

// Apply changes a question, all of c or nothing, and returns once it is committed and
// published. It fails with ErrConflict if the question is no longer at c.Version, and
// with schema.ErrNotFound or schema.ErrNoQuestion. ctx and ownership of c's bytes work
// as for Append.
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
	switch {
	case c.Ends:
		return t.leaveGroup(c.Event.ID)
	case isGrouped(c.Status):
		return t.replaceLostLeader(c.Event.ID)
	default:
		return nil
	}
}

// applyOne writes the change of a single question, without its duplicates.
func (t *tx) applyOne(c *Change) error {
	id := c.Event.ID
	changed, err := t.exec(`UPDATE questions
		SET version = version + 1, state = ?, status = ?, answer = coalesce(?, answer), receipt = coalesce(?, receipt), proofs = coalesce(?, proofs), changed_at = ?
		WHERE stream_id = 1 AND seq = ? AND version = ?`,
		c.State, c.Status, nullable(c.Answer), nullable(c.Receipt), nullable(c.Proofs), toMillis(t.now), id, c.Version)
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
	if window := c.UndoWindow; window != nil {
		if _, err := t.exec(`UPDATE questions SET held = ?, held_until = ? WHERE stream_id = 1 AND seq = ?`, nullable(window.Answer), toMillis(window.Until), id); err != nil {
			return err
		}
	}
	if timers := c.Timers; timers != nil {
		if _, err := t.exec(`UPDATE questions SET remind_at = ?, escalate_at = ?, next_at = ? WHERE stream_id = 1 AND seq = ?`,
			toMillis(timers.Remind), toMillis(timers.Escalate), toMillis(timers.next()), id); err != nil {
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

// changeLogRow returns the log row of a change. A resolution carries the whole event,
// because version 1 pages expect the event again.
func changeLogRow(seq int64, e *Event, status []byte, ends bool) LogRow {
	row := LogRow{Seq: seq, Event: &Event{ID: e.ID, Status: status}, Change: true, Ends: ends}
	if ends {
		full := *e
		full.Status = status
		row.Event = &full
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
