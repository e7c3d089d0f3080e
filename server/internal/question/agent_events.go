package question

import (
	"slices"
	"time"

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

// CallsClosedBy returns the ids of the calls in list (oldest first) that e closes; c is what CallOf returns for it
// without a question. Only questions of the same agent that were asked before e happened qualify, because a hook
// may send its event late.
func CallsClosedBy(e *store.Event, c *Call, list []PendingCall) (ids []schema.EventID) {
	facts := c.Facts
	list = slices.DeleteFunc(list, func(a PendingCall) bool {
		return a.noAgent || a.ID >= e.ID || a.timestamp > e.Timestamp || a.facts.AgentID != facts.AgentID
	})
	switch e.Type {
	case "PostToolUse", "PostToolUseFailure", "PermissionDenied":
	default: // the turn has ended
		for i := range list {
			ids = append(ids, list[i].ID)
		}
		return ids
	}
	for i := range list {
		if facts.ToolUseID != "" && list[i].toolUseID == facts.ToolUseID {
			return []schema.EventID{list[i].ID}
		}
	}
	if !c.Exists() {
		return nil
	}
	hash := string(c.Hash())
	for i := range list {
		if a := &list[i]; a.toolUseID == "" && a.matches(c.Name, hash, facts) {
			return []schema.EventID{a.ID}
		}
	}
	return nil
}

// matches reports whether a question without a call id is about this call.
func (c *PendingCall) matches(tool, hash string, event HookFacts) bool {
	if c.tool != tool || c.facts.PromptID != "" && event.PromptID != "" && c.facts.PromptID != event.PromptID {
		return false
	}
	return isAgentDialog(tool) || c.hash == hash
}

// isAgentDialog reports whether the tool is a dialog of the agent itself. The agent
// shows one at a time, and the answer comes back among the arguments, so their hash
// differs.
func isAgentDialog(tool string) bool { return tool == "AskUserQuestion" || tool == "ExitPlanMode" }

// closeReason returns the reason that the event proves. Only a PermissionRequest comes
// from the prompt in the terminal. A hook that asks before that prompt may have stopped
// waiting.
func (s *Snapshot) closeReason(eventType string) string {
	callRan := eventType == "PostToolUse" || eventType == "PostToolUseFailure"
	switch {
	case eventType == "Interrupt":
		return schema.ReasonDismissed
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

// PendingCall identifies the tool call behind a pending question. Later events of the
// session are matched against it. Its fields do not change while the question is
// pending.
type PendingCall struct {
	ID        schema.EventID
	timestamp int64 // Unix time in ms
	facts     HookFacts
	toolUseID string // empty if the call has no id
	tool      string // empty if the question is not about a tool call
	hash      string // hash of tool and arguments
	noAgent   bool   // no event of an agent closes it
}

// PendingCall returns the call that the question is about.
func (s *Snapshot) PendingCall() PendingCall {
	c := s.Call()
	call := PendingCall{ID: s.ID, timestamp: s.Timestamp, facts: c.Facts, toolUseID: c.Facts.ToolUseID, noAgent: c.Facts.Agent == ""}
	if s.Ask.ToolCall != nil && s.Ask.ToolCall.ID != "" {
		call.toolUseID = s.Ask.ToolCall.ID
	}
	if s.Ask.Appeal != nil && s.Ask.Appeal.Later { // the agent continues without the call, which proves nothing
		call.noAgent = true
	}
	if c.Exists() {
		call.tool, call.hash = c.Name, string(c.Hash())
	}
	return call
}

// CloseAnsweredAtAgent cancels a question that an event of this type shows to be decided at the
// agent.
func (s *Snapshot) CloseAnsweredAtAgent(eventType string, now time.Time) (*store.Change, error) {
	if s.Status.IsSettled() {
		return nil, nil
	}
	res := resolution{state: schema.Failed, outcome: schema.Cancelled, source: schema.ByAgent, reason: s.closeReason(eventType)}
	if res.reason == schema.ReasonDismissed {
		res.source = schema.ByDismissal
	}
	return res.change(s, now)
}

// CloseAtSessionEnd settles a question whose session has ended.
func (s *Snapshot) CloseAtSessionEnd(now time.Time) (*store.Change, error) {
	if s.Status.IsSettled() {
		return nil, nil
	}
	res := resolution{state: schema.Failed, outcome: schema.Cancelled, source: schema.BySessionEnd}
	return res.change(s, now)
}

// Abandon settles a question whose agent no longer waits at url, the last listener it named, or,
// if url is empty, in the request that posted it. It sends the agent nothing.
func (s *Snapshot) Abandon(url, reason string, now time.Time) (*store.Change, error) {
	if s.Status.IsSettled() || s.URL != url {
		return nil, nil
	}
	s.Status.Waiter = schema.Lost
	res := resolution{state: schema.Failed, outcome: schema.Cancelled, source: schema.ByOrphaned, reason: reason, silent: true}
	return res.change(s, now)
}

// RecordExecution records how the approved call ended, as the agent's events show it at that
// time (Unix ms). The call may have run without approval; the status then shows that. An
// outcome already recorded is kept.
func (s *Snapshot) RecordExecution(execution schema.Execution, at int64) (*store.Change, error) {
	if s.Status.Execution.IsOver() {
		return nil, nil
	}
	st := s.Status
	if st.Outcome == schema.Approve {
		execution.DurationMS = max(0, at-int64(st.RespondedAt))
	}
	st.Execution = &execution
	return s.change(st)
}

// ReportExecution records that the call runs or how it ended, as reported by the agent that
// asked. An outcome already recorded is kept, also if the report of the start arrives after it.
func (s *Snapshot) ReportExecution(secret string, execution *schema.Execution) (*store.Change, error) {
	if err := s.CheckSecret("requestSecret", secret); err != nil {
		return nil, err
	}
	if !s.Status.IsSettled() {
		return nil, s.undecidedError()
	}
	if s.Status.Execution.IsOver() || s.Status.Execution != nil && !execution.IsOver() {
		return nil, nil
	}
	st := s.Status
	st.Execution = execution
	return s.change(st)
}
