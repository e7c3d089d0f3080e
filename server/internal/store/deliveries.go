package store

import (
	"context"
	"time"

	"github.com/hookback/hookback/schema"
)

// DueQuestions returns up to n pending questions whose deadline has passed, the
// longest due first, and the earliest deadline after now: zero when there is none.
func (s *Store) DueQuestions(ctx context.Context, now time.Time, n int) (due []schema.EventID, next time.Time, err error) {
	return nil, time.Time{}, errTodo
}

// PendingOf returns the pending questions of a session, the oldest first.
func (s *Store) PendingOf(ctx context.Context, app, session string) ([]schema.EventID, error) {
	return nil, errTodo
}

// LeaseDeliveries takes up to n deliveries that are due, not leased and not final
// and leases them to the caller until the given time. next is when the following
// one falls due or its lease ends: zero when there is none.
func (s *Store) LeaseDeliveries(ctx context.Context, now, until time.Time, n int) (leased []schema.EventID, next time.Time, err error) {
	return nil, time.Time{}, errTodo
}
