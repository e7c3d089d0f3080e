package kit

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/hookback/hookback/server/internal/store"
)

// SingleMember implements store.Members for an engine that one hub uses.
type SingleMember struct {
	id    string
	clock func() time.Time
	began time.Time
}

// NewSingleMember returns the members of a database that this hub has for itself.
func NewSingleMember(clock func() time.Time) SingleMember {
	return SingleMember{id: uuid.Must(uuid.NewV7()).String(), clock: clock, began: clock()}
}

// Self implements store.Members.
func (m *SingleMember) Self() string { return m.id }

// Members implements store.Members.
func (m *SingleMember) Members() []store.Member {
	return []store.Member{{ID: m.id, StartedAt: m.began}}
}

// Announce implements store.Members. No other hub reads it.
func (m *SingleMember) Announce(store.MemberFacts) {}

// ObserveMembers implements store.Members. The members do not change.
func (m *SingleMember) ObserveMembers(func()) {}

// Lead implements store.Members.
func (m *SingleMember) Lead(ctx context.Context) (context.Context, error) { return ctx, ctx.Err() }

// IsLeader implements store.Members.
func (m *SingleMember) IsLeader() bool { return true }

// ObservePolicy implements store.Members. There is no other hub that changes anything.
func (m *SingleMember) ObservePolicy(func(context.Context) error) {}

// IsCurrent implements store.Members.
func (m *SingleMember) IsCurrent() bool { return true }

// ObserveCurrent implements store.Members. There is nothing else to read.
func (m *SingleMember) ObserveCurrent(func(bool)) {}

// WasFirst implements store.Members.
func (m *SingleMember) WasFirst() bool { return true }

// Now implements store.Members.
func (m *SingleMember) Now() time.Time { return m.clock() }
