package store

import (
	"context"

	"github.com/hookback/hookback/schema"
)

// Event returns one event and its transcript, nil when it has none.
func (s *Store) Event(ctx context.Context, id schema.EventID) (*Event, []byte, error) {
	return nil, nil, errTodo
}

// Question returns a question: schema.ErrNotFound when there is no such event,
// schema.ErrNoQuestion when it asks nothing.
func (s *Store) Question(ctx context.Context, id schema.EventID) (*Question, error) {
	return nil, errTodo
}

// Recent returns the newest limit events, the oldest first.
func (s *Store) Recent(ctx context.Context, limit int) ([]*Event, error) { return nil, errTodo }

// Pending returns every pending question, the oldest first.
func (s *Store) Pending(ctx context.Context) ([]*Event, error) { return nil, errTodo }

// Find returns the events that f selects, the oldest first: the newest f.Limit
// of them or, with After, the oldest.
func (s *Store) Find(ctx context.Context, f Filter) ([]*Event, error) { return nil, errTodo }

// FilterOptions are the values that Find can filter by. It reads no events.
func (s *Store) FilterOptions(ctx context.Context) (schema.FilterOptions, error) {
	return schema.FilterOptions{}, errTodo
}
