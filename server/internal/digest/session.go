package digest

import (
	"slices"

	"github.com/hookback/hookback/schema"
)

// Bounds of what a session remembers. The oldest is forgotten first.
const (
	maxOpen     = 100
	maxAgents   = 500
	maxMessages = 16
	maxDone     = 32
)

// Session is the sum of a session's events so far, with what is needed to go on.
// Its JSON is what the store keeps.
type Session struct {
	Sum schema.Session `json:"sum"` // but for Pending, which only the questions know

	Open   []Call   `json:"open,omitempty"`   // calls that have not ended
	Asked  []Asked  `json:"asked,omitempty"`  // permissions whose call has not been heard of
	Agents []string `json:"agents,omitempty"` // subagents
	Done   []string `json:"done,omitempty"`   // the last calls that ended, which hooks may tell twice

	Total    *schema.Tokens           `json:"total,omitempty"` // as the agent sums up itself
	Chats    map[string]schema.Tokens `json:"chats,omitempty"` // :: agent → the sum of its newest transcript
	Used     schema.Tokens            `json:"used,omitzero"`   // added up from events
	Messages []Message                `json:"messages,omitempty"`
}

// Call is a tool call under way.
type Call struct {
	UseID  string `json:"id,omitempty"`
	Tool   string `json:"tool"`
	Agent  string `json:"agent,omitempty"`
	At     int64  `json:"at"`
	Waited int64  `json:"waited,omitempty"` // for a person, ms
}

// Asked is a permission that was asked for a tool call.
type Asked struct {
	ID    schema.EventID `json:"id"`
	UseID string         `json:"use"`
}

// Message is a model's message that Session.Used has.
type Message struct {
	ID   string        `json:"id"`
	Used schema.Tokens `json:"used"`
}

// Step is what an event adds to the figures beyond its session.
type Step struct {
	New    bool // the session's first event
	Ended  *Use // a tool call that came to an end
	Failed bool // counted as a failure
	Ran    *Ran // a call that a person was asked about
	Tokens schema.Tokens
	Cost   float64
}

// Use is one use of a tool.
type Use struct {
	Tool   string
	MS     int64 // how long it took without the time a person was waited for; -1: unknown
	Failed bool
}

// Ran is what became of the call that a permission was asked for.
type Ran struct {
	Question  schema.EventID
	At        int64
	Execution schema.Execution // but for DurationMS, which counts from the answer
}

// Add takes an event of the session, in the order of the log.
func (s *Session) Add(f *Facts) Step {
	step := Step{New: s.Sum.Events == 0}
	s.place(f)
	if f.Agent != "" && len(s.Agents) < maxAgents && !slices.Contains(s.Agents, f.Agent) {
		s.Agents = append(s.Agents, f.Agent)
		s.Sum.Agents++
	}
	if f.Asks {
		s.Sum.Asked++
	}
	again := false
	switch f.Kind {
	case ToolStarts:
		s.start(f)
	case ToolEnds:
		again = f.UseID != "" && slices.Contains(s.Done, f.UseID)
		if !again {
			step.Ended = s.end(f)
			step.Ran = s.ran(f)
		}
	case SessionEnds:
		s.Open = nil
	}
	if f.AsksPermission && f.UseID != "" {
		s.Asked = append(last(s.Asked, maxOpen), Asked{f.ID, f.UseID})
	}
	if f.Failed && !again {
		step.Failed = true
		s.Sum.Failures++
	}
	step.Tokens, step.Cost = s.spend(f)
	return step
}

// place keeps where, when and what the session is.
func (s *Session) place(f *Facts) {
	m := &s.Sum
	if m.Events == 0 {
		m.SourceApp, m.SessionID = f.App, f.Session
		m.StartedAt, m.FirstID = schema.Millis(f.At), f.ID
	}
	m.Events++
	m.LastAt, m.LastID = schema.Millis(f.At), f.ID
	m.Ended = f.Kind == SessionEnds
	for _, first := range []struct {
		into *string
		text string
	}{{&m.Title, f.Prompt}, {&m.Cwd, f.Cwd}, {&m.ParentSessionID, f.Parent}} {
		if *first.into == "" {
			*first.into = first.text
		}
	}
	for _, latest := range []struct {
		into *string
		text string
	}{{&m.Branch, f.Branch}, {&m.Model, f.Model}} {
		if latest.text != "" {
			*latest.into = latest.text
		}
	}
	if f.HasChat {
		m.Transcript = f.ID
	}
}

func (s *Session) start(f *Facts) {
	if f.UseID != "" && slices.ContainsFunc(s.Open, func(c Call) bool { return c.UseID == f.UseID }) {
		return // told twice
	}
	s.Open = append(last(s.Open, maxOpen), Call{UseID: f.UseID, Tool: f.Tool, Agent: f.Agent, At: f.At})
}

