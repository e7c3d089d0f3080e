package store

import (
	"context"
	"time"
)

// Policy says what may be removed. Zero values remove nothing.
type Policy struct {
	EventsBefore    time.Time // events without a question received before
	MaxBytes        int64     // then the oldest of them while the database holds more
	QuestionsBefore time.Time // settled questions, with all that belongs to them, asked before
	Batch           int       // rows in one transaction, 500
}

// Pruned says what was removed.
type Pruned struct {
	Events, Questions, Changes int64
}

// Prune removes what the policy allows, in small transactions between other
// writes, and never a pending question. It stops early when ctx ends; what was
// removed by then stays removed.
func (s *Store) Prune(ctx context.Context, p Policy) (Pruned, error) { return Pruned{}, errTodo }
