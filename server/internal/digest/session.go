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
	maxModels   = 16
	maxSeries   = 64
)

// Session is the sum of a session's events so far, with what is needed to go on.
// Its JSON is what the store keeps.
type Session struct {
	HumanWait

	Open  []Call             `json:"open,omitempty"`  // calls that have not ended
	Asked []PermissionCall   `json:"asked,omitempty"` // permissions whose call has not been heard of
	Tree  []schema.AgentNode `json:"tree,omitempty"`  // the agents that did something, in that order
	Done  []string           `json:"done,omitempty"`  // the last calls that ended, which hooks may tell twice
	Heard int64              `json:"heard,omitempty"` // how many of its events are telemetry

	Own      float64                  `json:"own,omitempty"`   // the cost as the agent sums it up itself
	Total    *schema.Tokens           `json:"total,omitempty"` // as the agent sums up itself
	Logged   UsageByModel             `json:"logged,omitempty"`
	Metered  UsageByModel             `json:"metered,omitempty"`
	Series   []Counter                `json:"series,omitempty"` // cumulative ones that Metered has
	Chats    map[string]schema.Tokens `json:"chats,omitempty"`  // :: agent → the sum of its newest transcript
	Used     schema.Tokens            `json:"used,omitzero"`    // added up from events
	Messages []Message                `json:"messages,omitempty"`
}

// HumanWait is a session's sum, and whether it waits for a person.
type HumanWait struct {
	Sum schema.Session `json:"sum"` // but for Pending, which only the questions know

	// Waits are the questions that wait for a person, Since is when the first of them
	// was asked while none did.
	Waits int   `json:"waits,omitempty"`
	Since int64 `json:"since,omitempty"`
}

// Call is a tool call under way.
type Call struct {
	UseID   string `json:"id,omitempty"`
	Tool    string `json:"tool"`
	Agent   string `json:"agent,omitempty"`
	Input   uint64 `json:"input,omitempty"`
	Starts  string `json:"starts,omitempty"`  // the type of subagent that it asks for
	Started string `json:"started,omitempty"` // the subagent that it is taken to have started
	At      int64  `json:"at"`
	Waited  int64  `json:"waited,omitempty"` // for a person, ms
	// Asking are the questions about it that wait for a person, AskedAt is when the first
	// of them was asked while none did.
	Asking  []schema.EventID `json:"asking,omitempty"`
	AskedAt int64            `json:"askedAt,omitempty"`
}

// PermissionCall is a permission that was asked for a tool call.
type PermissionCall struct {
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
	New       bool              // the session's first event
	Ended     *ToolUse          // a tool call that came to an end
	Failed    bool              // counted as a failure
	Execution *ExecutionOutcome // a call that a person was asked about
	Tokens    schema.Tokens
	Cost      float64
}

// ToolUse is one use of a tool.
type ToolUse struct {
	Tool   string
	MS     int64 // how long it took without the time a person was waited for; -1: unknown
	Failed bool
}

// ExecutionOutcome is what became of the call that a permission was asked for.
type ExecutionOutcome struct {
	Question  schema.EventID
	At        int64
	Execution schema.Execution // but for DurationMS, which counts from the answer
}

// Add takes an event of the session, in the order of the log.
func (s *Session) Add(f *EventFacts) Step {
	step := Step{New: s.Sum.Events == 0}
	s.place(f)
	agent := s.agent(f)
	again := false
	switch f.Kind {
	case ToolStarts:
		s.start(f)
	case ToolEnds:
		again = f.UseID != "" && slices.Contains(s.Done, f.UseID)
		if !again {
			step.Ended = s.end(f)
			step.Execution = s.ran(f)
			agent.Tools++
		}
	case SessionEnds:
		s.Open = nil
	}
	if f.HasQuestion {
		s.Sum.Questions++
		s.park(f)
	}
	if f.AsksPermission && f.UseID != "" {
		s.Asked = append(last(s.Asked, maxOpen), PermissionCall{f.ID, f.UseID})
	}
	if f.Failed && !again {
		step.Failed = true
		s.Sum.Failures++
		agent.Failures++
	}
	if f.Kind == ToolEnds && !again {
		s.adopt(f) // last: it may move what agent points to
	}
	step.Tokens, step.Cost = s.spend(f)
	return step
}

// place keeps where, when and what the session is.
func (s *Session) place(f *EventFacts) {
	m := &s.Sum
	if m.Events == 0 {
		m.SourceApp, m.SessionID = f.App, f.Session
		m.StartedAt, m.FirstID = schema.Millis(f.At), f.ID
	}
	m.Events++
	m.LastID = f.ID
	if f.Kind.telemetry() {
		s.Heard++
	}
	if !f.Kind.telemetry() || !m.Ended { // what was done before the end may be reported after it
		m.LastAt, m.Ended = schema.Millis(f.At), f.Kind == SessionEnds
	}
	if f.Context > 0 {
		m.ContextPercent = f.Context
	}
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
	}{{&m.Branch, f.Branch}, {&m.Model, s.model(f)}} {
		if latest.text != "" {
			*latest.into = latest.text
		}
	}
	if f.HasChat {
		m.Transcript = f.ID
	}
}

