// Package kit holds what the storage engines share besides their tables: the state that an engine
// keeps in memory, the steps of reads and writes without their statements, encodings of columns, and
// records of the audit log. It uses no database.
package kit
