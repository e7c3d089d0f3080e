package ratings

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/risk"
	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
)

// PolicyLine proposes a rule for hookback.json that asks a person about calls such as the one that
// an event starts, and tests the rule on the history. It returns schema.ErrNotFound if the event
// starts no call.
func (f *Follower) PolicyLine(ctx context.Context, id schema.EventID, now time.Time) (*history.PolicyLine, error) {
	e, _, err := f.Store.Event(ctx, id)
	if err != nil {
		return nil, err
	}
	facts := parseCall(e)
	if facts.tool == "" || facts.step == noStep || facts.step == ended {
		return nil, schema.ErrNotFound
	}
	rule, text := proposeRule(&facts)
	line := &history.PolicyLine{Rule: text, Command: "hookback policy add " + shellQuote(text), Text: rule.Rules()[0].Sentence, Days: PastDays, Draft: draftRule(e, &facts)}
	return line, f.testRule(ctx, rule, facts.tool, now, line)
}

// draftRule returns the start of a rule of the hub about calls such as this one.
func draftRule(e *store.Event, f *callFacts) history.PolicyDraft {
	d := history.PolicyDraft{Tool: f.tool, SourceApp: e.App, SessionID: e.Session, Cwd: f.cwd}
	c := f.reading()
	add := func(at call.Span, is, text string) {
		name := at.Argument()
		value, err := json.Marshal(text)
		isArgument := call.PointerTo(name) == at.Pointer && !strings.Contains(name, ".")
		if err == nil && isArgument && len(d.When) == 0 && text != "" && len(text) <= 500 {
			d.When = []schema.Condition{{Argument: name, Is: is, Value: value}}
		}
	}
	for _, l := range c.Lines {
		if fields, simple := call.WordsOf(f.tool, l.Text, f.cwd); simple {
			add(l.Span, "starts_with", strings.Join(fields[:programWords(fields)], " "))
		}
	}
	if len(c.Lines) == 0 {
		for _, file := range c.Files {
			add(file.Span, "equals", c.TextAt(file.Span))
		}
	}
	return d
}

// programWords returns how many words at the start of a command name what it does: the program, and its
// subcommand if there is one.
func programWords(fields []string) int {
	if len(fields) > 1 && words.MatchString(fields[0]) && words.MatchString(fields[1]) &&
		!strings.HasPrefix(fields[1], "-") && !strings.ContainsAny(fields[1], "/.") {
		return 2
	}
	return 1
}

// policyRule is a rule of hookback.json.
type policyRule struct {
	Tool string         `json:"tool"`
	When map[string]any `json:"when,omitempty"`
	Then string         `json:"then"`
}

// proposeRule returns the narrowest rule that certainly matches a call, and its JSON.
func proposeRule(f *callFacts) (rule *policy.File, text string) {
	name := commonName(f.tool)
	for _, when := range append(conditions(f), nil) {
		raw, err := encodeRule(policyRule{name, when, "ask"})
		if err != nil {
			continue
		}
		if rule, err = policy.Parse("proposal", fmt.Appendf(nil, `{"rules":[%s]}`, raw)); err != nil {
			continue
		}
		// A result with a reason is about a call that the rule can't be evaluated for.
		if got := rule.Evaluate(f.policyCall()); when == nil || got.Effect == policy.Ask && got.Reason == "" {
			return rule, raw
		}
	}
	rule, _ = policy.Parse("proposal", []byte(`{"rules":[{"tool":"*","then":"ask"}]}`)) // the tool's name is no valid glob
	return rule, `{"tool":"*","then":"ask"}`
}

func encodeRule(r policyRule) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // people read it
	err := e.Encode(r)
	return EscapeInvisible(strings.TrimSuffix(b.String(), "\n")), err
}

