package digest

import (
	"cmp"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
)

// Limits of a stored session. The oldest entries are dropped first.
const (
	maxOpenCalls  = 100
	maxAgents     = 500
	maxMessages   = 16
	maxEndedCalls = 32
	maxModels     = 16
	maxSeries     = 64
)

// Session is the aggregate of a session's events so far, with the state needed to continue. The
// store keeps it as JSON.
type Session struct {
	HumanWait
	CostHistory

	OpenCalls       []Call              `json:"open,omitempty"`  // calls that have not ended
	Permissions     []PermissionCall    `json:"asked,omitempty"` // permissions whose call has not appeared yet
	AgentTree       []history.AgentNode `json:"tree,omitempty"`  // agents in the order of their first event
	EndedCalls      []string            `json:"done,omitempty"`  // last calls that ended; hooks may report an end twice
	TelemetryEvents int64               `json:"heard,omitempty"` // number of its events that are telemetry

	ReportedCost     float64                   `json:"own,omitempty"`   // the agent's own sum
	ReportedTokens   *history.Tokens           `json:"total,omitempty"` // the agent's own sum
	LoggedUsage      UsageByModel              `json:"logged,omitempty"`
	MeteredUsage     UsageByModel              `json:"metered,omitempty"`
	Counters         []Counter                 `json:"series,omitempty"` // cumulative series that are included in MeteredUsage
	TranscriptTokens map[string]history.Tokens `json:"chats,omitempty"`  // agent → sum of its latest transcript
	TranscriptUsage  UsageByModel              `json:"stated,omitempty"` // as the agent's hook last read it
	MessageTokens    history.Tokens            `json:"used,omitzero"`    // sum over events
	Messages         []Message                 `json:"messages,omitempty"`
	Import           Import                    `json:"import,omitzero"`
}

// HumanWait holds the session's summary and the state of its waits for people.
type HumanWait struct {
	Sum history.Session `json:"sum"` // without Pending, which is computed from the questions

	// PendingQuestions is the number of questions that wait for a person. WaitingSince is when
	// it last rose from 0 or fell, in Unix ms.
	PendingQuestions int   `json:"waits,omitempty"`
	WaitingSince     int64 `json:"since,omitempty"`
}

// Call is a tool call in progress.
type Call struct {
	UseID        string `json:"id,omitempty"`
	Tool         string `json:"tool"`
	Agent        string `json:"agent,omitempty"`
	Input        uint64 `json:"input,omitempty"`
	SubagentType string `json:"starts,omitempty"`  // the type of subagent that it requests
	StartedAgent string `json:"started,omitempty"` // the subagent that it presumably started
	At           int64  `json:"at"`
	WaitedMS     int64  `json:"waited,omitempty"` // for a person, ms
	// Questions are the pending questions about the call. AskedAt is when the first of them was
	// asked while there was no other, in Unix ms.
	Questions []schema.EventID `json:"asking,omitempty"`
	AskedAt   int64            `json:"askedAt,omitempty"`
}

// PermissionCall links a permission question to its tool call.
type PermissionCall struct {
	ID    schema.EventID `json:"id"`
	UseID string         `json:"use"` // empty if the call will have another id, because it runs later
	Agent string         `json:"agent,omitempty"`
	Tool  string         `json:"tool,omitempty"`
	Input uint64         `json:"input,omitempty"` // hash of the arguments of a call that runs later
}

// Message is a model's message whose tokens are included in Session.MessageTokens.
type Message struct {
	ID     string         `json:"id"`
	Tokens history.Tokens `json:"used"`
}

// Step is the change that an event makes to aggregates beyond its session.
type Step struct {
	New       bool              // the session's first event
	Ended     *ToolUse          // a tool call that ended
	Failed    bool              // counted as a failure
	Execution *ExecutionOutcome // of a call that had a permission question
	Tokens    history.Tokens
	Cost      float64
	Spend     []ModelSpend // Tokens and Cost by model; no element if both are 0
	Import    *ImportStep  // of an import that changed the session; then all others but New are zero
}

