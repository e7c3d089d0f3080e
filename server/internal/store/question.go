package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/hookback/hookback/schema"
)

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

const queryQuestion = `SELECT ` + eventColumns + fullPayload + `q.question, q.status,
	q.url, q.listener_key, q.protocol, q.deadline, q.text, q.asker, q.requester, q.version, q.state, q.answer, q.held, q.held_until, q.remind_at, q.escalate_at, q.lifeline,
	d.answer_id, d.state, d.attempts, d.sent, d.due, d.until, d.leased, d.handled
	FROM questions q CROSS JOIN events e ON e.stream_id = q.stream_id AND e.seq = q.seq
	LEFT JOIN deliveries d ON d.stream_id = q.stream_id AND d.seq = q.seq
	WHERE q.stream_id = 1 AND q.seq = ?`

// Question returns a question, its payload whole: schema.ErrNotFound when there
// is no such event, schema.ErrNoQuestion when it asks nothing.
func (s *Store) Question(ctx context.Context, id schema.EventID) (*Question, error) {
	var (
		r        eventRow
		q        Question
		d        deliveryRow
		deadline int64
		held     []byte
		until    int64
		timers   [2]int64
	)
	into := append(r.dest(), &q.URL, &q.ListenerKey, &q.Protocol, &deadline, &q.Text, &q.RequesterProcess, &q.Requester, &q.Version, &q.State, &q.Answer, &held, &until, &timers[0], &timers[1], &q.Lifeline)
	err := s.readers.get(ctx, append(into, d.dest()...), queryQuestion, id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, s.explainNoQuestion(ctx, id)
	}
	if err != nil {
		return nil, err
	}
	e, err := s.buildEvent(ctx, &r)
	if err != nil {
		return nil, err
	}
	q.Event, q.Deadline, q.Delivery = *e, fromMillis(deadline), d.toDelivery(id)
	q.Timers = Timers{Remind: fromMillis(timers[0]), Escalate: fromMillis(timers[1])}
	if until > 0 {
		q.UndoWindow = &UndoWindow{Answer: held, Until: fromMillis(until)}
	}
	return &q, nil
}

const queryIsEvent = `SELECT 1 FROM events WHERE stream_id = 1 AND seq = ?`

func (s *Store) explainNoQuestion(ctx context.Context, id schema.EventID) error {
	var found int
	err := s.readers.get(ctx, []any{&found}, queryIsEvent, id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return schema.ErrNotFound
	case err != nil:
		return err
	default:
		return schema.ErrNoQuestion
	}
}
