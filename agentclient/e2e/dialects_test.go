package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// dialect is a model API other than Anthropic's: it recognizes requests for a turn and
// encodes replies.
type dialect struct {
	isTurn     func(r *http.Request, body []byte) bool
	writeReply func(w http.ResponseWriter, id string, says turn)
}

// newDialectModel starts a model that speaks a dialect. It records whole requests; see
// lastRequest.
func newDialectModel(t testing.TB, d dialect, turns ...turn) *model {
	t.Helper()
	m := newScript(turns)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		reply, id := turn{text: "ok"}, "aside"
		if d.isTurn(r, body) {
			reply, id = m.nextTurn(string(body))
		}
		if reply.isDue(r) {
			d.writeReply(w, id, reply)
		}
	}))
	t.Cleanup(server.Close)
	m.url = server.URL
	return m
}

// responsesAPI is OpenAI's Responses API as streamed to Codex.
var responsesAPI = dialect{
	isTurn: func(r *http.Request, body []byte) bool {
		return strings.HasSuffix(r.URL.Path, "/responses") && strings.Contains(string(body), `"tools":[{`)
	},
	writeReply: func(w http.ResponseWriter, id string, reply turn) {
		type object = map[string]any
		item := object{"type": "message", "role": "assistant", "id": "item_" + id, "content": []object{{"type": "output_text", "text": reply.text}}}
		if reply.tool != "" {
			item = object{"type": "function_call", "id": "item_" + id, "call_id": "call_" + id, "name": reply.tool, "arguments": reply.input}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range []object{
			{"type": "response.created", "response": object{"id": id}},
			{"type": "response.output_item.done", "output_index": 0, "item": item},
			{"type": "response.completed", "response": object{"id": id, "usage": object{
				"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, "input_tokens_details": nil, "output_tokens_details": nil,
			}}},
		} {
			text, _ := json.Marshal(event)
			_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event["type"], text)
		}
	},
}

// geminiAPI is Gemini's API.
var geminiAPI = dialect{
	isTurn: func(r *http.Request, body []byte) bool {
		return strings.HasSuffix(r.URL.Path, ":streamGenerateContent") && strings.Contains(string(body), "functionDeclarations")
	},
	writeReply: func(w http.ResponseWriter, _ string, says turn) {
		type object = map[string]any
		part := object{"text": says.text}
		if says.tool != "" {
			part = object{"functionCall": object{"name": says.tool, "args": json.RawMessage(says.input)}}
		}
		text, _ := json.Marshal(object{
			"candidates":    []object{{"index": 0, "finishReason": "STOP", "content": object{"role": "model", "parts": []object{part}}}},
			"usageMetadata": object{"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
		})
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: %s\n\n", text)
	},
}
