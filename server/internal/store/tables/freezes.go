package tables

import (
	"context"
	"slices"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
)

var freezes = newTable("freezes", "id", "id, scope, app, session, frozen_by, reason, rule, cost_usd, frozen_at, lifted_by, lifted_at",
	func(f *control.Freeze) []any {
		return []any{
			&f.ID, &f.Scope, &f.SourceApp, &f.SessionID, &f.By, &f.Reason, &f.Rule, &f.CostUSD, &f.CreatedAt, &f.LiftedBy, &f.LiftedAt,
		}
	})

func (t *Tables) ActiveFreezes() []control.Freeze { return t.freezes.all() }

func (t *Tables) FreezeOf(app, session string) *control.Freeze {
	active := t.freezes.all()
	i := slices.IndexFunc(active, func(freeze control.Freeze) bool { return freeze.Stops(app, session) })
	if i < 0 {
		return nil
	}
	return &active[i]
}

func (t *Tables) CreateFreeze(ctx context.Context, f control.Freeze) (stored control.Freeze, created bool, err error) {
	err = t.Write(ctx, Essential|Policy, func(w *Work) error {
		var found bool
		var err error
		created, w.changesFreezes = false, true
		stored, found, err = freezes.getIn(w, `WHERE lifted_at = 0 AND scope = $1 AND app = $2 AND session = $3`, f.Scope, f.SourceApp, f.SessionID)
		if err != nil || found {
			return err
		}
		active, err := get[int64](w, `SELECT count(*) FROM freezes WHERE lifted_at = 0`)
		if err == nil && active >= store.MaxFreezes {
			err = schema.ErrTooMany
		}
		if err != nil {
			return err
		}
		stored, created = f, true
		stored.LiftedBy, stored.LiftedAt = "", 0
		if stored.ID, err = nextID(w, "freezes"); err == nil {
			err = freezes.insert(w, &stored)
		}
		if err != nil {
			return err
		}
		w.afterCommit(func() { t.freezes.add(stored) })
		return w.AppendLedger(store.LedgerRecord{Action: "freeze.made", Actor: f.By, Data: freezeData{
			ID: stored.ID, Scope: f.Scope, App: f.SourceApp, Session: f.SessionID, Reason: f.Reason, Rule: f.Rule,
		}})
	})
	return stored, created, err
}

func (t *Tables) LiftFreeze(ctx context.Context, id int64, by string, at time.Time) (f control.Freeze, err error) {
	err = t.Write(ctx, Essential|Policy, func(w *Work) error {
		w.changesFreezes = true
		lifted, err := w.ExecCount(`UPDATE freezes SET lifted_by = $1, lifted_at = $2 WHERE id = $3 AND lifted_at = 0`, by, Millis(at), id)
		if err == nil && lifted > 0 {
			w.afterCommit(func() { t.freezes.remove(func(f control.Freeze) bool { return f.ID == id }) })
			err = w.AppendLedger(store.LedgerRecord{Action: "freeze.lifted", Actor: by, Data: freezeData{ID: id}})
		}
		if err != nil {
			return err
		}
		var found bool
		f, found, err = freezes.getIn(w, `WHERE id = $1`, id)
		return orNotFound(found, err)
	})
	return f, err
}

func (t *Tables) AutomaticFreezes(ctx context.Context, f store.AutomaticFreezeFilter) ([]control.Freeze, error) {
	return freezes.list(ctx, t, `WHERE rule <> '' AND ($1 = '' OR rule = $1) AND ($2 = '' OR app = $2 AND ($3 = '' OR session = $3))
		ORDER BY id DESC LIMIT $4`, f.Rule, f.App, f.Session, f.Limit)
}

// freezeOf returns a freeze that stops the session. It sees the freezes of this transaction, too.
func (w *Work) freezeOf(app, session string) (*control.Freeze, error) {
	if !w.changesFreezes {
		return w.t.FreezeOf(app, session), nil
	}
	f, found, err := freezes.getIn(w, `WHERE lifted_at = 0 AND (scope = 'all' OR app = $1 AND (scope = 'app' OR session = $2)) ORDER BY id LIMIT 1`, app, session)
	if err != nil || !found {
		return nil, err
	}
	return &f, nil
}

// requireNotFrozen fails with schema.ErrFrozen if a freeze stops the session.
func (w *Work) requireNotFrozen(app, session string) error {
	f, err := w.freezeOf(app, session)
	if err == nil && f != nil {
		err = schema.ErrFrozen
	}
	return err
}

// addFreeze adds the active freeze that stops the event's agent.
func (w *Work) addFreeze(d *control.Directive, e *store.Event, r *store.DirectiveRequest) error {
	if !r.Freeze {
		return nil
	}
	f, err := w.freezeOf(e.App, e.Session)
	if err == nil && f != nil {
		d.Freeze = f.Notice()
	}
	return err
}
