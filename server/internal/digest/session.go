package digest

import (
	"slices"

	"github.com/hookback/hookback/schema"
)

// Bounds of what a session remembers. The oldest is forgotten first.
const (
	maxOpenCalls  = 100
	maxAgents     = 500
	maxMessages   = 16
	maxEndedCalls = 32
	maxModels     = 16
	maxSeries     = 64
)

// Session is the sum of a session's events so far, with what is needed to go on.
// Its JSON is what the store keeps.
type Session struct {
	HumanWait

	OpenCalls       []Call             `json:"open,omitempty"`  // calls that have not ended
	Permissions     []PermissionCall   `json:"asked,omitempty"` // permissions whose call has not been heard of
	AgentTree       []schema.AgentNode `json:"tree,omitempty"`  // the agents that did something, in that order
	EndedCalls      []string           `json:"done,omitempty"`  // the last calls that ended, which hooks may tell twice
	TelemetryEvents int64              `json:"heard,omitempty"` // how many of its events are telemetry

	ReportedCost     float64                  `json:"own,omitempty"`   // the cost as the agent sums it up itself
	ReportedTokens   *schema.Tokens           `json:"total,omitempty"` // as the agent sums up itself
	LoggedUsage      UsageByModel             `json:"logged,omitempty"`
	MeteredUsage     UsageByModel             `json:"metered,omitempty"`
	Counters         []Counter                `json:"series,omitempty"` // cumulative ones that Metered has
	TranscriptTokens map[string]schema.Tokens `json:"chats,omitempty"`  // :: agent → the sum of its newest transcript
	MessageTokens    schema.Tokens            `json:"used,omitzero"`    // added up from events
	Messages         []Message                `json:"messages,omitempty"`
}

// HumanWait is a session's sum, and whether it waits for a person.
type HumanWait struct {
	Sum schema.Session `json:"sum"` // but for Pending, which only the questions know

	// PendingQuestions are the questions that wait for a person, Since is when the first of them
	// was asked while none did.
	PendingQuestions int   `json:"waits,omitempty"`
	WaitingSince     int64 `json:"since,omitempty"`
}

// Call is a tool call under way.
type Call struct {
	UseID        string `json:"id,omitempty"`
	Tool         string `json:"tool"`
	Agent        string `json:"agent,omitempty"`
	Input        uint64 `json:"input,omitempty"`
	SubagentType string `json:"starts,omitempty"`  // the type of subagent that it asks for
	StartedAgent string `json:"started,omitempty"` // the subagent that it is taken to have started
	At           int64  `json:"at"`
	WaitedMS     int64  `json:"waited,omitempty"` // for a person, ms
	// Questions are the questions about it that wait for a person, AskedAt is when the first
	// of them was asked while none did.
	Questions []schema.EventID `json:"asking,omitempty"`
	AskedAt   int64            `json:"askedAt,omitempty"`
}

// PermissionCall is a permission that was asked for a tool call.
type PermissionCall struct {
	ID    schema.EventID `json:"id"`
	UseID string         `json:"use"`
}

// Message is a model's message that Session.Used has.
type Message struct {
	ID     string        `json:"id"`
	Tokens schema.Tokens `json:"used"`
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
	s.updateSummary(f)
	agent := s.updateAgent(f)
	isRepeat := false
	switch f.Kind {
	case ToolStart:
		s.startCall(f)
	case ToolEnds:
		isRepeat = f.UseID != "" && slices.Contains(s.EndedCalls, f.UseID)
		if !isRepeat {
			step.Ended = s.endCall(f)
			step.Execution = s.takeOutcome(f)
			agent.Tools++
		}
	case SessionEnd:
		s.OpenCalls = nil
	}
	if f.HasQuestion {
		s.Sum.Questions++
		s.startWait(f)
	}
	if f.AsksPermission && f.UseID != "" {
		s.Permissions = append(makeRoom(s.Permissions, maxOpenCalls), PermissionCall{f.ID, f.UseID})
	}
	if f.Failed && !isRepeat {
		step.Failed = true
		s.Sum.Failures++
		agent.Failures++
	}
	if f.Kind == ToolEnds && !isRepeat {
		s.linkSubagent(f) // last: it may move what agent points to
	}
	step.Tokens, step.Cost = s.updateUsage(f)
	return step
}

// updateSummary keeps where, when and what the session is.
func (s *Session) updateSummary(f *EventFacts) {
	m := &s.Sum
	if m.Events == 0 {
		m.SourceApp, m.SessionID = f.App, f.Session
		m.StartedAt, m.FirstID = schema.Millis(f.At), f.ID
	}
	m.Events++
	m.LastID = f.ID
	if f.Kind.isTelemetry() {
		s.TelemetryEvents++
	}
	if !f.Kind.isTelemetry() || !m.Ended { // what was done before the end may be reported after it
		m.LastAt, m.Ended = schema.Millis(f.At), f.Kind == SessionEnd
	}
	if f.ContextPercent > 0 {
		m.ContextPercent = f.ContextPercent
	}
	for _, first := range []struct {
		into *string
		text string
	}{{&m.Title, f.Prompt}, {&m.Cwd, f.Cwd}, {&m.ParentSessionID, f.ParentSession}} {
		if *first.into == "" {
			*first.into = first.text
		}
	}
	for _, latest := range []struct {
		into *string
		text string
	}{{&m.Branch, f.Branch}, {&m.Model, s.sessionModel(f)}} {
		if latest.text != "" {
			*latest.into = latest.text
		}
	}
	if f.HasTranscript {
		m.Transcript = f.ID
	}
}

