package hub

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/peer"
	"github.com/hookback/hookback/server/internal/store"
)

// sessionEndEvent is the type of the hook event that ends a session. After it no agent
// waits for an answer.
const sessionEndEvent = "SessionEnd"

// StoredEvent is the result of storing an event.
type StoredEvent struct {
	ID          schema.EventID
	JSON        []byte // the event as its poster sees it; contains the request secret if the hub made it
	HasQuestion bool   // it contains a question; call ResponseSent after its response was sent
}

// Ingest stores one event and returns after it is durable on disk. The body may be
// reused afterwards. It returns the errors of package schema.
func (h *Hub) Ingest(ctx context.Context, body []byte, caller Caller) (StoredEvent, error) {
	d, hitl, err := h.draft(ctx, body, caller)
	if err != nil {
		return StoredEvent{}, err
	}
	receipt, err := h.Store.Append(ctx, d)
	return h.finishIngest(ctx, d, hitl, authorizeReplay(store.Result{Receipt: receipt, Err: err}, caller))
}

// authorizeReplay returns r, or a key conflict if r is a replayed event of an application
// that the caller's token is not valid for. The application of the draft may be another.
func authorizeReplay(r store.Result, caller Caller) store.Result {
	if r.Err == nil && r.Receipt.Replayed && !caller.Identity.CanPost(r.Receipt.Event.App) {
		return store.Result{Err: schema.ErrKeyConflict}
	}
	return r
}

// finishIngest runs the effects of an appended event and returns it as its poster sees
// it. A replayed event has no effects again.
func (h *Hub) finishIngest(ctx context.Context, d *store.EventDraft, hitl *schema.HumanInTheLoop, r store.Result) (StoredEvent, error) {
	if d.NewQuestion != nil && (r.Err != nil || r.Receipt.Replayed) {
		h.releasePending(d)
	}
	if r.Err != nil {
		return StoredEvent{}, withRetryHint(r.Err)
	}
	if !r.Receipt.Replayed {
		if d.Type == sessionEndEvent {
			h.endSession(ctx, r.Receipt.Event)
			h.endSessionRules(ctx, r.Receipt.Event)
		}
		h.detectAnswerAtAgent(ctx, r.Receipt.Event)
	}
	if d.NewQuestion != nil && d.NewQuestion.Lifeline == store.ByListener {
		h.WakeLiveness()
	}
	e := r.Receipt.Event
	if r.Receipt.Replayed && hitl != nil && e.Question != nil {
		var err error
		if e, hitl, err = h.replayQuestion(ctx, e.ID, hitl); err != nil {
			return StoredEvent{}, err
		}
	}
	if hitl != nil && e.Question != nil {
		e = h.applyRules(ctx, e, hitl)
	}
	return h.encodeStored(e, hitl)
}

// replayQuestion handles the repeated POST of a question. An existing answer is
// dispatched immediately to the address that the repeat names, after the response to
// the repeat itself. It returns the question as it was first asked: an approval of that
// must not count for different content.
func (h *Hub) replayQuestion(ctx context.Context, id schema.EventID, repeat *schema.HumanInTheLoop) (*store.Event, *schema.HumanInTheLoop, error) {
	h.mu.Lock()
	if h.unsentResponses[id] == nil {
		h.unsentResponses[id] = make(chan struct{})
	}
	h.mu.Unlock()
	_, err := h.transition(ctx, id, func(s *snapshot) (*store.Change, error) {
		st := s.status
		if h.setDeliveryStatus(&st, s.URL); s.status.IsSettled() || reflect.DeepEqual(st, s.status) {
			return nil, nil
		}
		return s.change(st)
	})
	var s *snapshot
	if err == nil {
		s, err = h.readSnapshot(ctx, id)
	}
	if err != nil {
		h.ResponseSent(id)
		return nil, nil, err
	}
	if s.status.IsSettled() {
		h.Dispatch(id)
	}
	s.hitl.ResponseWebSocketURL, s.hitl.ListenerKey, s.hitl.RequestSecret = repeat.ResponseWebSocketURL, repeat.ListenerKey, repeat.RequestSecret
	return &s.Event, &s.hitl, nil
}

