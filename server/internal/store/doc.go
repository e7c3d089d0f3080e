// Package store defines the stored data of a hub: its log, questions, outbox, rules, accounts,
// notifications and audit log. It holds the types, the errors and the interfaces. The
// engines in the packages below implement Store: store/sqlite keeps one hub in a file,
// store/postgres one or several hubs in a database.
//
// Every committed change is one row of the log, numbered 1, 2, 3 … without gaps: an
// event (its number is its ID) or a change of a question.
//
// # Another engine
//
// Implement Store in a package store/NAME. The methods state the contract. These parts hold
// for all of them:
//
//   - A method that returned nil is durable, and its rows were published, in the order of
//     their numbers. A failed write uses no number and publishes nothing.
//   - Apply and ApplyProjection are compare-and-swap. Everything that a method writes,
//     including records of the audit log, is one transaction.
//   - Lists omit payloads above schema.MaxListed bytes and end at MaxPageBytes.
//   - Writes fail with schema.ErrBusy if too many wait, with schema.ErrFull without space
//     (questions, answers and accounts last), with schema.ErrStorage while the disk takes no
//     write, and with schema.ErrStopping after Close.
//   - Secrets of channels and Web Push are encrypted with the key that Identity returns.
//
// Package tables implements the roles of Store, the queue of writes, faults and migrations. An engine implements
// tables.Engine for reads and tables.Tx for its transactions, and commits the groups that the queue gives it.
// Package grams is the search index without its tables: use it, or search without an index and return
// nil from RunIndexer when its context ends.
//
// The engine passes the suite of server/internal/storetest/conformance as a whole:
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, conformance.Engine{NewDatabase: newDatabase})
//	}
//
// Run it with go test -race -run Conformance ./server/internal/store/NAME. Then let
// storetest.Open return the engine, and run the tests of the packages above.
//
// The file database.go of app opens the engine by the value of -db. The
// subcommands backup, check, verify and key work on a file without a hub, so they are
// functions of the engine (sqlite.Backup, Check, CheckLedger, ChangeKey) and no methods of
// Store. Another engine has its own, or refuses the subcommand.
// A table or column that is new in both engines is copied by postgres.Copy; one that is not is named in
// the test TestCopy_KnowsAllTables.
package store

import "errors"

// Store is a database as one hub has it open. Its methods are safe for concurrent use.
//
// A consumer asks for the roles that it uses.
type Store interface {
	Log
	Questions
	Deliveries
	Rules
	Accounts
	Notifications
	Chats
	History
	Projections
	Ratings
	Ledger
	Directives
	Messages
	Freezes
	Alerts
	Documents
	Coverage
	Shares
	Members
	Flows
	Admin
}

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
