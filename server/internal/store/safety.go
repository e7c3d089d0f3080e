package store

import (
	"context"

	"github.com/hookback/hookback/schema/control"
)

// Safety stores the limits of automatic freezes and the defaults of questions.
type Safety interface {
	// SafetySettings returns the stored limits; zero if there are none.
	SafetySettings(ctx context.Context) (control.SafetySettings, error)

	// SetSafetySettings replaces the limits and records it in the audit log.
	SetSafetySettings(ctx context.Context, settings control.SafetySettings, by string) error

	// RequestDefaults returns the stored defaults of questions; zero if there are none.
	RequestDefaults(ctx context.Context) (control.RequestDefaults, error)

	// SetRequestDefaults replaces the defaults and records it in the audit log.
	SetRequestDefaults(ctx context.Context, settings control.RequestDefaults, by string) error

	// AutomaticFreezes returns the automatic freezes that f selects, lifted ones too, the newest
	// first.
	AutomaticFreezes(ctx context.Context, f AutomaticFreezeFilter) ([]control.Freeze, error)
}

// AutomaticFreezeFilter selects automatic freezes. Zero values select everything.
type AutomaticFreezeFilter struct {
	Rule         control.FreezeRule
	App, Session string // a session needs its application
	Limit        int    // required
}
