// Package bus carries doorbells between the hubs of one database. A doorbell has the number of the
// newest commit of the hub that rings, so that the others read the database now and not at their next
// poll. It carries no data and gives no rights: if every one is lost, hubs are only later.
package bus

import "strconv"

// Bus carries doorbells between hubs. It may lose, repeat and reorder them, and others may forge
// them.
type Bus interface {
	// Ring notifies the other hubs of a commit, by its number. It never blocks. Rings within a
	// short time become one, the newest; a ring that can't be sent is dropped and counted.
	Ring(commit int64)
	// Rings returns the numbers of commits that other hubs rang, each above 0. If no one reads them, the
	// oldest are dropped. The channel stays open when the bus is closed.
	Rings() <-chan int64
	Link
}

// Link is the connection of a bus.
type Link interface {
	// Up reports whether rings currently get through, as far as this hub can tell.
	Up() bool
	// Stats returns the counts since the bus was opened.
	Stats() Stats
	// Close disconnects. Rings after it are dropped. The second call does nothing.
	Close() error
}

// Stats counts rings.
type Stats struct {
	Sent     int64 // messages sent; several rings can be one
	Received int64 // messages received that name a commit
	Dropped  int64 // messages that could not be sent, and received ones that no one read in time
}

// Encode returns the message that names a commit.
func Encode(commit int64) string { return strconv.FormatInt(commit, 10) }

// maxMessage is the length of the longest message that Encode returns.
const maxMessage = 19

// Decode returns the commit that a message names. Anyone may have written the message.
func Decode(message string) (commit int64, ok bool) {
	if len(message) > maxMessage {
		return 0, false
	}
	commit, err := strconv.ParseInt(message, 10, 64)
	return commit, err == nil && commit > 0
}
