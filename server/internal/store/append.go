package store

import "context"

// Append stores an event and returns once it is committed and published. A Key
// that is known returns the first event instead and keeps d's address and
// listener key as the question's new ones; an answer on its way there is due now,
// unless a version 1 listener may have it already.
//
// It fails with schema.ErrBusy when too much is queued, and with schema.ErrFull
// when the disk is nearly full and d asks nothing. When ctx ends first it returns
// ctx.Err(); the event may be committed all the same.
func (s *Store) Append(ctx context.Context, d *Draft) (Receipt, error) { return Receipt{}, errTodo }
