package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"time"

	"github.com/google/uuid"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/peer"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// lease is how long a new delivery is ours before anyone else may take it.
	lease = 30 * time.Second
	// grace is how long after its deadline a question's answer is still tried:
	// the agent's own clock may be behind.
	grace = 60 * time.Second
	// foreverTries is how long an answer to a question without deadline is tried.
	foreverTries = 24 * time.Hour
	// maxAnswer leaves room in a frame to the agent for what it tells answers apart by.
	maxAnswer = schema.MaxFrame - 64<<10
	// maxRaces bounds the retries of a change that others were faster with.
	maxRaces = 16
)

// asking is a question as read, decoded for a decision.
type asking struct {
	*store.Question
	hitl    schema.HumanInTheLoop
	status  schema.Status
	blocked error // why its address may not be dialled
}

func (h *Hub) read(ctx context.Context, id schema.EventID) (*asking, error) {
	q, err := h.Store.Question(ctx, id)
	if err != nil {
		return nil, err
	}
	a := &asking{Question: q}
	if err := json.Unmarshal(q.Event.Question, &a.hitl); err != nil {
		return nil, fmt.Errorf("reading stored question %d: %w", id, err)
	}
	if err := json.Unmarshal(q.Status, &a.status); err != nil {
		return nil, fmt.Errorf("reading stored status of %d: %w", id, err)
	}
	if a.URL != "" {
		a.blocked = h.Blocked(a.URL)
	}
	return a, nil
}

// ending is how a question is to end.
type ending struct {
	state   schema.State
	outcome schema.Outcome
	source  schema.EndedBy
	reason  string
	by      *schema.Responder
	answer  schema.Answer // the fields of a person's answer; empty otherwise
	silent  bool          // the agent is told nothing: it took the question back
}

// settle ends a question. decide is a pure function from the question as read to
// its end; it is asked again whenever somebody else changed the question first.
func (h *Hub) settle(ctx context.Context, id schema.EventID, decide func(*asking) (*ending, error)) (*store.Event, error) {
	for range maxRaces {
		a, err := h.read(ctx, id)
		if err != nil {
			return nil, err
		}
		end, err := decide(a)
		if err != nil {
			return nil, err
		}
		if end == nil { // already just so
			return &a.Event, nil
		}
		change, err := end.change(a, h.Clock())
		if err != nil {
			return nil, err
		}
		err = h.Store.Apply(ctx, change)
		if errors.Is(err, store.ErrConflict) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if d := change.Delivery; d != nil && d.State == schema.Queued {
			h.Dispatch(id)
		}
		done := a.Event
		done.Status = change.Status
		return &done, nil
	}
	return nil, fmt.Errorf("%w: question %d changes too fast", schema.ErrBusy, id)
}

// change is the row change that ends question a.
func (e *ending) change(a *asking, now time.Time) (store.Change, error) {
	answerID, err := uuid.NewV7()
	if err != nil {
		return store.Change{}, fmt.Errorf("making an answer id: %w", err)
	}
	answer := e.answer
	answer.RespondedAt, answer.RespondedBy = schema.Millis(now.UnixMilli()), e.by
	answer.Outcome, answer.Source, answer.Reason = e.outcome, e.source, e.reason
	answer.AnswerID = answerID.String()
	if a.hitl.Type == schema.Permission && answer.Permission == nil {
		no := false
		answer.Permission = &no
	}
	answer.Guidance = guidance(&a.hitl, &answer)

	delivery := e.delivery(a, answer.AnswerID, now)
	st := a.status
	st.Status, st.Outcome, st.Source = e.state, e.outcome, e.source
	st.Reason, st.RespondedBy, st.RespondedAt = e.reason, e.by, answer.RespondedAt
	st.Revision = a.Version + 1
	shown := answer
	shown.RespondedBy = nil // stands beside it
	st.Response = &shown
	st.Delivery = &schema.Delivery{State: delivery.State, LastError: blockedWhy(a, delivery)}

	c := store.Change{Event: &a.Event, Version: a.Version, State: e.state, Delivery: delivery, Ends: true}
	if c.Answer, err = json.Marshal(answer); err != nil {
		return store.Change{}, fmt.Errorf("encoding the answer: %w", err)
	}
	if len(c.Answer) > maxAnswer {
		return store.Change{}, &schema.FieldError{Detail: fmt.Sprintf("is too long: an answer may have %d bytes in all", maxAnswer), Cause: schema.ErrWrongAnswer}
	}
	if c.Status, err = json.Marshal(st); err != nil {
		return store.Change{}, fmt.Errorf("encoding the status: %w", err)
	}
	return c, nil
}

