package sqlite

import (
	"context"
	"time"

	"github.com/hookback/hookback/server/internal/store"
)

// singleMember implements store.Members for the only hub of a database.
type singleMember struct {
	id    string
	clock func() time.Time
	began time.Time
}

func (m *singleMember) Self() string { return m.id }

func (m *singleMember) Members() []store.Member {
	return []store.Member{{ID: m.id, StartedAt: m.began}}
}

// No other hub reads the facts of this one or changes anything, so that nothing is observed.

func (m *singleMember) Announce(store.MemberFacts) {}

func (m *singleMember) ObserveMembers(func()) {}

func (m *singleMember) Lead(ctx context.Context) (context.Context, error) { return ctx, ctx.Err() }

func (m *singleMember) IsLeader() bool { return true }

func (m *singleMember) ObservePolicy(func(context.Context) error) {}

func (m *singleMember) ObserveCurrent(func(bool)) {}

func (m *singleMember) WasFirst() bool { return true }

func (m *singleMember) Now() time.Time { return m.clock() }
