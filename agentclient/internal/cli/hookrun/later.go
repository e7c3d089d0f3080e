package hookrun

import (
	"encoding/json"
	"fmt"
	"net"
	"time"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// A policy can leave a call to a person without blocking its agent ("then": "later"). The call is denied with the
// number of the request, and the agent does other work. An approval is a grant for exactly this call: the hub sends the
// agent a message, and the hook of the next such call gets the grant. Nothing else runs the call, so without an answer, in
// another session, with other arguments or a second time it does not run.

// laterWait is how long a person can approve such a call. The end of its session ends the request earlier.
const laterWait = 24 * time.Hour

// asksLater reports whether the agent can continue without the call. If no approval could count at its next try,
// the hook asks and waits.
func (h *hookRun) asksLater(c *hook.Call) bool {
	if !c.CanAskLater() {
		return false
	}
	if _, _, err := h.grantTrust(); err != nil {
		h.logf("the policy's later waits for a person: %v", err)
		return false
	}
	return true
}

// askLater lets the call run if a person has approved it. Otherwise it asks one, and denies the call for now.
func (h *hookRun) askLater(c *hook.Call, hd hookDecision) hook.Verdict {
	c.Capabilities |= hook.CanGrant
	if reason := h.selectHub().UnprovenHub(); reason != "" {
		return h.askNoOne(c, hd, reason)
	}
	directive, finish := h.send(c)
	defer finish()
	v := h.applyDirective(c, directive, hook.Verdict{})
	if v.Effect != hook.Pass {
		return v
	}
	answer := hook.Verdict{Effect: hook.Deny}
	switch {
	case directive != nil && directive.Grant != nil:
		answer.Reason = fmt.Sprintf("Request %d was approved, but the approval does not count for this call: hook.log has the reason. It was not run.",
			directive.Grant.Question)
	case directive != nil && directive.Asked != 0:
		answer.Reason = askedLater(directive.Asked) + " No one has answered yet. Continue with other work. A message will follow."
	default:
		id, err := h.postLater(c, hd)
		if err != nil {
			h.logf("question not posted: %v", err)
			answer = h.fallbackVerdict(c, hd, noHub, "No one could be asked: "+err.Error()+".")
			break
		}
		answer.Reason = askedLater(id) + " Continue with other work. A message will follow when it is approved; then run exactly the same call again."
	}
	answer.Messages = v.Messages
	return answer
}

// askedLater is the first sentence of the denial of a call that waits for a person.
func askedLater(request schema.EventID) string {
	return fmt.Sprintf("A person was asked (request %d).", request)
}

// postLater posts the question about a call without waiting for its answer.
func (h *hookRun) postLater(c *hook.Call, hd hookDecision) (schema.EventID, error) {
	e := h.buildRequest(c, hd).Event
	ask := e.HumanInTheLoop
	ask.Appeal = &schema.Appeal{By: "the Hookback policy", Reason: hd.policy.Reason, Later: true}
	ask.Lifeline, ask.AlsoAsked, ask.PromptAfter, ask.Interruptible = false, false, 0, false
	wait := laterWait.Seconds()
	ask.Timeout = &wait
	if ask.ToolCall != nil {
		call := *ask.ToolCall
		call.Editable, ask.ToolCall = false, &call
	}
	hubs, err := h.selectHub().Hubs()
	if err != nil {
		return 0, err
	}
	body, err := json.Marshal(&e)
	if err != nil {
		return 0, err
	}
	poster := h.poster(hubs)
	poster.Ticket = h.env(control.TicketVariable)
	response, err := poster.Post(time.Now().Add(h.acceptTimeout), schema.PathEvents, net.Buffers{body})
	if err != nil {
		return 0, err
	}
	var stored struct{ ID schema.EventID }
	if err := json.Unmarshal(response, &stored); err != nil || stored.ID == 0 {
		return 0, fmt.Errorf("the hub's response can't be read: %w", err)
	}
	return stored.ID, nil
}