func (e *ending) delivery(a *asking, answerID string, now time.Time) *store.Delivery {
	d := &store.Delivery{ID: a.ID, AnswerID: answerID, State: schema.Queued, Due: now, Leased: now.Add(lease)}
	d.Until = now.Add(foreverTries)
	if !a.Deadline.IsZero() {
		d.Until = a.Deadline.Add(grace)
		if late := now.Add(grace); late.After(d.Until) { // the hub was down at the deadline
			d.Until = late
		}
	}
	switch {
	case e.silent || a.URL == "":
		d.State = schema.NoDelivery
	case a.blocked != nil:
		d.State = schema.Blocked
	}
	d.Sent = e.silent // not even to an address that a repeat names
	return d
}

func blockedWhy(a *asking, d *store.Delivery) string {
	if d.State != schema.Blocked {
		return ""
	}
	return a.blocked.Error()
}

// guidance is one sentence that tells a model what the answer means.
func guidance(q *schema.HumanInTheLoop, a *schema.Answer) string {
	because := ""
	if a.Reason != "" {
		because = " The reason given: " + a.Reason
	}
	switch {
	case a.Outcome == schema.Timeout:
		return "Nobody answered in time. This is not a refusal, and nothing was approved: do not go ahead with it, and say that you could not get an answer."
	case a.Source == schema.BySessionEnd:
		return "The session ended before anyone answered. Nothing was approved."
	case a.Outcome == schema.Cancelled:
		return "A person cancelled the question without answering it. Nothing was approved: do not go ahead with it." + because
	case a.Outcome == schema.Withdrawn:
		return "The question was taken back. Nothing was approved."
	case q.Type != schema.Permission:
		return "A person answered your question." + because
	case a.Outcome == schema.Deny:
		return "A person refused this. Nothing was run: do not try to reach the same end another way." + because
	case a.ModifiedArguments != nil:
		return "A person approved this with changed arguments. Run it with the arguments in modifiedArguments, not with your own." + because
	default:
		return "A person approved exactly this." + because
	}
}

// over is the error for a question that has its end already.
func (a *asking) over() error {
	err := schema.ErrDecided
	if a.status.Status != schema.Responded {
		err = schema.ErrExpired
	}
	return &schema.StatusError{Err: err, Status: a.status}
}

// Respond stores a person's answer. The first one wins: the same answer again
// returns the event as it is, another one is schema.ErrDecided with the status.
func (h *Hub) Respond(ctx context.Context, id schema.EventID, r *schema.Response, by Caller) ([]byte, error) {
	process := h.process(by)
	event, err := h.settle(ctx, id, func(a *asking) (*ending, error) {
		return a.respond(r, responder(a.Asker, process))
	})
	if err != nil {
		return nil, err
	}
	return event.AppendJSON(nil, -1), nil
}

// localName is who answers a hub that knows no operators.
const localName = "local user"

// responder is who answered, as far as the hub can tell in local mode: anyone on
// this machine. The process is evidence, not proof.
func responder(asker []byte, process *peer.Process) *schema.Responder {
	who := &schema.Responder{Name: localName}
	if process == nil {
		return who
	}
	who.Process = &process.Process
	var asked peer.Process
	if len(asker) > 0 && json.Unmarshal(asker, &asked) == nil {
		who.SelfApproval = peer.Descends(process, &asked)
	}
	return who
}

func (a *asking) respond(r *schema.Response, by *schema.Responder) (*ending, error) {
	if a.status.Settled() {
		if a.status.Status == schema.Responded && sameAnswer(a.status.Response, r) && a.status.RespondedBy.Name == by.Name {
			return nil, nil
		}
		return nil, a.over()
	}
	// An older revision is fine: what changes while a question is pending, such as
	// whether the agent still waits, does not change what is asked.
	if r.Revision > a.status.Revision {
		return nil, &schema.StatusError{Err: schema.ErrStale, Status: a.status}
	}
	if err := a.hitl.CheckResponse(r); err != nil {
		return nil, err
	}
	return &ending{
		state: schema.Responded, outcome: a.hitl.Outcome(r), source: schema.ByHuman, reason: r.Reason, by: by,
		answer: schema.Answer{
			Permission: r.Permission, Response: r.Response, Choice: r.Choice, Answers: r.Answers,
			Comment: r.Comment, ModifiedArguments: r.ModifiedArguments, Remember: r.Remember,
		},
	}, nil
}

