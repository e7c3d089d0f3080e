package tables

import (
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
)

// hasOutstanding reports whether anything may wait for an event of the session. An event of any other session
// costs no query.
func (t *Tables) hasOutstanding(e *store.Event) bool {
	return t.HasGrants(e.App, e.Session) || t.saved.has(e.App, e.Session) || t.FreezeOf(e.App, e.Session) != nil
}

// directivePart adds its part to the directive for an event.
type directivePart func(*control.Directive, *store.Event, *store.DirectiveRequest) error

func newDirective(e *store.Event, r *store.DirectiveRequest, parts ...directivePart) (*control.Directive, error) {
	d := &control.Directive{}
	for _, add := range parts {
		if err := add(d, e, r); err != nil {
			return nil, err
		}
	}
	if d.Freeze == nil && d.Grant == nil && len(d.Messages) == 0 {
		return nil, nil
	}
	return d, nil
}

// directive returns the directive for the hook of a new event, and marks it as handed over in
// this transaction. It returns nil if there is nothing.
func (w *Work) directive(e *store.Event, r *store.DirectiveRequest) (*control.Directive, error) {
	d, err := newDirective(e, r, w.addFreeze, w.useGrant, w.handOver)
	if err == nil && d != nil && d.Freeze != nil {
		err = w.Exec(`INSERT INTO frozen_calls (seq) VALUES ($1)`, e.ID)
	}
	return d, err
}

// repeatedDirective returns the directive that the event seq got, for a repeat of its POST.
// A freeze is the current one.
func (w *Work) repeatedDirective(seq int64, d *store.EventDraft) (*control.Directive, error) {
	if d.Directive == nil {
		return nil, nil
	}
	e := d.Event
	e.ID = schema.EventID(seq)
	return newDirective(&e, d.Directive, w.addFreeze, w.repeatGrant, w.repeatMessages)
}

// Load reads what waits for agents into memory.
func (t *Tables) Load(query Query, now time.Time) error {
	var grants []openGrant
	err := query(appendTo(&grants, func(g *openGrant) []any { return []any{&g.Question, &g.Session.App, &g.Session.Session, &g.ExpiresAt} }), `SELECT question, app, session, expires_at FROM grants WHERE granted_at > 0 AND (used_at = 0 OR expires_at > $1)`, Millis(now))
	if err != nil {
		return err
	}
	saved, open := map[store.SessionKey]int64{}, map[store.SessionKey]int64{}
	err = query(func(rows Rows) error {
		var key store.SessionKey
		var state control.MessageState
		err := rows.Scan(&key.App, &key.Session, &state)
		if open[key]++; state == control.MessageSaved {
			saved[key]++
		}
		return err
	}, `SELECT app, session, state FROM messages WHERE state IN ('saved', 'handed_over')`)
	if err != nil {
		return err
	}
	var active []control.Freeze
	if err := query(appendTo(&active, freezes.fields), freezes.selects+`WHERE lifted_at = 0 ORDER BY id`); err != nil {
		return err
	}
	t.grants.set(grants)
	t.saved.load(saved)
	t.open.load(open)
	t.freezes.set(active)
	return nil
}
