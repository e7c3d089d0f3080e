package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// A coding agent has a prompt of its own, and what is answered there nobody tells
// the hook that asks here. What the agent does next tells: the call that was asked
// about has run, or the turn it belonged to is over. Then the question ends, and its
// hook is told so. Nothing is ever approved by it.

// Why a question was closed: what is known, and no more.
const (
	reasonRan       = "answered in the terminal: it ran"
	reasonFailed    = "answered in the terminal: it ran and failed"
	reasonAnswered  = "answered in the terminal"
	reasonContinued = "the agent went on: it ran"
	reasonDropped   = "the agent went on without it"
)

// hookFacts are what an event of a hook says besides its name.
type hookFacts struct {
	Agent     string `json:"agent"`
	AgentID   string `json:"agent_id"`
	ToolUseID string `json:"tool_use_id"`
	PromptID  string `json:"prompt_id"`
}

// hookFactsOf reads them: from the event's own members, or the hook's payload. What is
// of another type is not there.
func hookFactsOf(e *store.Event) hookFacts {
	var envelope, payload hookFacts
	_ = json.Unmarshal(slices.Concat([]byte("{"), e.Envelope, []byte("}")), &envelope)
	_ = json.Unmarshal(e.Payload, &payload)
	return hookFacts{
		Agent: envelope.Agent, AgentID: cmp.Or(envelope.AgentID, payload.AgentID),
		ToolUseID: cmp.Or(envelope.ToolUseID, payload.ToolUseID), PromptID: payload.PromptID,
	}
}

// detectAnswerAtAgent closes what the event shows to be decided without the hub.
func (h *Hub) detectAnswerAtAgent(ctx context.Context, e *store.Event) {
	switch e.Type {
	case "PostToolUse", "PostToolUseFailure", "PermissionDenied", "Stop", "StopFailure", "SubagentStop", "UserPromptSubmit":
	default:
		return
	}
	list, err := h.pendingCalls(ctx, e.App, e.Session)
	if err != nil {
		h.Log.Error("looking for questions that were answered elsewhere", "err", err)
	}
	for _, id := range callsClosedBy(e, list) {
		if err := h.closeAnsweredAtAgent(ctx, id, e.Type); err != nil {
			h.Log.Error("closing a question that was answered elsewhere", "event", id, "err", err)
		}
	}
}

// callsClosedBy selects what e closes, of its session's questions, the oldest first: only
// an agent's, and only what was asked before e happened, for a hook may send its event
// late.
func callsClosedBy(e *store.Event, list []pendingCall) (ids []schema.EventID) {
	if len(list) == 0 {
		return nil
	}
	facts := hookFactsOf(e)
	list = slices.DeleteFunc(list, func(a pendingCall) bool {
		return a.noAgent || a.id >= e.ID || a.timestamp > e.Timestamp || a.facts.AgentID != facts.AgentID
	})
	switch e.Type {
	case "PostToolUse", "PostToolUseFailure", "PermissionDenied":
	default: // its turn is over
		for i := range list {
			ids = append(ids, list[i].id)
		}
		return ids
	}
	for i := range list {
		if facts.ToolUseID != "" && list[i].toolUseID == facts.ToolUseID {
			return []schema.EventID{list[i].id}
		}
	}
	call, ok := toolCallOf(&store.EventDraft{Event: *e}, &schema.HumanInTheLoop{})
	if !ok {
		return nil
	}
	hash := string(call.hash())
	for i := range list {
		if a := &list[i]; a.toolUseID == "" && a.matches(call.name, hash, facts) {
			return []schema.EventID{a.id}
		}
	}
	return nil
}

// matches reports whether the question, which has no id of a call, is about this one.
func (c *pendingCall) matches(tool, hash string, event hookFacts) bool {
	if c.tool != tool || c.facts.PromptID != "" && event.PromptID != "" && c.facts.PromptID != event.PromptID {
		return false
	}
	return isAgentDialog(tool) || c.hash == hash
}

// isAgentDialog reports whether the tool is a dialog of the agent's own. It shows one at
// a time, and what is answered there comes back among the arguments.
func isAgentDialog(tool string) bool { return tool == "AskUserQuestion" || tool == "ExitPlanMode" }

// closeAnsweredAtAgent ends a question that was decided elsewhere, as an event of this type tells.
func (h *Hub) closeAnsweredAtAgent(ctx context.Context, id schema.EventID, eventType string) error {
	_, err := h.transition(ctx, id, func(s *snapshot) (*store.Change, error) {
		if s.status.Settled() {
			return nil, nil
		}
		res := resolution{state: schema.Failed, outcome: schema.Cancelled, source: schema.ByAgent, reason: s.closeReason(eventType)}
		return res.change(s, h.Clock())
	})
	return err
}

// closeReason says in words what the event tells. Only the agent's own prompt is a
// terminal's: where the agent asked before it came to that, it may have stopped
// waiting.
func (s *snapshot) closeReason(eventType string) string {
	ran := eventType == "PostToolUse" || eventType == "PostToolUseFailure"
	switch {
	case !ran:
		return reasonDropped
	case s.Type != "PermissionRequest":
		return reasonContinued
	case isAgentDialog(s.Tool):
		return reasonAnswered
	case eventType == "PostToolUseFailure":
		return reasonFailed
	default:
		return reasonRan
	}
}
