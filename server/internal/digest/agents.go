package digest

import (
	"cmp"
	"slices"

	"github.com/hookback/hookback/schema"
)

// node is the place of an agent in the tree, -1 for none. The main one has no id.
func (s *Session) node(id string) int {
	return slices.IndexFunc(s.Tree, func(n schema.AgentNode) bool { return n.AgentID == id })
}

// agent takes the event into the figures of its agent and returns them. Those of an
// agent that is one too many are not kept.
func (s *Session) agent(f *EventFacts) *schema.AgentNode {
	i := s.known(f.Agent, f)
	if i < 0 {
		if f.Kind == AgentStarts {
			s.Sum.Agents++
		}
		return &schema.AgentNode{}
	}
	n := &s.Tree[i]
	if f.Kind.telemetry() {
		if n.Model == "" {
			n.Model = f.Model
		}
		n.AgentType = cmp.Or(n.AgentType, f.AgentType)
		return n
	}
	n.Events++
	n.LastAt, n.LastID = schema.Millis(f.At), f.ID
	n.Ended = f.Kind == AgentEnds || f.Kind == SessionEnds
	n.AgentType = cmp.Or(n.AgentType, f.AgentType)
	n.Model = cmp.Or(f.Model, n.Model)
	if f.HasQuestion {
		n.Questions++
		n.Pending++
	}
	if f.Kind == SessionEnds {
		for i := range s.Tree {
			s.Tree[i].Ended = true
		}
	}
	return n
}

// known is the place of an agent, which is made where it is new.
func (s *Session) known(id string, f *EventFacts) int {
	if i := s.node(id); i >= 0 {
		return i
	}
	if len(s.Tree) > maxAgents || id != "" && len(s.Tree) == maxAgents && s.node("") < 0 {
		return -1
	}
	n := schema.AgentNode{AgentID: id, FirstID: f.ID, LastID: f.ID, StartedAt: schema.Millis(f.At), LastAt: schema.Millis(f.At)}
	if id != "" {
		s.Sum.Agents++
		n.Parent = s.starter(id, f)
	}
	s.Tree = append(s.Tree, n)
	return len(s.Tree) - 1
}

// starter is who started a new agent: who is said to, else who runs the oldest call
// that asks for one of its type and has started none yet, else the main agent.
func (s *Session) starter(id string, f *EventFacts) string {
	if f.ParentAgent != "" && f.ParentAgent != id {
		return f.ParentAgent
	}
	for i := range s.Open {
		c := &s.Open[i]
		if c.Starts != "" && c.Started == "" && c.Agent != id && (f.AgentType == "" || c.Starts == f.AgentType) {
			c.Started = id
			return c.Agent
		}
	}
	return ""
}

// adopt notes which agent a call has started, which its end says for sure. Nobody
// becomes its own ancestor.
func (s *Session) adopt(f *EventFacts) {
	if f.Started == "" || f.Started == f.Agent {
		return
	}
	for up, steps := f.Agent, 0; up != "" && steps <= len(s.Tree); steps++ {
		i := s.node(up)
		if i < 0 {
			break
		}
		if up = s.Tree[i].Parent; up == f.Started {
			return
		}
	}
	if i := s.known(f.Started, &EventFacts{ID: f.ID, At: f.At, AgentType: f.Starts, ParentAgent: f.Agent}); i >= 0 {
		s.Tree[i].Parent = f.Agent
		s.Tree[i].AgentType = cmp.Or(s.Tree[i].AgentType, f.Starts)
	}
}

// charge adds a request to what its agent spent.
func (s *Session) charge(agent string, spent Usage) {
	i := s.node(agent)
	if i < 0 {
		return
	}
	n := &s.Tree[i]
	sum := spent.Tokens
	if n.Tokens != nil {
		sum = *capped(plus(*n.Tokens, sum, 1))
	}
	n.Requests++
	n.Tokens, n.CostUSD = &sum, min(n.CostUSD+spent.CostUSD, maxCost)
}

// model is what an event says of the session's model. Subagents may use another one,
// and so does what Claude Code asks models for beside the work.
func (s *Session) model(f *EventFacts) string {
	if f.Agent != "" || f.Kind == Requested && s.Sum.Model != "" {
		return ""
	}
	return f.Model
}

// Agents are the agents of the session in the order in which they began, the main one
// first where it did something. Tokens are of its own requests, or its transcript.
func (s *Session) Agents() []schema.AgentNode {
	list := make([]schema.AgentNode, 0, len(s.Tree))
	for _, n := range s.Tree {
		var own schema.Tokens
		if n.Tokens != nil {
			own = *n.Tokens
		}
		if own = more(own, s.Chats[n.AgentID]); own != (schema.Tokens{}) {
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
func (s *Session) IsTelemetryOnly() bool { return s.Heard == s.Sum.Events }

// Rekey makes it a session of another application.
func (s *Session) Rekey(app string) { s.Sum.SourceApp = app }

func byCost(a, b schema.ModelUse) int {
	return cmp.Or(cmp.Compare(b.CostUSD, a.CostUSD), cmp.Compare(b.Tokens.Output, a.Tokens.Output), cmp.Compare(a.Model, b.Model))
}
