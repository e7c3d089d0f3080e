package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/hub/rawevent"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/store"
)

// StoredEvent is the result of storing an event.
type StoredEvent struct {
	ID          schema.EventID
	JSON        []byte // the event as its poster sees it; contains the request secret if the hub made it
	HasQuestion bool   // it contains a question; call ResponseSent after its response was sent
	// Directive is for the poster; nil: nothing to apply, or Caller.Accepts is nil.
	Directive *control.Directive
}

// Ingest stores one event and returns after it is durable on disk. The body may be
// reused afterwards. It returns the errors of package schema.
func (h *Hub) Ingest(ctx context.Context, body []byte, caller Caller) (StoredEvent, error) {
	d, q, err := h.draft(ctx, body, caller)
	if err != nil {
		return StoredEvent{}, err
	}
	h.requestDirective(d, body, caller)
	h.prepareMessages(d)
	receipt, err := h.Store.Append(ctx, d)
	if err == nil && receipt.Replayed && d.Directive != nil && !isSameEvent(&d.Event, receipt.Event) {
		if receipt.Directive == nil || receipt.Directive.Freeze == nil {
			err = schema.ErrKeyConflict
		} else { // another hook reported the same call first, and this one must stop it, too
			receipt.Directive = &control.Directive{Freeze: receipt.Directive.Freeze}
		}
	}
	saved, err := h.afterAppend(ctx, d, q, store.Result{Receipt: receipt, Err: err}, caller)
	saved.Directive = receipt.Directive
	return saved, err
}

// IngestBatch stores the events of a JSON array in order and returns a JSON array with
// one schema.BatchResult each. A rejected event does not stop the others. ids are the
// questions among them, for ResponseSent.
func (h *Hub) IngestBatch(ctx context.Context, body []byte, caller Caller) (result []byte, ids []schema.EventID, err error) {
	caller.isLate = true // hooks send what they could not send in time
	events, err := rawevent.Split(body)
	if err != nil {
		return nil, nil, err
	}
	questions, results := make([]*schema.HumanInTheLoop, len(events)), make([]rawevent.Result, len(events))
	var drafts []*store.EventDraft
	for i, event := range events {
		var d *store.EventDraft
		if d, questions[i], results[i].Err = h.draft(ctx, event, caller); results[i].Err == nil {
			h.prepareMessages(d)
			drafts = append(drafts, d)
		}
	}
	stored := h.Store.AppendAll(ctx, drafts)
	for i := range results {
		if results[i].Err != nil {
			continue
		}
		item, err := h.afterAppend(ctx, drafts[0], questions[i], stored[0], caller)
		drafts, stored = drafts[1:], stored[1:]
		if item.HasQuestion {
			ids = append(ids, item.ID)
		}
		results[i] = rawevent.Result{Event: item.JSON, Err: err}
	}
	result, err = rawevent.EncodeResults(results)
	return result, ids, err
}

