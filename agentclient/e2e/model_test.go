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

// model speaks Anthropic's Messages API and says what a test wrote, turn by turn. It
// hears everything: an agent's tool results come with the next turn.
type model struct {
	url string

	mu       sync.Mutex
	turns    []turn
	requests []string // the bodies of the requests of the main loop
}

// turn is one message of the model's.
type turn struct {
	text   string
	tool   string // a call of this tool, or none
	input  string // its arguments, JSON
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

// ServeHTTP answers one request. What has no tools is no turn of the agent's loop: it
// wants a title or the like.
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
	says, id := turn{text: "ok"}, "msg_aside"
	if len(request.Tools) > 0 {
		says, id = m.nextTurn(string(body))
	}
	if request.Stream {
		stream(w, request.Model, id, says)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"id": id, "type": "message", "role": "assistant", "model": request.Model, "content": []any{map[string]string{"type": "text", "text": says.text}},
		"stop_reason": "end_turn", "usage": usage,
	})
}

// planFile is where Claude Code tells its model to write a plan.
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
	says := m.turns[n-1]
	says.input = strings.ReplaceAll(says.input, "PLANFILE", planFile.FindString(body))
	return says, fmt.Sprintf("msg_%d", n)
}

// toolResults is what the model was told last: everything behind its own latest message, such
// as the result of its call.
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
	var told strings.Builder
	for _, message := range request.Messages {
		if message.Role == "assistant" {
			told.Reset()
			continue
		}
		told.Write(message.Content)
	}
	return told.String()
}

// stream writes a message as server-sent events.
func stream(w http.ResponseWriter, name, id string, says turn) {
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
	if says.text != "" {
		block(blocks, object{"type": "text", "text": ""}, object{"type": "text_delta", "text": says.text})
		blocks++
	}
	for call := &says; call != nil && call.tool != ""; call = call.second {
		stop = "tool_use"
		use := object{"type": "tool_use", "id": fmt.Sprintf("toolu_%s%d", strings.ReplaceAll(id, "_", ""), blocks), "name": call.tool, "input": object{}}
		block(blocks, use, object{"type": "input_json_delta", "partial_json": call.input})
		blocks++
	}
	send("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": usage})
	send("message_stop", object{"type": "message_stop"})
}
