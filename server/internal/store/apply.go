package store

import "context"

// Apply changes a question, all of c or nothing, and returns once it is committed
// and published. It fails with ErrConflict when the question is no longer at
// c.Version, and with schema.ErrNoQuestion. When ctx ends first it returns
// ctx.Err(); the change may be committed all the same.
func (s *Store) Apply(ctx context.Context, c Change) error { return errTodo }
