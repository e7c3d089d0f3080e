package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/hookback/hookback/schema"
)

// NewQuestion is the part of a question that the hub does not show to clients.
type NewQuestion struct {
	URL              string // callback address, secret; empty: the agent pulls
	ListenerKey      string
	Protocol         int       // 2: the listener acknowledges
	Deadline         time.Time // zero: never
	Text             string    // searchable text
	RequesterProcess []byte    // schema.Process of the requester, JSON; nil: unknown
	Requester        string    // authenticated name of the requester; empty: unknown
	Call             []byte    // hash that identifies the tool call; nil: none
	Lifeline         Lifeline
	DuplicateKey     []byte   // equal for duplicates; nil: never grouped
	Awaiting         []string // as in Change; nil: everyone
	Timers           Timers
	// SharedListener is equal for version 1 questions whose answers one listener can't distinguish
	// apart; nil: none. Append ends older pending questions with the same value, and the
	// delivery of their unsent answers, by applying the change that Supersede returns.
	// Supersede must not use the store.
	SharedListener []byte
	Supersede      func(older *Question, by schema.EventID) (*Change, error)

	// The hashes of the POST that asked decide whether a repeat is the same request. They are nil
	// for a question of an older hub, whose POST can't be repeated.
	BodyHash   []byte // of the whole body
	AskHash    []byte // of the question, without its secrets
	SecretHash []byte // schema.RequestSecretHash
	HasNonce   bool   // see schema.HumanInTheLoop.Nonce, which is not stored
}

// Timers are the times of a pending question's reminder and escalation; zero: none.
type Timers struct {
	Remind   time.Time // remind recipients who have not answered
	Escalate time.Time // address the question to more people
}

// next returns the earlier timer; zero if none is set.
func (t Timers) next() time.Time {
	if t.Remind.IsZero() || !t.Escalate.IsZero() && t.Escalate.Before(t.Remind) {
		return t.Escalate
	}
	return t.Remind
}

// Lifeline is the liveness signal of a question: the connection whose loss shows that
// the requester is gone and resolves the question.
type Lifeline int

// The liveness signals.
const (
	NoLifeline Lifeline = iota
	// ByListener: the listener at URL is gone.
	ByListener
	// ByRequest: the connection of the HTTP request that asked and waits for the answer
	// is closed.
	ByRequest
)

// Question is a question with all of its stored state.
type Question struct {
	Event
	NewQuestion
	Version    int64 // incremented by every change; the guard of Apply
	State      schema.State
	Answer     []byte      // schema.Answer without hookEvent; nil while pending
	UndoWindow *UndoWindow // nil: none
	Delivery   *Delivery   // nil while pending
	Receipt    []byte      // schema.Envelope, JSON; nil while pending, and if the hub that settled it signed nothing
	Proofs     []byte      // JSON array of schema.PasskeyProof; nil: none
}

// Seal returns the signed form of the answer as its agent gets it, or nil if the agent did
// not ask for one.
func (q *Question) Seal() []byte {
	if q.Protocol < 2 || !q.HasNonce {
		return nil
	}
	return q.Receipt
}

// UndoWindow is an answer that was given but can still be undone.
type UndoWindow struct {
	Answer []byte    // schema.Answer
	Until  time.Time // when the answer becomes final
}

const queryQuestion = `SELECT ` + eventColumns + fullPayload + `q.question, q.status,
	q.url, q.listener_key, q.protocol, q.deadline, q.text, q.asker, q.requester, q.body_hash, q.ask_hash, q.secret_hash, q.has_nonce, q.version, q.state, q.answer, q.held, q.held_until, q.remind_at, q.escalate_at, q.lifeline, q.receipt, q.proofs,
	d.answer_id, d.state, d.attempts, d.sent, d.due, d.until, d.leased, d.handled
	FROM questions q CROSS JOIN events e ON e.stream_id = q.stream_id AND e.seq = q.seq
	LEFT JOIN deliveries d ON d.stream_id = q.stream_id AND d.seq = q.seq
	WHERE q.stream_id = 1 AND q.seq = ?`

// Question returns a question with its full payload. It fails with schema.ErrNotFound if
// there is no such event, and with schema.ErrNoQuestion if the event has no question.
func (s *Store) Question(ctx context.Context, id schema.EventID) (*Question, error) {
	var r questionRow
	err := s.readers.get(ctx, r.dest(), queryQuestion, id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, s.explainNoQuestion(ctx, id)
	}
	if err != nil {
		return nil, err
	}
	return r.question(id, func(kind nameKind, id int64) (string, error) { return s.nameText(ctx, kind, id) })
}

// questionRow is a scanned row of queryQuestion.
type questionRow struct {
	event           eventRow
	q               Question
	delivery        deliveryRow
	deadline, until int64
	held            []byte
	timers          [2]int64
}

func (r *questionRow) dest() []any {
	dest := append(r.event.dest(), &r.q.URL, &r.q.ListenerKey, &r.q.Protocol, &r.deadline, &r.q.Text, &r.q.RequesterProcess, &r.q.Requester, &r.q.BodyHash, &r.q.AskHash, &r.q.SecretHash, &r.q.HasNonce, &r.q.Version, &r.q.State, &r.q.Answer, &r.held, &r.until, &r.timers[0], &r.timers[1], &r.q.Lifeline, &r.q.Receipt, &r.q.Proofs)
	return append(dest, r.delivery.dest()...)
}

// question converts the row and resolves its names with nameText.
func (r *questionRow) question(id schema.EventID, nameText func(nameKind, int64) (string, error)) (*Question, error) {
	e, err := r.event.build(nameText)
	if err != nil {
		return nil, err
	}
	q := &r.q
	q.Event, q.Deadline, q.Delivery = *e, fromMillis(r.deadline), r.delivery.toDelivery(id)
	q.Timers = Timers{Remind: fromMillis(r.timers[0]), Escalate: fromMillis(r.timers[1])}
	if r.until > 0 {
		q.UndoWindow = &UndoWindow{Answer: r.held, Until: fromMillis(r.until)}
	}
	return q, nil
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
