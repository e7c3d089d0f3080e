package traces

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
)

// facts are the facts of an event about a turn.
type facts struct {
	*digest.EventFacts
	uid         string
	codingAgent string
	endsTurn    bool
	refusesCall bool
	arguments   string // JSON of the call
	prompt      string // in full
}

// parse returns the facts of an event. Events are written by programs outside our control: it
// ignores what it does not understand.
func parse(e *store.Event) *facts {
	f := &facts{uid: e.UID, EventFacts: digest.Parse(&digest.Event{
		ID: e.ID, At: e.ReceivedAt.UnixMilli(), App: e.App, Session: e.Session, Type: e.Type, Tool: e.Tool,
		Envelope: e.Envelope, Payload: e.Payload, Question: e.Question,
	})}
	switch strings.ToLower(e.Type) {
	case "stop", "stopfailure", "interrupt":
		f.endsTurn = f.Agent == ""
	case "permissiondenied":
		f.refusesCall = true
	}
	envelope := make([]byte, 0, len(e.Envelope)+2)
	envelope = append(append(append(envelope, '{'), e.Envelope...), '}')
	for _, object := range [][]byte{e.Payload, envelope} {
		digest.EachMember(object, func(name string, value []byte) {
			switch name {
			case "agent":
				f.codingAgent = cmp.Or(digest.StringValue(value), f.codingAgent)
			case "tool_input":
				f.arguments = string(value)
			case "prompt", "user_prompt", "userPrompt":
				f.prompt = cmp.Or(digest.StringValue(value), f.prompt)
			}
		})
	}
	if f.arguments == "" && e.Question != nil {
		digest.EachMember(e.Question, func(name string, value []byte) {
			if name == "toolCall" {
				digest.EachMember(value, func(name string, value []byte) {
					if name == "arguments" {
						f.arguments = string(value)
					}
				})
			}
		})
	}
	return f
}

// opensTurn reports whether the event is work of an agent, and not a report about it.
func (f *facts) opensTurn() bool {
	switch f.Kind {
	case digest.Prompt, digest.ToolStart, digest.AgentStart:
		return true
	}
	return f.HasQuestion
}

// provider returns the provider of a model, as the conventions name it; empty: unknown.
func provider(model string) string {
	model = strings.ToLower(model)
	for _, p := range [][2]string{{"claude", "anthropic"}, {"gpt-", "openai"}, {"gemini", "gcp.gemini"}, {"mistral", "mistral_ai"}, {"deepseek", "deepseek"}, {"grok", "x_ai"}} {
		if strings.HasPrefix(model, p[0]) {
			return p[1]
		}
	}
	return ""
}

// promptMessages returns a prompt in the form of the attribute gen_ai.input.messages.
func promptMessages(prompt string) string {
	type part struct {
		Type    string `json:"type"`
		Content string `json:"content"`
	}
	type message struct {
		Role  string `json:"role"`
		Parts []part `json:"parts"`
	}
	text, err := json.Marshal([]message{{"user", []part{{"text", cut(prompt, maxContent/2)}}}})
	if err != nil {
		return ""
	}
	return string(text)
}