// ImportStep is the change that an import makes to aggregates beyond its session. It is negative
// where an earlier import of the session counted more.
type ImportStep struct {
	At    int64                   // of the end of the session, Unix ms
	Usage []history.ImportedUsage // Requests is unused
	Tools []history.ImportedTool
}

// ToolUse is one use of a tool.
type ToolUse struct {
	Tool   string
	MS     int64 // duration without the time spent waiting for a person; -1: unknown
	Failed bool
}

// ExecutionOutcome is the outcome of the call that a permission question was about.
type ExecutionOutcome struct {
	Question  schema.EventID
	At        int64
	Execution schema.Execution // without DurationMS, which counts from the answer
}

// Add adds an event of the session. Events must be added in log order.
func (s *Session) Add(f *EventFacts) Step {
	if f.Import != nil {
		return s.addImport(f)
	}
	step := Step{New: s.Sum.Events == 0}
	s.updateSummary(f)
	updatePerson(&s.Sum, f.OSUser, f.UserEmail, f.TokenOwner)
	agent := s.updateAgent(f)
	isRepeat := false
	switch f.Kind {
	case ToolStart:
		s.startCall(f)
	case ToolEnd:
		isRepeat = f.UseID != "" && slices.Contains(s.EndedCalls, f.callKey())
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
	}
	if f.isBlocked() {
		s.startWait(f)
	}
	if f.AsksPermission && f.UseID != "" {
		asked := PermissionCall{ID: f.ID, UseID: f.UseID, Agent: f.Agent, Tool: f.Tool}
		if f.AsksLater {
			asked.UseID, asked.Input = "", f.InputHash
		}
		s.Permissions = append(makeRoom(s.Permissions, maxOpenCalls), asked)
	}
	if f.Failed && !isRepeat {
		step.Failed = true
		s.Sum.Failures++
		agent.Failures++
	}
	if f.Kind == ToolEnd && !isRepeat {
		s.linkSubagent(f) // last, because it may move the node that agent points to
	}
	step.Tokens, step.Cost, step.Spend = s.updateUsage(f)
	return step
}

// addImport replaces the usage and the tools of the session's transcript. It changes nothing in a session that
// has other events: these report the same work.
func (s *Session) addImport(f *EventFacts) Step {
	step, m, in := Step{New: s.Sum.Events == 0}, &s.Sum, f.Import
	if !step.New && m.Imported == "" {
		m.Events, m.LastID = m.Events+1, f.ID
		return step
	}
	updatePerson(m, f.OSUser, f.UserEmail, f.TokenOwner)
	if step.New {
		m.SourceApp, m.SessionID, m.FirstID = f.App, f.Session, f.ID
	}
	m.Events, m.LastID, m.Imported = m.Events+1, f.ID, in.Hash
	m.Title, m.Cwd, m.Branch, m.Model = in.Title, in.Cwd, in.Branch, in.Model
	m.StartedAt, m.LastAt, m.Ended = in.StartedAt, in.EndedAt, true
	m.Agents, m.Transcript = in.Agents, 0
	if f.HasTranscript {
		m.Transcript = f.ID
	}
	step.Import = &ImportStep{At: int64(in.EndedAt)}
	for _, sign := range []int64{-1, 1} {
		for _, u := range s.Import.Usage {
			step.Import.Usage = append(step.Import.Usage, history.ImportedUsage{
				At: u.At, Model: u.Model, Tokens: addTokens(history.Tokens{}, u.Tokens, sign), CostUSD: float64(sign) * u.CostUSD,
			})
		}
		for _, t := range s.Import.Tools {
			step.Import.Tools = append(step.Import.Tools, history.ImportedTool{Tool: t.Tool, Calls: sign * t.Calls, Failures: sign * t.Failures})
			m.Tools, m.Failures = m.Tools+sign*t.Calls, m.Failures+sign*t.Failures
		}
		if sign < 0 {
			s.Import = Import{Usage: in.Usage, Tools: in.Tools}
		}
	}
	if sum := s.Import.total(); sum.Tokens != (history.Tokens{}) {
		m.Tokens = &sum.Tokens
	} else {
		m.Tokens = nil
	}
	m.CostUSD = s.Import.total().CostUSD
	return step
}

