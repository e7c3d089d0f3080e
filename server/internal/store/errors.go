package store

import "errors"

// Errors of this package. It also returns ErrNotFound, ErrNoQuestion, ErrBusy, ErrFull,
// ErrStorage and ErrStopping of package schema.
var (
	// ErrConflict is returned by Apply if the question has changed since it was read.
	// Read it again and decide again.
	ErrConflict = errors.New("the question was changed concurrently")
	// ErrPeopleChanged is returned by ChangePeople if the accounts have changed since they were read.
	ErrPeopleChanged = errors.New("the accounts were changed concurrently")
	// ErrLogRewound is returned by After for a number that was never assigned: the
	// database is older than the reader's cursor.
	ErrLogRewound = errors.New("the log ends before that position: the database is older")
	// ErrPruned is returned by After if retention removed rows after the cursor.
	ErrPruned = errors.New("the log was pruned after that position")
	// ErrPolicyChanged is returned by Apply for a decision if another hub has changed accounts, rules or
	// settings that this one has not read yet. The caller may no longer be allowed to decide.
	ErrPolicyChanged = errors.New("accounts, rules or settings were changed by another hub")
	// ErrLocked is returned by an engine that opens a database if another hub has the database open.
	ErrLocked = errors.New("another hub has this database open")
)
