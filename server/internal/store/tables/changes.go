package tables

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/server/internal/store"
)

// IsGrouped reports whether a status may belong to a member of a group. It is a cheap test
// before a query.
func IsGrouped(status []byte) bool {
	return bytes.Contains(status, []byte(`"waiters":`)) || bytes.Contains(status, []byte(`"sameAs":`))
}

// InboxStatus returns the status in the inbox of a question that c settles.
func InboxStatus(c *store.Change) (inbox.HitlStatus, error) {
	st := schema.Status{Status: c.State}
	if c.State == schema.Failed { // only its outcome shows whether people decided it
		var outcome struct {
			Outcome schema.Outcome `json:"outcome"`
		}
		if err := json.Unmarshal(c.Status, &outcome); err != nil {
			return "", err
		}
		st.Outcome = outcome.Outcome
	}
	return inbox.StatusOf(&st), nil
}

// ChangeLogRow returns the log row of a change. A resolution carries the whole event,
// because version 1 pages expect the event again.
func ChangeLogRow(seq int64, e *store.Event, status []byte, ends bool) store.LogRow {
	row := store.LogRow{Seq: seq, Event: &store.Event{ID: e.ID, Status: status}, Change: true, Ends: ends}
	if ends {
		full := *e
		full.Status = status
		row.Event = &full
	}
	return row
}

// HashKey returns the 16 bytes of an idempotency key's hash that the index stores.
func HashKey(key string) []byte {
	if key == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(key))
	return sum[:16]
}

// maxClockBackstep is the largest clock step back for which events keep the time of
// their predecessor. After a larger step the old clock was wrong, and the new time is
// accepted as is.
const maxClockBackstep = time.Hour

// CallbackRetryWindow is the minimum time for retries at a new callback address.
const CallbackRetryWindow = time.Minute

// Everyone is the recipient of a question that any approver may answer.
const Everyone = ""

// IsTestApp reports whether an application is the one of test requests.
func IsTestApp(name string) bool { return name == schema.TestApp }

// ReceivedAt returns the Unix milliseconds at which an event counts as received. last is the time of
// its predecessor.
func ReceivedAt(at time.Time, last int64) int64 {
	if ms := at.UnixMilli(); ms >= last || last-ms >= maxClockBackstep.Milliseconds() {
		return ms
	}
	return last
}

// ChangedColumns returns the columns deadline, held, held_until, remind_at, escalate_at, next_at and
// addressed of a question after a change. A value that the change keeps is nil.
func ChangedColumns(c *store.Change) []any {
	columns := make([]any, 7)
	if !c.Deadline.IsZero() || c.NoDeadline {
		columns[0] = Millis(c.Deadline)
	}
	if window := c.UndoWindow; window != nil {
		columns[1], columns[2] = Nullable(window.Answer), Millis(window.Until)
	}
	if timers := c.Timers; timers != nil {
		columns[3], columns[4], columns[5] = Millis(timers.Remind), Millis(timers.Escalate), Millis(timers.Next())
	}
	if c.Awaiting != nil {
		columns[6] = !slices.Contains(c.Awaiting, Everyone)
	}
	return columns
}
