package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

const (
	freezeColumns      = `SELECT id, scope, app, session, frozen_by, reason, rule, cost_usd, frozen_at, lifted_by, lifted_at FROM freezes`
	queryFreeze        = freezeColumns + ` WHERE id = ?`
	queryActiveFreezes = freezeColumns + ` WHERE lifted_at = 0 ORDER BY id`
	queryFreezeOf      = freezeColumns + ` WHERE lifted_at = 0 AND (scope = 'all' OR app = ?1 AND (scope = 'app' OR session = ?2)) ORDER BY id LIMIT 1`
)

func freezeFields(f *control.Freeze) []any {
	return []any{&f.ID, &f.Scope, &f.SourceApp, &f.SessionID, &f.By, &f.Reason, &f.Rule, &f.CostUSD, &f.CreatedAt, &f.LiftedBy, &f.LiftedAt}
}

func (s *engine) ActiveFreezes() []control.Freeze { return s.Freezes.ActiveFreezes() }

func (s *engine) FreezeOf(app, session string) *control.Freeze { return s.Freezes.FreezeOf(app, session) }

func (s *engine) CreateFreeze(ctx context.Context, f control.Freeze) (stored control.Freeze, created bool, err error) {
	err = s.writer.do(ctx, &op{essential: true, needsSavepoint: true, run: func(t *tx) error {
		stored, created = f, false
		err := t.get(freezeFields(&stored), freezeColumns+` WHERE lifted_at = 0 AND scope = ? AND app = ? AND session = ?`, string(f.Scope), f.SourceApp, f.SessionID)
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		var last, active int64
		if err := t.get([]any{&last}, `SELECT coalesce(max(id), 0) FROM freezes`); err != nil {
			return err
		}
		if err := t.get([]any{&active}, `SELECT count(*) FROM freezes WHERE lifted_at = 0`); err != nil {
			return err
		}
		if active >= store.MaxFreezes {
			return schema.ErrTooMany
		}
		stored, created = f, true
		stored.ID = last + 1
		if _, err := t.exec(`INSERT INTO freezes (id, scope, app, session, frozen_by, reason, rule, cost_usd, frozen_at, lifted_by, lifted_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '', 0)`, stored.ID, string(f.Scope), f.SourceApp, f.SessionID, f.By, f.Reason, string(f.Rule), f.CostUSD, int64(f.CreatedAt)); err != nil {
			return err
		}
		t.afterCommit(func() { s.PutFreeze(stored) })
		return t.appendLedger(store.LedgerRecord{Action: "freeze.made", Actor: f.By, Data: kit.NewFreezeData(&stored)})
	}})
	return stored, created, err
}

func (s *engine) LiftFreeze(ctx context.Context, id int64, by string, at time.Time) (f control.Freeze, err error) {
	err = s.writer.do(ctx, &op{essential: true, needsSavepoint: true, run: func(t *tx) error {
		lifted, err := t.exec(`UPDATE freezes SET lifted_by = ?, lifted_at = ? WHERE id = ? AND lifted_at = 0`, by, kit.Millis(at), id)
		if err == nil && lifted > 0 {
			t.afterCommit(func() { s.RemoveFreeze(id) })
			err = t.appendLedger(store.LedgerRecord{Action: "freeze.lifted", Actor: by, Data: kit.FreezeData{ID: id}})
		}
		if err == nil {
			err = t.get(freezeFields(&f), queryFreeze, id)
		}
		if errors.Is(err, sql.ErrNoRows) {
			err = schema.ErrNotFound
		}
		return err
	}})
	return f, err
}

// requireNotFrozen fails with schema.ErrFrozen if a freeze stops the session. It sees the
// freezes of this group commit, too.
func (t *tx) requireNotFrozen(app, session string) error {
	var f control.Freeze
	err := t.get(freezeFields(&f), queryFreezeOf, app, session)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("read freezes: %w", err)
	default:
		return schema.ErrFrozen
	}
}

// addFreeze adds the active freeze that stops the event's agent.
func (t *tx) addFreeze(d *control.Directive, e *store.Event, r *store.DirectiveRequest) error {
	if !r.Freeze {
		return nil
	}
	var f control.Freeze
	err := t.get(freezeFields(&f), queryFreezeOf, e.App, e.Session)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		d.Freeze = f.Notice()
	}
	return err
}

// loadFreezes loads the active freezes, at the start.
func (s *engine) loadFreezes(ctx context.Context, w *writer) error {
	rows, err := w.conn.QueryContext(ctx, queryActiveFreezes)
	list, err := collect(rows, err, func(rows *sql.Rows, f *control.Freeze) error { return rows.Scan(freezeFields(f)...) })
	if err != nil {
		return fmt.Errorf("read freezes: %w", err)
	}
	s.LoadFreezes(list)
	return nil
}
