package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/peer"
	"github.com/hookback/hookback/server/internal/store"
)

// sessionEnd is the hook event after which nobody waits for an answer any more.
const sessionEnd = "SessionEnd"

// StoredEvent is an event that was stored.
type StoredEvent struct {
	ID   schema.EventID
	JSON []byte // the event, for its poster only
	Asks bool   // it holds a question: call Posted when its 200 has left
}

// Ingest stores one event and returns when it is on disk. body may be reused
// afterwards. Errors are the schema's.
func (h *Hub) Ingest(ctx context.Context, body []byte, by Caller) (StoredEvent, error) {
	d, hitl, err := h.draft(ctx, body, by)
	if err != nil {
		return StoredEvent{}, err
	}
	receipt, err := h.Store.Append(ctx, d)
	return h.finish(ctx, d, hitl, store.Result{Receipt: receipt, Err: err})
}

// finish does what is left to do for an event that was appended.
func (h *Hub) finish(ctx context.Context, d *store.EventDraft, hitl *schema.HumanInTheLoop, r store.Result) (StoredEvent, error) {
	if r.Err != nil {
		return StoredEvent{}, shed(r.Err)
	}
	if !r.Receipt.Replayed {
		if d.Type == sessionEnd {
			h.endSession(ctx, r.Receipt.Event)
			h.endRules(ctx, r.Receipt.Event)
		}
		h.noticeElsewhere(ctx, r.Receipt.Event)
	}
	if d.NewQuestion != nil && d.NewQuestion.Lifeline == store.ByListener {
		h.Lifeline()
	}
	e := r.Receipt.Event
	if r.Receipt.Replayed && hitl != nil && e.Question != nil {
		var err error
		if e, hitl, err = h.repeated(ctx, e.ID, hitl); err != nil {
			return StoredEvent{}, err
		}
	}
	if hitl != nil && e.Question != nil {
		e = h.ruled(ctx, e, hitl)
	}
	return h.saved(e, hitl)
}

// repeated takes up a question that was asked before, by way of the address that
// the repeat names. An answer that is there is brought to it at once, but for the
// repeat's own response, which comes first. It returns the question as it was
// asked the first time: a yes to that is not one to anything else.
func (h *Hub) repeated(ctx context.Context, id schema.EventID, repeat *schema.HumanInTheLoop) (*store.Event, *schema.HumanInTheLoop, error) {
	h.mu.Lock()
	if h.posting[id] == nil {
		h.posting[id] = make(chan struct{})
	}
	h.mu.Unlock()
	_, err := h.transition(ctx, id, func(a *asking) (*store.Change, error) {
		st := a.status
		if h.reach(&st, a.URL); a.status.Settled() || reflect.DeepEqual(st, a.status) {
			return nil, nil
		}
		return a.change(st)
	})
	var a *asking
	if err == nil {
		a, err = h.read(ctx, id)
	}
	if err != nil {
		h.ResponseSent(id)
		return nil, nil, err
	}
	if a.status.Settled() {
		h.Dispatch(id)
	}
	a.hitl.ResponseWebSocketURL, a.hitl.ListenerKey = repeat.ResponseWebSocketURL, repeat.ListenerKey
	return &a.Event, &a.hitl, nil
}

// shed says what to do about an event that a full or busy hub could not take.
func shed(err error) error {
	switch {
	case errors.Is(err, schema.ErrFull):
		return &schema.HintError{Err: err, Hint: "Free some disk space on the hub's machine. Questions and answers are still taken; this event was not stored."}
	case errors.Is(err, schema.ErrBusy):
		return &schema.HintError{Err: err, Hint: "Nothing was stored. Send the event again in a moment."}
	default:
		return err
	}
}

// draft reads an event and makes of it what the store is to keep.
func (h *Hub) draft(ctx context.Context, body []byte, by Caller) (*store.EventDraft, *schema.HumanInTheLoop, error) {
	// The pieces alias body. That is safe: the store is done with them when it
	// returns, and what the feed keeps is encoded anew.
	var sent []byte // as it was, when something was taken out
	if h.Redactor != nil {
		if clean, n := h.Redactor.JSON(body); n > 0 {
			body, sent = clean, body
		}
	}
	s, err := scan(body)
	if err != nil {
		return nil, nil, err
	}
	if !by.Who.CanPost(s.app) {
		return nil, nil, notItsApp(s.app)
	}
	uid, err := uuid.NewV7()
	if err != nil {
		return nil, nil, fmt.Errorf("making a uid: %w", err)
	}
	if s.question != nil {
		h.noticeStep(context.WithoutCancel(ctx)) // before its deadline is reckoned
	}
	now := h.Clock()
	if s.timestamp == 0 {
		s.timestamp = now.UnixMilli()
	}
	d := &store.EventDraft{
		Event: store.Event{
			UID: uid.String(), ReceivedAt: now, Timestamp: s.timestamp,
			App: s.app, Session: s.session, Type: s.kind, Tool: s.tool,
			Envelope: s.envelope, Payload: s.payload,
		},
		Chat: s.chat, Key: keyOf(s.key, by),
	}
	if s.question == nil {
		return d, nil, nil
	}
	hitl, err := h.ask(d, s.question, sent, by)
	return d, hitl, err
}

