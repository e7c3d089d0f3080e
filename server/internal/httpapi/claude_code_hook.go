package httpapi

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
	"github.com/hookback/hookback/server/internal/hub"
)

const (
	// defaultHookTimeout is Claude Code's default hook timeout, in seconds.
	defaultHookTimeout = 600
	// hookTimeoutMargin is how many seconds before that timeout the hub stops waiting.
	// Claude Code discards a later answer.
	hookTimeoutMargin = 5
	// expiryGrace is how long the hook waits beyond the question's deadline for the
	// question to expire.
	expiryGrace = 2 * time.Second
)

// noDecision tells Claude Code to continue as if there were no hook.
var noDecision = []byte("{}")

// claudeHook handles one invocation of a Claude Code HTTP hook. Events that need no
// decision are stored and answered immediately. For a question, the response stays open
// until a person answers. Spaces, which JSON allows before a value, serve as its heartbeat:
// they keep the connection alive and detect an agent that disconnected.
func (s *Server) claudeHook(c *fiber.Ctx) error {
	claude, _ := hook.Find("claude-code")
	limit, err := queryInt(c, "limit", bounds{min: 1, max: int64(schema.MaxTimeout / time.Second), fallback: defaultHookTimeout})
	if err != nil {
		return err
	}
	// Fiber reuses the body after this handler returns, but the answer is rendered later.
	call, err := claude.Agent.Parse(hook.Input{Stdin: bytes.Clone(c.Request().Body()), Env: func(string) string { return "" }})
	if err != nil {
		return &schema.FieldError{Detail: err.Error()}
	}
	call.Event.SourceApp = cmp.Or(c.Query("app"), call.Event.SourceApp)
	call.Event.Timestamp = schema.Millis(time.Now().UnixMilli())
	cn, ok := c.Context().Conn().(*middleware.Conn)
	if !ok || !s.canHold(c, &call) {
		return s.storeHook(c, &call.Event)
	}
	return s.holdHook(c, cn, &heldHook{call: &call, agent: claude.Agent, limit: time.Duration(max(limit-hookTimeoutMargin, limit/2, 1)) * time.Second})
}

// storeHook stores an event without a question. The hookback command uses the same
// idempotency key, so an event that both hooks report is stored once. A question has no key:
// this one could be guessed.
func (s *Server) storeHook(c *fiber.Ctx, e *schema.Event) error {
	if id := e.ToolUseID; id != "" {
		e.IdempotencyKey = strings.Join([]string{"hook", e.Agent, e.SessionID, e.HookEventType, id}, "/")
	}
	if _, err := s.ingestHook(c, e, false); err != nil {
		return err
	}
	return sendJSON(c, noDecision)
}

func (s *Server) ingestHook(c *fiber.Ctx, e *schema.Event, waits bool) (hub.StoredEvent, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return hub.StoredEvent{}, err
	}
	by := caller(c)
	by.WaitsForAnswer = waits
	return s.Hub.Ingest(c.UserContext(), body, by)
}

// canHold reports whether the hook call should wait for a person, and then takes a waiting place.
// If Claude Code shows no dialog in the meantime, someone must be viewing the dashboard.
func (s *Server) canHold(c *fiber.Ctx, call *hook.Call) bool {
	if call.Point != hook.Prompt || call.Ask == nil || !call.HasPrompt && s.Hub.Viewers.Count() == 0 {
		return false
	}
	if !s.places.StartWaiting(c, func() string { return s.programOf(c) }) {
		s.Log.Warn("too many waiting requests, agent uses its own prompt", "limit", s.Places.Waiting.Total)
		return false
	}
	return true
}

// heldHook is a hook call whose response stays open until its question is settled.
type heldHook struct {
	call   *hook.Call
	agent  hook.Agent
	limit  time.Duration
	id     schema.EventID
	secret string
}

// holdHook stores the question and streams the response.
func (s *Server) holdHook(c *fiber.Ctx, cn *middleware.Conn, h *heldHook) error {
	e := h.call.Event
	ask := *h.call.Ask
	seconds := h.limit.Seconds()
	if ask.Timeout == nil || *ask.Timeout > seconds || *ask.Timeout == 0 {
		ask.Timeout = &seconds
	}
	ask.AlsoAsked = h.call.HasPrompt
	e.HumanInTheLoop = &ask
	saved, err := s.ingestHook(c, &e, true)
	if err != nil {
		return err
	}
	s.Hub.ResponseSent(saved.ID) // the answer is pulled; there is no listener to dial
	var question schema.Event
	if err := json.Unmarshal(saved.JSON, &question); err != nil {
		return err
	}
	h.id, h.secret = saved.ID, question.RequestSecret
	c.Response().Header.SetContentType(fiber.MIMEApplicationJSON)
	c.Context().SetBodyStreamWriter(func(out *bufio.Writer) {
		defer func() { middleware.LogPanic(s.Log, recover()) }()
		s.answerHook(out, cn, h)
	})
	return nil
}

// answerHook writes the response: a space per heartbeat, then the decision. If the agent
// disconnects or the hub stops first, it abandons the question.
func (s *Server) answerHook(out *bufio.Writer, cn *middleware.Conn, h *heldHook) {
	ctx, stop := cn.WatchDisconnect(s.stopping)
	defer stop()
	for deadline := time.Now().Add(h.limit + expiryGrace); time.Now().Before(deadline); {
		// WriteTimeout covers the whole response. Each heartbeat gets a separate
		// deadline.
		_ = cn.SetWriteDeadline(time.Now().Add(s.HookHeartbeat + s.StreamWriteTimeout))
		_ = out.WriteByte(' ')
		if out.Flush() != nil || ctx.Err() != nil {
			break
		}
		answer, err := s.Hub.Pull(ctx, h.id, hub.PullOptions{Wait: s.HookHeartbeat, Secret: h.secret})
		if answer != nil {
			_, _ = out.Write(h.render(answer))
			return
		}
		if err != nil {
			s.Log.Error("hook answer pull failed", "event", h.id, "err", err)
			break
		}
	}
	_, _ = out.Write(noDecision)
	reason := hub.ReasonAgentGone
	if s.stopping.Err() != nil {
		reason = hub.ReasonHubStopped
	}
	if err := s.Hub.Abandon(context.WithoutCancel(ctx), h.id, "", reason); err != nil {
		s.Log.Error("hook question could not be abandoned", "event", h.id, "err", err)
	}
}

// render returns the answer as Claude Code expects it, or noDecision if the answer is none.
func (h *heldHook) render(raw []byte) []byte {
	var a schema.Answer
	if json.Unmarshal(raw, &a) != nil {
		return noDecision
	}
	if b := h.agent.Render(h.call, hook.VerdictOf(h.call.Ask.Type, &a)).Stdout; len(b) > 0 {
		return b
	}
	return noDecision
}
