package digest

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
)

// Limits for values from agents. Sums over any number of sessions remain exact integers.
const (
	maxTokens     = 1e12
	maxCost       = 1e6 // USD
	maxDurationMS = 30 * 24 * 3600 * 1000
)

// Parse returns the facts of an event. It never fails.
func Parse(e *Event) *EventFacts {
	typ := normalizeType(e.Type)
	f := &EventFacts{
		ID: e.ID, At: e.At, App: e.App, Session: e.Session, Tool: e.Tool,
		Kind: kindByType[typ], Failed: failureTypes[typ],
	}
	if IsImport(e.Type) {
		f.Kind, f.Failed = SessionImport, false
		f.Import, f.HasTranscript = ReadImport(e.Payload, e.At), e.Transcript != nil
		e = &Event{Envelope: e.Envelope} // the import has the totals of the transcript
	}
	EachMember(e.Payload, f.fromPayload)
	envelope := make([]byte, 0, len(e.Envelope)+2)
	envelope = append(append(append(envelope, '{'), e.Envelope...), '}')
	EachMember(envelope, func(name string, value []byte) { // last, so that the envelope overrides the payload
		f.fromEnvelope(name, value)
		f.fromClient(name, value)
	})
	f.fromQuestion(e.Question)
	f.fromTranscript(e.Transcript)
	if f.Error != "" {
		f.Failed = true
	}
	if f.Interrupted {
		f.Failed = false
	}
	if f.Kind == Prompt && strings.HasPrefix(strings.TrimSpace(f.Prompt), taskNotification) {
		f.Kind = Other
	}
	if f.Kind != Prompt {
		f.Prompt = ""
	}
	f.Prompt = shorten(f.Prompt, titleLength)
	f.Cwd, f.Branch, f.Model = shorten(f.Cwd, pathLength), shorten(f.Branch, textLength), shorten(f.Model, textLength)
	f.Error, f.AgentType = shorten(f.Error, textLength), shorten(f.AgentType, textLength)
	if f.Agent == "" {
		f.Agent, f.AgentType = f.teammate, cmp.Or(f.AgentType, f.teammate)
	}
	f.teammate = ""
	return f
}

// setIfString stores the text of a JSON string, unless it is empty.
func setIfString(into *string, value []byte) {
	if s := StringValue(value); s != "" {
		*into = s
	}
}

func (f *EventFacts) fromEnvelope(name string, value []byte) {
	switch name {
	case "tool_use_id":
		setIfString(&f.UseID, value)
	case "agent_id":
		setIfString(&f.Agent, value)
	case "agent_type":
		setIfString(&f.AgentType, value)
	case "parent_session_id":
		setIfString(&f.ParentSession, value)
	case "model_name":
		setIfString(&f.Model, value)
	case "error":
		setIfString(&f.Error, value)
		setIfString(&f.Error, FindMember(value, "message"))
	case "is_interrupt":
		f.Interrupted = f.Interrupted || string(value) == "true"
	}
}

// fromClient reads the members that the client of the hub adds. It reads the envelope only: a payload is the agent's.
func (f *EventFacts) fromClient(name string, value []byte) {
	switch name {
	case "modelUsage":
		eachElement(value, f.fromModelUsage)
	case "tokenOwner":
		f.TokenOwner = shorten(StringValue(value), personLength)
	case "user_email":
		f.UserEmail = shorten(StringValue(value), personLength)
	case "os_user":
		f.OSUser = shorten(StringValue(value), personLength)
	}
}

func (f *EventFacts) fromPayload(name string, value []byte) {
	switch name {
	case "prompt", "user_prompt", "userPrompt":
		setIfString(&f.Prompt, value)
	case "cwd":
		setIfString(&f.Cwd, value)
	case "git_branch", "gitBranch", "branch":
		setIfString(&f.Branch, value)
	case "model":
		setIfString(&f.Model, value)
		setIfString(&f.Model, FindMember(value, "id"))
	case "tool_name", "toolName":
		if f.Tool == "" {
			setIfString(&f.Tool, value)
		}
	case "duration_ms":
		f.DurationMS = int64(boundedNumber(value, maxDurationMS))
	case "message":
		f.fromMessage(value)
	case "tool_input":
		f.fromToolInput(value)
	case "tool_response":
		f.fromToolResponse(value)
	case "parent_agent_id":
		setIfString(&f.ParentAgent, value)
	case "teammate_name":
		setIfString(&f.teammate, value)
	default:
		f.fromEnvelope(name, value)
		f.fromUsage(name, value)
	}
}