// updateSummary updates the session's summary: its place, times, title, model and so on.
func (s *Session) updateSummary(f *EventFacts) {
	m := &s.Sum
	if m.Events == 0 {
		m.SourceApp, m.SessionID = f.App, f.Session
		m.StartedAt, m.FirstID = schema.Millis(f.At), f.ID
	}
	m.Events++
	m.LastID, m.Imported = f.ID, ""
	if f.Kind.isTelemetry() {
		s.TelemetryEvents++
	}
	if !f.Kind.isTelemetry() || !m.Ended { // work done before the end may be reported after it
		m.LastAt, m.Ended = schema.Millis(f.At), f.Kind == SessionEnd
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
	if f.UseID != "" {
		if slices.ContainsFunc(s.OpenCalls, func(c Call) bool { return c.UseID == f.UseID && c.Input == f.InputHash }) {
			return // reported twice
		}
		s.forgetCall(f)
	}
	s.OpenCalls = append(makeRoom(s.OpenCalls, maxOpenCalls), Call{
		UseID: f.UseID, Tool: f.Tool, Agent: f.Agent, Input: f.InputHash, SubagentType: f.SubagentType, At: f.At,
	})
}

// forgetCall forgets an earlier call with f's id, because some models use the same ids in each turn. It no
// longer ends if another one starts, so its question does not get the outcome of the new call.
func (s *Session) forgetCall(f *EventFacts) {
	s.EndedCalls = slices.DeleteFunc(s.EndedCalls, func(key string) bool { return key == f.callKey() })
	before := len(s.OpenCalls)
	s.OpenCalls = slices.DeleteFunc(s.OpenCalls, func(c Call) bool { return c.UseID == f.UseID && c.Agent == f.Agent })
	if len(s.OpenCalls) < before {
		s.Permissions = slices.DeleteFunc(s.Permissions, func(p PermissionCall) bool { return p.UseID == f.UseID && p.Agent == f.Agent })
	}
}

// makeRoom drops the oldest elements so that one more fits into a limit of n.
func makeRoom[T any](list []T, n int) []T {
	return list[max(0, len(list)-n+1):]
}

// findCall returns the index of the open call that f belongs to, or -1: the one with f's id, otherwise one of
// the same tool and agent that has no conflicting id. Of several, it is the latest with the same arguments, or
// the latest of all.
func (s *Session) findCall(f *EventFacts) int {
	found, best := -1, 0
	for i := len(s.OpenCalls) - 1; i >= 0; i-- {
		if n := s.OpenCalls[i].match(f); n > best {
			found, best = i, n
		}
	}
	return found
}

// match returns how well f fits to the call; 0: not at all.
func (c *Call) match(f *EventFacts) (n int) {
	switch {
	case f.UseID != "" && c.UseID == f.UseID:
		n = 3
	case c.Tool == f.Tool && c.Agent == f.Agent && (c.UseID == "" || f.UseID == ""):
		n = 1
	default:
		return 0
	}
	if c.Input == f.InputHash {
		n++
	}
	return n
}

func (s *Session) endCall(f *EventFacts) *ToolUse {
	s.Sum.Tools++
	use := &ToolUse{Tool: f.Tool, MS: -1, Failed: f.Failed}
	if f.UseID != "" {
		s.EndedCalls = append(makeRoom(s.EndedCalls, maxEndedCalls), f.callKey())
	}
	if i := s.findCall(f); i >= 0 {
		c := s.OpenCalls[i]
		s.OpenCalls = slices.Delete(s.OpenCalls, i, i+1)
		if len(c.Questions) == 0 {
			use.MS = max(0, f.At-c.At-c.WaitedMS)
			return use
		}
		// The question was answered at the agent, at an unknown time, so the elapsed time is not
		// all the call's.
	}
	if f.DurationMS > 0 {
		use.MS = f.DurationMS
	}
	return use
}

// isBlocked reports whether the agent waits for the answer of the event's question.
func (f *EventFacts) isBlocked() bool { return f.HasQuestion && !f.AsksLater }

// startWait starts waiting for a person.
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

// endWait ends the wait of a question. Overlapping waits count once. It returns the time since the last end of a
// wait in which the session waited, in ms.
func (s *Session) endWait(question *EventFacts, at int64) (blocked int64) {
	if s.PendingQuestions == 0 { // the question is older than this field
		s.WaitingSince = question.At
	}
	blocked = max(0, at-s.WaitingSince)
	s.Sum.HumanWaitMS += blocked
	s.PendingQuestions, s.WaitingSince = max(0, s.PendingQuestions-1), s.WaitingSince+blocked
	for i := range s.OpenCalls {
		c := &s.OpenCalls[i]
		if n := slices.Index(c.Questions, question.ID); n >= 0 {
			if c.Questions = slices.Delete(c.Questions, n, n+1); len(c.Questions) == 0 {
				c.WaitedMS += max(0, at-c.AskedAt)
			}
			return blocked
		}
	}
	if i := s.findCall(question); i >= 0 {
		// The part of the wait before the call began is not part of the call.
		s.OpenCalls[i].WaitedMS += max(0, at-max(question.At, s.OpenCalls[i].At))
	}
	return blocked
}

// HumanWaitMS returns how long the session waited for people until its last event, pending
// questions included.
func (s *HumanWait) HumanWaitMS() int64 {
	if s.PendingQuestions == 0 {
		return s.Sum.HumanWaitMS
	}
	return s.Sum.HumanWaitMS + max(0, int64(s.Sum.LastAt)-s.WaitingSince)
}

// callKey returns the key of a call with an id. Some agents number the calls of each subagent from 1.
func (f *EventFacts) callKey() string {
	if f.Agent == "" {
		return f.UseID
	}
	return f.Agent + "/" + f.UseID
}

// findPermission returns the index of the latest question about the call that f ended, or -1: that of the
// same agent, or one that names no agent.
func (s *Session) findPermission(f *EventFacts) int {
	found := -1
	for i, p := range slices.Backward(s.Permissions) {
		if p.UseID == "" && p.Input == f.InputHash && p.Tool == f.Tool && p.Agent == f.Agent {
			return i
		}
		if f.UseID == "" || p.UseID != f.UseID || p.Tool != "" && f.Tool != "" && p.Tool != f.Tool {
			continue
		}
		if p.Agent == f.Agent {
			return i
		}
		if p.Agent == "" && found < 0 {
			found = i
		}
	}
	return found
}

// takeOutcome returns the outcome of the call that a permission question was about, or nil. The
// question is then forgotten.
func (s *Session) takeOutcome(f *EventFacts) *ExecutionOutcome {
	i := s.findPermission(f)
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

// ResolveQuestion ends one of the session's questions. question holds the facts of its event, at
// is when it ended, in Unix ms. It returns how long the question waited for a person, and the part of
// it in which no earlier end of a question had counted the session's wait, in ms.
func (s *Session) ResolveQuestion(question *EventFacts, at int64) (waited, blocked int64) {
	if !question.isBlocked() {
		return max(0, at-question.At), 0
	}
	if i := s.nodeIndex(question.Agent); i >= 0 {
		n := &s.AgentTree[i]
		from := cmp.Or(int64(n.WaitingSince), question.At)
		n.WaitedMS += max(0, at-from)
		if n.Pending, n.WaitingSince = max(0, n.Pending-1), schema.Millis(max(at, from)); n.Pending == 0 {
			n.WaitingSince = 0
		}
	}
	return max(0, at-question.At), s.endWait(question, at)
}

// personSources lists the sources of a session's person from the weakest to the strongest.
var personSources = []history.PersonSource{"", history.PersonOfSystem, history.PersonOfEmail, history.PersonOfToken}

// updatePerson sets the person that ran the session. A stronger source replaces a weaker one, and the
// first of equal sources stays: a report of an agent never replaces the owner of a token.
func updatePerson(m *history.Session, osUser, email, tokenOwner string) {
	for _, person := range []struct {
		name   string
		source history.PersonSource
	}{{osUser, history.PersonOfSystem}, {email, history.PersonOfEmail}, {tokenOwner, history.PersonOfToken}} {
		if person.name != "" && slices.Index(personSources, person.source) > slices.Index(personSources, m.PersonSource) {
			m.Person, m.PersonSource = person.name, person.source
		}
	}
}
