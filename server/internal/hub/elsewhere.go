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
	closedRan     = "answered in the terminal: it ran"
	closedFailed  = "answered in the terminal: it ran and failed"
	closedAnswers = "answered in the terminal"
	closedWentOn  = "the agent went on: it ran"
	closedDropped = "the agent went on without it"
)

// hookFacts are what an event of a hook says besides its name.
type hookFacts struct {
	Agent     string `json:"agent"`
	AgentID   string `json:"agent_id"`
	ToolUseID string `json:"tool_use_id"`
	PromptID  string `json:"prompt_id"`
}

// factsOf reads them: from the event's own members, or the hook's payload. What is
// of another type is not there.
func factsOf(e *store.Event) hookFacts {
	var own, sent hookFacts
	_ = json.Unmarshal(slices.Concat([]byte("{"), e.Envelope, []byte("}")), &own)
	_ = json.Unmarshal(e.Payload, &sent)
	return hookFacts{
		Agent: own.Agent, AgentID: cmp.Or(own.AgentID, sent.AgentID),
		ToolUseID: cmp.Or(own.ToolUseID, sent.ToolUseID), PromptID: sent.PromptID,
	}
}

// noticeElsewhere closes what the event shows to be decided without the hub.
func (h *Hub) noticeElsewhere(ctx context.Context, e *store.Event) {
	switch e.Type {
	case "PostToolUse", "PostToolUseFailure", "PermissionDenied", "Stop", "StopFailure", "SubagentStop", "UserPromptSubmit":
	default:
		return
	}
	list, err := h.askedBy(ctx, e.App, e.Session)
	if err != nil {
		h.Log.Error("looking for questions that were answered elsewhere", "err", err)
	}
	for _, id := range closedBy(e, list) {
		if err := h.close(ctx, id, e.Type); err != nil {
			h.Log.Error("closing a question that was answered elsewhere", "event", id, "err", err)
		}
	}
}

// closedBy selects what e closes, of its session's questions, the oldest first: only
// an agent's, and only what was asked before e happened, for a hook may send its event
// late.
func closedBy(e *store.Event, list []asked) (ids []schema.EventID) {
	if len(list) == 0 {
		return nil
	}
	told := factsOf(e)
	list = slices.DeleteFunc(list, func(a asked) bool {
		return a.unknown || a.id >= e.ID || a.at > e.Timestamp || a.said.AgentID != told.AgentID
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
		if told.ToolUseID != "" && list[i].use == told.ToolUseID {
			return []schema.EventID{list[i].id}
		}
	}
	call, ok := toolCallOf(&store.EventDraft{Event: *e}, &schema.HumanInTheLoop{})
	if !ok {
		return nil
	}
	hash := string(call.hash())
	for i := range list {
		if a := &list[i]; a.use == "" && a.isAbout(call.name, hash, told) {
			return []schema.EventID{a.id}
		}
	}
	return nil
}

// isAbout reports whether the question, which has no id of a call, is about this one.
func (a *asked) isAbout(tool, hash string, told hookFacts) bool {
	if a.tool != tool || a.said.PromptID != "" && told.PromptID != "" && a.said.PromptID != told.PromptID {
		return false
	}
	return isDialog(tool) || a.hash == hash
}

// isDialog reports whether the tool is a dialog of the agent's own. It shows one at
// a time, and what is answered there comes back among the arguments.
func isDialog(tool string) bool { return tool == "AskUserQuestion" || tool == "ExitPlanMode" }

// close ends a question that was decided elsewhere, as an event of this type tells.
func (h *Hub) close(ctx context.Context, id schema.EventID, told string) error {
	_, err := h.transition(ctx, id, func(a *asking) (*store.Change, error) {
		if a.status.Settled() {
			return nil, nil
		}
		end := ending{state: schema.Failed, outcome: schema.Cancelled, source: schema.ByAgent, reason: a.whyClosed(told)}
		return end.change(a, h.Clock())
	})
	return err
}

// whyClosed says in words what the event tells. Only the agent's own prompt is a
// terminal's: where the agent asked before it came to that, it may have stopped
// waiting.
func (a *asking) whyClosed(told string) string {
	ran := told == "PostToolUse" || told == "PostToolUseFailure"
	switch {
	case !ran:
		return closedDropped
	case a.Type != "PermissionRequest":
		return closedWentOn
	case isDialog(a.Tool):
		return closedAnswers
	case told == "PostToolUseFailure":
		return closedFailed
	default:
		return closedRan
	}
}
