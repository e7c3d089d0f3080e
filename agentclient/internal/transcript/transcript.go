// Package transcript reads the newest messages of the transcript that a coding agent writes while it
// works: JSON Lines in the form of Claude Code, which some other agents share, or of Codex. Sources: the
// files that Claude Code 2.1 and Codex 0.169 write. Neither documents its format, so every line that is
// not understood is skipped.
package transcript

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

const (
	tailSize   = 512 << 10 // bytes of the file's end that are read; Claude Code writes its system prompt, too
	maxMessage = 2000      // characters of a message
)

// Messages are the newest messages of a conversation, each at most 2,000 characters. Longer ones end with
// an ellipsis. A message that the end of the file does not contain is "".
type Messages struct {
	Prompt string // of the person
	Last   string // of the model, after the prompt
}

// Read returns the newest messages in the file. It returns none if the file is not a regular one, or cannot
// be read before ctx ends, such as on a network file system that does not answer.
func Read(ctx context.Context, path string) Messages {
	if path == "" {
		return Messages{}
	}
	read := make(chan Messages, 1)
	go func() { read <- parse(readTail(path)) }()
	select {
	case m := <-read:
		return m
	case <-ctx.Done():
		return Messages{}
	}
}

// readTail returns the complete lines in the last 512 KiB of the file.
func readTail(path string) []byte {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() { // opening a pipe would block
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	start := max(0, info.Size()-tailSize)
	b, err := io.ReadAll(io.NewSectionReader(f, start, tailSize))
	if err != nil {
		return nil
	}
	if start > 0 {
		_, b, _ = bytes.Cut(b, []byte("\n"))
	}
	return b
}

// parse reads the lines from the last one backwards to the newest prompt.
func parse(lines []byte) (m Messages) {
	for len(lines) > 0 {
		i := bytes.LastIndexByte(bytes.TrimRight(lines, "\n"), '\n') + 1
		role, text := readLine(lines[i:])
		lines = lines[:i]
		switch {
		case role == "last-prompt" && m.Prompt == "":
			m.Prompt = shorten(text)
		case role == "assistant" && m.Last == "":
			m.Last = shorten(text)
		case role == "user" && text != "":
			m.Prompt = shorten(text)
			return m
		}
	}
	return m
}

// line is a line of either format.
type line struct {
	Type        string  `json:"type"`
	Meta        bool    `json:"isMeta"`
	Summary     bool    `json:"isCompactSummary"`
	Sidechain   bool    `json:"isSidechain"` // of a subagent
	Message     message `json:"message"`
	LastPrompt  string  `json:"lastPrompt"`
	CodexRecord struct {
		Type    string `json:"type"`
		Message any    `json:"message"` // text of an event
		message
	} `json:"payload"`
}

type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"` // a string or blocks
}

// readLine returns who wrote the message in the line, "assistant" or "user", and its text. The role
// "last-prompt" is a copy of the newest prompt, anywhere after it. The text is empty for lines without
// a message and for text that the agent's program wrote in the user's name.
func readLine(b []byte) (role, text string) {
	var l line
	if json.Unmarshal(b, &l) != nil || l.Meta || l.Summary || l.Sidechain {
		return "", ""
	}
	switch {
	case l.Type == "event_msg" && l.CodexRecord.Type == "user_message":
		text, _ = l.CodexRecord.Message.(string)
		role = "user"
	case l.Type == "response_item" && l.CodexRecord.Type == "message" && l.CodexRecord.Role == "assistant":
		role, text = "assistant", l.CodexRecord.text()
	case l.Type == "last-prompt":
		role, text = l.Type, l.LastPrompt
	case l.Type == "assistant" || l.Type == "user":
		role, text = l.Type, l.Message.text()
	}
	text = strings.TrimSpace(text)
	if role != "assistant" && (strings.HasPrefix(text, "<") || strings.HasPrefix(text, "[Request interrupted")) {
		return "", ""
	}
	return role, text
}

// text returns the text blocks of a message, without tool calls, results and thoughts.
func (m message) text() string {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return text
	}
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	_ = json.Unmarshal(m.Content, &blocks)
	var texts []string
	for _, b := range blocks {
		if b.Type == "text" || b.Type == "output_text" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// shorten cuts text after 2,000 characters.
func shorten(text string) string {
	if utf8.RuneCountInString(text) <= maxMessage {
		return text
	}
	return string([]rune(text)[:maxMessage-1]) + "…"
}
