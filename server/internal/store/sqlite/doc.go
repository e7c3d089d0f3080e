// Package sqlite is the engine that keeps one hub in a SQLite file.
//
// All writes go through one goroutine, the writer. It commits everything in its queue in
// one transaction (group commit). After the fsync it publishes the new log rows in order
// and releases the callers. So the effect of a method that returned nil is on disk, and
// readers of the log see changes in commit order. Reads use separate connections that
// cannot write.
//
// The tables and their statements are in package tables. This package has the file and what guards it: locks,
// the write-ahead log, disk space, faults, backup, rescue and the change of the hub's key.
package sqlite
