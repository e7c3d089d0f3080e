package store

import (
	"time"

	"github.com/hookback/hookback/schema"
)

// Event is a stored event, in the pieces its JSON is spliced from. The slices
// are shared and must not be changed.
type Event struct {
	ID         schema.EventID
	UID        string    // UUIDv7
	ReceivedAt time.Time // the hub's clock
	Timestamp  int64     // the agent's clock, Unix ms

	App, Session, Type, Tool string // copies of members of Envelope, for indexes

	// Envelope is every top-level member that is the client's own and not kept
	// apart: "source_app":"a","session_id":… without braces.
	Envelope []byte
	Payload  []byte // the payload object, as it was sent
	// PayloadBytes is set where a list left a payload of more than
	// schema.MaxListed bytes out: Payload is {} and this is its size.
	PayloadBytes int
	Question     []byte // humanInTheLoop without its secrets; nil: it asks nothing
	Status       []byte // humanInTheLoopStatus; nil: it asks nothing
}

// EventDraft is an event to append. ID is ignored.
type EventDraft struct {
	Event
	Chat        []byte       // a transcript, kept apart
	Key         string       // idempotency key
	NewQuestion *NewQuestion // with Event.Question and Event.Status
}

// NewQuestion is what the hub keeps to itself about a question.
type NewQuestion struct {
	URL              string // where to dial; empty: the agent pulls
	ListenerKey      string
	Protocol         int       // 2: the listener acknowledges
	Deadline         time.Time // zero: never
	Text             string    // what a search looks in
	RequesterProcess []byte    // schema.Process of the asking program, JSON; nil: not known
	Requester        string    // who asked, by their credentials; empty: not known
	Call             []byte    // a hash that tells the call apart that is asked about; nil: none
	Lifeline         Lifeline
	DuplicateKey     []byte   // tells what is asked apart from all else; nil: it stands alone
	Awaiting         []string // as in Change; nil: everyone
	Timers           Timers
}

// Timers are what is due for a pending question before its deadline; the zero time:
// nothing.
type Timers struct {
	Remind   time.Time // whoever has not answered
	Escalate time.Time // to more people
}

// next is the earlier one.
func (t Timers) next() time.Time {
	if t.Remind.IsZero() || !t.Escalate.IsZero() && t.Escalate.Before(t.Remind) {
		return t.Escalate
	}
	return t.Remind
}

// Lifeline is what tells that the asker of a question is gone, which ends it.
type Lifeline int

// The lifelines.
const (
	NoLifeline Lifeline = iota
	// ByListener: nobody listens at URL any more.
	ByListener
	// ByRequest: the question was asked by a request that waits for the answer, and
	// its connection is over.
	ByRequest
)

// Receipt says what became of a Draft.
type Receipt struct {
	Event    *Event // with its ID and, when Replayed, its present status
	Replayed bool   // the key was known: nothing was stored but the new address
}

// Question is a question with everything the hub knows of it.
type Question struct {
	Event
	NewQuestion
	Version    int64 // grows with every change; Apply is guarded by it
	State      schema.State
	Answer     []byte      // schema.Answer without hookEvent; nil while pending
	UndoWindow *UndoWindow // an answer that can still be undone; nil: none
	Delivery   *Delivery   // nil while pending
}

// UndoWindow is an answer that was given and does not count yet.
type UndoWindow struct {
	Answer []byte    // schema.Answer
	Until  time.Time // when it counts
}

// Listener is where the agent of a pending question waits for its answer.
type Listener struct {
	ID     schema.EventID // of the question
	URL    string         // secret
	Status []byte         // humanInTheLoopStatus
}

// Delivery is an answer on its way to an agent.
type Delivery struct {
	ID       schema.EventID // of the question
	AnswerID string         // UUIDv7, the same over all attempts
	State    schema.DeliveryState
	Attempts int
	// Sent is set before the first byte goes to a version 1 listener, and when
	// the agent took its question back. After that nothing is ever sent again.
	Sent   bool
	Due    time.Time // of the next attempt
	Until  time.Time // when to give up
	Leased time.Time // until then the lessee alone works on it
	// Handled is when a person took care of it: nothing is tried by itself any more.
	Handled time.Time
}

// Change is one guarded change of a question: all of it or nothing.
type Change struct {
	Event   *Event // the question's event as read; carries the ID
	Version int64  // guard: the question is still at this version
	State   schema.State
	Status  []byte // the new humanInTheLoopStatus
	Answer  []byte // nil leaves it as it is
	// Delivery is stored as the question's delivery; nil leaves it as it is.
	Delivery *Delivery
	// Deadline is the question's new one; zero leaves it as it is. Unlimited takes it away.
	Deadline   time.Time
	NoDeadline bool
	// UndoWindow is the question's new one; nil leaves it as it is, an empty one takes it away.
	UndoWindow *UndoWindow
	// Awaiting is whom the question waits for; nil leaves it as it is. Everyone is one
	// empty name.
	Awaiting []string
	// Timers are the question's new ones; nil leaves them as they are.
	Timers *Timers
	// Duplicates are the ends of the questions that ask the same and are answered with it.
	Duplicates []Change
	// Rule is the rule that decided, which is counted with it; 0: none did.
	Rule int64
	// Ends marks the change that takes the question out of pending.
	Ends bool
	// Ledger is what the ledger is to tell of it, in the same transaction.
	Ledger []LedgerRecord
}

// LogRow is one committed entry of the hub's log, numbered without holes.
type LogRow struct {
	Seq   int64
	Event *Event // whole for a new event and for the end of a question; else ID and Status
	// Change is set for a change of a question, unset for a new event.
	Change bool
	Ends   bool // this change is the question's end
}

// Filter selects events. Zero values select everything.
type Filter struct {
	App, Session, Type, Tool string
	Status                   string // pending, responded, timeout, error, undelivered
	Text                     string
	From, To                 time.Time // ReceivedAt, To exclusive
	Before, After            schema.EventID
	Limit                    int
	Oldest                   bool // the oldest Limit matches rather than the newest; After implies it
}
