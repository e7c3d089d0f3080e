package digest

import (
	"cmp"
	"hash/fnv"
	"strings"

	"github.com/hookback/hookback/schema"
)

// What an agent may claim. Sums over any number of sessions stay whole numbers.
const (
	maxTokens = 1e12
	maxCost   = 1e6 // USD
	maxTook   = 30 * 24 * 3600 * 1000
)

// Parse tells the facts of an event.
func Parse(e *Event) *EventFacts {
	typ := normal(e.Type)
	f := &EventFacts{
		ID: e.ID, At: e.At, App: e.App, Session: e.Session, Tool: e.Tool,
		Kind: kinds[typ], Failed: failures[typ],
	}
	members(e.Payload, f.fromPayload)
	envelope := make([]byte, 0, len(e.Envelope)+2)
	envelope = append(append(append(envelope, '{'), e.Envelope...), '}')
	members(envelope, f.fromEnvelope) // later: it has the last word
	f.fromQuestion(e.Question)
	f.fromChat(e.Chat)
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

// set keeps a text unless it is empty.
func set(into *string, value []byte) {
	if s := text(value); s != "" {
		*into = s
	}
}

func (f *EventFacts) fromEnvelope(name string, value []byte) {
	switch name {
	case "tool_use_id":
		set(&f.UseID, value)
	case "agent_id":
		set(&f.Agent, value)
	case "agent_type":
		set(&f.AgentType, value)
	case "parent_session_id":
		set(&f.Parent, value)
	case "model_name":
		set(&f.Model, value)
	case "error":
		set(&f.Error, value)
		set(&f.Error, member(value, "message"))
	case "is_interrupt":
		f.Interrupted = f.Interrupted || string(value) == "true"
	}
}

func (f *EventFacts) fromPayload(name string, value []byte) {
	switch name {
	case "prompt", "user_prompt", "userPrompt":
		set(&f.Prompt, value)
	case "cwd":
		set(&f.Cwd, value)
	case "git_branch", "gitBranch", "branch":
		set(&f.Branch, value)
	case "model":
		set(&f.Model, value)
		set(&f.Model, member(value, "id"))
	case "tool_name", "toolName":
		if f.Tool == "" {
			set(&f.Tool, value)
		}
	case "duration_ms":
		f.DurationMS = int64(number(value, maxTook))
	case "message":
		f.fromMessage(value)
	case "tool_input":
		f.fromToolInput(value)
	case "tool_response":
		f.fromToolResponse(value)
	case "parent_agent_id":
		set(&f.ParentAgent, value)
	case "teammate_name":
		set(&f.teammate, value)
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
	f.Input = h.Sum64()
	members(raw, func(name string, value []byte) {
		if name == "subagent_type" {
			set(&f.Starts, value)
		}
	})
}

func (f *EventFacts) fromToolResponse(raw []byte) {
	if f.Kind != ToolEnds {
		return
	}
	members(raw, func(name string, value []byte) {
		switch name {
		case "interrupted":
			f.Interrupted = f.Interrupted || string(value) == "true"
		case "is_error", "isError":
			f.Failed = f.Failed || string(value) == "true"
		case "success":
			f.Failed = f.Failed || string(value) == "false"
		case "agentId": // Claude Code's Agent tool
			set(&f.Started, value)
		}
	})
}

// fromUsage reads what a model read and wrote, where a payload has it.
func (f *EventFacts) fromUsage(name string, value []byte) {
	switch name {
	case "usage":
		f.Used = tokens(value)
	case "message_id":
		set(&f.MessageID, value)
	case "total_token_usage":
		f.Total = tokens(value)
	case "total_cost_usd":
		f.CostUSD = number(value, maxCost)
	case "cost":
		if cost := number(member(value, "total_cost_usd"), maxCost); cost > 0 {
			f.CostUSD = cost
		}
	case "context_window":
		f.Context = number(member(value, "used_percentage"), 100)
	case "cost_usd":
		f.Request.CostUSD = number(value, maxCost)
	case "series":
		if f.Kind == Metered {
			f.fromSeries(value)
		}
	}
}

// fromSeries reads metrics as package otlp writes them down.
func (f *EventFacts) fromSeries(raw []byte) {
	elements(raw, func(one []byte) {
		s := MetricSeries{Usage: Usage{}}
		members(one, func(name string, value []byte) {
			switch name {
			case "model":
				set(&s.Model, value)
			case "usage":
				if t := tokens(value); t != nil {
					s.Tokens = *t
				}
			case "cost_usd":
				s.CostUSD = number(value, maxCost)
			case "total":
				set(&s.Key, value)
			}
		})
		s.Model = shorten(s.Model, textLength)
		if s.Usage != (Usage{}) && len(f.Metered) < maxSeries {
			f.Metered = append(f.Metered, s)
		}
	})
}

// fromMessage reads a model's message, as SDKs and transcripts have it.
func (f *EventFacts) fromMessage(raw []byte) {
	members(raw, func(name string, value []byte) {
		switch name {
		case "id":
			set(&f.MessageID, value)
		case "model":
			set(&f.Model, value)
		case "usage":
			f.Used = tokens(value)
		}
	})
}

// tokens reads a usage by the names that the providers have for it; nil when it
// counts nothing.
func tokens(raw []byte) *schema.Tokens {
	var t schema.Tokens
	within := int64(0) // of the input came from the cache, as OpenAI counts
	members(raw, func(name string, value []byte) {
		n := int64(number(value, maxTokens))
		switch name {
		case "input_tokens", "prompt_tokens":
			t.Input = n
		case "output_tokens", "completion_tokens":
			t.Output = n
		case "cache_read_input_tokens":
			t.CacheRead = n
		case "cached_input_tokens":
			t.CacheRead, within = n, n
		case "cache_creation_input_tokens":
			t.CacheWrite = n
		}
	})
	t.Input = max(0, t.Input-within)
	if t == (schema.Tokens{}) {
		return nil
	}
	return &t
}

func (f *EventFacts) fromQuestion(raw []byte) {
	if raw == nil {
		return
	}
	f.HasQuestion = true
	members(raw, func(name string, value []byte) {
		switch name {
		case "type":
			f.AsksPermission = text(value) == string(schema.Permission)
		case "toolCall":
			members(value, func(name string, value []byte) {
				switch {
				case name == "id" && f.UseID == "":
					set(&f.UseID, value)
				case name == "name" && f.Tool == "":
					set(&f.Tool, value)
				}
			})
		case "context":
			members(value, func(name string, value []byte) {
				switch {
				case name == "cwd" && f.Cwd == "":
					set(&f.Cwd, value)
				case name == "branch" && f.Branch == "":
					set(&f.Branch, value)
				}
			})
		}
	})
}