func (s *Session) start(f *EventFacts) {
	if f.UseID != "" && slices.ContainsFunc(s.Open, func(c Call) bool { return c.UseID == f.UseID }) {
		return // told twice
	}
	s.Open = append(last(s.Open, maxOpen), Call{
		UseID: f.UseID, Tool: f.Tool, Agent: f.Agent, Input: f.Input, Starts: f.Starts, At: f.At,
	})
}

// last makes room for one more of at most n.
func last[T any](list []T, n int) []T {
	return list[max(0, len(list)-n+1):]
}

// find is the open call that f is about, -1 for none: the one with its id, else of
// those of its tool and agent that have no id to tell them by the last one with the
// same arguments, or the last one.
func (s *Session) find(f *EventFacts) int {
	for i := len(s.Open) - 1; i >= 0; i-- {
		if f.UseID != "" && s.Open[i].UseID == f.UseID {
			return i
		}
	}
	found := -1
	for i := len(s.Open) - 1; i >= 0; i-- {
		c := &s.Open[i]
		if c.Tool != f.Tool || c.Agent != f.Agent || c.UseID != "" && f.UseID != "" {
			continue
		}
		if c.Input == f.Input {
			return i
		}
		if found < 0 {
			found = i
		}
	}
	return found
}

func (s *Session) end(f *EventFacts) *ToolUse {
	s.Sum.Tools++
	use := &ToolUse{Tool: f.Tool, MS: -1, Failed: f.Failed}
	if f.UseID != "" {
		s.Done = append(last(s.Done, maxDone), f.UseID)
	}
	if i := s.find(f); i >= 0 {
		c := s.Open[i]
		s.Open = slices.Delete(s.Open, i, i+1)
		if len(c.Asking) == 0 {
			use.MS = max(0, f.At-c.At-c.Waited)
			return use
		}
		// Somebody said yes elsewhere, and nobody knows when: the rest is not all the call's.
	}
	if f.DurationMS > 0 {
		use.MS = f.DurationMS
	}
	return use
}

// park notes that a person is waited for from now on.
func (s *Session) park(f *EventFacts) {
	if s.Waits++; s.Waits == 1 {
		s.Since = f.At
	}
	if i := s.find(f); i >= 0 {
		c := &s.Open[i]
		if len(c.Asking) == 0 {
			c.AskedAt = f.At
		}
		c.Asking = append(last(c.Asking, maxOpen), f.ID)
	}
}

// unpark takes the end of a question: each moment of several at once counts once.
func (s *Session) unpark(asked *EventFacts, at int64) {
	switch s.Waits {
	case 0: // asked before this was kept
		s.Sum.HumanWaitMS += max(0, at-asked.At)
	case 1:
		s.Waits, s.Sum.HumanWaitMS = 0, s.Sum.HumanWaitMS+max(0, at-s.Since)
	default:
		s.Waits--
	}
	for i := range s.Open {
		c := &s.Open[i]
		if n := slices.Index(c.Asking, asked.ID); n >= 0 {
			if c.Asking = slices.Delete(c.Asking, n, n+1); len(c.Asking) == 0 {
				c.Waited += max(0, at-c.AskedAt)
			}
			return
		}
	}
	if i := s.find(asked); i >= 0 {
		// What the person took before the call began is not the call's.
		s.Open[i].Waited += max(0, at-max(asked.At, s.Open[i].At))
	}
}

// HumanWaitMS is how long a person was waited for until the session's last event, also
// by what still waits.
func (s *HumanWait) HumanWaitMS() int64 {
	if s.Waits == 0 {
		return s.Sum.HumanWaitMS
	}
	return s.Sum.HumanWaitMS + max(0, int64(s.Sum.LastAt)-s.Since)
}

// ran tells what became of the call that a permission was asked for.
func (s *Session) ran(f *EventFacts) *ExecutionOutcome {
	i := slices.IndexFunc(s.Asked, func(a PermissionCall) bool { return f.UseID != "" && a.UseID == f.UseID })
	if i < 0 {
		return nil
	}
	ran := &ExecutionOutcome{Question: s.Asked[i].ID, At: f.At}
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

// ResolveQuestion takes the end of one of the session's questions: asked is what its event
// said, at when it ended. It returns how long a person was waited for, in ms.
func (s *Session) ResolveQuestion(asked *EventFacts, at int64) int64 {
	waited := max(0, at-asked.At)
	s.Sum.WaitedMS += waited
	if i := s.node(asked.Agent); i >= 0 {
		s.Tree[i].WaitedMS += waited
		s.Tree[i].Pending = max(0, s.Tree[i].Pending-1)
	}
	s.unpark(asked, at)
	return waited
}
