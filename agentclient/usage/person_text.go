package usage

import (
	"encoding/json"
	"strings"
)

// Texts returns the texts in the content of a message, without tool calls, results, images and thoughts.
// The content is a text or a list of blocks.
func Texts(content json.RawMessage) (texts []string) {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []string{text}
	}
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	_ = json.Unmarshal(content, &blocks) // blocks of other forms have nothing
	for _, b := range blocks {
		if b.Type == "text" || b.Type == "output_text" { // of Codex
			texts = append(texts, b.Text)
		}
	}
	return texts
}

// PersonText returns what the person wrote in the texts of a message of type user: neither the elements that Claude
// Code writes into it, such as a slash command with its output, nor its notes about an interruption. It is "" if the
// person wrote nothing.
func PersonText(texts []string) string {
	var kept []string
	for _, text := range texts {
		text = strings.TrimSpace(text)
		if strings.HasPrefix(text, "[Request interrupted by user") {
			continue
		}
		if text = cutElements(text); text != "" {
			kept = append(kept, text)
		}
	}
	return strings.Join(kept, "\n")
}

// cutElements removes the elements at the beginning of a prompt that Claude Code writes into it.
func cutElements(text string) string {
	for {
		inner, found := strings.CutPrefix(text, "<")
		name := inner[:max(0, strings.IndexAny(inner, " \n>"))]
		if !found || !isOwnElement(name) {
			return text
		}
		_, text, _ = strings.Cut(text, "</"+name+">")
		text = strings.TrimSpace(text)
	}
}

// isOwnElement reports whether Claude Code writes elements of that name in the person's name. Persons write
// other elements, such as code.
func isOwnElement(name string) bool {
	switch name {
	case "task-notification", "system-reminder", "local-command-caveat", "user-memory-input", "user-prompt-submit-hook",
		"session-start-hook", "teammate-message", "cross-session-message", "channel", "tick", "bash-input", "bash-stdout",
		"bash-stderr", "ide_opened_file", "ide_selection", "ide_diagnostics", "new-diagnostics", "fork-boilerplate",
		"command-name", "command-message", "command-args", "command-contents", "local-command-stdout", "local-command-stderr":
		return true
	default:
		return false
	}
}