func (f *EventFacts) fromToolInput(raw []byte) {
	if len(raw) == 0 || raw[0] != '{' {
		return
	}
	h := fnv.New64a()
	_, _ = h.Write(raw)
	f.InputHash = h.Sum64()
	EachMember(raw, func(name string, value []byte) {
		if name == "subagent_type" {
			setIfString(&f.SubagentType, value)
		}
	})
}

func (f *EventFacts) fromToolResponse(raw []byte) {
	if f.Kind != ToolEnd {
		return
	}
	EachMember(raw, func(name string, value []byte) {
		switch name {
		case "interrupted":
			f.Interrupted = f.Interrupted || string(value) == "true"
		case "is_error", "isError":
			f.Failed = f.Failed || string(value) == "true"
		case "success":
			f.Failed = f.Failed || string(value) == "false"
		case "agentId": // of Claude Code's Agent tool
			setIfString(&f.StartedAgent, value)
		}
	})
}

// fromUsage reads a member of a payload that reports tokens or cost.
func (f *EventFacts) fromUsage(name string, value []byte) {
	switch name {
	case "usage":
		f.Tokens = tokens(value)
	case "message_id":
		setIfString(&f.MessageID, value)
	case "total_token_usage":
		f.SessionTokens = tokens(value)
	case "total_cost_usd":
		f.CostUSD = boundedNumber(value, maxCost)
	case "cost":
		if cost := boundedNumber(FindMember(value, "total_cost_usd"), maxCost); cost > 0 {
			f.CostUSD = cost
		}
	case "cost_usd":
		f.RequestUsage.CostUSD = boundedNumber(value, maxCost)
	case "series":
		if f.Kind == UsageMetrics {
			f.fromSeries(value)
		}
	}
}

// fromModelUsage reads a schema.ModelUsage.
func (f *EventFacts) fromModelUsage(raw []byte) {
	model, usage := "", Usage{}
	EachMember(raw, func(name string, value []byte) {
		switch name {
		case "model":
			setIfString(&model, value)
		case "costUsd":
			usage.CostUSD = boundedNumber(value, maxCost)
		case "tokens":
			for member, count := range map[string]*int64{
				"input": &usage.Tokens.Input, "output": &usage.Tokens.Output, "cacheRead": &usage.Tokens.CacheRead, "cacheWrite": &usage.Tokens.CacheWrite,
			} {
				*count = int64(boundedNumber(FindMember(value, member), maxTokens))
			}
		}
	})
	f.ModelUsage.add(shorten(model, textLength), usage)
}

// fromSeries reads metrics in the form that package otlp stores.
func (f *EventFacts) fromSeries(raw []byte) {
	eachElement(raw, func(raw []byte) {
		s := MetricSeries{Usage: Usage{}}
		EachMember(raw, func(name string, value []byte) {
			switch name {
			case "model":
				setIfString(&s.Model, value)
			case "usage":
				if t := tokens(value); t != nil {
					s.Tokens = *t
				}
			case "cost_usd":
				s.CostUSD = boundedNumber(value, maxCost)
			case "total":
				setIfString(&s.Key, value)
			}
		})
		s.Model = shorten(s.Model, textLength)
		if s.Usage != (Usage{}) && len(f.Series) < maxSeries {
			f.Series = append(f.Series, s)
		}
	})
}

// fromMessage reads a model's message, in the form that SDKs and transcripts use.
func (f *EventFacts) fromMessage(raw []byte) {
	EachMember(raw, func(name string, value []byte) {
		switch name {
		case "id":
			setIfString(&f.MessageID, value)
		case "model":
			setIfString(&f.Model, value)
		case "usage":
			f.Tokens = tokens(value)
		}
	})
}