// EscapeInvisible escapes, as JSON does, the characters that a terminal or a page does not show: people
// paste the rule into a shell, where a delete character removes visible text.
func EscapeInvisible(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// conditions returns conditions that may match the call, the narrowest first.
func conditions(f *callFacts) (list []map[string]any) {
	c := f.reading()
	if command := c.CommandLine(); command != "" {
		for _, finding := range risk.AssessCall(c, f.cwd).Findings {
			list = append(list, commandConditions(finding.Excerpt)...)
		}
		return append(list, commandConditions(command)...)
	}
	for _, file := range c.Files {
		if text := c.TextAt(file.Span); text != "" && len(text) <= 500 {
			list = append(list, map[string]any{"file": map[string]any{"equals": text}})
		}
	}
	for _, host := range c.Hosts {
		u, err := url.Parse(c.TextAt(host.Span))
		if name := host.Span.Argument(); err == nil && name != "" && !strings.ContainsAny(u.Host, "*?\\") && (u.Scheme == "http" || u.Scheme == "https") {
			list = append(list, map[string]any{name: map[string]any{"glob": u.Scheme + "://" + u.Host + "/*"}})
		}
	}
	return list
}

var (
	piped = regexp.MustCompile(`^\s*([\w.-]+)\b[^;&]*\|\s*(?:sudo\s+)?([\w.-]+)`)
	words = regexp.MustCompile(`^[\w./-]+$`)
	// longOptions are the long names of short options that make calls risky.
	longOptions = map[string]string{"r": "recursive", "R": "recursive", "f": "force"}
)

// commandConditions returns conditions for the command line, the narrowest first.
func commandConditions(line string) (list []map[string]any) {
	command := func(tests map[string]any) { list = append(list, map[string]any{"command": tests}) }
	if m := piped.FindStringSubmatch(line); m != nil {
		command(map[string]any{"runs": m[1], "regex": `\|\s*(sudo\s+)?` + regexp.QuoteMeta(m[2]) + `\b`})
	}
	fields := strings.Fields(line)
	if len(fields) > 0 && fields[0] == "sudo" {
		fields = fields[1:]
	}
	if len(fields) == 0 || !words.MatchString(fields[0]) {
		return list
	}
	programs := []string{fields[0]}
	if programWords(fields) == 2 {
		programs = []string{fields[0] + " " + fields[1], fields[0]}
	}
	option := firstOption(fields[1:])
	for _, program := range programs {
		if option != nil {
			command(map[string]any{"runs": program, "option": option})
		}
	}
	for _, program := range programs {
		command(map[string]any{"runs": program})
	}
	return list
}

// firstOption returns the names of the first option of a command, or nil.
func firstOption(fields []string) []string {
	i := slices.IndexFunc(fields, func(word string) bool { return len(word) > 1 && word[0] == '-' && words.MatchString(word) })
	if i < 0 {
		return nil
	}
	if long, ok := strings.CutPrefix(fields[i], "--"); ok {
		for short, name := range longOptions {
			if name == long {
				return []string{strings.ToLower(short), long}
			}
		}
		return []string{long}
	}
	if strings.Contains(fields[i][1:], "-") {
		return nil // no short options, such as -auto-approve of terraform
	}
	short := fields[i][1:2]
	if long := longOptions[short]; long != "" {
		return []string{short, long}
	}
	return []string{short}
}

// shellQuote returns text as one word of a shell.
func shellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// testRule counts the calls of the last days that a rule would have asked about.
func (f *Follower) testRule(ctx context.Context, rule *policy.File, tool string, now time.Time, line *history.PolicyLine) error {
	terms, err := filter.Parse(`tool:"` + strings.NewReplacer(`"`, "", "*", "").Replace(tool) + `"`)
	if err != nil {
		return err
	}
	calls, complete, err := f.PastCalls(ctx, terms, now)
	if err != nil {
		return err
	}
	line.Complete = complete
	for i := range calls {
		if rule.Evaluate(calls[i].Call).Effect != policy.Ask {
			continue
		}
		line.Asks++
		if calls[i].Outcome == history.CallRan {
			line.Ran++
		}
	}
	return nil
}

// commonName returns the name that policies use for a tool of any agent.
func commonName(tool string) string {
	if _, isShell := call.ShellOf(tool); isShell {
		return "Bash"
	}
	return tool
}

func (f *callFacts) policyCall() policy.Call {
	return policy.Call{ID: f.useID, Name: f.tool, Alias: commonName(f.tool), Command: f.command(), Arguments: f.arguments}
}

// reading returns the call as it is judged and shown.
func (f *callFacts) reading() *call.Call {
	return call.Read(call.Input{Agent: call.KnownAgent(f.agent), Tool: f.tool, Dir: f.cwd, Arguments: f.arguments})
}

// command returns the command line of the call as an agent's adapter finds it, or "". The policy reads the
// rest: thousands of past calls need not be read twice.
func (f *callFacts) command() (command string) {
	digest.EachMember(f.arguments, func(name string, value []byte) {
		if command == "" && call.IsCommand(f.tool, name) {
			command = digest.StringValue(value)
		}
	})
	return command
}