func (s *Session) startCall(f *EventFacts) {
	if f.UseID != "" && slices.ContainsFunc(s.OpenCalls, func(c Call) bool { return c.UseID == f.UseID }) {
		return // told twice
	}
	s.OpenCalls = append(makeRoom(s.OpenCalls, maxOpenCalls), Call{
		UseID: f.UseID, Tool: f.Tool, Agent: f.Agent, Input: f.InputHash, SubagentType: f.SubagentType, At: f.At,
	})
}

// makeRoom makes room for one more of at most n.
func makeRoom[T any](list []T, n int) []T {
	return list[max(0, len(list)-n+1):]
}

// findCall is the open call that f is about, -1 for none: the one with its id, else of
// those of its tool and agent that have no id to tell them by the last one with the
// same arguments, or the last one.
func (s *Session) findCall(f *EventFacts) int {
	for i := len(s.OpenCalls) - 1; i >= 0; i-- {
		if f.UseID != "" && s.OpenCalls[i].UseID == f.UseID {
			return i
		}
	}
	found := -1
	for i := len(s.OpenCalls) - 1; i >= 0; i-- {
		c := &s.OpenCalls[i]
		if c.Tool != f.Tool || c.Agent != f.Agent || c.UseID != "" && f.UseID != "" {
			continue
		}
		if c.Input == f.InputHash {
			return i
		}
		if found < 0 {
			found = i
		}
	}
	return found
}

func (s *Session) endCall(f *EventFacts) *ToolUse {
	s.Sum.Tools++
	use := &ToolUse{Tool: f.Tool, MS: -1, Failed: f.Failed}
	if f.UseID != "" {
		s.EndedCalls = append(makeRoom(s.EndedCalls, maxEndedCalls), f.UseID)
	}
	if i := s.findCall(f); i >= 0 {
		c := s.OpenCalls[i]
		s.OpenCalls = slices.Delete(s.OpenCalls, i, i+1)
		if len(c.Questions) == 0 {
			use.MS = max(0, f.At-c.At-c.WaitedMS)
			return use
		}
		// Somebody said yes elsewhere, and nobody knows when: the rest is not all the call's.
	}
	if f.DurationMS > 0 {
		use.MS = f.DurationMS
	}
	return use
}

// startWait notes that a person is waited for from now on.
func (s *Session) startWait(f *EventFacts) {
	if s.PendingQuestions++; s.PendingQuestions == 1 {
		s.WaitingSince = f.At
	}
	if i := s.findCall(f); i >= 0 {
		c := &s.OpenCalls[i]
		if len(c.Questions) == 0 {
			c.AskedAt = f.At
		}
		c.Questions = append(makeRoom(c.Questions, maxOpenCalls), f.ID)
	}
}

// endWait takes the end of a question: each moment of several at once counts once.
func (s *Session) endWait(question *EventFacts, at int64) {
	switch s.PendingQuestions {
	case 0: // asked before this was kept
		s.Sum.HumanWaitMS += max(0, at-question.At)
	case 1:
		s.PendingQuestions, s.Sum.HumanWaitMS = 0, s.Sum.HumanWaitMS+max(0, at-s.WaitingSince)
	default:
		s.PendingQuestions--
	}
	for i := range s.OpenCalls {
		c := &s.OpenCalls[i]
		if n := slices.Index(c.Questions, question.ID); n >= 0 {
			if c.Questions = slices.Delete(c.Questions, n, n+1); len(c.Questions) == 0 {
				c.WaitedMS += max(0, at-c.AskedAt)
			}
			return
		}
	}
	if i := s.findCall(question); i >= 0 {
		// What the person took before the call began is not the call's.
		s.OpenCalls[i].WaitedMS += max(0, at-max(question.At, s.OpenCalls[i].At))
	}
}

// HumanWaitMS is how long a person was waited for until the session's last event, also
// by what still waits.
func (s *HumanWait) HumanWaitMS() int64 {
	if s.PendingQuestions == 0 {
		return s.Sum.HumanWaitMS
	}
	return s.Sum.HumanWaitMS + max(0, int64(s.Sum.LastAt)-s.WaitingSince)
}

// takeOutcome tells what became of the call that a permission was asked for.
func (s *Session) takeOutcome(f *EventFacts) *ExecutionOutcome {
	i := slices.IndexFunc(s.Permissions, func(a PermissionCall) bool { return f.UseID != "" && a.UseID == f.UseID })
	if i < 0 {
		return nil
	}
	outcome := &ExecutionOutcome{Question: s.Permissions[i].ID, At: f.At}
	outcome.Execution = schema.Execution{State: schema.Succeeded, Error: f.Error, EventID: f.ID}
	switch {
	case f.Interrupted:
		outcome.Execution.State = schema.Interrupted
	case f.Failed:
		outcome.Execution.State = schema.ToolFailed
	}
	s.Permissions = slices.Delete(s.Permissions, i, i+1)
	return outcome
}

// ResolveQuestion takes the end of one of the session's questions: asked is what its event
// said, at when it ended. It returns how long a person was waited for, in ms.
func (s *Session) ResolveQuestion(question *EventFacts, at int64) int64 {
	waited := max(0, at-question.At)
	s.Sum.WaitedMS += waited
	if i := s.nodeIndex(question.Agent); i >= 0 {
		s.AgentTree[i].WaitedMS += waited
		s.AgentTree[i].Pending = max(0, s.AgentTree[i].Pending-1)
	}
	s.endWait(question, at)
	return waited
}
