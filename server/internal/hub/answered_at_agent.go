package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// Coding agents have their own prompt. When a person answers there, the hook that waits
// here does not learn of it. The hub detects such an out-of-band answer from the
// agent's next events: the call has run, or its turn has ended. It then settles the
// question and notifies the hook. Nothing is ever approved this way.

// Reasons of a question closed by the agent's events. They claim no more than the event
// proves. The dashboard matches the prefix "answered in the terminal".
const (
	reasonRan       = "answered in the terminal: it ran"
	reasonFailed    = "answered in the terminal: it ran and failed"
	reasonAnswered  = "answered in the terminal"
	reasonContinued = "the agent continued: the call ran"
	reasonDropped   = "the agent continued without the call"
)

// hookFacts holds the members of a hook event that identify its agent, call and prompt.
type hookFacts struct {
	Agent     string `json:"agent"`
	AgentID   string `json:"agent_id"`
	ToolUseID string `json:"tool_use_id"`
	PromptID  string `json:"prompt_id"`
}

// hookFactsOf reads the members from the event itself, or else from the hook's payload.
// Members of the wrong type count as absent.
func hookFactsOf(e *store.Event) hookFacts {
	var envelope, payload hookFacts
	_ = json.Unmarshal(slices.Concat([]byte("{"), e.Envelope, []byte("}")), &envelope)
	_ = json.Unmarshal(e.Payload, &payload)
	return hookFacts{
		Agent: envelope.Agent, AgentID: cmp.Or(envelope.AgentID, payload.AgentID),
		ToolUseID: cmp.Or(envelope.ToolUseID, payload.ToolUseID), PromptID: payload.PromptID,
	}
}

// detectAnswerAtAgent closes the pending questions that, according to e, were decided
// at the agent.
func (h *Hub) detectAnswerAtAgent(ctx context.Context, e *store.Event) {
	switch e.Type {
	case "PostToolUse", "PostToolUseFailure", "PermissionDenied", "Stop", "StopFailure", "SubagentStop", "UserPromptSubmit":
	default:
		return
	}
	list, err := h.pendingCalls(ctx, e.App, e.Session)
	if err != nil {
		h.Log.Error("pending question lookup failed; answers given at the agent may be missed", "event", e.ID, "err", err)
	}
	for _, id := range callsClosedBy(e, list) {
		if err := h.closeAnsweredAtAgent(ctx, id, e.Type); err != nil {
			h.Log.Error("closing a question answered at the agent failed", "event", id, "err", err)
		}
	}
}

// callsClosedBy returns the ids of the calls in list (oldest first) that e closes. Only
// questions of the same agent that were asked before e happened qualify, because a hook
// may send its event late.
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
	default: // the turn has ended
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

// matches reports whether a question without a call id is about this call.
func (c *pendingCall) matches(tool, hash string, event hookFacts) bool {
	if c.tool != tool || c.facts.PromptID != "" && event.PromptID != "" && c.facts.PromptID != event.PromptID {
		return false
	}
	return isAgentDialog(tool) || c.hash == hash
}

// isAgentDialog reports whether the tool is a dialog of the agent itself. The agent
// shows one at a time, and the answer comes back among the arguments, so their hash
// differs.
func isAgentDialog(tool string) bool { return tool == "AskUserQuestion" || tool == "ExitPlanMode" }

// closeAnsweredAtAgent cancels a question that an event of this type shows to be
// decided at the agent.
func (h *Hub) closeAnsweredAtAgent(ctx context.Context, id schema.EventID, eventType string) error {
	_, err := h.transition(ctx, id, func(s *snapshot) (*store.Change, error) {
		if s.status.IsSettled() {
			return nil, nil
		}
		res := resolution{state: schema.Failed, outcome: schema.Cancelled, source: schema.ByAgent, reason: s.closeReason(eventType)}
		return res.change(s, h.Clock())
	})
	return err
}

// closeReason returns the reason that the event proves. Only a PermissionRequest comes
// from the prompt in the terminal. A hook that asks before that prompt may have stopped
// waiting.
func (s *snapshot) closeReason(eventType string) string {
	callRan := eventType == "PostToolUse" || eventType == "PostToolUseFailure"
	switch {
	case !callRan:
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
