package store

import "context"

// After returns up to limit rows of the log behind seq, in order. It fails with
// ErrRewound when seq is more than Head, and with ErrPruned when rows behind seq
// are gone. An event's status is the one it has now, not the one it began with.
func (s *Store) After(ctx context.Context, seq int64, limit int) ([]Row, error) { return nil, errTodo }
