package digest

import (
	"cmp"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
)

// nodeIndex returns the agent's index in the tree, or -1. The main agent's id is "".
func (s *Session) nodeIndex(id string) int {
	return slices.IndexFunc(s.AgentTree, func(n history.AgentNode) bool { return n.AgentID == id })
}

// updateAgent adds the event to its agent's node and returns the node. Beyond maxAgents it
// returns a node that is not stored.
func (s *Session) updateAgent(f *EventFacts) *history.AgentNode {
	i := s.ensureNode(f.Agent, f)
	if i < 0 {
		if f.Kind == AgentStart {
			s.Sum.Agents++
		}
		return &history.AgentNode{}
	}
	n := &s.AgentTree[i]
	if f.Kind.isTelemetry() {
		n.Model = cmp.Or(n.Model, f.Model)
		n.AgentType = cmp.Or(n.AgentType, f.AgentType)
		return n
	}
	n.Events++
	n.LastAt, n.LastID = schema.Millis(f.At), f.ID
	n.Ended = f.Kind == AgentEnd || f.Kind == SessionEnd
	n.AgentType = cmp.Or(n.AgentType, f.AgentType)
	n.Model = cmp.Or(f.Model, n.Model)
	if f.HasQuestion {
		n.Questions++
	}
	if f.isBlocked() {
		if n.Pending++; n.Pending == 1 {
			n.WaitingSince = schema.Millis(f.At)
		}
	}
	if f.Kind == SessionEnd {
		for i := range s.AgentTree {
			s.AgentTree[i].Ended = true
		}
	}
	return n
}

// ensureNode returns the agent's index in the tree and adds a node for a new agent. It returns
// -1 if the tree is full.
func (s *Session) ensureNode(id string, f *EventFacts) int {
	if i := s.nodeIndex(id); i >= 0 {
		return i
	}
	if len(s.AgentTree) > maxAgents || id != "" && len(s.AgentTree) == maxAgents && s.nodeIndex("") < 0 {
		return -1
	}
	n := history.AgentNode{AgentID: id, FirstID: f.ID, LastID: f.ID, StartedAt: schema.Millis(f.At), LastAt: schema.Millis(f.At)}
	if id != "" {
		s.Sum.Agents++
		n.Parent = s.inferParent(id, f)
	}
	s.AgentTree = append(s.AgentTree, n)
	return len(s.AgentTree) - 1
}

// inferParent returns the agent that started a new one: the parent that the event names,
// otherwise the agent of the oldest open call that requests this type and has no agent yet,
// otherwise the main agent.
func (s *Session) inferParent(id string, f *EventFacts) string {
	if f.ParentAgent != "" && f.ParentAgent != id {
		return f.ParentAgent
	}
	for i := range s.OpenCalls {
		c := &s.OpenCalls[i]
		if c.SubagentType != "" && c.StartedAgent == "" && c.Agent != id && (f.AgentType == "" || c.SubagentType == f.AgentType) {
			c.StartedAgent = id
			return c.Agent
		}
	}
	return ""
}

// linkSubagent records which agent a call started. The end of the call names it reliably and
// corrects a wrong guess. An agent never becomes its own ancestor.
func (s *Session) linkSubagent(f *EventFacts) {
	if f.StartedAgent == "" || f.StartedAgent == f.Agent {
		return
	}
	for up, steps := f.Agent, 0; up != "" && steps <= len(s.AgentTree); steps++ {
		i := s.nodeIndex(up)
		if i < 0 {
			break
		}
		if up = s.AgentTree[i].Parent; up == f.StartedAgent {
			return
		}
	}
	if i := s.ensureNode(f.StartedAgent, &EventFacts{ID: f.ID, At: f.At, AgentType: f.SubagentType, ParentAgent: f.Agent}); i >= 0 {
		s.AgentTree[i].Parent = f.Agent
		s.AgentTree[i].AgentType = cmp.Or(s.AgentTree[i].AgentType, f.SubagentType)
	}
}

// addUsage adds a request to its agent's usage.
func (s *Session) addUsage(agent string, usage Usage) {
	i := s.nodeIndex(agent)
	if i < 0 {
		return
	}
	n := &s.AgentTree[i]
	sum := usage.Tokens
	if n.Tokens != nil {
		sum = *capTokens(addTokens(*n.Tokens, sum, 1))
	}
	n.Requests++
	n.Tokens, n.CostUSD = &sum, min(n.CostUSD+usage.CostUSD, maxCost)
}

// sessionModel returns the event's model if it is the session's. Subagents may use another
// model, and so do the requests that Claude Code makes in addition to the main work.
func (s *Session) sessionModel(f *EventFacts) string {
	if f.Agent != "" || f.Kind == ModelRequest && s.Sum.Model != "" {
		return ""
	}
	return f.Model
}

// Agents returns the agents of the session in the order in which they began. The main agent is
// first, if it has events. Tokens come from an agent's own requests or its transcript, whichever
// has more.
func (s *Session) Agents() []history.AgentNode {
	list := make([]history.AgentNode, 0, len(s.AgentTree))
	for _, n := range s.AgentTree {
		var tokens history.Tokens
		if n.Tokens != nil {
			tokens = *n.Tokens
		}
		if tokens = larger(tokens, s.TranscriptTokens[n.AgentID]); tokens != (history.Tokens{}) {
			n.Tokens = &tokens
		}
		list = append(list, n)
	}
	slices.SortStableFunc(list, func(a, b history.AgentNode) int {
		return cmp.Compare(min(1, len(a.AgentID)), min(1, len(b.AgentID)))
	})
	return list
}

// IsTelemetryOnly reports whether the session has no events but telemetry.
func (s *Session) IsTelemetryOnly() bool { return s.TelemetryEvents == s.Sum.Events }

func compareByCost(a, b history.ModelUse) int {
	return cmp.Or(cmp.Compare(b.CostUSD, a.CostUSD), cmp.Compare(b.Tokens.Output, a.Tokens.Output), cmp.Compare(a.Model, b.Model))
}
