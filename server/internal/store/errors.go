package store

import "errors"

// Errors of this package, beside those of package schema that it returns:
// ErrNotFound, ErrNoQuestion, ErrBusy, ErrFull and ErrStopping.
var (
	// ErrConflict is returned by Apply when the question has changed since it
	// was read. Read it again and decide again.
	ErrConflict = errors.New("the question has changed meanwhile")
	// ErrLogRewound is returned by After for a number that was never given out:
	// the database is older than the reader's cursor.
	ErrLogRewound = errors.New("the log does not reach that far: the database is an older one")
	// ErrPruned is returned by After when rows behind the cursor were removed by
	// retention.
	ErrPruned = errors.New("the log has been pruned behind that point")
	// ErrLocked is returned by Open when another hub has the database.
	ErrLocked = errors.New("another hub has this database open")
)