// draft redacts and parses an event. It returns its draft for the store, and its question if any.
func (h *Hub) draft(ctx context.Context, body []byte, caller Caller) (*store.EventDraft, *schema.HumanInTheLoop, error) {
	// The draft's slices alias body. That is safe: the store is done with them when
	// Append returns, and the feed keeps its own encoding.
	s, err := rawevent.Scan(body)
	if err != nil {
		return nil, nil, err
	}
	sent := sign.AskParts{
		SourceApp: s.App, SessionID: s.Session, HookEventType: s.Type, ToolName: s.Tool, Payload: s.Payload, HumanInTheLoop: s.Question,
	}
	redact := h.Redactor.JSON
	if s.Question != nil {
		redact = func(b []byte) ([]byte, int) {
			return h.Redactor.Ask(b, func() []call.Line { return question.LinesOf(&sent) })
		}
	}
	clean, isSanitized := schema.ReplaceHalfSurrogates(body)
	clean, replaced := redact(clean)
	isRedacted := replaced > 0
	if isSanitized || isRedacted {
		if s, err = rawevent.Scan(clean); err != nil {
			return nil, nil, err
		}
	}
	if isSanitized {
		s.SetSanitized()
	}
	h.keepApp(ctx, s, caller)
	if !caller.Identity.CanPost(s.App) {
		return nil, nil, &schema.HintError{
			Err:  &schema.FieldError{Field: "source_app", Detail: "is " + strconv.Quote(s.App) + ", which this token is not valid for", Cause: schema.ErrNotAllowed},
			Hint: "An admin can change the applications of a token under Team, Tokens.",
		}
	}
	if err := query.CheckImport(ctx, h.Store, s.Type, s.Session, s.Question != nil); err != nil {
		return nil, nil, err
	}
	isTest := caller.IsProbe && strings.HasPrefix(s.Session, control.TestSession) ||
		!caller.IsProbe && h.Tests != nil && h.Tests.Owns(s.IdempotencyKey)
	if isTest != (s.App == schema.TestApp) || caller.IsProbe && !isTest {
		return nil, nil, &schema.FieldError{Field: "source_app", Detail: "is reserved for the hub's test requests"}
	}
	uid, err := uuid.NewV7()
	if err != nil {
		return nil, nil, fmt.Errorf("generate uid: %w", err)
	}
	if s.Question != nil {
		h.detectClockStep(context.WithoutCancel(ctx)) // before the deadline is computed
	}
	now := h.Clock()
	if s.Timestamp == 0 {
		s.Timestamp = now.UnixMilli()
	}
	s.SetTokenOwner(caller.Identity.TokenOwner())
	d := &store.EventDraft{
		Event: store.Event{
			UID: uid.String(), ReceivedAt: now, Timestamp: s.Timestamp,
			App: s.App, Session: s.Session, Type: s.Type, Tool: s.Tool,
			Envelope: s.Envelope, Payload: s.Payload,
		},
		Transcript: s.Chat, IdempotencyKey: s.IdempotencyKey,
	}
	// A repeat receives the question's secret and its answer, so the key is scoped to its
	// poster if the poster is authenticated.
	switch who := caller.Identity.Requester(); {
	case who != "" && s.IdempotencyKey != "":
		d.IdempotencyKey = who + "\x00" + s.IdempotencyKey
	case strings.Contains(s.IdempotencyKey, "\x00"):
		d.IdempotencyKey = "\x00" + s.IdempotencyKey // never the scoped key of someone else
	}
	if s.IdempotencyKey != "" && caller.KeyScope != "" { // no name starts with a line break
		d.IdempotencyKey = "\n" + caller.KeyScope + "\x00" + d.IdempotencyKey
	}
	if s.Question == nil {
		return d, nil, nil
	}
	var q schema.HumanInTheLoop
	if err := q.UnmarshalJSON(s.Question); err != nil {
		return nil, nil, question.WithFieldPrefix("humanInTheLoop", err)
	}
	if q.ToolCall != nil { // the arguments are stored once, in the payload
		resolved := *q.ToolCall
		if err := resolved.ResolveArguments(s.Payload, s.Tool); err != nil {
			return nil, nil, question.WithFieldPrefix("humanInTheLoop", err)
		}
		q.ToolCall.Name = resolved.Name
	}
	h.limitAppeal(ctx, store.SessionKey{App: s.App, Session: s.Session}, &q)
	return d, &q, h.addQuestion(ctx, d, &question.Post{
		Ask: &q, Body: body, IsRedacted: isRedacted, Requester: caller.Identity.Requester(),
		WaitsForAnswer: caller.WaitsForAnswer, Retries: caller.Retries, IsProbe: caller.IsProbe, Sent: sent,
	}, caller)
}

// addQuestion validates the question and adds it to the draft.
func (h *Hub) addQuestion(ctx context.Context, d *store.EventDraft, p *question.Post, caller Caller) error {
	if p.Ask.ResponseWebSocketURL != "" {
		p.Blocked = h.checkURL(p.Ask.ResponseWebSocketURL)
	}
	p.Follows = h.followedQuestion(ctx, &d.Event, p.Ask)
	if question.IsRestricted(p.Ask) || h.Defaults != nil && h.Defaults.HasAny() {
		p.Approvers = accounts{h.People}.approvers()
	}
	if err := question.New(d, p, &h.env); err != nil {
		return err
	}
	d.NewQuestion.Supersede = h.supersede
	program := h.callerProcess(caller)
	if program != nil {
		// A hook is a child process of the agent and exits when it stops waiting. The
		// requester is the agent.
		if !caller.WaitsForAnswer && question.HookFactsOf(&d.Event).Agent != "" {
			if agent, ok := caller.Connection.ParentCommand(program); ok {
				program = agent
			}
		}
		d.NewQuestion.RequesterProcess, _ = json.Marshal(program)
	}
	return h.reservePending(ctx, d, caller, program)
}

// supersede ends an older question of a shared listener. It runs on the store's writer.
func (h *Hub) supersede(older *store.Question, by schema.EventID) (*store.Change, error) {
	s, err := h.decodeSnapshot(older)
	if err != nil {
		return nil, err
	}
	return s.Supersede(by, h.Clock())
}

// afterAppend runs the effects of an appended event and returns it as its poster sees
// it. A replayed event has no effects again, and must be one of an application that the
// caller's token is valid for, which may be another than the draft's.
func (h *Hub) afterAppend(
	ctx context.Context, d *store.EventDraft, q *schema.HumanInTheLoop, result store.Result, caller Caller,
) (StoredEvent, error) {
	r, err := result.Receipt, result.Err
	if err == nil && r.Replayed && !caller.Identity.CanPost(r.Event.App) {
		err = schema.ErrKeyConflict
	}
	if q != nil && (err != nil || r.Replayed) {
		h.releasePending(d)
	}
	if err != nil {
		return StoredEvent{}, withRetryHint(err)
	}
	e := r.Event
	if !r.Replayed {
		h.recordFrozen(e, r.Directive, caller.isLate)
		if h.Coverage != nil {
			h.Coverage.Observe(caller.Identity.Requester(), e)
		}
		if d.Type == sessionEndEvent {
			h.endSession(ctx, e)
		}
		h.detectAnswerAtAgent(ctx, e)
		h.afterMessages(d, r.Directive)
	}
	if q == nil || e.Question == nil {
		return StoredEvent{ID: e.ID, JSON: e.AppendJSON(nil, -1)}, nil
	}
	if r.Replayed {
		if e, q, err = h.replayQuestion(ctx, e.ID, q); err != nil {
			return StoredEvent{}, err
		}
	}
	return h.encodeQuestion(h.applyRules(ctx, e, q), q)
}

