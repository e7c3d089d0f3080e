package control

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hookback/hookback/schema"
)

const (
	// MaxMessageText is the maximum length of a message in characters.
	MaxMessageText = 2000
	// MaxWaitingMessages is the maximum number of messages that wait for one session.
	MaxWaitingMessages = 20
	// MaxHandedOver is the maximum number of messages in one directive.
	MaxHandedOver = 5
	// MaxPromptUnits limits the texts of one directive, in UTF-16 code units of
	// PromptText. Claude Code shows the model only the beginning of a longer text.
	MaxPromptUnits = 9500
	// MaxStopBlocks is how often in a row the end of a turn hands over messages, which
	// starts another turn. Claude Code ignores hooks that do it more than eight times.
	MaxStopBlocks = 3
	// WakeEvent is the type of the event with which a waiting hook collects the messages of
	// an idle session.
	WakeEvent = "Wake"
	// IdempotencyHeader makes a repeated POST of a message return the first one.
	IdempotencyHeader = "Idempotency-Key"
)

// receivers are the agents whose hooks hand messages to the model.
var receivers = []string{"claude-code", "codex", "gemini", "qwen"}

// CanReceive reports whether the hooks of that agent, named as in hook.Agents, hand messages to the
// model.
func CanReceive(agent string) bool { return slices.Contains(receivers, agent) }

// WaitStatus is the response to GET /api/session/messages/wait.
type WaitStatus struct {
	Waiting bool `json:"waiting"` // a message waits for the session
	// Ended means that the caller has no more to wait for: the session got a prompt or ended,
	// or another caller waits for it.
	Ended bool  `json:"ended"`
	After int64 `json:"after"` // for the next call
}

// Clean returns the draft with its text as a model gets it: without control characters,
// invisible characters and surrounding space. It fails with a schema.FieldError.
func (d MessageDraft) Clean() (MessageDraft, error) {
	switch {
	case d.SourceApp == "" || len(d.SourceApp) > schema.MaxName:
		return d, &schema.FieldError{Field: "source_app", Detail: "must be the application of the session"}
	case d.SessionID == "" || len(d.SessionID) > schema.MaxName:
		return d, &schema.FieldError{Field: "session_id", Detail: "must be the id of a session"}
	case len(d.AgentID) > schema.MaxName:
		return d, &schema.FieldError{Field: "agent_id", Detail: "is too long"}
	case !utf8.ValidString(d.Text):
		return d, &schema.FieldError{Field: "text", Detail: "is not valid UTF-8"}
	}
	d.Text = cleanText(d.Text)
	switch n := utf8.RuneCountInString(d.Text); {
	case n == 0:
		return d, &schema.FieldError{Field: "text", Detail: "must not be empty"}
	case n > MaxMessageText:
		return d, &schema.FieldError{Field: "text", Detail: "is longer than 2000 characters"}
	}
	return d, nil
}

// lineBreaks replaces the characters that a program may show as the end of a line.
var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

func cleanText(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r == '\u200d': // the last one joins emoji
			return r
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co):
			return -1
		}
		return r
	}, lineBreaks.Replace(text)))
}

// PromptText returns the message as the model reads it. No line of the person's text starts a line
// of its own: it can't pose as the message of another person, or as an approval.
func (m MessageText) PromptText() string {
	head := "Message from " + strings.Join(strings.Fields(cleanText(m.From)), " ") + ", sent through Hookback. It is not an approval:"
	text := cleanText(m.Text)
	if !strings.Contains(text, "\n") {
		return head + " " + text
	}
	return head + "\n> " + strings.ReplaceAll(text, "\n", "\n> ")
}

// PromptText returns the messages as the model reads them, oldest first. It is empty without
// messages.
func PromptText(messages []MessageText) string {
	texts := make([]string, len(messages))
	for i, m := range messages {
		texts[i] = m.PromptText()
	}
	return strings.Join(texts, "\n")
}

// PromptUnits returns the length of PromptText in UTF-16 code units.
func (m MessageText) PromptUnits() (n int) {
	for _, r := range m.PromptText() {
		if n++; r > 0xffff {
			n++
		}
	}
	return n + 1 // the line break to the next one
}
