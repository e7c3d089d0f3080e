package kit

import (
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
)

// DirectivePart adds its part to the directive for an event. An engine has three, for freezes, grants
// and messages, and keeps in memory which sessions they have something for. An event of any other session
// costs no query.
type DirectivePart func(*control.Directive, *store.Event, *store.DirectiveRequest) error

// NewDirective returns the directive for the hook of an event. It returns nil if there is nothing.
func NewDirective(e *store.Event, r *store.DirectiveRequest, parts ...DirectivePart) (*control.Directive, error) {
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

// RepeatedDirective returns the directive that the event seq got, for a repeat of its POST.
func RepeatedDirective(seq int64, d *store.EventDraft, parts ...DirectivePart) (*control.Directive, error) {
	if d.Directive == nil {
		return nil, nil
	}
	e := d.Event
	e.ID = schema.EventID(seq)
	return NewDirective(&e, d.Directive, parts...)
}