// tokens reads a usage object with the member names of any provider. It returns nil if all
// counts are zero.
func tokens(raw []byte) *history.Tokens {
	var t history.Tokens
	cachedInput := int64(0) // part of the input that came from the cache; OpenAI counts it as input
	EachMember(raw, func(name string, value []byte) {
		n := int64(boundedNumber(value, maxTokens))
		switch name {
		case "input_tokens", "prompt_tokens":
			t.Input = n
		case "output_tokens", "completion_tokens":
			t.Output = n
		case "cache_read_input_tokens":
			t.CacheRead = n
		case "cached_input_tokens":
			t.CacheRead, cachedInput = n, n
		case "cache_creation_input_tokens":
			t.CacheWrite = n
		}
	})
	t.Input = max(0, t.Input-cachedInput)
	if t == (history.Tokens{}) {
		return nil
	}
	return &t
}

func (f *EventFacts) fromQuestion(raw []byte) {
	if raw == nil {
		return
	}
	f.HasQuestion = true
	EachMember(raw, func(name string, value []byte) {
		switch name {
		case "type":
			f.AsksPermission = StringValue(value) == string(schema.Permission)
		case "appeal":
			f.AsksLater = string(FindMember(value, "later")) == "true"
		case "toolCall":
			EachMember(value, func(name string, value []byte) {
				switch {
				case name == "id" && f.UseID == "":
					setIfString(&f.UseID, value)
				case name == "name" && f.Tool == "":
					setIfString(&f.Tool, value)
				}
			})
		case "context":
			EachMember(value, func(name string, value []byte) {
				switch {
				case name == "cwd" && f.Cwd == "":
					setIfString(&f.Cwd, value)
				case name == "branch" && f.Branch == "":
					setIfString(&f.Branch, value)
				}
			})
		}
	})
}

// IsImport reports whether events of this type stand for a session that a transcript records.
func IsImport(typ string) bool { return typ == history.EventSessionImported }

// ReadImport reads the payload of such an event. It ignores unknown members and values out of
// range. No time is later than receivedAt, in Unix ms.
func ReadImport(payload []byte, receivedAt int64) *history.ImportedSession {
	in := &history.ImportedSession{}
	_ = json.Unmarshal(payload, in) // members of other types stay zero
	latest := schema.Millis(receivedAt)
	if in.EndedAt <= 0 || in.EndedAt > latest {
		in.EndedAt = latest
	}
	if in.StartedAt <= 0 || in.StartedAt > in.EndedAt {
		in.StartedAt = in.EndedAt
	}
	in.Hash = cmp.Or(shorten(in.Hash, textLength), "unknown")
	in.Title, in.Cwd = shorten(in.Title, titleLength), shorten(in.Cwd, pathLength)
	in.Branch, in.Model = shorten(in.Branch, textLength), shorten(in.Model, textLength)
	in.Agents = bounded(in.Agents, history.MaxImportedUsage)
	in.Usage = in.Usage[:min(len(in.Usage), history.MaxImportedUsage)]
	for i := range in.Usage {
		u := &in.Usage[i]
		u.At, u.Model = min(max(u.At, in.StartedAt), in.EndedAt), shorten(u.Model, textLength)
		u.Requests = bounded(u.Requests, maxTokens)
		t := &u.Tokens
		for _, n := range []*int64{&t.Input, &t.Output, &t.CacheRead, &t.CacheWrite} {
			*n = bounded(*n, maxTokens)
		}
		if !(u.CostUSD >= 0 && u.CostUSD <= maxCost) {
			u.CostUSD = 0
		}
	}
	in.Tools = in.Tools[:min(len(in.Tools), history.MaxImportedTools)]
	for i := range in.Tools {
		t := &in.Tools[i]
		t.Tool, t.Calls = shorten(t.Tool, textLength), bounded(t.Calls, maxTokens)
		t.Failures = min(bounded(t.Failures, maxTokens), t.Calls)
	}
	return in
}

func bounded(n, limit int64) int64 { return min(max(n, 0), limit) }