// keyOf is the key that a repeat is known by. A repeat gets the question's secret, and
// its answer: so a key is its poster's own, where the hub knows whose it is.
func keyOf(key string, by Caller) string {
	if who := by.Who.Requester(); who != "" && key != "" {
		return who + "\x00" + key
	}
	return key
}

// ask adds the question to the draft.
func (h *Hub) ask(d *store.EventDraft, raw, sent []byte, by Caller) (*schema.HumanInTheLoop, error) {
	var q schema.HumanInTheLoop
	if err := q.UnmarshalJSON(raw); err != nil {
		return nil, within("humanInTheLoop", err)
	}
	if err := q.Validate(); err != nil {
		return nil, err
	}
	recipients, err := h.recipients(&q, by)
	if err != nil {
		return nil, err
	}
	if d.Question, err = json.Marshal(q.Redacted()); err != nil {
		return nil, fmt.Errorf("encoding the question: %w", err)
	}
	deadline := q.Until(d.ReceivedAt)
	st := h.asked(&q, deadline)
	st.Recipients, st.Awaiting = recipients, recipients
	if by.Waits {
		st.Waiter = schema.Listening
	}
	if err := h.checkEscalation(&q); err != nil {
		return nil, err
	}
	var call []byte
	if c, ok := toolCallOf(d, &q); ok {
		judge(&st, &q, c)
		if sent != nil {
			concealed(&st, sent)
		}
		call = c.hash()
	}
	same := sameKey(d, &q, &st, by.Who.Requester())
	if d.Status, err = json.Marshal(st); err != nil {
		return nil, fmt.Errorf("encoding the status: %w", err)
	}
	d.NewQuestion = &store.NewQuestion{
		URL: q.ResponseWebSocketURL, ListenerKey: q.ListenerKey, Protocol: max(q.ProtocolVersion, 1),
		Deadline: deadline, Text: q.Question, Call: call, DuplicateKey: same, Awaiting: waitsFor(&st), Requester: by.Who.Requester(),
		Timers: h.timers(&q, d.ReceivedAt, deadline),
	}
	switch {
	case by.Waits:
		d.NewQuestion.Lifeline = store.ByRequest
	case q.Lifeline && q.Acknowledges() && q.ResponseWebSocketURL != "":
		d.NewQuestion.Lifeline = store.ByListener
	}
	if p := h.process(by); p != nil {
		// A hook is a child of the agent that asks, and lives no longer than it waits.
		if agent, ok := peer.ParentCommand(p); ok && !by.Waits && factsOf(&d.Event).Agent != "" {
			p = agent
		}
		d.NewQuestion.RequesterProcess, _ = json.Marshal(p)
	}
	return &q, nil
}

// asked is the status of a new question.
func (h *Hub) asked(q *schema.HumanInTheLoop, deadline time.Time) schema.Status {
	st := schema.Status{Status: schema.Pending, Revision: 1, RequiredApprovals: q.RequiredApprovals, Risk: q.Risk}
	if !deadline.IsZero() {
		st.ExpiresAt = schema.Millis(deadline.UnixMilli())
	}
	h.reach(&st, q.ResponseWebSocketURL)
	return st
}

// reach says in the status of a pending question how its agent is to be reached.
func (h *Hub) reach(st *schema.Status, url string) {
	st.Waiter, st.Delivery = schema.Unknown, nil
	if url == "" {
		return
	}
	st.Waiter = schema.Listening
	if err := h.Blocked(url); err != nil {
		// Known before anyone answers, so that the agent can pull at once and the
		// person sees why the answer will not be dialled.
		st.Delivery = &schema.Delivery{State: schema.Blocked, LastError: err.Error()}
	}
}