// sameAnswer reports whether r says again what was answered before.
func sameAnswer(a *schema.Answer, r *schema.Response) bool {
	return a != nil && equal(a.Permission, r.Permission) && equal(a.Response, r.Response) && equal(a.Choice, r.Choice) &&
		maps.EqualFunc(a.Answers, r.Answers, sameJSON) && sameJSON(a.ModifiedArguments, r.ModifiedArguments) &&
		a.Reason == r.Reason && a.Comment == r.Comment && sameJSON(a.Remember, r.Remember)
}

func equal[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// sameJSON compares two texts of JSON but for white space and escapes of HTML.
func sameJSON(a, b json.RawMessage) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	x, errX := exactly(a)
	y, errY := exactly(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

// exactly decodes JSON with its numbers as they are written: as floats, two long
// ids would be the same.
func exactly(raw []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return v, dec.Decode(&v)
}

// Cancel ends a question without an answer. With the question's own secret it is
// the agent that withdraws it; the wrong secret is schema.ErrForbidden.
func (h *Hub) Cancel(ctx context.Context, id schema.EventID, c schema.Cancel, by Caller) ([]byte, error) {
	if len(c.Reason) > schema.MaxReason {
		return nil, invalid("reason", "is longer than %d bytes", schema.MaxReason)
	}
	process := h.process(by)
	event, err := h.settle(ctx, id, func(a *asking) (*ending, error) {
		end := &ending{
			state: schema.Failed, outcome: schema.Cancelled, source: schema.ByCancel,
			reason: c.Reason, by: responder(nil, process),
		}
		if c.RequestSecret != "" {
			if !h.isSecret(a.UID, c.RequestSecret) {
				return nil, &schema.HintError{Err: notTheSecret("requestSecret"), Hint: "Leave it out to cancel as a person."}
			}
			end.outcome, end.source, end.by, end.silent = schema.Withdrawn, schema.ByAgent, nil, true
		}
		if !a.status.Settled() {
			return end, nil
		}
		if a.status.Outcome == end.outcome {
			return nil, nil
		}
		return nil, a.over()
	})
	if err != nil {
		return nil, err
	}
	return event.AppendJSON(nil, -1), nil
}

// notTheSecret refuses a secret that is another question's, or nobody's.
func notTheSecret(field string) error {
	return &schema.FieldError{Field: field, Detail: "is not this question's", Cause: schema.ErrForbidden}
}

// errSettled stops a change that came too late to matter.
var errSettled = errors.New("the question is settled")

// expire ends a question whose time is up.
func (h *Hub) expire(ctx context.Context, id schema.EventID) error {
	return h.endIfPending(ctx, id, &ending{state: schema.TimedOut, outcome: schema.Timeout, source: schema.ByTimeout})
}

// abandon ends a question of a session that is over.
func (h *Hub) abandon(ctx context.Context, id schema.EventID) error {
	return h.endIfPending(ctx, id, &ending{state: schema.Failed, outcome: schema.Cancelled, source: schema.BySessionEnd})
}

func (h *Hub) endIfPending(ctx context.Context, id schema.EventID, end *ending) error {
	_, err := h.settle(ctx, id, func(a *asking) (*ending, error) {
		if a.status.Settled() {
			return nil, errSettled
		}
		return end, nil
	})
	if errors.Is(err, errSettled) {
		return nil
	}
	return err
}

// Run ends questions at their deadlines until ctx ends. Deadlines are rows: one
// that passed while the hub was down is found at once.
func (h *Hub) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		h.noticeStep(ctx)
		more, next, err := h.expireDue(ctx)
		if err != nil && ctx.Err() == nil {
			h.Log.Error("ending questions at their deadline; trying again in a second", "err", err)
			next = h.Clock().Add(time.Second)
		}
		if !more || err != nil {
			h.sleep(ctx, next)
		}
	}
	return ctx.Err()
}

// expireDue ends the questions whose time is up; more is set when there may be
// others, next is the deadline after them.
func (h *Hub) expireDue(ctx context.Context) (more bool, next time.Time, err error) {
	due, next, err := h.Store.DueQuestions(ctx, h.Clock(), 256)
	for _, id := range due {
		err = errors.Join(err, h.expire(ctx, id))
	}
	return len(due) > 0, next, err
}

// sleep waits for the next deadline, a new question, or the end of ctx.
func (h *Hub) sleep(ctx context.Context, next time.Time) {
	var due <-chan time.Time
	if !next.IsZero() {
		timer := time.NewTimer(next.Sub(h.Clock()))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
	case <-h.deadline:
	case <-ctx.Done():
	}
}
