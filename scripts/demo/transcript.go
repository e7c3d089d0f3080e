package main

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// transcript is the conversation of a session in Claude Code's format: one line per
// message, with the model's usage. An agent and its subagents share it.
type transcript struct {
	model string

	mu    sync.Mutex // guards the fields below
	lines []map[string]any
	read  int // tokens so far
	cost  float64
}

func (t *transcript) add(kind string, message map[string]any) {
	t.lines = append(t.lines, map[string]any{
		"type": kind, "timestamp": time.Now().UTC().Format(time.RFC3339Nano), "message": message,
	})
}

// user appends a message of the person.
func (t *transcript) user(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add("user", map[string]any{"role": "user", "content": text})
}

// assistant appends a message of the model.
func (t *transcript) assistant(blocks ...map[string]any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.read += 1800
	written := 60 + 40*len(blocks)
	t.cost += float64(t.read)*0.3e-6 + float64(written)*15e-6
	t.add("assistant", map[string]any{
		"id": fmt.Sprintf("msg_%d", len(t.lines)), "role": "assistant", "model": t.model, "content": blocks,
		"usage": map[string]any{
			"input_tokens": 12 + 3*len(t.lines), "output_tokens": written,
			"cache_read_input_tokens": t.read, "cache_creation_input_tokens": 1800,
		},
	})
}

// call appends a tool call with the reasoning before it.
func (t *transcript) call(id string, c call) {
	description, _ := c.Input["description"].(string)
	t.assistant(
		map[string]any{"type": "thinking", "thinking": "Next: " + c.summary() + "\n" + description},
		map[string]any{"type": "tool_use", "id": id, "name": c.Tool, "input": c.Input},
	)
}

// result appends the result of a tool call.
func (t *transcript) result(id string, c call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	content := c.Failure
	if content == "" {
		text, _ := json.MarshalIndent(c.Output, "", "  ") // outputs in the script can always be encoded
		content = string(text)
	}
	t.add("user", map[string]any{"role": "user", "content": []any{map[string]any{
		"type": "tool_result", "tool_use_id": id, "content": content, "is_error": c.Failure != "",
	}}})
}

// chat returns all lines so far, followed by the total cost.
func (t *transcript) chat() (json.RawMessage, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return json.Marshal(append(t.lines[:len(t.lines):len(t.lines)],
		map[string]any{"type": "cost-state", "totalCostUSD": t.cost}))
}
