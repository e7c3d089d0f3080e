package policycmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
)

const policyTestHelp = `hookback policy test [FILE] [flags]

Replays a policy against the tool calls that a hub has stored, and counts its decisions.
It tests FILE, or the policies that apply here. It changes nothing and asks no one.
`

const (
	maxExamples   = 3 // per rule
	eventPageSize = 200
)

// replayReport counts the decisions of a policy for the stored tool calls of a hub.
type replayReport struct {
	Since       string       `json:"since"` // the value of --since
	Calls       int          `json:"calls"`
	Asked       int          `json:"asked"`
	Denied      int          `json:"denied"`
	Allowed     int          `json:"allowed"`
	NoOpinion   int          `json:"noOpinion"`
	Interrupted bool         `json:"interrupted,omitempty"`
	Rules       []*ruleStats `json:"rules"` // in the order of the policy, including those without a match
}

// ruleStats counts the matches of one rule.
type ruleStats struct {
	Where    string        `json:"where"`
	Rule     string        `json:"rule"`
	Then     policy.Effect `json:"then"`
	Calls    int           `json:"calls"`
	Unclear  int           `json:"unclear,omitempty"` // calls sent to a person because the rule could not be evaluated
	Examples []example     `json:"examples,omitempty"`
}

type example struct {
	Event schema.EventID `json:"event"`
	Call  string         `json:"call"`
}

func policyTest(ctx context.Context, args []string, env func(string) string, std cli.Streams) int {
	f := cli.NewBareFlags("policy test", policyTestHelp)
	f.AddHubFlags(env)
	since, asJSON := f.String("since", "7d", "how far back, a `duration` such as 7d, 12h or all"), f.Bool("json", false, "print the result as JSON")
	if status, done := f.ParseArgs(args, std); done {
		return status
	}
	from, err := parseSince(*since, time.Now())
	if err != nil {
		return std.PrintError("--since %s: %v", *since, err)
	}
	t := &replayReport{Since: *since, Rules: []*ruleStats{}}
	policy, err := t.loadPolicies(f.Positional, env)
	if err != nil {
		fmt.Fprintln(std.Err, err)
		return cli.ExitProblem
	}
	if len(t.Rules) == 0 {
		return std.PrintError("no rules to test; hookback policy init writes some")
	}
	client := agentclient.New(f.Options())
	defer client.Close()
	err = t.replay(ctx, client, policy, from, newProgressLine(std.Err))
	t.Interrupted = ctx.Err() != nil
	if err != nil && !t.Interrupted {
		return std.PrintError("%s", cli.ErrorWithHint(err))
	}
	if *asJSON {
		err = json.NewEncoder(std.Out).Encode(t)
	} else {
		_, err = fmt.Fprint(std.Out, t)
	}
	switch {
	case err != nil:
		return std.PrintError("%v", err)
	case t.Interrupted:
		return std.PrintError("interrupted after %d calls", t.Calls)
	default:
		return cli.ExitOK
	}
}

