package store

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/sessions/digest"
)

// Log is the numbered sequence of committed changes.
type Log interface {
	// Append stores an event and returns once it is committed and published. If d's key is
	// known, Append returns the first event with that key instead and stores d's address and
	// listener key for the question. An answer in the outbox becomes due immediately, unless
	// a version 1 listener may have received it already.
	//
	// The receipt holds the final ReceivedAt: d's, or the hub's clock if d has none. It
	// never decreases from one event to the next, except when the clock was wrong by more
	// than an hour.
	//
	// Errors: schema.ErrKeyConflict if the key belongs to a different question or one of them
	// is a plain event, schema.ErrBusy if the write queue is full, schema.ErrFull if the disk is
	// nearly full and d has no question, and schema.ErrStopping. If ctx ends while d is
	// queued, Append returns ctx.Err() and nothing is stored. Once the writer has taken d,
	// Append waits for the commit, so the caller owns d's bytes again when it returns.
	//
	// While the projections or the search index are far behind, events without a question wait
	// up to a second before they are queued.
	Append(ctx context.Context, d *EventDraft) (Receipt, error)

	// AppendAll appends several events. They keep their order and share commits where
	// possible. Each draft has its own result: a failed one does not stop the others.
	AppendAll(ctx context.Context, drafts []*EventDraft) []Result

	// HasKey reports whether an event with this idempotency key is stored.
	HasKey(ctx context.Context, key string) (bool, error)

	// Head returns the last assigned sequence number; 0: none.
	Head() int64

	// Pruned returns the newest row that retention removed; 0: none. All rows after it are stored.
	Pruned() int64

	// After returns the log after seq, in order and exactly as published, except that
	// payloads of more than schema.MaxListed bytes and Kinds are omitted. It returns up to limit rows,
	// fewer if they are big, and none only at the end of the log. It fails with ErrLogRewound
	// if seq is greater than Head, and with ErrPruned if rows after seq were removed.
	After(ctx context.Context, seq int64, limit int) ([]LogRow, error)

	// LogEntries reads the log after seq, up to which the reader has finished it. upTo is the position that
	// the entries reach: at most seq+limit, less if events are big, and seq at the end of the log. Unlike
	// After it skips pruned rows.
	LogEntries(ctx context.Context, reader LogReader, seq int64, limit int) (entries []LogEntry, upTo int64, err error)

	// Event returns an event with its full payload, and its transcript or nil. It fails
	// with schema.ErrNotFound.
	Event(ctx context.Context, id schema.EventID) (*Event, []byte, error)

	// SetPublish sets the function that receives all committed rows in commit order. It runs
	// before the writer's caller is released, so it must be quick and must not write. Call
	// SetPublish before the first write.
	SetPublish(publish func([]LogRow))
}

// LogReader is a reader of LogEntries.
type LogReader int

// The readers.
const (
	ProjectionReader LogReader = iota
	RatingReader
	IndexReader // of the store itself
)

// Lag is how far a background reader of the log is behind.
type Lag struct {
	Rows int64
	Time time.Duration // since the first of the rows was committed, or since the hub started
}

// EventDraft is an event to append. Its ID is ignored.
type EventDraft struct {
	Event
	Transcript     []byte       // transcript, stored in its own table
	IdempotencyKey string       // idempotency key; empty: none
	NewQuestion    *NewQuestion // set together with Event.Question and Event.Status
	// Directive asks for a directive. Nil: the poster applies none.
	Directive *DirectiveRequest
	// Messages is the effect of the event on the messages to its session; nil: none.
	Messages *MessageStep
}

// Receipt is the result of appending an EventDraft.
type Receipt struct {
	Event    *Event // with its ID and, if Replayed, its current status
	Replayed bool   // the key was known: only the new callback address was stored
	// Directive is for the poster to apply; nil: nothing, or it asked for none.
	Directive *control.Directive
}

// Result is the outcome for one draft of AppendAll.
type Result struct {
	Receipt Receipt
	Err     error
}

// LogRow is one committed row of the log. Rows are numbered without gaps.
type LogRow struct {
	Seq   int64
	Event *Event // complete for a new event and for a resolution; otherwise only ID and Status
	// Change is true for a change of a question and false for a new event.
	Change bool
	Ends   bool // the change is the question's resolution
	// HasTranscript is true for a new event with a transcript. Only published rows have it.
	HasTranscript bool
	// Foreign is true if another hub committed the row. Only published rows have it.
	Foreign bool
	// Kinds are what followers of the log need to know: see Change.Kinds and NewQuestion.Kinds.
	// Only published rows have them.
	Kinds feed.Kinds
}

// Kinds returns the kinds of the fact that the change was stored.
func (c *Change) Kinds() feed.Kinds {
	kinds := feed.Changed
	if !c.Deadline.IsZero() || c.NoDeadline {
		kinds |= feed.Deadline
	}
	if c.Grant != nil && len(c.Grant.By) > 0 {
		kinds |= feed.Deadline // of the grant
	}
	if c.UndoWindow != nil {
		kinds |= feed.Undo
	}
	if d := c.Delivery; d != nil && !d.Due.IsZero() {
		if d.Leased.IsZero() {
			kinds |= feed.Due
		} else if d.State == schema.Queued {
			kinds |= feed.Leased
		}
	}
	return kinds
}

// Kinds returns the kinds of the fact that an event with the question was stored; without a
// question, which is nil, there are none.
func (q *NewQuestion) Kinds() feed.Kinds {
	switch {
	case q == nil:
		return 0
	case q.Lifeline == ByListener:
		return feed.NewQuestion | feed.Liveness
	default:
		return feed.NewQuestion
	}
}

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

// EnvelopeObject returns Envelope as a JSON object.
func (e *Event) EnvelopeObject() []byte { return slices.Concat([]byte("{"), e.Envelope, []byte("}")) }

// Facts returns the facts of the event, with those of its transcript, which is nil for those without it.
func (e *Event) Facts(transcript []byte) *digest.EventFacts {
	return digest.Parse(&digest.Event{
		ID: e.ID, At: e.ReceivedAt.UnixMilli(), App: e.App, Session: e.Session, Type: e.Type, Tool: e.Tool,
		Envelope: e.Envelope, Payload: e.Payload, Question: e.Question, Transcript: transcript,
	})
}

// SessionKey identifies a session.
type SessionKey struct{ App, Session string }
