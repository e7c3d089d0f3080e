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

// isGrouped reports whether a status may belong to a member of a group. It is a cheap test
// before a query.
func isGrouped(status []byte) bool {
	return bytes.Contains(status, []byte(`"waiters":`)) || bytes.Contains(status, []byte(`"sameAs":`))
}

// inboxStatus returns the status in the inbox of a question that c settles.
func inboxStatus(c *store.Change) (inbox.HitlStatus, error) {
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

// changeLogRow returns the log row of a change. A resolution carries the whole event,
// because version 1 pages expect the event again.
func changeLogRow(seq int64, e *store.Event, status []byte, ends bool) store.LogRow {
	row := store.LogRow{Seq: seq, Event: &store.Event{ID: e.ID, Status: status}, Change: true, Ends: ends}
	if ends {
		full := *e
		full.Status = status
		row.Event = &full
	}
	return row
}

// hashKey returns the 16 bytes of an idempotency key's hash that the index stores.
func hashKey(key string) []byte {
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

// callbackRetryWindow is the minimum time for retries at a new callback address.
const callbackRetryWindow = time.Minute

// Everyone is the recipient of a question that any approver may answer.
const Everyone = ""

// isTestApp reports whether an application is the one of test requests.
func isTestApp(name string) bool { return name == schema.TestApp }

// receivedAt returns the Unix milliseconds at which an event counts as received. last is the time of
// its predecessor.
func receivedAt(at time.Time, last int64) int64 {
	if ms := at.UnixMilli(); ms >= last || last-ms >= maxClockBackstep.Milliseconds() {
		return ms
	}
	return last
}

// changedColumns returns the columns deadline, held, held_until, remind_at, escalate_at, next_at and
// addressed of a question after a change. A value that the change keeps is nil.
func changedColumns(c *store.Change) []any {
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
