package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// hookTimeoutMargin is how many seconds before that timeout the hub stops waiting.
	// Claude Code discards a later answer.
	hookTimeoutMargin = 5
	// expiryGrace is how long the hook waits beyond the question's deadline for the
	// question to expire.
	expiryGrace = 2 * time.Second
)

// noDecision tells Claude Code to continue as if there were no hook.
var noDecision = []byte("{}")

// claudeHook handles one invocation of a Claude Code HTTP hook, whose timeout is the parameter limit.
// Events that need no decision are stored and answered immediately. For a question, the response
// stays open until a person answers.
func (s *Server) claudeHook(r *request) error {
	claude, _ := hook.Find("claude-code")
	// Fiber reuses the body after this handler returns, but the answer is rendered later.
	entrypoint := strings.Clone(r.Get(hook.ClaudeEntrypointHeader))
	call, err := claude.Agent.Parse(hook.Input{Stdin: bytes.Clone(r.Request().Body()), Env: hookEnv(entrypoint)})
	if err != nil {
		return &schema.FieldError{Detail: err.Error()}
	}
	if entrypoint == "" { // claude -p has no dialog, and may not say so
		call.HasPrompt, call.Headless = false, true
	}
	if app := r.Query("app"); app != "" {
		call.Event.SourceApp = app
	} else {
		e := store.Event{App: call.Event.SourceApp, Session: call.Event.SessionID, Payload: call.Event.Payload}
		call.Event.SourceApp = s.Hub.SessionApp(r, call.Event.Agent, &e, r.by)
	}
	call.Event.Timestamp = schema.Millis(time.Now().UnixMilli())
	cn, ok := r.Ctx.Context().Conn().(*middleware.Conn)
	if !ok || !s.canHold(r, &call) {
		return s.storeHook(r, claude.Agent, &call)
	}
	limit := r.number("limit")
	wait := time.Duration(max(limit-hookTimeoutMargin, limit/2, 1)) * time.Second
	if call.PromptAfter > 0 {
		wait = min(wait, call.PromptAfter)
	}
	return s.holdHook(r, cn, &heldHook{server: s, call: &call, agent: claude.Agent, limit: wait})
}

// hookEnv returns the environment of the hook, of which a request can carry Claude Code's entry
// point.
func hookEnv(entrypoint string) func(name string) string {
	return func(name string) string {
		if name == "CLAUDE_CODE_ENTRYPOINT" {
			return entrypoint
		}
		return ""
	}
}

// storeHook stores an event without a question. The hookback command uses the same
// idempotency key, so an event that both hooks report is stored once. A question has no key:
// this one could be guessed.
func (s *Server) storeHook(r *request, agent hook.Agent, call *hook.Call) error {
	e := &call.Event
	e.IdempotencyKey = hook.CallKey(e)
	frozen := func() *control.Freeze { return s.Hub.Store.FreezeOf(e.SourceApp, e.SessionID) }
	wasFrozen := call.StopsWhenFrozen() && frozen() != nil
	by := r.by
	by.Accepts = &control.Accepts{Freeze: wasFrozen, Message: call.Accepts().Message}
	var v hook.Verdict
	saved, err := s.ingestHook(r, e, by)
	switch {
	case err == nil && saved.Directive != nil:
		v.Messages = saved.Directive.Messages
	case err == nil, errors.Is(err, schema.ErrKeyConflict): // the hookback command reported the call and has its messages
	case wasFrozen: // its arguments may nest too deep
		s.Log.Warn("event of a frozen agent not stored", "err", err)
	default:
		return err
	}
	if f := frozen(); f != nil && call.StopsWhenFrozen() {
		messages, notice := v.Messages, f.Notice()
		v = call.Frozen(notice.Text(), notice.Guidance(), true)
		v.Messages = messages
	}
	if out := agent.Render(call, v).Stdout; len(out) > 0 {
		return r.sendJSON(out)
	}
	return r.sendJSON(noDecision)
}

func (s *Server) ingestHook(r *request, e *schema.Event, by hub.Caller) (hub.StoredEvent, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return hub.StoredEvent{}, err
	}
	return s.Hub.Ingest(r, body, by)
}

// canHold reports whether the hook call should wait for an answer, and then takes a waiting place.
// If Claude Code shows no dialog in the meantime, someone must be viewing the dashboard, or a rule
// must answer. Rules answer tool calls only.
func (s *Server) canHold(r *request, call *hook.Call) bool {
	if call.Point != hook.Prompt || call.Ask == nil || call.Tool == nil && s.Hub.Viewers.Count() == 0 {
		return false
	}
	if !s.startWaiting(r) {
		s.Log.Warn("too many waiting requests, agent uses its own prompt", "limit", s.Places.Waiting.Total)
		return false
	}
	return true
}

// heldHook is a hook call whose response stays open until its question is settled.
type heldHook struct {
	server *Server
	call   *hook.Call
	agent  hook.Agent
	limit  time.Duration
	id     schema.EventID
}

// holdHook stores the question and streams the response.
func (s *Server) holdHook(r *request, cn *middleware.Conn, h *heldHook) error {
	e := h.call.Event
	ask := h.call.Question()
	seconds := h.limit.Seconds()
	if ask.Timeout == nil || *ask.Timeout > seconds || *ask.Timeout == 0 {
		ask.Timeout = &seconds
	}
	ask.AlsoAsked, ask.PromptAfter = h.call.HasPrompt, min(h.call.PromptAfter, h.limit).Seconds()
	e.HumanInTheLoop = &ask
	by := r.by
	by.WaitsForAnswer = true
	saved, err := s.ingestHook(r, &e, by)
	if err != nil {
		return err
	}
	s.Hub.ResponseSent(saved.ID) // the answer is pulled; there is no listener to dial
	var stored schema.Event
	if err := json.Unmarshal(saved.JSON, &stored); err != nil {
		return err
	}
	if !h.call.HasPrompt && s.Hub.Viewers.Count() == 0 && !stored.HumanInTheLoopStatus.IsSettled() {
		if err := s.Hub.Abandon(r, saved.ID, "", hub.ReasonNoDashboard); err != nil {
			return err
		}
		return r.sendJSON(noDecision)
	}
	h.id = saved.ID
	s.respond(r, response{conn: cn, id: saved.ID, secret: stored.RequestSecret, limit: h.limit + expiryGrace, waiter: h})
	return nil
}

// end implements waiter. The agent disconnected, or the hub stops.
func (h *heldHook) end(ctx context.Context) []byte {
	reason := hub.ReasonAgentGone
	if h.server.stopping.Err() != nil {
		reason = hub.ReasonHubStopped
	}
	h.server.abandon(ctx, h.id, reason)
	return noDecision
}

// render implements waiter. It returns the answer as Claude Code expects it, or noDecision if the
// answer is none.
func (h *heldHook) render(raw []byte, _ error) []byte {
	var a schema.Answer
	if json.Unmarshal(raw, &a) != nil {
		return noDecision
	}
	if b := h.agent.Render(h.call, h.call.VerdictOf(&a)).Stdout; len(b) > 0 {
		return b
	}
	return noDecision
}
