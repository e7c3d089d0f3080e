// Package store keeps the hub's log, its questions and their deliveries in one
// SQLite file. It is the only place with SQL.
//
// Everything that changes goes through one goroutine, which commits whatever has
// queued in one transaction (group commit) and, once that is fsynced, publishes
// the new rows in their order and lets the callers go. So a method that returned
// nil has its effect on disk, and readers of the log see changes in the order in
// which they were committed. Reads run on connections of their own, which can't
// write.
//
// Every committed change is one row of the log, numbered 1, 2, 3 … without holes:
// an event (its number is its id) or a change of a question.
package store