// loadPolicies reads the policies and adds their rules to t.
func (t *replayReport) loadPolicies(words []string, env func(string) string) (policy.Policy, error) {
	source, files, err := selectPolicyFiles(words, env)
	if err != nil {
		return nil, err
	}
	var read []*policy.File
	for _, file := range files {
		p, err := policy.Read(file)
		if errors.Is(err, fs.ErrNotExist) && len(words) == 0 {
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(words) == 0 && !source.MayAllow(file) {
			p = p.ForProject()
		}
		read = append(read, p)
		for _, r := range p.Rules() {
			t.Rules = append(t.Rules, &ruleStats{Where: r.Location, Rule: r.Sentence, Then: r.Effect})
		}
	}
	return policy.Join(read...), nil
}

// replay evaluates the policy for every call since from. It reads the events page by page.
func (t *replayReport) replay(ctx context.Context, client *agentclient.Client, p policy.Policy, from time.Time, show progressLine) error {
	defer show.clear()
	rules := map[string]*ruleStats{}
	for _, r := range t.Rules {
		rules[r.Where] = cmp.Or(rules[r.Where], r) // rules on the same line share one entry
	}
	q := agentclient.EventQuery{Type: "PreToolUse", From: from, Limit: eventPageSize}
	for {
		page, err := client.Events(ctx, q)
		if err != nil || len(page) == 0 {
			return err
		}
		for i := range page {
			call, ok := recordedCall(&page[i])
			if !ok {
				continue
			}
			result := p.Evaluate(call)
			t.countEffect(result.Effect)
			if r := rules[result.Location]; r != nil {
				r.add(result, page[i].ID, call)
			}
		}
		q.After = page[len(page)-1].ID
		show.show(t.Calls)
	}
}

func (t *replayReport) countEffect(then policy.Effect) {
	t.Calls++
	switch then {
	case policy.Ask:
		t.Asked++
	case policy.Deny:
		t.Denied++
	case policy.Allow:
		t.Allowed++
	default:
		t.NoOpinion++
	}
}

func (r *ruleStats) add(result policy.Result, id schema.EventID, call agentclient.ToolCall) {
	r.Calls++
	if result.Effect != r.Then {
		r.Unclear++
	}
	if len(r.Examples) < maxExamples {
		text := cmp.Or(call.Command, string(call.Arguments))
		r.Examples = append(r.Examples, example{id, printable(call.Name+": "+text, 120)})
	}
}

// recordedCall returns the tool call of an event. It uses the adapter of the agent that sent
// the event, or else the fields that most agents have.
func recordedCall(e *schema.Event) (agentclient.ToolCall, bool) {
	if agent, ok := hook.Find(e.Agent); ok {
		c, err := agent.Agent.Parse(hook.Input{Stdin: e.Payload, Event: e.HookEventType, Env: func(string) string { return "" }})
		if err == nil && c.Tool != nil {
			return agentclient.ToolCall{ID: c.Tool.ID, Name: c.Tool.Name, Alias: c.Alias, Command: c.Command, Arguments: c.Tool.Arguments}, true
		}
	}
	var p struct {
		Name      string          `json:"tool_name"`
		Arguments json.RawMessage `json:"tool_input"`
	}
	if json.Unmarshal(e.Payload, &p) != nil && e.ToolName == "" {
		return agentclient.ToolCall{}, false
	}
	name := cmp.Or(p.Name, e.ToolName)
	var shell struct {
		Command string `json:"command"`
	}
	if name == "Bash" {
		_ = json.Unmarshal(p.Arguments, &shell) // on error the call has no command
	}
	return agentclient.ToolCall{Name: name, Alias: name, Command: shell.Command, Arguments: p.Arguments}, name != ""
}

// String formats the report for people.
func (t *replayReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in the last %s: would have asked %s, denied %s, allowed %s; no opinion on %s.\n",
		formatGroupedCount(t.Calls, "call"), t.Since, formatGroupedCount(t.Asked, "time"), groupDigits(t.Denied), groupDigits(t.Allowed), groupDigits(t.NoOpinion))
	never := 0
	for _, r := range t.Rules {
		if r.Calls == 0 {
			never++
			continue
		}
		fmt.Fprintf(&b, "\n%s  %s\n    %s\n", r.Where, formatGroupedCount(r.Calls, "call"), printable(r.Rule, 300))
		if r.Unclear > 0 {
			fmt.Fprintf(&b, "    asked about %s, because the rule could not be evaluated\n", formatGroupedCount(r.Unclear, "call"))
		}
		for _, e := range r.Examples {
			fmt.Fprintf(&b, "      #%d %s\n", e.Event, e.Call)
		}
	}
	if never > 0 {
		fmt.Fprintf(&b, "\n%s matched no call.\n", formatGroupedCount(never, "rule"))
	}
	return strings.Replace(b.String(), "in the last all", "of all time", 1)
}

// formatGroupedCount returns a number with its noun: 1 call, 1,203 calls.
func formatGroupedCount(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return groupDigits(n) + " " + noun
}

// groupDigits formats n with a comma after every three digits.
func groupDigits(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// printable returns text on one line of at most n characters, without control characters
// that a terminal would obey.
func printable(text string, n int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return '·'
		default:
			return r
		}
	}, text[:min(len(text), 8*n)])
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return text
}

// parseSince returns the start of the period that ends now. It is zero for "all".
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "all" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n < 100_000 {
			return now.AddDate(0, 0, -n), nil
		}
	} else if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, errors.New("must be a duration such as 7d, 12h or 30m, or all")
}

// progressLine shows the progress of a replay on a terminal. If w is nil, it shows nothing.
type progressLine struct{ w io.Writer }

func newProgressLine(w io.Writer) progressLine {
	if cli.IsTerminal(w) {
		return progressLine{w}
	}
	return progressLine{}
}

func (p progressLine) show(calls int) {
	if p.w != nil {
		fmt.Fprintf(p.w, "\r\x1b[K%s replayed …", formatGroupedCount(calls, "call"))
	}
}

func (p progressLine) clear() {
	if p.w != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
