package store

import (
	"context"

	"github.com/hookback/hookback/schema/control"
)

// Safety stores the limits of automatic freezes.
type Safety interface {
	// SafetySettings returns the stored limits; zero if there are none.
	SafetySettings(ctx context.Context) (control.SafetySettings, error)

	// SetSafetySettings replaces the limits and records it in the audit log.
	SetSafetySettings(ctx context.Context, settings control.SafetySettings, by string) error

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
