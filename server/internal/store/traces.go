package store

import "context"

// Traces holds how far the turns of the log were sent as traces.
type Traces interface {
	// TraceCursor returns the stored cursor. isSet is false if there is none.
	TraceCursor(ctx context.Context) (cursor TraceCursor, isSet bool, err error)

	// SetTraceCursor replaces the cursor.
	SetTraceCursor(ctx context.Context, cursor TraceCursor) error
}

// TraceCursor is how far turns were sent: all turns that ended up to Sent. The turns that were open then
// began after Resume.
type TraceCursor struct{ Sent, Resume int64 }
