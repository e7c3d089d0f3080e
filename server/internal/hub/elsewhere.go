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

// maxLookedAt bounds the questions of a session that one event is held against.
const maxLookedAt = 200

// openSessions counts the pending questions of each session, so that all other
// sessions' events cost one look into a map.
type openSessions map[store.SessionKey]int64 // :: session → how many it asks; none when 0

func (o openSessions) add(e *store.Event, n int64) {
	key := store.SessionKey{App: e.App, Session: e.Session}
	if o[key] += n; o[key] <= 0 {
		delete(o, key)
	}
}

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
	h.mu.Lock()
	asks := h.open[store.SessionKey{App: e.App, Session: e.Session}] > 0
	h.mu.Unlock()
	if !asks {
		return
	}
	ids, err := h.Store.PendingOf(ctx, e.App, e.Session)
	if err != nil {
		h.Log.Error("looking for questions that were answered elsewhere", "err", err)
		return
	}
	var asked []*asking
	for _, id := range ids[:min(len(ids), maxLookedAt)] {
		if a, err := h.read(ctx, id); err == nil && a.before(e) {
			asked = append(asked, a)
		}
	}
	for _, a := range closedBy(e, asked) {
		if err := h.close(ctx, a, e.Type); err != nil {
			h.Log.Error("closing a question that was answered elsewhere", "event", a.ID, "err", err)
		}
	}
}

// before reports whether the question is an agent's and was asked before e happened:
// a hook may send its event late.
func (a *asking) before(e *store.Event) bool {
	return a.ID < e.ID && a.Timestamp <= e.Timestamp && factsOf(&a.Event).Agent != ""
}

// closedBy selects what e closes, of its session's questions, the oldest first.
func closedBy(e *store.Event, asked []*asking) []*asking {
	told := factsOf(e)
	asked = slices.DeleteFunc(asked, func(a *asking) bool { return factsOf(&a.Event).AgentID != told.AgentID })
	switch e.Type {
	case "PostToolUse", "PostToolUseFailure", "PermissionDenied":
	default:
		return asked // its turn is over
	}
	for i, a := range asked {
		if told.ToolUseID != "" && a.toolUseID() == told.ToolUseID {
			return asked[i : i+1]
		}
	}
	call, ok := toolCallOf(&store.Draft{Event: *e}, &schema.HumanInTheLoop{})
	for i, a := range asked {
		if ok && a.toolUseID() == "" && a.isAbout(call, told) {
			return asked[i : i+1]
		}
	}
	return nil
}

func (a *asking) toolUseID() string {
	if a.hitl.ToolCall != nil && a.hitl.ToolCall.ID != "" {
		return a.hitl.ToolCall.ID
	}
	return factsOf(&a.Event).ToolUseID
}

// isAbout reports whether the question, which has no id of a call, is about this one.
func (a *asking) isAbout(call toolCall, told hookFacts) bool {
	own, ok := toolCallOf(&store.Draft{Event: a.Event}, &a.hitl)
	if asked := factsOf(&a.Event).PromptID; !ok || own.name != call.name || asked != "" && told.PromptID != "" && asked != told.PromptID {
		return false
	}
	return isDialog(call.name) || string(own.hash()) == string(call.hash())
}

// isDialog reports whether the tool is a dialog of the agent's own. It shows one at
// a time, and what is answered there comes back among the arguments.
func isDialog(tool string) bool { return tool == "AskUserQuestion" || tool == "ExitPlanMode" }

// close ends a question that was decided elsewhere, as an event of this type tells.
func (h *Hub) close(ctx context.Context, a *asking, told string) error {
	_, err := h.transition(ctx, a.ID, func(a *asking) (*store.Change, error) {
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
