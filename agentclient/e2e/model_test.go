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
	url string

	mu       sync.Mutex
	turns    []turn
	requests []string // the bodies of the requests of the main loop
}

// turn is one reply of the model.
type turn struct {
	text   string
	tool   string // the tool to call, or ""
	input  string // the tool's arguments as JSON
	second *turn  // another call in the same message
}

func newModel(t *testing.T, turns ...turn) *model {
	t.Helper()
	m := &model{turns: turns}
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
		Model  string            `json:"model"`
		Stream bool              `json:"stream"`
		Tools  []json.RawMessage `json:"tools"`
	}
	_ = json.Unmarshal(body, &request)
	reply, id := turn{text: "ok"}, "msg_aside"
	if len(request.Tools) > 0 {
		reply, id = m.nextTurn(string(body))
	}
	if request.Stream {
		stream(w, request.Model, id, reply)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"id": id, "type": "message", "role": "assistant", "model": request.Model, "content": []any{map[string]string{"type": "text", "text": reply.text}},
		"stop_reason": "end_turn", "usage": usage,
	})
}

// planFile matches the path that Claude Code gives its model for a plan.
var planFile = regexp.MustCompile(`/[^\s"'` + "`" + `]+/plans/[\w-]+\.md`)

var usage = map[string]int{"input_tokens": 10, "output_tokens": 5}

func (m *model) nextTurn(body string) (turn, string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, body)
	n := len(m.requests)
	if n > len(m.turns) {
		return turn{text: "Done."}, fmt.Sprintf("msg_%d", n)
	}
	reply := m.turns[n-1]
	reply.input = strings.ReplaceAll(reply.input, "PLANFILE", planFile.FindString(body))
	return reply, fmt.Sprintf("msg_%d", n)
}

// toolResults returns the messages after the model's latest one in the last request, such as
// the result of a call.
func (m *model) toolResults() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.requests) == 0 {
		return ""
	}
	var request struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	_ = json.Unmarshal([]byte(m.requests[len(m.requests)-1]), &request)
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

// stream writes a message as server-sent events.
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
	blocks, stop := 0, "end_turn"
	if reply.text != "" {
		block(blocks, object{"type": "text", "text": ""}, object{"type": "text_delta", "text": reply.text})
		blocks++
	}
	for call := &reply; call != nil && call.tool != ""; call = call.second {
		stop = "tool_use"
		use := object{"type": "tool_use", "id": fmt.Sprintf("toolu_%s%d", strings.ReplaceAll(id, "_", ""), blocks), "name": call.tool, "input": object{}}
		block(blocks, use, object{"type": "input_json_delta", "partial_json": call.input})
		blocks++
	}
	send("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": usage})
	send("message_stop", object{"type": "message_stop"})
}