// withRetryHint adds a hint to the errors of a key conflict and of a full or overloaded
// store.
func withRetryHint(err error) error {
	switch {
	case errors.Is(err, schema.ErrKeyConflict):
		return &schema.HintError{Err: err, Hint: "Nothing was stored. Use a new idempotency_key for a new request."}
	case errors.Is(err, schema.ErrFull):
		return &schema.HintError{Err: err, Hint: "Free disk space on the hub's machine. This event was not stored. Questions and answers are still accepted."}
	case errors.Is(err, schema.ErrBusy):
		return &schema.HintError{Err: err, Hint: "Nothing was stored. Send the event again in a moment."}
	default:
		return err
	}
}

// draft redacts and parses an event and returns its draft for the store, with the
// question if it contains one.
func (h *Hub) draft(ctx context.Context, body []byte, caller Caller) (*store.EventDraft, *schema.HumanInTheLoop, error) {
	// The draft's slices alias body. That is safe: the store is done with them when
	// Append returns, and the feed keeps its own encoding.
	p := post{body: body}
	if h.Redactor != nil {
		if clean, n := h.Redactor.JSON(body); n > 0 {
			body, p.isRedacted = clean, true
		}
	}
	s, err := scanEvent(body)
	if err != nil {
		return nil, nil, err
	}
	if !caller.Identity.CanPost(s.app) {
		return nil, nil, appNotAllowedError(s.app)
	}
	uid, err := uuid.NewV7()
	if err != nil {
		return nil, nil, fmt.Errorf("generate uid: %w", err)
	}
	if s.question != nil {
		h.detectClockStep(context.WithoutCancel(ctx)) // before the deadline is computed
	}
	now := h.Clock()
	if s.timestamp == 0 {
		s.timestamp = now.UnixMilli()
	}
	d := &store.EventDraft{
		Event: store.Event{
			UID: uid.String(), ReceivedAt: now, Timestamp: s.timestamp,
			App: s.app, Session: s.session, Type: s.eventType, Tool: s.tool,
			Envelope: s.envelope, Payload: s.payload,
		},
		Transcript: s.chat, IdempotencyKey: scopedKey(s.idempotencyKey, caller),
	}
	if s.question == nil {
		return d, nil, nil
	}
	if p.sent, p.stored = s, s; p.isRedacted {
		if p.sent, err = scanEvent(p.body); err != nil {
			return nil, nil, err
		}
	}
	hitl, err := h.addQuestion(ctx, d, &p, caller)
	return d, hitl, err
}

// post is a question as sent, before redaction.
type post struct {
	body       []byte
	sent       *scannedEvent // of body
	stored     *scannedEvent // after redaction
	isRedacted bool          // the stored event differs from sent
}

// scopedKey returns the idempotency key, scoped to its poster if the poster is
// authenticated: a repeat receives the question's secret and its answer.
func scopedKey(key string, caller Caller) string {
	if who := caller.Identity.Requester(); who != "" && key != "" {
		return who + "\x00" + key
	}
	if strings.Contains(key, "\x00") {
		return "\x00" + key // never the scoped key of someone else
	}
	return key
}

