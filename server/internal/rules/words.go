package rules

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
)

// Words is a rule in plain English: what it says to which calls, of whom and where, and
// how long. at is the call it was made at, nil when that is not known.
func Words(r *schema.Rule, at *Call) string {
	said := map[string]string{schema.ThenAllow: "Allow", schema.ThenDeny: "Deny"}[r.Then]
	return said + " " + covers(r, at) + ", " + where(r) + ", " + howLong(r)
}

func covers(r *schema.Rule, at *Call) string {
	tool := shown(r.Tool)
	switch {
	case strings.HasPrefix(r.Call, anywhere):
		return tool + " with exactly these arguments" + excerpt(at)
	case r.Call != "":
		return "exactly this call of " + tool + excerpt(at)
	case len(r.When) == 0:
		return "every call of " + tool
	}
	all := make([]string, len(r.When))
	for i, c := range r.When {
		all[i] = c.Argument + " " + tests[c.Is] + " " + value(c.Value)
	}
	return tool + " when " + strings.Join(all, " and ")
}

var tests = map[string]string{
	"equals": "is", "starts_with": "starts with", "contains": "contains", "glob": "matches",
	"at_most": "is at most", "at_least": "is at least", "under": "is under",
}

// maxShown is how many characters of a call or a name are shown in a rule's words.
const maxShown = 120

// value is a condition's value as it is: hiding a part of it would hide what is allowed.
func value(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return strconv.Quote(text)
	}
	return string(raw)
}

// shown is a text of an agent's, in which nothing hides.
func shown(text string) string {
	quoted := strconv.Quote(text)
	if bare := quoted[1 : len(quoted)-1]; bare == text && !strings.ContainsAny(text, " ,") && len(text) <= maxShown && text != "" {
		return text
	}
	return clipped(quoted)
}

func clipped(text string) string {
	if r := []rune(text); len(r) > maxShown {
		return string(r[:maxShown]) + "…"
	}
	return text
}

// excerpt is the beginning of the arguments, of a command the command itself.
func excerpt(at *Call) string {
	if at == nil || len(at.Arguments) == 0 {
		return ""
	}
	var of struct {
		Command string `json:"command"`
	}
	if json.Unmarshal(at.Arguments, &of) == nil && of.Command != "" {
		return " (" + clipped(strconv.Quote(of.Command)) + ")"
	}
	quoted := strconv.Quote(string(at.Arguments))
	return " (" + clipped(strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)) + ")"
}

func where(r *schema.Rule) string {
	switch {
	case r.SessionID != "":
		return "in the session " + shown(r.SessionID) + " of " + shown(r.SourceApp)
	case r.Cwd != "":
		return "asked by " + shown(r.SourceApp) + " in " + shown(r.Cwd) + " and below"
	case r.SourceApp != "":
		return "asked by " + shown(r.SourceApp) + " anywhere"
	default:
		return "whoever asks"
	}
}

func howLong(r *schema.Rule) string {
	long := "until it is revoked"
	if r.ExpiresAt != 0 {
		long = "for " + span(time.Duration(r.ExpiresAt-r.CreatedAt)*time.Millisecond)
	}
	switch {
	case r.SessionID == "":
		return long
	case r.ExpiresAt == 0:
		return "until the session ends"
	default:
		return long + " or until the session ends"
	}
}

func span(d time.Duration) string {
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
