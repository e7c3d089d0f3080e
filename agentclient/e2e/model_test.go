package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// model is a fake server for Anthropic's Messages API with scripted replies. It records every
// request; an agent's tool results are in the request for the next turn.
type model struct {
	*conversation // the agent's main loop

	url string

	mu        *sync.Mutex // also of the conversations
	subagents []*conversation
	replies   int // number of replies so far, for message ids
}

// conversation is one sequence of requests, such as the main loop or a subagent's.
type conversation struct {
	mu       *sync.Mutex
	prompt   string // part of the first message, which distinguishes it from others; "" is the main loop
	turns    []turn
	repeat   *turn    // the reply after the last turn; nil ends the conversation
	requests []string // the bodies of the requests
}

// turn is one reply of the model.
type turn struct {
	text    string
	tool    string          // the tool to call, or ""
	input   string          // the tool's arguments as JSON
	second  *turn           // another call in the same message
	refused string          // why the reviewer of Claude Code's auto mode refuses the call, or ""
	after   <-chan struct{} // if set, the reply is held back until it is closed

	isReviewed bool // set by the model: the client asked for verdicts
}

// isDue waits until the reply may be sent. It returns false if the client goes first.
func (t *turn) isDue(r *http.Request) bool {
	if t.after == nil {
		return true
	}
	select {
	case <-t.after:
		return true
	case <-r.Context().Done():
		return false
	}
}

func newScript(turns []turn) *model {
	mu := &sync.Mutex{}
	return &model{conversation: &conversation{mu: mu, turns: turns}, mu: mu}
}

// subagent scripts the conversation whose first message contains the prompt. It must be called
// before the agent starts.
func (m *model) subagent(prompt string, turns ...turn) *conversation {
	c := &conversation{mu: m.mu, prompt: prompt, turns: turns}
	m.subagents = append(m.subagents, c)
	return c
}

func newModel(t testing.TB, turns ...turn) *model {
	t.Helper()
	m := newScript(turns)
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	m.url = server.URL
	return m
}

// ServeHTTP answers one request. A request without tools is not part of the agent's main
// loop, such as one for a title.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.URL.Path != "/v1/messages" || r.Method != http.MethodPost {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"type":"error","error":{"type":"not_found_error","message":"no such thing"}}`)
		return
	}
	var request struct {
		Model      string            `json:"model"`
		Stream     bool              `json:"stream"`
		Tools      []json.RawMessage `json:"tools"`
		Safeguards []json.RawMessage `json:"safeguards"`
	}
	_ = json.Unmarshal(body, &request)
	reply, id := turn{text: "ok"}, "msg_aside"
	if len(request.Tools) > 0 {
		reply, id = m.nextTurn(string(body))
	}
	if !reply.isDue(r) {
		return
	}
	reply.isReviewed = len(request.Safeguards) > 0
	if request.Stream {
		stream(w, request.Model, id, reply)
		return
	}
	content, stop := map[string]any{"type": "text", "text": reply.text}, "end_turn"
	if reply.tool != "" {
		content, stop = map[string]any{"type": "tool_use", "id": "toolu_" + id, "name": reply.tool, "input": json.RawMessage(reply.input)}, "tool_use"
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"id": id, "type": "message", "role": "assistant", "model": request.Model, "content": []any{content},
		"stop_reason": stop, "usage": usage,
	})
}

// planFile matches the path that Claude Code gives its model for a plan.
var planFile = regexp.MustCompile(`/[^\s"'` + "`" + `]+/plans/[\w-]+\.md`)

var usage = map[string]int{"input_tokens": 10, "output_tokens": 5}

// nextTurn records a request and returns the reply and its message id.
func (m *model) nextTurn(body string) (turn, string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.conversationOf(body)
	c.requests = append(c.requests, body)
	m.replies++
	id := fmt.Sprintf("msg_%d", m.replies)
	reply := turn{text: "Done."}
	if n := len(c.requests); n <= len(c.turns) {
		reply = c.turns[n-1]
	} else if c.repeat != nil {
		reply = *c.repeat
	}
	reply.input = strings.ReplaceAll(reply.input, "PLANFILE", planFile.FindString(body))
	return reply, id
}

// conversationOf returns the conversation that a request belongs to.
func (m *model) conversationOf(body string) *conversation {
	if len(m.subagents) > 0 {
		var request struct {
			Messages []json.RawMessage `json:"messages"`
		}
		_ = json.Unmarshal([]byte(body), &request)
		for _, c := range m.subagents {
			if len(request.Messages) > 0 && strings.Contains(string(request.Messages[0]), c.prompt) {
				return c
			}
		}
	}
	return m.conversation
}

// requestCount returns how many requests there were.
func (c *conversation) requestCount() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.requests)
}

// lastRequest returns the latest request.
func (c *conversation) lastRequest() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.requests) == 0 {
		return ""
	}
	return c.requests[len(c.requests)-1]
}

// toolResults returns the messages after the model's latest one in the last request of
// Anthropic's API, such as the result of a call.
func (c *conversation) toolResults() string {
	last := c.lastRequest()
	if last == "" {
		return ""
	}
	var request struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	_ = json.Unmarshal([]byte(last), &request)
	var results strings.Builder
	for _, message := range request.Messages {
		if message.Role == "assistant" {
			results.Reset()
			continue
		}
		results.Write(message.Content)
	}
	return results.String()
}

// stream writes a message as server-sent events. If the client asked for it, the message includes
// the verdicts of the reviewer, which Claude Code's auto mode leaves to the model's server.
func stream(w http.ResponseWriter, name, id string, reply turn) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(event string, data any) {
		text, _ := json.Marshal(data)
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, text)
	}
	type object = map[string]any
	send("message_start", object{"type": "message_start", "message": object{
		"id": id, "type": "message", "role": "assistant", "model": name, "content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}})
	block := func(i int, empty, delta object) {
		send("content_block_start", object{"type": "content_block_start", "index": i, "content_block": empty})
		send("content_block_delta", object{"type": "content_block_delta", "index": i, "delta": delta})
		send("content_block_stop", object{"type": "content_block_stop", "index": i})
	}
	blocks, stop, verdicts := 0, "end_turn", object{}
	if reply.text != "" {
		block(blocks, object{"type": "text", "text": ""}, object{"type": "text_delta", "text": reply.text})
		blocks++
	}
	for call := &reply; call != nil && call.tool != ""; call = call.second {
		stop = "tool_use"
		use := object{"type": "tool_use", "id": fmt.Sprintf("toolu_%s%d", strings.ReplaceAll(id, "_", ""), blocks), "name": call.tool, "input": object{}}
		verdict := object{"type": "evaluated", "outcome": "not_flagged"}
		if call.refused != "" {
			verdict = object{"type": "evaluated", "outcome": "flagged", "explanation": call.refused}
		}
		verdicts[use["id"].(string)] = verdict
		block(blocks, use, object{"type": "input_json_delta", "partial_json": call.input})
		blocks++
	}
	delta := object{"stop_reason": stop, "stop_sequence": nil}
	if reply.isReviewed {
		delta["safeguard_results"] = []object{{"type": "dangerous_tool_use", "status": object{"type": "available", "tool_uses": verdicts}}}
	}
	send("message_delta", object{"type": "message_delta", "delta": delta, "usage": usage})
	send("message_stop", object{"type": "message_stop"})
}
