package hub

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/hub/arrival"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/store"
)

// A posted event is read once (package arrival). Each step of draft adds something to it, Append stores it, and then
// its effects follow, in the order of the list effects.

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
	var s postedEvent
	if s.Arrival, s.err = h.draft(ctx, body, caller); s.err == nil {
		h.requestDirective(s.Arrival, caller)
		s.receipt, s.err = h.Store.Append(ctx, &s.EventDraft)
		h.finish(ctx, &s, caller)
	}
	return s.result, s.err
}

// IngestBatch stores the events of a JSON array in order and returns a JSON array with
// one schema.BatchResult each. A rejected event does not stop the others. ids are the
// questions among them, for ResponseSent.
func (h *Hub) IngestBatch(ctx context.Context, body []byte, caller Caller) (result []byte, ids []schema.EventID, err error) {
	caller.isLate = true // hooks send what they could not send in time
	events, err := arrival.Split(body)
	if err != nil {
		return nil, nil, err
	}
	list, drafts := make([]postedEvent, len(events)), make([]*store.EventDraft, 0, len(events))
	for i, event := range events {
		s := &list[i]
		if s.Arrival, s.err = h.draft(ctx, event, caller); s.err == nil {
			h.requestDirective(s.Arrival, caller)
			drafts = append(drafts, &s.EventDraft)
		}
	}
	appended, results := h.Store.AppendAll(ctx, drafts), make([]arrival.Result, len(events))
	for i := range list {
		s := &list[i]
		if s.err == nil {
			s.receipt, s.err = appended[0].Receipt, appended[0].Err
			appended = appended[1:]
			h.finish(ctx, s, caller)
		}
		if results[i] = (arrival.Result{Event: s.result.JSON, Err: s.err}); s.result.HasQuestion {
			ids = append(ids, s.result.ID)
		}
	}
	result, err = arrival.EncodeResults(results)
	return result, ids, err
}

// draft reads an event and adds to it what the hub knows. The result aliases body. That is safe: the store is done with
// it when Append returns, and the feed keeps its own encoding.
func (h *Hub) draft(ctx context.Context, body []byte, caller Caller) (*arrival.Arrival, error) {
	a, err := arrival.Parse(body, h.Redactor)
	if err != nil {
		return nil, err
	}
	if a.Agent() != "" {
		a.SetApp(h.SessionApp(ctx, a.Agent(), &a.Event, caller))
	}
	if !caller.Identity.CanPost(a.App) {
		return nil, &schema.HintError{
			Err:  &schema.FieldError{Field: "source_app", Detail: "is " + strconv.Quote(a.App) + ", which this token is not valid for", Cause: schema.ErrNotAllowed},
			Hint: "An admin can change the applications of a token under Team, Tokens.",
		}
	}
	if err := query.CheckImport(ctx, h.Store, a.Type, a.Session, a.HasQuestion()); err != nil {
		return nil, err
	}
	isTest := caller.IsProbe && strings.HasPrefix(a.Session, control.TestSession) ||
		!caller.IsProbe && h.Tests != nil && h.Tests.Owns(a.IdempotencyKey)
	if isTest != (a.App == schema.TestApp) || caller.IsProbe && !isTest {
		return nil, &schema.FieldError{Field: "source_app", Detail: "is reserved for the hub's test requests"}
	}
	uid, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("generate uid: %w", err)
	}
	if a.HasQuestion() {
		h.detectClockStep(context.WithoutCancel(ctx)) // before the deadline is computed
	}
	a.Receive(uid.String(), h.Clock(), caller.Identity.TokenOwner())
	a.ScopeKey(caller.Identity.Requester(), caller.KeyScope)
	if a.HasQuestion() {
		p, err := a.Question()
		if err != nil {
			return nil, err
		}
		return a, h.addQuestion(ctx, a, p, caller)
	}
	return a, nil
}
