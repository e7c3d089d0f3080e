package rules

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	clientcall "github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/matcher"
	"github.com/hookback/hookback/schema"
)

// Sentence describes a rule in plain English: its effect, the calls it covers, whose they are,
// and how long it holds. call is the one it was created from, or nil if unknown.
func Sentence(r *schema.Rule, call *Call) string {
	verb := map[string]string{schema.ThenAllow: "Allow", schema.ThenDeny: "Deny"}[r.Then]
	return verb + " " + describeCalls(r, call) + ", " + describeReach(r) + ", " + describeDuration(r)
}

func describeCalls(r *schema.Rule, call *Call) string {
	tool := displayName(r.Tool)
	switch {
	case r.Scope == schema.ScopeSession:
		return "harmless calls"
	case strings.HasPrefix(r.Call, anyDirPrefix):
		return tool + " with exactly these arguments" + callExcerpt(call)
	case r.Call != "":
		return "exactly this call of " + tool + callExcerpt(call)
	case len(r.When) == 0:
		return "every call of " + tool + describeOptions(r)
	}
	conditions := make([]string, len(r.When))
	for i, c := range r.When {
		if value, err := clientcall.ParseValue(c.Value, schema.MaxDepth); err == nil {
			conditions[i] = displayName(c.Argument) + " " + matcher.DescribeTest(c.Is, value)
		}
	}
	return matcher.DescribeCalls(tool, conditions) + describeOptions(r)
}

// maxDisplayRunes limits how much of a call or name a sentence contains, in characters.
const maxDisplayRunes = 120

// displayName returns an agent's text. It is quoted if it contains anything that could mislead a
// reader.
func displayName(text string) string {
	quoted := strconv.Quote(text)
	if bare := quoted[1 : len(quoted)-1]; bare == text && !strings.ContainsAny(text, " ,") && len(text) <= maxDisplayRunes && text != "" {
		return text
	}
	return truncate(quoted)
}

func truncate(text string) string {
	if r := []rune(text); len(r) > maxDisplayRunes {
		return string(r[:maxDisplayRunes]) + "…"
	}
	return text
}

// callExcerpt returns the beginning of the command, or else of the arguments.
func callExcerpt(call *Call) string {
	if call == nil || len(call.Arguments) == 0 {
		return ""
	}
	call.decodeArguments()
	if command := call.reading.CommandLine(); command != "" {
		return " (" + truncate(strconv.Quote(command)) + ")"
	}
	quoted := strconv.Quote(string(call.Arguments))
	return " (" + truncate(strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)) + ")"
}

func describeReach(r *schema.Rule) string {
	switch {
	case r.SessionID != "":
		return "in the session " + displayName(r.SessionID) + " of " + displayName(r.SourceApp)
	case r.Cwd != "":
		return "asked by " + displayName(r.SourceApp) + " in " + displayName(r.Cwd) + " and below"
	case r.SourceApp != "":
		return "asked by " + displayName(r.SourceApp) + " anywhere"
	default:
		return "for all agents"
	}
}

func describeDuration(r *schema.Rule) string {
	text := "until it is revoked"
	if r.ExpiresAt != 0 {
		text = "for " + formatDuration(time.Duration(r.ExpiresAt-r.CreatedAt)*time.Millisecond)
	}
	switch {
	case r.SessionID == "":
		return text
	case r.ExpiresAt == 0:
		return "until the session ends"
	default:
		return text + " or until the session ends"
	}
}

func formatDuration(d time.Duration) string {
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		if d >= unit.of && d%unit.of == 0 {
			n := int64(d / unit.of)
			if n == 1 {
				return "1 " + unit.name
			}
			return fmt.Sprintf("%d %ss", n, unit.name)
		}
	}
	return d.String()
}
