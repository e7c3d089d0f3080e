// Package sqlite is the engine that keeps one hub in a SQLite file.
//
// All writes go through one goroutine, the writer. It commits everything in its queue in
// one transaction (group commit). After the fsync it publishes the new log rows in order
// and releases the callers. So the effect of a method that returned nil is on disk, and
// readers of the log see changes in commit order. Reads use separate connections that
// cannot write.
//
// Besides the log the database holds the outbox (outbox.go), projections computed from
// the log (projections.go), a trigram index for text search (trigram_index.go), the
// inbox index (inbox.go), the hash-chained audit log (ledger.go), rules, notifications
// and accounts.
package sqlite
