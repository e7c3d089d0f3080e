package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
	"github.com/hookback/hookback/server/internal/store/tables"
)

func (s *engine) Apply(ctx context.Context, c store.Change) error {
	err := s.writer.do(ctx, &op{
		run:     func(t *tx) error { return t.apply(&c) },
		explain: func(guard tables.Guard) error { return s.explainConflict(&c, guard) },
	})
	if errors.Is(err, store.ErrPolicyChanged) {
		s.policy.await(ctx)
	}
	return err
}

func (t *tx) apply(c *store.Change) error {
	if isStale, _ := t.w.store.policy.isStale(); isStale && c.Authority != store.NoAuthority {
		return store.ErrPolicyChanged
	}
	row, _ := t.pendingQuestion(c.Event.ID)
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
		return t.groups().Leave(c.Event.ID, row.Same, row.SameAs)
	case kit.IsGrouped(c.Status):
		return t.groups().ReplaceLostLeader(c.Event.ID)
	default:
		return nil
	}
}

// applyOne writes the change of a single question, without its duplicates.
func (t *tx) applyOne(c *store.Change) error {
	id := c.Event.ID
	if version, ok := t.versions[id]; ok && version != c.Version {
		return store.ErrConflict
	}
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
	if err := t.updateQuestion(c, settles); err != nil {
		return err
	}
	t.versions[id] = c.Version + 1
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

// insertChange appends the log row of a change.
func (t *tx) insertChange(id schema.EventID, ends bool, status []byte) (seq int64, err error) {
	seq = t.nextSeq()
	return seq, t.exec(`INSERT INTO changes (seq, question, ends, status) VALUES ($1, $2, $3, $4)`, seq, id, ends, status)
}

// updateQuestion writes the row of a question once, guarded by its version.
func (t *tx) updateQuestion(c *store.Change, settles bool) error {
	args := append([]any{c.Status, kit.Nullable(c.Answer), kit.Nullable(c.Receipt), kit.Nullable(c.Proofs), kit.Millis(t.now)}, kit.ChangedColumns(c)...)
	args = append(args, c.Event.ID, c.Version)
	var ended string
	if settles {
		listed, err := kit.InboxStatus(c)
		if err != nil {
			return err
		}
		ended, args = `, state = $15, inbox = $16`, append(args, c.State, string(listed))
	}
	return t.execOne("version", `UPDATE questions SET version = version + 1, status = $1, answer = coalesce($2, answer), receipt = coalesce($3, receipt),
			proofs = coalesce($4, proofs), changed_at = $5, deadline = coalesce($6, deadline),
			held = CASE WHEN $8::bigint IS NULL THEN held ELSE $7 END, held_until = coalesce($8, held_until),
			remind_at = coalesce($9, remind_at), escalate_at = coalesce($10, escalate_at), next_at = coalesce($11, next_at),
			addressed = coalesce($12, addressed)`+ended+`
		WHERE seq = $13 AND version = $14 RETURNING 1`, args...)
}

// updatePending updates the copy of a pending question: its awaiting rows, and the
// facts in memory.
func (t *tx) updatePending(c *store.Change, row kit.PendingQuestion[string], settles bool) error {
	id := c.Event.ID
	if row.IsAddressed && (settles || c.Awaiting != nil) {
		if err := t.exec(`DELETE FROM awaiting WHERE seq = $1`, id); err != nil {
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

// explainConflict returns the error of a change that failed a guard.
func (s *engine) explainConflict(c *store.Change, guard tables.Guard) error {
	if err := tables.GuardError(guard); !errors.Is(err, store.ErrConflict) {
		return err
	}
	ctx, cancel := exchangeTimeout()
	defer cancel()
	var found int
	err := s.readers.get(ctx, []any{&found}, `SELECT 1 FROM questions WHERE seq = $1`, c.Event.ID)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return s.ExplainNoQuestion(ctx, c.Event.ID)
	case err != nil:
		return err
	default:
		return store.ErrConflict
	}
}
