package sessions

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
)

// Reports are Markdown and must show an agent's text literally. Inline text has all
// punctuation escaped. Blocks use a fence longer than any run of backticks in the text.

// escapeInline returns text for a single line, with all markup escaped.
func escapeInline(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			b.WriteByte(' ')
		case isInvisible(r):
			fmt.Fprintf(&b, `\[U\+%04X\]`, r)
		case r < unicode.MaxASCII && unicode.In(r, unicode.P, unicode.S):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isInvisible reports whether a character draws nothing or changes how others are
// drawn.
func isInvisible(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs)
}

// appendFenced appends text as a fenced code block.
func appendFenced(dst []byte, language, text string) []byte {
	var b strings.Builder
	longest, run := 2, 0
	for _, r := range strings.ReplaceAll(text, "\r\n", "\n") {
		if r == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
		if isInvisible(r) && r != '\n' && r != '\t' {
			fmt.Fprintf(&b, "[U+%04X]", r)
			continue
		}
		b.WriteRune(r)
	}
	fence := strings.Repeat("`", longest+1)
	return fmt.Appendf(dst, "%s%s\n%s\n%s\n\n", fence, language, strings.TrimRight(b.String(), "\n"), fence)
}

// appendFencedJSON appends a JSON value as an indented block, or the text unchanged if
// it is not JSON.
func appendFencedJSON(dst, value []byte) []byte {
	var pretty bytes.Buffer
	if json.Indent(&pretty, value, "", "  ") != nil {
		return appendFenced(dst, "", string(value))
	}
	return appendFenced(dst, "json", pretty.String())
}

func formatTime(ms schema.Millis) string {
	return time.UnixMilli(int64(ms)).UTC().Format("2006-01-02 15:04:05 UTC")
}

func formatDuration(ms int64) string {
	return (time.Duration(ms) * time.Millisecond).String()
}

// appendReportHeader appends the title, facts and tool table of a session.
func appendReportHeader(dst []byte, d *history.SessionDetail, now time.Time) []byte {
	s := &d.Session
	title := s.Title
	title = cmp.Or(title, s.SourceApp)
	dst = fmt.Appendf(dst, "# %s\n\n", escapeInline(title))
	line := func(name, value string) {
		if value != "" {
			dst = fmt.Appendf(dst, "- %s: %s\n", name, value)
		}
	}
	line("Application", escapeInline(s.SourceApp))
	line("Session", escapeInline(s.SessionID))
	line("Part of session", escapeInline(s.ParentSessionID))
	line("Directory", escapeInline(s.Cwd))
	line("Branch", escapeInline(s.Branch))
	line("Model", escapeInline(s.Model))
	line("Time", fmt.Sprintf("%s to %s", formatTime(s.StartedAt), formatTime(s.LastAt)))
	line("Active for", formatDuration(max(0, int64(s.LastAt-s.StartedAt)-s.HumanWaitMS))+", not counting the time it waited for people")
	line("Events", fmt.Sprintf("%d, with %d tool calls, %d failures and %d subagents", s.Events, s.Tools, s.Failures, s.Agents))
	line("Questions", fmt.Sprintf("%d, of which %d are pending; total wait for people %s", s.Questions, s.Pending, formatDuration(s.HumanWaitMS)))
	if t := s.Tokens; t != nil {
		line("Tokens", fmt.Sprintf("%d input, %d output, %d cache read, %d cache write", t.Input, t.Output, t.CacheRead, t.CacheWrite))
	}
	if s.CostUSD > 0 {
		line("Cost", fmt.Sprintf("%.2f USD, as reported by the agent", s.CostUSD))
	}
	line("Exported", formatTime(schema.Millis(now.UnixMilli())))
	if len(d.Tools) > 0 {
		dst = append(dst, "\n| Tool | Calls | Failures | Median | 95th percentile |\n|---|--:|--:|--:|--:|\n"...)
		for _, t := range d.Tools {
			dst = fmt.Appendf(dst, "| %s | %d | %d | %s | %s |\n", escapeInline(t.Tool), t.Calls, t.Failures, formatDuration(t.MedianMS), formatDuration(t.P95MS))
		}
	}
	return append(dst, "\n## What happened\n\n"...)
}