// addQuestion validates the question and adds it to the draft.
func (h *Hub) addQuestion(ctx context.Context, d *store.EventDraft, p *post, caller Caller) (*schema.HumanInTheLoop, error) {
	var q schema.HumanInTheLoop
	if err := q.UnmarshalJSON(p.stored.question); err != nil {
		return nil, withFieldPrefix("humanInTheLoop", err)
	}
	if err := q.Validate(); err != nil {
		return nil, err
	}
	recipients, err := h.resolveRecipients(&q, caller)
	if err != nil {
		return nil, err
	}
	if d.Question, err = json.Marshal(q.Redacted()); err != nil {
		return nil, fmt.Errorf("encode question: %w", err)
	}
	deadline := q.Deadline(d.ReceivedAt)
	st := h.newStatus(&q, deadline)
	st.Recipients, st.Awaiting = recipients, recipients
	if caller.WaitsForAnswer {
		st.Waiter = schema.Listening
	}
	if err := h.checkEscalation(&q); err != nil {
		return nil, err
	}
	var call []byte
	if c, ok := toolCallOf(d, &q); ok {
		assessCall(&st, &q, c)
		if p.isRedacted {
			addRedactionFinding(&st, p.sent)
		}
		call = c.hash()
	}
	dupKey := duplicateKey(d, &q, &st, caller.Identity.Requester())
	if d.Status, err = json.Marshal(st); err != nil {
		return nil, fmt.Errorf("encode status: %w", err)
	}
	d.NewQuestion = &store.NewQuestion{
		URL: q.ResponseWebSocketURL, ListenerKey: q.ListenerKey, Protocol: max(q.ProtocolVersion, 1),
		Deadline: deadline, Text: q.Question, Call: call, DuplicateKey: dupKey, Awaiting: awaitedRecipients(&st), Requester: caller.Identity.Requester(),
		Timers:         h.newTimers(&q, d.ReceivedAt, deadline),
		SharedListener: sharedListener(d, &q, caller.Identity.Requester()), Supersede: h.supersede,
	}
	if err := h.addHashes(d, &q, p); err != nil {
		return nil, err
	}
	switch {
	case caller.WaitsForAnswer:
		d.NewQuestion.Lifeline = store.ByRequest
	case q.Lifeline && q.Acknowledges() && q.ResponseWebSocketURL != "":
		d.NewQuestion.Lifeline = store.ByListener
	}
	program := h.callerProcess(caller)
	if program != nil {
		// A hook is a child process of the agent and exits when it stops waiting. The
		// requester is the agent.
		if agent, ok := peer.ParentCommand(program); ok && !caller.WaitsForAnswer && hookFactsOf(&d.Event).Agent != "" {
			program = agent
		}
		d.NewQuestion.RequesterProcess, _ = json.Marshal(program)
	}
	if err := h.reservePending(ctx, d, caller, program); err != nil {
		return nil, err
	}
	return &q, nil
}

// addHashes adds the hashes of the POST, which decide whether a repeat is the same request.
func (h *Hub) addHashes(d *store.EventDraft, q *schema.HumanInTheLoop, p *post) error {
	parts := schema.AskParts{
		SourceApp: p.sent.app, SessionID: p.sent.session, HookEventType: p.sent.eventType, ToolName: p.sent.tool,
		Payload: p.sent.payload, HumanInTheLoop: p.sent.question,
	}
	ask, err := parts.Digest()
	if err != nil {
		return withFieldPrefix("humanInTheLoop", err)
	}
	d.NewQuestion.AskHash = ask[:]
	if p.isRedacted && q.Nonce == "" {
		// Readers of the ledger see this hash. Without a nonce they could test guesses at
		// the redacted secret against it.
		d.NewQuestion.AskHash = h.keyedHash("question hashes", ask[:])
	}
	d.NewQuestion.HasNonce = q.Nonce != ""
	d.NewQuestion.BodyHash = h.keyedHash("body hashes", p.body)
	d.NewQuestion.SecretHash = schema.RequestSecretHash(cmp.Or(q.RequestSecret, h.madeSecret(d.UID)))
	return nil
}

// newStatus returns the status of a new question.
func (h *Hub) newStatus(q *schema.HumanInTheLoop, deadline time.Time) schema.Status {
	st := schema.Status{Status: schema.Pending, Revision: 1, RequiredApprovals: q.RequiredApprovals, Risk: q.Risk}
	if !deadline.IsZero() {
		st.ExpiresAt = schema.Millis(deadline.UnixMilli())
	}
	h.setDeliveryStatus(&st, q.ResponseWebSocketURL)
	return st
}

// setDeliveryStatus sets in the status of a pending question whether its agent can be
// dialed.
func (h *Hub) setDeliveryStatus(st *schema.Status, url string) {
	st.Waiter, st.Delivery = schema.Unknown, nil
	if url == "" {
		return
	}
	st.Waiter = schema.Listening
	if err := h.CheckURL(url); err != nil {
		// Reported before anyone answers, so that the agent can pull right away and
		// people see why the answer will not be sent.
		st.Delivery = &schema.Delivery{State: schema.Blocked, LastError: err.Error()}
	}
}

