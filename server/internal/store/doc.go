// Package store keeps the hub's log, questions and outbox in one SQLite file. It is the
// only package with SQL.
//
// All writes go through one goroutine, the writer. It commits everything in its queue in
// one transaction (group commit). After the fsync it publishes the new log rows in order
// and releases the callers. So the effect of a method that returned nil is on disk, and
// readers of the log see changes in commit order. Reads use separate connections that
// cannot write.
//
// Every committed change is one row of the log, numbered 1, 2, 3 … without gaps: an
// event (its number is its ID) or a change of a question.
//
// Besides the log the database holds the outbox (outbox.go), projections computed from
// the log (projections.go), a trigram index for text search (trigram_index.go), the
// inbox index (inbox.go), the hash-chained audit log (ledger.go), rules, notifications
// and accounts.
package store
