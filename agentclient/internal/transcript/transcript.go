// Package transcript reads the newest messages and plan in the transcript that a coding agent writes while it
// works: JSON Lines in the form of Claude Code, which some other agents share, or of Codex. Sources: the
// files that Claude Code 2.1 and Codex 0.169 write. Neither documents its format, so every line that is
// not understood is skipped.
package transcript

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/hookback/hookback/agentclient/usage"
	"github.com/hookback/hookback/schema"
)

// maxMessage is the maximum length of a message in characters.
const maxMessage = 2000

// Messages are the newest messages of a conversation, each at most 2,000 characters. Longer ones end with
// an ellipsis. A message without text, or that the end of the file does not contain, is "".
type Messages struct {
	Prompt string // of the person
	Last   string // of the model, after the prompt
}

// Read returns the newest messages in the file. If ctx ends, such as on a network file system that does not
// answer, it returns those that were read by then. A file that is not a regular one has none.
func Read(ctx context.Context, path string) (newest Messages) {
	read := make(chan Messages, 4) // one for each change
	go func() {
		defer close(read)
		readMessages(path, func(m Messages) { read <- m })
	}()
	for {
		select {
		case m, more := <-read:
			if !more {
				return newest
			}
			newest = m
		case <-ctx.Done():
			return newest
		}
	}
}

// readMessages reads the lines from the last one backwards to the newest prompt. It reports the messages when
// they change: at most once for a copy of the prompt, for the last message and for the prompt.
func readMessages(path string, report func(Messages)) {
	var m Messages
	afterOutput := false // of a command that Claude Code itself ran
	for b := range backward(path) {
		if !mayHaveMessage(b, m.Last == "") {
			continue
		}
		role, text := readLine(b)
		text = schema.Shorten(text, maxMessage)
		switch {
		case role == roleCopy && m.Prompt == "" && text != "":
			m.Prompt = text
		case role == roleModel && m.Last == "" && text != "":
			m.Last = text
		case role == roleOutput, role == roleCommand && afterOutput:
			afterOutput = role == roleOutput
			continue
		case role == rolePerson, role == roleCommand:
			m.Prompt = text
			report(m)
			return
		default:
			continue
		}
		report(m)
	}
}

// mayHaveMessage reports whether a line may have a message. Most lines are results of tools, which can be
// large. A quotation mark in a text is escaped, so the names below are no part of one.
func mayHaveMessage(b []byte, ofModel bool) bool {
	has := func(name string) bool { return bytes.Contains(b, []byte(name)) }
	if has(`"tool_result"`) {
		return false
	}
	return has(`"user"`) || has(`"user_message"`) || has(`"queued_command"`) || has(`"last-prompt"`) || ofModel && has(`"assistant"`)
}

// role is who wrote a line.
type role int

const (
	roleNone    role = iota // no one that matters
	roleModel               // the model
	rolePerson              // the person; a prompt without text has images
	roleCommand             // the person, as a slash command
	roleOutput              // Claude Code, as the output of a slash command that the model does not see
	roleCopy                // Claude Code, as a copy of the newest prompt with text that it knows, anywhere after it
)

// line is a line of either format.
type line struct {
	Type       string     `json:"type"`
	Meta       bool       `json:"isMeta"`
	Summary    bool       `json:"isCompactSummary"`
	Sidechain  bool       `json:"isSidechain"` // of a subagent
	RowSource  string     `json:"rowSource"`   // the part of Claude Code that wrote it; empty for a person
	Origin     origin     `json:"origin"`
	Message    message    `json:"message"`
	LastPrompt string     `json:"lastPrompt"`
	Attachment attachment `json:"attachment"`
	Codex      struct {
		Type    string `json:"type"`
		Message any    `json:"message"` // text of an event
		message
	} `json:"payload"`
}

// origin is who sent a message in the person's name. Older versions do not write it.
type origin struct {
	Kind string `json:"kind"`
}

func (o origin) isPerson() bool { return o.Kind == "" || o.Kind == "human" }

// attachment is an addition to a conversation. A prompt that was queued while the model worked is one.
type attachment struct {
	Type         string          `json:"type"`
	Mode         string          `json:"commandMode"`
	Prompt       json.RawMessage `json:"prompt"` // as in message
	Origin       origin          `json:"origin"`
	PlanFilePath string          `json:"planFilePath"`
	PlanContent  string          `json:"planContent"`
}

func (a *attachment) isPrompt() bool {
	return a.Type == "queued_command" && (a.Mode == "" || a.Mode == "prompt") && a.Origin.isPerson()
}

type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"` // a string or blocks
}

// readLine returns who wrote the message in the line, and its text.
func readLine(b []byte) (role, string) {
	var l line
	if json.Unmarshal(b, &l) != nil || l.Meta || l.Summary || l.Sidechain {
		return roleNone, ""
	}
	switch {
	case l.Type == "event_msg" && l.Codex.Type == "user_message":
		text, _ := l.Codex.Message.(string)
		return rolePerson, strings.TrimSpace(text)
	case l.Type == "response_item" && l.Codex.Type == "message" && l.Codex.Role == "assistant":
		return roleModel, strings.TrimSpace(strings.Join(usage.Texts(l.Codex.Content), "\n"))
	case l.Type == "last-prompt":
		return roleCopy, strings.TrimSpace(l.LastPrompt)
	case l.Type == "assistant":
		return roleModel, strings.TrimSpace(strings.Join(usage.Texts(l.Message.Content), "\n"))
	case l.Type == "user":
		role, text := readPrompt(usage.Texts(l.Message.Content))
		if role == rolePerson && (l.RowSource != "" || !l.Origin.isPerson()) {
			return roleNone, ""
		}
		return role, text
	case l.Type == "attachment" && l.Attachment.isPrompt():
		return readPrompt(usage.Texts(l.Attachment.Prompt))
	default:
		return roleNone, ""
	}
}

// readPrompt returns who wrote the texts in a message of the person, and what the person wrote.
func readPrompt(texts []string) (role, string) {
	for _, text := range texts {
		text = strings.TrimSpace(text)
		switch {
		case strings.HasPrefix(text, "<local-command-stdout>"), strings.HasPrefix(text, "<local-command-stderr>"):
			return roleOutput, ""
		case strings.HasPrefix(text, "<command-"):
			if strings.Contains(text, "<skill-format>") { // the model started the skill
				return roleNone, ""
			}
			command := "/" + strings.TrimPrefix(element(text, "command-name"), "/")
			return roleCommand, strings.TrimSpace(command + " " + element(text, "command-args"))
		}
	}
	text := usage.PersonText(texts)
	if text == "" && len(texts) > 0 {
		return roleNone, ""
	}
	return rolePerson, text
}

// element returns the text in the first element of that name.
func element(text, name string) string {
	_, text, _ = strings.Cut(text, "<"+name+">")
	text, _, _ = strings.Cut(text, "</"+name+">")
	return strings.TrimSpace(text)
}