// appendReportEvent appends one event of a session.
func appendReportEvent(dst []byte, e *store.Event) []byte {
	f := e.Facts(nil)
	dst = fmt.Appendf(dst, "**%s** · %s", formatTime(schema.Millis(f.At)), escapeInline(e.Type))
	for _, part := range []string{f.Tool, f.Agent} {
		if part != "" {
			dst = fmt.Appendf(dst, " · %s", escapeInline(part))
		}
	}
	dst = fmt.Appendf(dst, " · event %d\n\n", e.ID)
	if f.Failed {
		dst = append(dst, "**Failed.**\n\n"...)
	}
	if f.Interrupted {
		dst = append(dst, "**Interrupted.**\n\n"...)
	}
	if f.Error != "" {
		dst = appendFenced(dst, "", f.Error)
	}
	var input []byte
	digest.EachMember(e.Payload, func(name string, value []byte) { // absent members are not shown
		switch name {
		case "prompt", "last_assistant_message", "message":
			if text := digest.StringValue(value); text != "" {
				dst = appendFenced(dst, "", text)
			}
		case "tool_input":
			input = bytes.Clone(value)
		}
	})
	if input != nil && f.Kind != digest.ToolEnd {
		dst = appendFencedJSON(dst, input)
	}
	if e.Question != nil {
		dst = appendDecision(dst, e)
	}
	return dst
}

// appendDecision appends a question and its outcome.
func appendDecision(dst []byte, e *store.Event) []byte {
	var q schema.HumanInTheLoop
	var st schema.Status
	if json.Unmarshal(e.Question, &q) != nil || json.Unmarshal(e.Status, &st) != nil {
		return dst
	}
	dst = append(dst, "Question:\n\n"...)
	dst = appendFenced(dst, "", q.Question)
	_ = q.ToolCall.ResolveArguments(e.Payload, e.Tool) // it was resolved when it was stored
	if q.ToolCall != nil && q.ToolCall.Arguments != nil {
		dst = fmt.Appendf(dst, "To run %s with\n\n", escapeInline(q.ToolCall.Name))
		dst = appendFencedJSON(dst, q.ToolCall.Arguments)
	}
	if !st.IsSettled() {
		return append(dst, "**Waiting for an answer.**\n\n"...)
	}
	waited := int64(st.RespondedAt) - e.ReceivedAt.UnixMilli()
	dst = fmt.Appendf(dst, "**%s** at %s, after %s", escapeInline(outcomeLabel(&st)), formatTime(st.RespondedAt), formatDuration(waited))
	if st.RespondedBy != nil {
		dst = fmt.Appendf(dst, ", by %s", escapeInline(st.RespondedBy.Name))
	}
	dst = append(dst, ".\n\n"...)
	if st.Response != nil {
		dst = appendAnswer(dst, st.Response)
	}
	if st.Reason != "" {
		dst = appendFenced(append(dst, "Reason:\n\n"...), "", st.Reason)
	}
	if x := st.Execution; x != nil {
		dst = fmt.Appendf(dst, "The call %s (event %d).\n\n", escapeInline(x.State), x.EventID)
	}
	return dst
}

// outcomeLabel returns the label of an outcome.
func outcomeLabel(st *schema.Status) string {
	switch st.Outcome {
	case schema.Approve:
		return "Approved"
	case schema.Deny:
		return "Denied"
	case schema.Answered:
		return "Answered"
	case schema.NoQuorum:
		return "No majority"
	default:
		if end := schema.EndText(st.Outcome, st.Source); end != "" {
			return strings.ToUpper(end[:1]) + end[1:]
		}
		return "Chosen: " + string(st.Outcome)
	}
}

// appendAnswer appends the responder's text, comment and changed arguments.
func appendAnswer(dst []byte, a *schema.Answer) []byte {
	if a.Response != nil {
		dst = appendFenced(dst, "", *a.Response)
	}
	if a.Answers != nil {
		if raw, err := json.Marshal(a.Answers); err == nil {
			dst = appendFencedJSON(dst, raw)
		}
	}
	if a.Comment != "" {
		dst = appendFenced(append(dst, "Comment:\n\n"...), "", a.Comment)
	}
	if a.ModifiedArguments != nil {
		dst = appendFencedJSON(append(dst, "With changed arguments:\n\n"...), a.ModifiedArguments)
	}
	return dst
}
