package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
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
	case kit.IsGrouped(c.Status):
		return t.groups().ReplaceLostLeader(c.Event.ID)
	default:
		return nil
	}
}

// applyOne writes the change of a single question, without its duplicates.
func (t *tx) applyOne(c *store.Change) error {
	id := c.Event.ID
	if c.Approves {
		if err := t.RequireNotFrozen(c.Event.App, c.Event.Session); err != nil {
			return err
		}
	}
	pending, isPending := t.pendingQuestion(id)
	settles := c.Ends || isPending && c.State != schema.Pending
	seq, err := t.insertChange(id, c.Ends, c.Status)
	if err != nil {
		return err
	}
	changed, err := t.updateQuestion(c, seq, settles)
	if err != nil {
		return err
	}
	if changed == 0 {
		return t.explainUnchanged(id)
	}
	if isPending {
		if err := t.updatePending(c, pending, settles); err != nil {
			return err
		}
	}
	if c.Rule != 0 {
		if err := t.RecordRuleUse(c.Rule); err != nil {
			return err
		}
	}
	if c.Delivery != nil {
		err = t.upsertDelivery(id, c.Delivery)
	}
	if err == nil {
		err = t.AppendLedger(c.Ledger...)
	}
	if err == nil {
		err = t.EndAppeal(c.Event, c.Grant)
	}
	if err != nil {
		return err
	}
	row := kit.ChangeLogRow(seq, c.Event, c.Status, c.Ends)
	row.Kinds = c.Kinds()
	t.rows = append(t.rows, row)
	return nil
}

// insertChange appends the log row of a change. The question's row, which has to be updated
// next, still names the change before it.
func (t *tx) insertChange(id schema.EventID, ends bool, status []byte) (seq int64, err error) {
	seq = t.nextSeq()
	_, err = t.exec(`INSERT INTO changes (seq, question, previous, ends, status)
		SELECT ?, seq, last_change, ?, ? FROM questions WHERE seq = ?`, seq, ends, status, id)
	return seq, err
}

// updateQuestion writes the row of a question once. It returns 0 if the version is another.
// The columns of indexes are assigned only if it settles: SQLite would rewrite their
// entries even if the values are the same.
func (t *tx) updateQuestion(c *store.Change, seq int64, settles bool) (changed int64, err error) {
	var ended string
	args := append([]any{c.Status, kit.Nullable(c.Answer), kit.Nullable(c.Receipt), kit.Nullable(c.Proofs), kit.Millis(t.now)}, kit.ChangedColumns(c)...)
	args = append(args, c.Event.ID, c.Version, seq)
	if settles {
		listed, err := kit.InboxStatus(c)
		if err != nil {
			return 0, err
		}
		ended, args = `, state = ?16, inbox = ?17`, append(args, c.State, string(listed))
	}
	return t.exec(`UPDATE questions SET version = version + 1, status = ?1, answer = coalesce(?2, answer), receipt = coalesce(?3, receipt),
			proofs = coalesce(?4, proofs), changed_at = ?5, last_change = ?15, deadline = coalesce(?6, deadline), held = iif(?8 IS NULL, held, ?7), held_until = coalesce(?8, held_until),
			remind_at = coalesce(?9, remind_at), escalate_at = coalesce(?10, escalate_at), next_at = coalesce(?11, next_at),
			addressed = coalesce(?12, addressed)`+ended+`
		WHERE seq = ?13 AND version = ?14`, args...)
}

// updatePending updates the copy of a pending question: its awaiting rows, and the
// facts in memory.
func (t *tx) updatePending(c *store.Change, row kit.PendingQuestion[string], settles bool) error {
	id := c.Event.ID
	if row.IsAddressed && (settles || c.Awaiting != nil) {
		if _, err := t.exec(`DELETE FROM awaiting WHERE seq = ?`, id); err != nil {
			return err
		}
	}
	if settles {
		listed, err := kit.InboxStatus(c)
		if err == nil && listed == inbox.HitlDecided {
			t.counters.decided++
		}
		t.pending = append(t.pending, kit.PendingUpdate[string]{ID: id, Ended: true})
		return err
	}
	if err := row.Update(c); err != nil {
		return err
	}
	t.pending = append(t.pending, kit.PendingUpdate[string]{ID: id, Row: row})
	if c.Awaiting != nil && row.IsAddressed {
		return t.InsertAwaiting(id, row.App, c.Awaiting)
	}
	return nil
}

func (t *tx) explainUnchanged(id schema.EventID) error {
	var found int
	err := t.get([]any{&found}, `SELECT 1 FROM questions WHERE seq = ?`, id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return t.w.store.ExplainNoQuestion(context.Background(), id)
	case err != nil:
		return err
	default:
		return store.ErrConflict
	}
}
