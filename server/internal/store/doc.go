// Package store defines what the hub keeps: its log, questions, outbox, rules, accounts,
// notifications and audit log. It holds the types, the errors and the interfaces; an
// engine in a package below, such as sqlite, implements Store.
//
// Every committed change is one row of the log, numbered 1, 2, 3 … without gaps: an
// event (its number is its ID) or a change of a question. The effect of a method that
// returned nil is durable, and readers of the log see changes in commit order.
package store

// Store is an open database of one hub. Its methods are safe for concurrent use.
//
// A consumer asks for the roles that it uses.
type Store interface {
	Log
	Questions
	Deliveries
	Rules
	Accounts
	Notifications
	History
	Projections
	Ledger
	Admin
}
