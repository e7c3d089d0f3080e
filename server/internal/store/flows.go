package store

import (
	"context"
	"time"
)

// Flow is the state between two steps of a sign-in or of another exchange. It works once. The steps may
// reach different hubs.
type Flow struct {
	ID        []byte // hash of a secret
	Kind      string // the flows of a kind have a common limit
	Data      []byte // encrypted by the caller, unless it is not secret
	ExpiresAt time.Time
}

// Flows are the pending flows.
type Flows interface {
	// PutFlow stores a flow, and replaces one with the same id. It removes the flows that have expired at
	// now, and the flows of its kind beyond limit that expire first. It works on a full disk: people must be
	// able to sign in.
	PutFlow(ctx context.Context, f *Flow, now time.Time, limit int) error

	// TakeFlow removes a flow and returns it. Of several callers, one gets it. It fails with
	// schema.ErrNotFound if there is none, or if it has expired at now.
	TakeFlow(ctx context.Context, id []byte, now time.Time) (Flow, error)
}