func withFieldPrefix(outer string, err error) error {
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

// encodeStored encodes the event for its poster: with its callback address, the number of
// viewers, and the request secret if the hub made it. A repeat without an own secret has
// the body of the first POST, and thus gets the secret again. hitl is the question as
// posted, nil for an event without one.
func (h *Hub) encodeStored(e *store.Event, hitl *schema.HumanInTheLoop) (StoredEvent, error) {
	event := *e
	if hitl == nil || e.Question == nil {
		return StoredEvent{ID: e.ID, JSON: event.AppendJSON(nil, -1)}, nil
	}
	var err error
	echo := *hitl
	echo.RequestSecret, echo.Nonce = "", ""
	if event.Question, err = json.Marshal(echo); err != nil {
		return StoredEvent{}, fmt.Errorf("encode question: %w", err)
	}
	b := event.AppendJSON(nil, -1)
	b = b[:len(b)-1]
	if hitl.RequestSecret == "" {
		b = append(append(append(b, `,"requestSecret":"`...), h.madeSecret(e.UID)...), '"')
	}
	b = append(b, `,"watching":`...)
	b = append(strconv.AppendInt(b, h.viewers.Load(), 10), '}')
	return StoredEvent{ID: e.ID, JSON: b, HasQuestion: true}, nil
}

// IngestBatch stores the events of a JSON array in order and returns a JSON array with
// one schema.BatchResult each. A rejected event does not stop the others. ids are the
// questions among them, for ResponseSent.
func (h *Hub) IngestBatch(ctx context.Context, body []byte, caller Caller) (result []byte, ids []schema.EventID, err error) {
	events, err := splitArray(body)
	if err != nil {
		return nil, nil, err
	}
	questions := make([]*schema.HumanInTheLoop, len(events))
	errs := make([]error, len(events))
	var drafts []*store.EventDraft
	for i, event := range events {
		d, hitl, err := h.draft(ctx, event, caller)
		if questions[i], errs[i] = hitl, err; err == nil {
			drafts = append(drafts, d)
		}
	}
	stored := h.Store.AppendAll(ctx, drafts)
	result = append(result, '[')
	for i := range events {
		if i > 0 {
			result = append(result, ',')
		}
		var item StoredEvent
		if err = errs[i]; err == nil {
			item, err = h.finishIngest(ctx, drafts[0], questions[i], authorizeReplay(stored[0], caller))
			drafts, stored = drafts[1:], stored[1:]
		}
		if item.HasQuestion {
			ids = append(ids, item.ID)
		}
		if result, err = appendBatchResult(result, item, err); err != nil {
			return nil, ids, err
		}
	}
	return append(result, ']'), ids, nil
}

func appendBatchResult(dst []byte, result StoredEvent, resultErr error) ([]byte, error) {
	if resultErr == nil {
		dst = append(dst, `{"event":`...)
		return append(append(dst, result.JSON...), '}'), nil
	}
	b, err := json.Marshal(schema.ProblemOf(resultErr))
	if err != nil {
		return nil, err
	}
	dst = append(dst, `{"problem":`...)
	return append(append(dst, b...), '}'), nil
}

// splitArray splits a JSON array into its elements, which alias body.
func splitArray(body []byte) ([][]byte, error) {
	if isTooDeep(body) {
		return nil, invalidField("", "nests deeper than %d", schema.MaxDepth)
	}
	if !utf8.Valid(body) {
		return nil, invalidField("", "is not valid UTF-8")
	}
	dec := newDecoder(body)
	defer decoderPool.Put(dec)
	if dec.PeekKind() != '[' {
		return nil, invalidField("", "must be a JSON array of events")
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, syntaxError(err)
	}
	var events [][]byte
	for dec.PeekKind() != ']' {
		event, err := readValue(dec, body)
		if err != nil {
			return nil, syntaxError(err)
		}
		if events = append(events, event); len(events) > schema.MaxBatch {
			return nil, invalidField("", "has more than %d events", schema.MaxBatch)
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, syntaxError(err)
	}
	if len(bytes.TrimLeft(body[dec.InputOffset():], " \t\r\n")) > 0 {
		return nil, invalidField("", "has data after the JSON array")
	}
	return events, nil
}

// endSession cancels the questions that a session asked before its end: the agent no
// longer waits for them.
func (h *Hub) endSession(ctx context.Context, end *store.Event) {
	ids, err := h.Store.PendingInSession(ctx, end.App, end.Session)
	if err != nil {
		h.Log.Error("pending question lookup failed; questions of an ended session stay pending", "session", end.Session, "err", err)
		return
	}
	for _, id := range ids {
		if id > end.ID { // the session was resumed
			break
		}
		if err := h.cancelForSessionEnd(ctx, id); err != nil {
			h.Log.Error("canceling a question of an ended session failed", "event", id, "err", err)
		}
	}
}
