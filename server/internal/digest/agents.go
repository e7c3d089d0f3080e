package digest

import (
	"cmp"
	"slices"

	"github.com/hookback/hookback/schema"
)

// nodeIndex is the place of an agent in the tree, -1 for none. The main one has no id.
func (s *Session) nodeIndex(id string) int {
	return slices.IndexFunc(s.AgentTree, func(n schema.AgentNode) bool { return n.AgentID == id })
}

// updateAgent takes the event into the figures of its agent and returns them. Those of an
// agent that is one too many are not kept.
func (s *Session) updateAgent(f *EventFacts) *schema.AgentNode {
	i := s.ensureNode(f.Agent, f)
	if i < 0 {
		if f.Kind == AgentStart {
			s.Sum.Agents++
		}
		return &schema.AgentNode{}
	}
	n := &s.AgentTree[i]
	if f.Kind.isTelemetry() {
		if n.Model == "" {
			n.Model = f.Model
		}
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
		n.Pending++
	}
	if f.Kind == SessionEnd {
		for i := range s.AgentTree {
			s.AgentTree[i].Ended = true
		}
	}
	return n
}

// ensureNode is the place of an agent, which is made where it is new.
func (s *Session) ensureNode(id string, f *EventFacts) int {
	if i := s.nodeIndex(id); i >= 0 {
		return i
	}
	if len(s.AgentTree) > maxAgents || id != "" && len(s.AgentTree) == maxAgents && s.nodeIndex("") < 0 {
		return -1
	}
	n := schema.AgentNode{AgentID: id, FirstID: f.ID, LastID: f.ID, StartedAt: schema.Millis(f.At), LastAt: schema.Millis(f.At)}
	if id != "" {
		s.Sum.Agents++
		n.Parent = s.inferParent(id, f)
	}
	s.AgentTree = append(s.AgentTree, n)
	return len(s.AgentTree) - 1
}

// inferParent is who started a new agent: who is said to, else who runs the oldest call
// that asks for one of its type and has started none yet, else the main agent.
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

// linkSubagent notes which agent a call has started, which its end says for sure. Nobody
// becomes its own ancestor.
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

// addUsage adds a request to what its agent spent.
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

// sessionModel is what an event says of the session's model. Subagents may use another one,
// and so does what Claude Code asks models for beside the work.
func (s *Session) sessionModel(f *EventFacts) string {
	if f.Agent != "" || f.Kind == ModelRequest && s.Sum.Model != "" {
		return ""
	}
	return f.Model
}

// Agents are the agents of the session in the order in which they began, the main one
// first where it did something. Tokens are of its own requests, or its transcript.
func (s *Session) Agents() []schema.AgentNode {
	list := make([]schema.AgentNode, 0, len(s.AgentTree))
	for _, n := range s.AgentTree {
		var own schema.Tokens
		if n.Tokens != nil {
			own = *n.Tokens
		}
		if own = larger(own, s.TranscriptTokens[n.AgentID]); own != (schema.Tokens{}) {
			n.Tokens = &own
		}
		list = append(list, n)
	}
	slices.SortStableFunc(list, func(a, b schema.AgentNode) int {
		return cmp.Compare(min(1, len(a.AgentID)), min(1, len(b.AgentID)))
	})
	return list
}

// IsTelemetryOnly reports whether nothing is known of the session but telemetry.
func (s *Session) IsTelemetryOnly() bool { return s.TelemetryEvents == s.Sum.Events }

// Rekey makes it a session of another application.
func (s *Session) Rekey(app string) { s.Sum.SourceApp = app }

func compareByCost(a, b schema.ModelUse) int {
	return cmp.Or(cmp.Compare(b.CostUSD, a.CostUSD), cmp.Compare(b.Tokens.Output, a.Tokens.Output), cmp.Compare(a.Model, b.Model))
}
