package store

import (
	"context"
	"time"

	"github.com/hookback/hookback/schema/control"
)

// Freezes are the stored freezes. The active ones are in memory.
type Freezes interface {
	// CreateFreeze stores a freeze and returns it with its ID. If an active one has the same scope,
	// it is returned unchanged, and created is false. It fails with schema.ErrTooMany if there are
	// MaxFreezes active ones.
	CreateFreeze(ctx context.Context, f control.Freeze) (stored control.Freeze, created bool, err error)

	// LiftFreeze ends a freeze and returns it. It fails with schema.ErrNotFound. A freeze that was
	// lifted before stays unchanged.
	LiftFreeze(ctx context.Context, id int64, by string, at time.Time) (control.Freeze, error)

	// ActiveFreezes returns the active freezes, the oldest first.
	ActiveFreezes() []control.Freeze

	// FreezeOf returns the oldest active freeze that stops the session, or nil.
	FreezeOf(app, session string) *control.Freeze

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

// MaxFreezes limits the active freezes. Every gate hook and every approval reads them.
const MaxFreezes = 1000
