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

// logsRequest is the body of POST /v1/logs.
type logsRequest struct {
	ResourceLogs []struct {
		Resource  resource `json:"resource" pb:"1"`
		ScopeLogs []struct {
			LogRecords []rawLog `json:"logRecords" pb:"2"`
		} `json:"scopeLogs" pb:"2"`
	} `json:"resourceLogs" pb:"1"`
}

// rawLog is a log record as sent.
type rawLog struct {
	Time       scalar      `json:"timeUnixNano" pb:"1,fixed"`
	Observed   scalar      `json:"observedTimeUnixNano" pb:"11,fixed"`
	Body       anyValue    `json:"body" pb:"5"`
	EventName  scalar      `json:"eventName" pb:"12,text"`
	Attributes []attribute `json:"attributes" pb:"6"`
}

func (request logsRequest) batch() (b Batch, err error) {
	records := 0
	for i := range request.ResourceLogs {
		source := &request.ResourceLogs[i]
		service := source.Resource.serviceName()
		for _, scope := range source.ScopeLogs {
			if records += len(scope.LogRecords); records > MaxRecords {
				return b, ErrMalformed
			}
			for k := range scope.LogRecords {
				if err := b.addLog(service, scope.LogRecords[k].record()); err != nil {
					return b, err
				}
			}
		}
	}
	return b, nil
}

func (raw *rawLog) record() logRecord {
	r := logRecord{attributes: newAttributes(raw.Attributes)}
	r.at = cmp.Or(raw.Time.time(), raw.Observed.time())
	if at, err := time.Parse(time.RFC3339Nano, r.attributes["event.timestamp"]); err == nil && r.at == 0 {
		r.at = schema.Millis(at.UnixMilli())
	}
	r.name = r.attributes["event.name"]
	if !strings.Contains(r.name, ".") { // Claude Code stores the short name there
		r.name = cmp.Or(schema.Clip(string(raw.EventName), maxText), raw.Body.text())
	}
	return r
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
	event.ModelName, event.Error, event.Summary, event.UserEmail = p.Model, p.Error, p.summary(), r.attributes["user.email"]
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
