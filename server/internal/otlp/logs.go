package otlp

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
)

// record is a log record.
type record struct {
	at   schema.Millis
	name string // by its body or its eventName
	attributes
}

// Logs reads the body of POST /v1/logs.
func Logs(body []byte) (Batch, error) {
	var b Batch
	err := start(body, func(w *walk, name string) error {
		if name != "resourceLogs" {
			return w.SkipValue()
		}
		return w.array(func() error { return b.resourceLogs(w) })
	})
	if err != nil {
		return Batch{}, err
	}
	return b, nil
}

func (b *Batch) resourceLogs(w *walk) error {
	var service string
	var held []record // until the resource is known, which may come later
	known := false
	take := func(r record) error {
		if !known {
			held = append(held, r)
			return nil
		}
		return b.log(service, r)
	}
	err := w.object(func(name string) (err error) {
		switch name {
		case "resource":
			service, err = w.service()
			known = true
			return err
		case "scopeLogs":
			return w.array(func() error {
				return w.object(func(name string) error {
					if name != "logRecords" {
						return w.SkipValue()
					}
					return w.array(func() error { return w.log(take) })
				})
			})
		default:
			return w.SkipValue()
		}
	})
	for _, r := range held {
		if err == nil {
			err = b.log(service, r)
		}
	}
	return err
}

func (w *walk) log(take func(record) error) error {
	if err := w.record(); err != nil {
		return err
	}
	r := record{attributes: attributes{}}
	var observed schema.Millis
	var body, named string
	err := w.object(func(name string) (err error) {
		switch name {
		case "timeUnixNano":
			r.at, err = w.nanos()
		case "observedTimeUnixNano":
			observed, err = w.nanos()
		case "body":
			body, err = w.value()
		case "eventName":
			named, _, err = w.scalar()
		case "attributes":
			err = w.attributes(r.attributes)
		default:
			err = w.SkipValue()
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
	if !strings.Contains(r.name, ".") { // Claude Code has the short name there
		r.name = cmp.Or(cut(named), body)
	}
	return take(r)
}

// log keeps a record of one of the agents.
func (b *Batch) log(service string, r record) error {
	agent, name := agentOf(service, r.name)
	of := schema.Event{SourceApp: agent, Agent: agent, Timestamp: r.at, HookEventType: "ApiRequest"}
	var p request
	switch {
	case agent == "claude-code" && name == "api_request":
		p = claude(r)
		of.AgentID, of.AgentType = r.attributes["agent_id"], r.attributes["agent.name"]
	case agent == "codex" && name == "sse_event" && r.attributes["event.kind"] == "response.completed":
		p = codex(r)
	case agent == "gemini" && name == "api_response":
		p = gemini(r)
	case (agent == "claude-code" || agent == "gemini") && name == "api_error":
		p = failed(r)
		of.HookEventType, of.AgentID, of.AgentType = "ApiError", r.attributes["agent_id"], r.attributes["agent.name"]
	default:
		b.Ignored++
		return nil
	}
	of.SessionID = cmp.Or(r.attributes["session.id"], r.attributes["conversation.id"])
	if of.SessionID == "" {
		b.Rejected++
		return nil
	}
	p.Model, p.PromptID = r.attributes["model"], cmp.Or(r.attributes["prompt.id"], r.attributes["prompt_id"])
	p.TookMS, p.RequestID = whole(r.number("duration_ms"), maxMS), r.attributes["request_id"]
	p.Source, p.Effort = r.attributes["query_source"], r.attributes["effort"]
	p.Sequence = whole(r.number("event.sequence"), 1<<53)
	of.ModelName, of.Error, of.Summary = p.Model, p.Error, p.summary()
	e, err := event(of, p)
	b.Events = append(b.Events, e)
	return err
}

func claude(r record) request {
	return request{
		Usage: &usage{
			Input: r.tokens("input_tokens"), Output: r.tokens("output_tokens"),
			CacheRead: r.tokens("cache_read_tokens"), CacheWrite: r.tokens("cache_creation_tokens"),
		},
		CostUSD: amount(r.number("cost_usd")), FirstMS: whole(r.number("ttft_ms"), maxMS),
	}
}

// codex counts what came from the cache as part of the input.
func codex(r record) request {
	cached := r.tokens("cached_token_count")
	return request{Usage: &usage{
		Input: max(0, r.tokens("input_token_count")-cached), Output: r.tokens("output_token_count"), CacheRead: cached,
	}}
}

// gemini does so, too, and counts thoughts apart.
func gemini(r record) request {
	cached := r.tokens("cached_content_token_count")
	return request{Usage: &usage{
		Input:  max(0, r.tokens("input_token_count")-cached),
		Output: min(r.tokens("output_token_count")+r.tokens("thoughts_token_count"), maxTokens), CacheRead: cached,
	}}
}

func failed(r record) request {
	return request{
		Error:  cmp.Or(r.attributes["error"], r.attributes["error.message"], "the request to the model failed"),
		Status: whole(r.number("status_code"), 999), Attempt: whole(r.number("attempt"), 1000),
	}
}

// summary is one line for a list.
func (p request) summary() string {
	if p.Error != "" {
		return p.Model + ": " + p.Error
	}
	line := fmt.Sprintf("%s: %s in, %s out", p.Model, short(p.Usage.Input+p.Usage.CacheRead+p.Usage.CacheWrite), short(p.Usage.Output))
	if p.CostUSD > 0 {
		line += fmt.Sprintf(", $%.4f", p.CostUSD)
	}
	return line
}