// withRetryHint adds a hint to the errors of a key conflict and of an overloaded store.
func withRetryHint(err error) error {
	switch {
	case errors.Is(err, schema.ErrKeyConflict):
		return &schema.HintError{Err: err, Hint: "Nothing was stored. Use a new idempotency_key for a new request."}
	case errors.Is(err, schema.ErrBusy):
		return &schema.HintError{Err: err, Hint: "Nothing was stored. Send the event again in a moment."}
	default:
		return err
	}
}

// replayQuestion handles the repeated POST of a question. An existing answer is
// dispatched immediately to the address that the repeat names, after the response to
// the repeat itself. It returns the question as it was first asked: an approval of that
// must not count for different content.
func (h *Hub) replayQuestion(
	ctx context.Context, id schema.EventID, repeat *schema.HumanInTheLoop,
) (*store.Event, *schema.HumanInTheLoop, error) {
	h.mu.Lock()
	if h.unsentResponses[id] == nil {
		h.unsentResponses[id] = make(chan struct{})
	}
	h.mu.Unlock()
	_, err := h.transition(ctx, id, (*question.Snapshot).UpdateWaiter)
	var s *question.Snapshot
	if err == nil {
		s, err = h.readSnapshot(ctx, id)
	}
	if err != nil {
		h.ResponseSent(id)
		return nil, nil, err
	}
	if s.Status.IsSettled() {
		h.Feed.PublishFact(feed.Fact{Kinds: feed.Leased, ID: int64(id)}) // no commit reports the new address
	} else {
		h.Feed.PublishFact(feed.Fact{Kinds: feed.Liveness, ID: int64(id)}) // another hub may have looked after it
	}
	s.Ask.ResponseWebSocketURL, s.Ask.ListenerKey, s.Ask.RequestSecret =
		repeat.ResponseWebSocketURL, repeat.ListenerKey, repeat.RequestSecret
	return &s.Event, &s.Ask, nil
}

// encodeQuestion encodes a question for its poster: with its callback address, the number of
// viewers, and the request secret if the hub made it. A repeat without an own secret has
// the body of the first POST, and thus gets the secret again.
func (h *Hub) encodeQuestion(e *store.Event, q *schema.HumanInTheLoop) (StoredEvent, error) {
	event, echo := *e, *q
	echo.RequestSecret, echo.Nonce = "", ""
	var err error
	if event.Question, err = json.Marshal(echo); err != nil {
		return StoredEvent{}, fmt.Errorf("encode question: %w", err)
	}
	b := event.AppendJSON(nil, -1)
	b = b[:len(b)-1]
	if q.RequestSecret == "" {
		b = append(append(append(b, `,"requestSecret":"`...), h.env.RequestSecret(e.UID)...), '"')
	}
	watching := h.Viewers.Count()
	if q.Appeal != nil {
		var reachable int
		watching, reachable = h.appealAudience(context.Background(), store.SessionKey{App: e.App, Session: e.Session})
		b = strconv.AppendInt(append(b, `,"reachable":`...), int64(reachable), 10)
	}
	if strings.Contains(string(e.Status), `"probe":true`) {
		watching = 1 // hookback doctor answers
	}
	b = append(b, `,"watching":`...)
	b = append(strconv.AppendInt(b, int64(watching), 10), '}')
	return StoredEvent{ID: e.ID, JSON: b, HasQuestion: true}, nil
}

// endSession cancels the questions that a session asked before its end, because the agent no
// longer waits for them, and ends the session's rules.
func (h *Hub) endSession(ctx context.Context, end *store.Event) {
	ids, err := h.Store.PendingInSession(ctx, end.App, end.Session)
	if err != nil {
		h.Log.Error("pending question lookup failed; questions of an ended session stay pending", "session", end.Session, "err", err)
	}
	for _, id := range ids {
		if id > end.ID { // the session was resumed
			break
		}
		_, err := h.transition(ctx, id, func(s *question.Snapshot) (*store.Change, error) { return s.CloseAtSessionEnd(h.Clock()) })
		if err != nil {
			h.Log.Error("canceling a question of an ended session failed", "event", id, "err", err)
		}
	}
	h.endSessionRules(ctx, end)
}
