package store

import (
	"context"

	"github.com/hookback/hookback/schema/control"
)

// Reach stores the hub's public address.
type Reach interface {
	// ReachSettings returns the stored address; zero if there is none.
	ReachSettings(ctx context.Context) (control.ReachSettings, error)

	// SetReachSettings replaces the address and records it in the audit log.
	SetReachSettings(ctx context.Context, settings control.ReachSettings, by string) error
}
