package otlp

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
)

// logRecord is one log record of a request.
type logRecord struct {
	at   schema.Millis
	name string // from its body or its eventName
	attributes
}

// Logs reads the body of POST /v1/logs. Its only error is ErrMalformed.
func Logs(body []byte) (Batch, error) {
	var b Batch
	err := readBody(body, func(jr *jsonReader, name string) error {
		if name != "resourceLogs" {
			return jr.SkipValue()
		}
		return jr.readArray(func() error { return b.readResourceLogs(jr) })
	})
	if err != nil {
		return Batch{}, err
	}
	return b, nil
}

func (b *Batch) readResourceLogs(jr *jsonReader) error {
	var service string
	var pending []logRecord // until the resource is known, which may come after its records
	resourceKnown := false
	emit := func(r logRecord) error {
		if !resourceKnown {
			pending = append(pending, r)
			return nil
		}
		return b.addLog(service, r)
	}
	err := jr.readObject(func(name string) (err error) {
		switch name {
		case "resource":
			service, err = jr.readServiceName()
			resourceKnown = true
			return err
		case "scopeLogs":
			return jr.readArray(func() error {
				return jr.readObject(func(name string) error {
					if name != "logRecords" {
						return jr.SkipValue()
					}
					return jr.readArray(func() error { return jr.readLog(emit) })
				})
			})
		default:
			return jr.SkipValue()
		}
	})
	for _, r := range pending {
		if err == nil {
			err = b.addLog(service, r)
		}
	}
	return err
}

func (jr *jsonReader) readLog(emit func(logRecord) error) error {
	if err := jr.countRecord(); err != nil {
		return err
	}
	r := logRecord{attributes: attributes{}}
	var observed schema.Millis
	var body, eventName string
	err := jr.readObject(func(name string) (err error) {
		switch name {
		case "timeUnixNano":
			r.at, err = jr.readTime()
		case "observedTimeUnixNano":
			observed, err = jr.readTime()
		case "body":
			body, err = jr.readAnyValue()
		case "eventName":
			eventName, _, err = jr.readScalar()
		case "attributes":
			err = jr.readAttributes(r.attributes)
		default:
			err = jr.SkipValue()
		}
		return err
	})
	if err != nil {
		return err
	}
	r.at = cmp.Or(r.at, observed)
	if at, err := time.Parse(time.RFC3339Nano, r.attributes["event.timestamp"]); err == nil && r.at == 0 {
		r.at = schema.Millis(at.UnixMilli())
	}
	r.name = r.attributes["event.name"]
	if !strings.Contains(r.name, ".") { // Claude Code stores the short name there
		r.name = cmp.Or(truncate(eventName), body)
	}
	return emit(r)
}

// addLog converts a record of a known agent to an event and counts the others.
func (b *Batch) addLog(service string, r logRecord) error {
	agent, name := agentOf(service, r.name)
	event := schema.Event{SourceApp: agent, Agent: agent, Timestamp: r.at, HookEventType: "ApiRequest"}
	var p modelRequest
	switch {
	case agent == "claude-code" && name == "api_request":
		p = claudeRequest(r)
		event.AgentID, event.AgentType = r.attributes["agent_id"], r.attributes["agent.name"]
	case agent == "codex" && name == "sse_event" && r.attributes["event.kind"] == "response.completed":
		p = codexRequest(r)
	case agent == "gemini" && name == "api_response":
		p = geminiRequest(r)
	case (agent == "claude-code" || agent == "gemini") && name == "api_error":
		p = failedRequest(r)
		event.HookEventType, event.AgentID, event.AgentType = "ApiError", r.attributes["agent_id"], r.attributes["agent.name"]
	default:
		b.Ignored++
		return nil
	}
	event.SessionID = cmp.Or(r.attributes["session.id"], r.attributes["conversation.id"])
	if event.SessionID == "" {
		b.Rejected++
		return nil
	}
	p.Model, p.PromptID = r.attributes["model"], cmp.Or(r.attributes["prompt.id"], r.attributes["prompt_id"])
	p.DurationMS, p.RequestID = boundedInt(r.number("duration_ms"), maxMS), r.attributes["request_id"]
	p.Source, p.Effort = r.attributes["query_source"], r.attributes["effort"]
	p.Sequence = boundedInt(r.number("event.sequence"), 1<<53)
	event.ModelName, event.Error, event.Summary = p.Model, p.Error, p.summary()
	e, err := newEvent(event, p)
	b.Events = append(b.Events, e)
	return err
}

func claudeRequest(r logRecord) modelRequest {
	return modelRequest{
		Usage: &tokenUsage{
			Input: r.tokens("input_tokens"), Output: r.tokens("output_tokens"),
			CacheRead: r.tokens("cache_read_tokens"), CacheWrite: r.tokens("cache_creation_tokens"),
		},
		CostUSD: boundedCost(r.number("cost_usd")), FirstTokenMS: boundedInt(r.number("ttft_ms"), maxMS),
	}
}

// codexRequest reads a record of Codex, which counts cached tokens as part of the input.
func codexRequest(r logRecord) modelRequest {
	cached := r.tokens("cached_token_count")
	return modelRequest{Usage: &tokenUsage{
		Input: max(0, r.tokens("input_token_count")-cached), Output: r.tokens("output_token_count"), CacheRead: cached,
	}}
}

// geminiRequest reads a record of Gemini CLI. It counts cached tokens as input, too, and
// thoughts separately from the output.
func geminiRequest(r logRecord) modelRequest {
	cached := r.tokens("cached_content_token_count")
	return modelRequest{Usage: &tokenUsage{
		Input:  max(0, r.tokens("input_token_count")-cached),
		Output: min(r.tokens("output_token_count")+r.tokens("thoughts_token_count"), maxTokens), CacheRead: cached,
	}}
}

func failedRequest(r logRecord) modelRequest {
	return modelRequest{
		Error:  cmp.Or(r.attributes["error"], r.attributes["error.message"], "the request to the model failed"),
		Status: boundedInt(r.number("status_code"), 999), Attempt: boundedInt(r.number("attempt"), 1000),
	}
}

// summary returns one line for a list.
func (p modelRequest) summary() string {
	if p.Error != "" {
		return p.Model + ": " + p.Error
	}
	line := fmt.Sprintf("%s: %s in, %s out", p.Model, formatCount(p.Usage.Input+p.Usage.CacheRead+p.Usage.CacheWrite), formatCount(p.Usage.Output))
	if p.CostUSD > 0 {
		line += fmt.Sprintf(", $%.4f", p.CostUSD)
	}
	return line
}
