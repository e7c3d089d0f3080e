package store

import (
	"context"
	"encoding/json"
	"time"
)

// Members are the hubs that share the database. The only hub of an engine for one hub leads it, and
// nothing changes but by its own writes.
type Members interface {
	// Self returns the ID of this process among the hubs, a UUIDv7.
	Self() string

	// Members returns the hubs that are alive, this one included, ordered by ID. A hub is alive for
	// MemberTimeout after its last sign of life.
	Members() []Member

	// Announce stores the facts that this hub reports to the others, within a second.
	Announce(m MemberFacts)

	// ObserveMembers sets the function that is called after the members or their facts have changed.
	// It must be quick. Call ObserveMembers before Announce.
	ObserveMembers(changed func())

	// Lead waits until this hub leads. The returned context ends when it no longer does, or with ctx.
	// Two hubs may lead for a moment, so the work must be guarded, too. Lead fails if ctx ends first.
	Lead(ctx context.Context) (context.Context, error)

	// IsLeader reports whether this hub leads.
	IsLeader() bool

	// ObservePolicy sets the function that is called after another hub has changed accounts, rules,
	// settings, or anything else that hubs keep in memory above the store. The function reads them
	// again. It is called until it succeeds; until then Apply refuses decisions with
	// ErrPolicyChanged. Call ObservePolicy before the first write.
	ObservePolicy(reload func(context.Context) error)

	// ObserveCurrent sets the function that is called when this hub has not read all changes by other hubs that are
	// older than a second (a hub without others has longer), and when it has again. It must be quick.
	ObserveCurrent(changed func(isCurrent bool))

	// WasFirst reports whether no other hub had the database open when this one opened it.
	WasFirst() bool

	// Now returns the time by the clock that all members share.
	Now() time.Time
}

// MemberTimeout is how long a hub counts as alive after its last sign of life.
const MemberTimeout = 5 * time.Second

// Member is a hub that is alive.
type Member struct {
	ID        string // of its process
	Name      string // of its machine and port, for people
	Machine   string // on which its processes and loopback addresses have their meaning
	Version   string
	StartedAt time.Time
	MemberFacts
}

// MemberFacts are the facts that a hub reports to the others.
type MemberFacts struct {
	Watching int             `json:"watching,omitempty"` // number of open pages
	Presence json.RawMessage `json:"presence,omitempty"` // people and the requests that they view, in the form of package stream
}
