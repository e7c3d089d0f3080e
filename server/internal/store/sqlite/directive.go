package sqlite

import (
	"context"

	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

// hasOutstanding reports whether anything may wait for an event of the session.
func (s *engine) hasOutstanding(e *store.Event) bool {
	return s.grants.Has(e.App, e.Session) || s.messages.Has(e.App, e.Session) || s.IsFrozen(e.App, e.Session)
}

// directive returns the directive for the hook of a new event, and marks it as handed over in
// this transaction. It returns nil if there is nothing.
func (t *tx) directive(e *store.Event, r *store.DirectiveRequest) (*control.Directive, error) {
	d, err := kit.NewDirective(e, r, t.addFreeze, t.useGrant, t.messages().HandOver)
	if err == nil && d != nil && d.Freeze != nil {
		_, err = t.exec(`INSERT INTO frozen_calls (seq) VALUES (?)`, e.ID)
	}
	return d, err
}

// repeatedDirective returns the directive that the event seq got, for a repeat of its POST.
// A freeze is the current one.
func (t *tx) repeatedDirective(seq int64, d *store.EventDraft) (*control.Directive, error) {
	return kit.RepeatedDirective(seq, d, t.addFreeze, t.repeatGrant, t.messages().Repeat)
}

// loadDirectives loads the items that wait for agents, at the start.
func (s *engine) loadDirectives(ctx context.Context, w *writer) error {
	for _, load := range []func(context.Context, *writer) error{s.loadGrants, s.loadMessages, s.loadFreezes} {
		if err := load(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// afterCommit runs f when this transaction is committed, on the writer's goroutine.
func (t *tx) afterCommit(f func()) { t.committed = append(t.committed, f) }
