package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

func (s *engine) Apply(ctx context.Context, c store.Change) error {
	return s.writer.do(ctx, &op{
		essential:      true,
		needsSavepoint: true,
		run:            func(t *tx) error { return t.apply(&c) },
	})
}

func (t *tx) apply(c *store.Change) error {
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
func (t *tx) applyOne(c *store.Change) error {
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
			toMillis(timers.Remind), toMillis(timers.Escalate), toMillis(timers.Next()), id); err != nil {
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
	row := changeLogRow(seq, c.Event, c.Status, c.Ends)
	row.Kinds = c.Kinds()
	t.rows = append(t.rows, row)
	return nil
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

func (t *tx) explainUnchanged(id schema.EventID) error {
	var found int
	err := t.get([]any{&found}, `SELECT 1 FROM questions WHERE stream_id = 1 AND seq = ?`, id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return explainNoQuestion(context.Background(), &t.w.statements, id)
	case err != nil:
		return err
	default:
		return store.ErrConflict
	}
}