func within(outer string, err error) error {
	var f *schema.FieldError
	if !errors.As(err, &f) {
		return err
	}
	field := outer
	if f.Field != "" {
		field += "." + f.Field
	}
	return &schema.FieldError{Field: field, Detail: f.Detail, Cause: f.Cause}
}

// saved is the event as its poster gets it back: with its own callback address,
// the secret of its question, and how many may see it. hitl is nil for an event
// that asks nothing.
func (h *Hub) saved(e *store.Event, hitl *schema.HumanInTheLoop) (StoredEvent, error) {
	own := *e
	if hitl == nil || e.Question == nil {
		return StoredEvent{ID: e.ID, JSON: own.AppendJSON(nil, -1)}, nil
	}
	var err error
	if own.Question, err = json.Marshal(hitl); err != nil {
		return StoredEvent{}, fmt.Errorf("encoding the question: %w", err)
	}
	b := own.AppendJSON(nil, -1)
	b = append(b[:len(b)-1], `,"requestSecret":"`...)
	b = append(append(b, h.requestSecret(e.UID)...), `","watching":`...)
	b = append(strconv.AppendInt(b, h.watching.Load(), 10), '}')
	return StoredEvent{ID: e.ID, JSON: b, Asks: true}, nil
}

// IngestBatch stores the events of a JSON array in their order and returns an
// array with one schema.BatchResult each: one bad event does not stop the others.
// ids are those of the questions among them, for Posted.
func (h *Hub) IngestBatch(ctx context.Context, body []byte, by Caller) (result []byte, ids []schema.EventID, err error) {
	events, err := elements(body)
	if err != nil {
		return nil, nil, err
	}
	questions := make([]*schema.HumanInTheLoop, len(events))
	bad := make([]error, len(events))
	var drafts []*store.EventDraft
	for i, event := range events {
		d, hitl, err := h.draft(ctx, event, by)
		if questions[i], bad[i] = hitl, err; err == nil {
			drafts = append(drafts, d)
		}
	}
	stored := h.Store.AppendAll(ctx, drafts)
	result = append(result, '[')
	for i := range events {
		if i > 0 {
			result = append(result, ',')
		}
		var saved StoredEvent
		if err = bad[i]; err == nil {
			saved, err = h.finish(ctx, drafts[0], questions[i], stored[0])
			drafts, stored = drafts[1:], stored[1:]
		}
		if saved.Asks {
			ids = append(ids, saved.ID)
		}
		if result, err = appendResult(result, saved, err); err != nil {
			return nil, ids, err
		}
	}
	return append(result, ']'), ids, nil
}

func appendResult(dst []byte, saved StoredEvent, failed error) ([]byte, error) {
	if failed == nil {
		dst = append(dst, `{"event":`...)
		return append(append(dst, saved.JSON...), '}'), nil
	}
	b, err := json.Marshal(schema.ProblemOf(failed))
	if err != nil {
		return nil, err
	}
	dst = append(dst, `{"problem":`...)
	return append(append(dst, b...), '}'), nil
}

// elements cuts a JSON array of events.
func elements(body []byte) ([][]byte, error) {
	if tooDeep(body) {
		return nil, invalid("", "nests deeper than %d", schema.MaxDepth)
	}
	if !utf8.Valid(body) {
		return nil, invalid("", "is not valid UTF-8")
	}
	dec := newDecoder(body)
	defer decoders.Put(dec)
	if dec.PeekKind() != '[' {
		return nil, invalid("", "must be a JSON array of events")
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, notJSON(err)
	}
	var events [][]byte
	for dec.PeekKind() != ']' {
		event, err := readRaw(dec, body)
		if err != nil {
			return nil, notJSON(err)
		}
		if events = append(events, event); len(events) > schema.MaxBatch {
			return nil, invalid("", "has more than %d events", schema.MaxBatch)
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, notJSON(err)
	}
	if len(bytes.TrimLeft(body[dec.InputOffset():], " \t\r\n")) > 0 {
		return nil, invalid("", "has something behind the JSON array")
	}
	return events, nil
}

// endSession cancels what a session asked before its end and still asks: nobody
// waits for it any more.
func (h *Hub) endSession(ctx context.Context, end *store.Event) {
	ids, err := h.Store.PendingOf(ctx, end.App, end.Session)
	if err != nil {
		h.Log.Error("looking for the questions of an ended session", "err", err)
		return
	}
	for _, id := range ids {
		if id > end.ID { // of the session taken up again
			break
		}
		if err := h.abandon(ctx, id); err != nil {
			h.Log.Error("cancelling a question of an ended session", "event", id, "err", err)
		}
	}
}
