// Package postgres is the engine that keeps one or several hubs in a PostgreSQL database.
//
// All writes of a hub go through one goroutine, the writer, which sends everything in its queue as one
// pipelined transaction (group commit). Statements are collected and sent together with the commit,
// or before the first read that depends on them, so a group without such a read is one network
// exchange. Decisions are made in Go and committed with guards: the function expect raises HB001 if
// a row is not as it was read. Then the group is rolled back and its writes run one by one, so that
// only the loser fails. After the commit the writer publishes the new log rows in order and
// releases the callers. Reads use a pool of other connections.
//
// Hubs commit in turn. The first statement of a commit increments the number of commits, guarded by
// the number that the hub has read. If another hub has committed, the writer locks the counter row,
// reads the changes of the others and runs the same operations again. Rows of other hubs are published
// before its own, so every hub publishes the whole log in order. A ring of the bus, or a poll, makes an
// idle hub read them (follower.go). Each hub holds a shared advisory lock on its writer's connection. A
// hub that gets the exclusive lock when it starts is the first one, and begins an epoch.
package postgres
