package sqlite

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/hookback/hookback/server/internal/store"
)

// singleMember implements store.Members for the only hub of a database.
type singleMember struct {
	id    string
	clock func() time.Time
	began time.Time
}

// newSingleMember returns the members of a database that this hub has for itself.
func newSingleMember(clock func() time.Time) singleMember {
	return singleMember{id: uuid.Must(uuid.NewV7()).String(), clock: clock, began: clock()}
}

// Self implements store.Members.
func (m *singleMember) Self() string { return m.id }

// Members implements store.Members.
func (m *singleMember) Members() []store.Member {
	return []store.Member{{ID: m.id, StartedAt: m.began}}
}

// Announce implements store.Members. No other hub reads it.
func (m *singleMember) Announce(store.MemberFacts) {}

// ObserveMembers implements store.Members. The members do not change.
func (m *singleMember) ObserveMembers(func()) {}

// Lead implements store.Members.
func (m *singleMember) Lead(ctx context.Context) (context.Context, error) { return ctx, ctx.Err() }

// IsLeader implements store.Members.
func (m *singleMember) IsLeader() bool { return true }

// ObservePolicy implements store.Members. There is no other hub that changes anything.
func (m *singleMember) ObservePolicy(func(context.Context) error) {}

// ObserveCurrent implements store.Members. There is nothing else to read.
func (m *singleMember) ObserveCurrent(func(bool)) {}

// WasFirst implements store.Members.
func (m *singleMember) WasFirst() bool { return true }

// Now implements store.Members.
func (m *singleMember) Now() time.Time { return m.clock() }
