package store

import (
	"strconv"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/filter"
)

// MaxPageBytes bounds the size of a list of events, so that no request reads a database
// of big events into memory.
const MaxPageBytes = 16 << 20

// Event is a stored event, split into the pieces that its JSON is spliced from. The
// slices are shared and must not be modified.
type Event struct {
	ID         schema.EventID
	UID        string    // UUIDv7
	ReceivedAt time.Time // the hub's clock
	Timestamp  int64     // the agent's clock, Unix ms

	App, Session, Type, Tool string // copies of members of Envelope, for indexes

	// Envelope holds the client's top-level members that are not stored separately:
	// "source_app":"a","session_id":… without braces.
	Envelope []byte
	Payload  []byte // the payload object as sent
	// PayloadBytes is the payload's size if a list omitted it, which it does above
	// schema.MaxListed bytes. Payload is {} then.
	PayloadBytes int
	Question     []byte // humanInTheLoop without its secrets; nil: no question
	Status       []byte // humanInTheLoopStatus; nil: no question
	// QuestionTruncated marks a question that a list with summaries shortened.
	QuestionTruncated bool
}

// AppendJSON appends the event as JSON to dst. It splices the stored pieces without
// decoding or encoding the client's JSON. A payload of more than limit bytes is omitted
// and marked; a negative limit keeps any payload.
func (e *Event) AppendJSON(dst []byte, limit int) []byte {
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, int64(e.ID), 10)
	dst = append(dst, `,"uid":"`...)
	dst = append(dst, e.UID...)
	dst = append(dst, `","timestamp":`...)
	dst = strconv.AppendInt(dst, e.Timestamp, 10)
	if len(e.Envelope) > 0 {
		dst = append(dst, ',')
		dst = append(dst, e.Envelope...)
	}
	dst = append(dst, `,"payload":`...)
	if size := max(len(e.Payload), e.PayloadBytes); e.PayloadBytes > 0 || limit >= 0 && size > limit {
		dst = append(dst, `{},"payloadTruncated":true,"payloadBytes":`...)
		dst = strconv.AppendInt(dst, int64(size), 10)
	} else {
		dst = append(dst, e.Payload...)
	}
	if e.Question != nil {
		dst = append(dst, `,"humanInTheLoop":`...)
		dst = append(dst, e.Question...)
		if e.QuestionTruncated {
			dst = append(dst, `,"questionTruncated":true`...)
		}
		dst = append(dst, `,"humanInTheLoopStatus":`...)
		dst = append(dst, e.Status...)
	}
	return append(dst, '}')
}

// FilterEvent returns the event as a filter reads it.
func (e *Event) FilterEvent() *filter.Event {
	return &filter.Event{
		ID: int64(e.ID), App: e.App, Session: e.Session, Type: e.Type, Tool: e.Tool,
		Envelope: e.Envelope, Payload: e.Payload, Question: e.Question, Status: e.Status,
	}
}

// SessionKey identifies a session.
type SessionKey struct{ App, Session string }