// last makes room for one more of at most n.
func last[T any](list []T, n int) []T {
	return list[max(0, len(list)-n+1):]
}

// find is the open call that f is about, -1 for none: the one with its id, else
// the last one of its tool and agent that has no id to tell it by.
func (s *Session) find(f *Facts) int {
	for i := len(s.Open) - 1; i >= 0; i-- {
		if f.UseID != "" && s.Open[i].UseID == f.UseID {
			return i
		}
	}
	for i := len(s.Open) - 1; i >= 0; i-- {
		c := &s.Open[i]
		if c.Tool == f.Tool && c.Agent == f.Agent && (c.UseID == "" || f.UseID == "") {
			return i
		}
	}
	return -1
}

func (s *Session) end(f *Facts) *Use {
	s.Sum.Tools++
	use := &Use{Tool: f.Tool, MS: -1, Failed: f.Failed}
	if f.UseID != "" {
		s.Done = append(last(s.Done, maxDone), f.UseID)
	}
	if i := s.find(f); i >= 0 {
		c := s.Open[i]
		use.MS = max(0, f.At-c.At-c.Waited)
		s.Open = slices.Delete(s.Open, i, i+1)
	} else if f.TookMS > 0 {
		use.MS = f.TookMS
	}
	return use
}

// ran tells what became of the call that a permission was asked for.
func (s *Session) ran(f *Facts) *Ran {
	i := slices.IndexFunc(s.Asked, func(a Asked) bool { return f.UseID != "" && a.UseID == f.UseID })
	if i < 0 {
		return nil
	}
	ran := &Ran{Question: s.Asked[i].ID, At: f.At}
	ran.Execution = schema.Execution{State: schema.Succeeded, Error: f.Error, EventID: f.ID}
	switch {
	case f.Interrupted:
		ran.Execution.State = schema.Interrupted
	case f.Failed:
		ran.Execution.State = schema.ToolFailed
	}
	s.Asked = slices.Delete(s.Asked, i, i+1)
	return ran
}

// Settle takes the end of one of the session's questions: asked is what its event
// said, at when it ended. It returns how long a person was waited for, in ms.
func (s *Session) Settle(asked *Facts, at int64) int64 {
	waited := max(0, at-asked.At)
	s.Sum.WaitedMS += waited
	if i := s.find(asked); i >= 0 {
		// What the person took before the call began is not the call's.
		s.Open[i].Waited += max(0, at-max(asked.At, s.Open[i].At))
	}
	return waited
}

// spend keeps tokens and costs, and returns by how much they changed. Sums that
// the agent or a transcript gives are replaced by the next one, not added to it,
// and the surest source counts alone: the agent's own sum, then transcripts, then
// what events report one by one.
func (s *Session) spend(f *Facts) (schema.Tokens, float64) {
	s.add(f)
	if f.Total != nil {
		s.Total = f.Total
	}
	if f.InChat != nil && (s.Chats[f.Agent] != schema.Tokens{} || len(s.Chats) < maxAgents) {
		if s.Chats == nil {
			s.Chats = map[string]schema.Tokens{}
		}
		s.Chats[f.Agent] = *f.InChat
	}
	cost := 0.0
	if f.CostUSD > 0 {
		cost = f.CostUSD - s.Sum.CostUSD
		s.Sum.CostUSD = f.CostUSD
	}
	var before schema.Tokens
	if s.Sum.Tokens != nil {
		before = *s.Sum.Tokens
	}
	now := s.tokens()
	if now == (schema.Tokens{}) {
		return now, cost
	}
	s.Sum.Tokens = &now
	return plus(now, before, -1), cost
}

// add counts what one event used; of a message only the last word.
func (s *Session) add(f *Facts) {
	used := f.Used
	if used == nil {
		return
	}
	if f.CostUSD > 0 { // the result of a run: its usage is the sum of what came before
		s.Total = used
		return
	}
	if f.MessageID != "" {
		i := slices.IndexFunc(s.Messages, func(m Message) bool { return m.ID == f.MessageID })
		if i >= 0 {
			s.Used = plus(s.Used, s.Messages[i].Used, -1)
			s.Messages = slices.Delete(s.Messages, i, i+1)
		}
		s.Messages = append(last(s.Messages, maxMessages), Message{f.MessageID, *used})
	}
	s.Used = *capped(plus(s.Used, *used, 1))
}

func (s *Session) tokens() schema.Tokens {
	if s.Total != nil {
		return *s.Total
	}
	if len(s.Chats) == 0 {
		return s.Used
	}
	var sum schema.Tokens
	for _, t := range s.Chats {
		sum = plus(sum, t, 1)
	}
	return *capped(sum)
}
