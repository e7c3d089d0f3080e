// Package postgres is the engine that keeps a hub in a PostgreSQL database.
//
// All writes go through one goroutine, the writer, which sends everything in its queue as one
// pipelined transaction (group commit). Statements are collected and sent together with the commit,
// or before the first read that depends on them, so a group without such a read is one network
// exchange. Decisions are made in Go and committed with guards: the function expect raises HB001 if
// a row is not as it was read. Then the group is rolled back and its writes run one by one, so that
// only the loser fails. After the commit the writer publishes the new log rows in order and
// releases the callers. Reads use a pool of other connections.
//
// The hub holds an advisory lock on its writer's connection: a second hub on the same database is
// refused.
package postgres
