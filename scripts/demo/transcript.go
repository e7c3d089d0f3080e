package main

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// transcript is the conversation of a session as Claude Code keeps it: a line for
// each thing that was said or done, with the model's usage. An agent and its
// subagents write it together.
type transcript struct {
	model string

	mu    sync.Mutex // guards what follows
	lines []map[string]any
	read  int // tokens so far
	cost  float64
}

func (t *transcript) add(kind string, message map[string]any) {
	t.lines = append(t.lines, map[string]any{
		"type": kind, "timestamp": time.Now().UTC().Format(time.RFC3339Nano), "message": message,
	})
}

// user says what the person wants.
func (t *transcript) user(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add("user", map[string]any{"role": "user", "content": text})
}

// model says something, or calls a tool.
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

// call is a tool call of the model, with what it thought before.
func (t *transcript) call(id string, c call) {
	description, _ := c.input["description"].(string)
	t.assistant(
		map[string]any{"type": "thinking", "thinking": "Next: " + c.summary() + "\n" + description},
		map[string]any{"type": "tool_use", "id": id, "name": c.tool, "input": c.input},
	)
}

// result is what the tool said.
func (t *transcript) result(id string, c call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	content := c.fails
	if content == "" {
		text, _ := json.MarshalIndent(c.output, "", "  ") // the cast's outputs are plain
		content = string(text)
	}
	t.add("user", map[string]any{"role": "user", "content": []any{map[string]any{
		"type": "tool_result", "tool_use_id": id, "content": content, "is_error": c.fails != "",
	}}})
}

// chat is all of it so far, with what it cost.
func (t *transcript) chat() (json.RawMessage, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return json.Marshal(append(t.lines[:len(t.lines):len(t.lines)],
		map[string]any{"type": "cost-state", "totalCostUSD": t.cost}))
}
