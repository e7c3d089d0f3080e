package hook_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/schema"
)

var update = flag.Bool("update", false, "rewrite the goldens; review the diff before committing it")

// TestAgents_Goldens runs testdata/<agent>.txtar of every agent. A case has three kinds of
// sections, distinguished by their headings:
//
// NAME is the environment of the hook: lines "sample: FILE" (of testdata), "event: NAME"
// (from the command line), "dir: DIR", "env: NAME=VALUE", "plan: TEXT" and "attended: true". Without a
// sample, a blank line and the input itself follow.
//
// NAME: call is the parsed Call, one field per line without zero values. If Parse returns
// an error, it is the line "error: …".
//
// NAME: anything else is a Verdict as JSON in the first line, then the exact reply: lines
// "stdout: …", "stderr: …" and "exit: N", or none for an empty reply.
//
// Text with control characters is written as a quoted Go string.
func TestAgents_Goldens(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.Len(t, files, len(hook.Agents), "one .txtar for each agent in hook.Agents, and no other")
	for _, a := range hook.Agents {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("testdata", a.Name+".txtar")
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			archive := txtar.Parse(text)
			require.NotEmpty(t, archive.Files)
			g := goldenCase{agent: a}
			for i := range archive.Files {
				g.runSection(t, &archive.Files[i])
			}
			if *update {
				require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o600))
			}
		})
	}
}

// goldenCase is the current case.
type goldenCase struct {
	agent hook.AgentInfo
	name  string
	in    hook.Input
	call  hook.Call
	err   error
}

func (g *goldenCase) runSection(t *testing.T, f *txtar.File) {
	t.Helper()
	part, ok := strings.CutPrefix(f.Name, g.name+": ")
	var got string
	switch {
	case g.name == "" || !ok:
		g.name, g.in = f.Name, parseInput(t, string(f.Data))
		g.call, g.err = g.agent.Agent.Parse(g.in)
		if g.err == nil {
			requireValidCall(t, g.in, &g.call)
		}
		return
	case part == "call":
		got = "error: " + fmt.Sprint(g.err) + "\n"
		if g.err == nil {
			got = formatCall(t, &g.call)
		}
	default:
		line, _, _ := strings.Cut(string(f.Data), "\n")
		v := parseVerdict(t, line)
		require.NoError(t, g.err, "%s: the input was rejected, so no verdict can be rendered", f.Name)
		r := g.agent.Agent.Render(&g.call, v)
		requireValidReply(t, &g.call, v, r)
		got = line + "\n" + formatReply(r)
	}
	if *update {
		f.Data = []byte(got)
		return
	}
	require.Equal(t, strings.TrimSpace(string(f.Data)), strings.TrimSpace(got), "%s", f.Name)
}

func parseInput(t *testing.T, text string) hook.Input {
	t.Helper()
	env := map[string]string{}
	in := hook.Input{Env: func(name string) string { return env[name] }, Dir: "/home/dev/here"}
	head, body, _ := strings.Cut("\n"+text, "\n\n")
	in.Stdin = []byte(body)
	for line := range strings.Lines(head) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case ok && key == "sample":
			var err error
			in.Stdin, err = os.ReadFile(filepath.Join("testdata", value))
			require.NoError(t, err)
		case ok && key == "event":
			in.Event = value
		case ok && key == "dir":
			in.Dir = value
		case ok && key == "plan":
			in.Plan = func(file, transcript string) string { return value + " (" + file + ", " + transcript + ")" }
		case ok && key == "attended":
			in.IsInteractive = func(...string) bool { return value == "true" }
		case ok && key == "env":
			name, value, _ := strings.Cut(value, "=")
			env[name] = value
		case strings.TrimSpace(line) != "":
			require.Fail(t, "not sample, event, dir, env, plan or attended: "+line)
		}
	}
	return in
}

// parseVerdict decodes a Verdict, whose members are named after its fields.
func parseVerdict(t *testing.T, line string) hook.Verdict {
	t.Helper()
	var v hook.Verdict
	d := json.NewDecoder(strings.NewReader(line))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&v), "%s", line)
	return v
}

// formatCall writes the fields of a call, one per line.
func formatCall(t *testing.T, c *hook.Call) string {
	t.Helper()
	var b strings.Builder
	event := c.Event
	event.Payload = nil // equals stdin, see requireValidCall
	writeMembers(t, &b, "", event)
	line := func(name string, value any) {
		if s := fmt.Sprint(value); s != "" && s != "0s" && s != "false" {
			fmt.Fprintf(&b, "%s: %s\n", name, quoteControl(s))
		}
	}
	line("point", pointNames[c.Point])
	line("can", capabilityNames(c.Capabilities))
	if c.Tool != nil {
		writeMembers(t, &b, "tool.", c.Tool)
	}
	line("alias", c.Alias)
	line("command", c.Command)
	if c.Ask != nil {
		ask := *c.Ask
		if call := ask.ToolCall; call != nil && c.Tool != nil && reflect.DeepEqual(*call, withEditable(*c.Tool, call.Editable)) {
			line("ask.editable", call.Editable)
			ask.ToolCall = nil // otherwise equal to the tool above
		}
		writeMembers(t, &b, "ask.", &ask)
	}
	if len(c.Roots) > 1 {
		line("roots", c.Roots)
	}
	line("prompts", c.HasPrompt)
	line("prompt after", c.PromptAfter)
	line("headless", c.Headless)
	line("fallback", c.Fallback)
	line("limit", c.Limit)
	return b.String()
}

func withEditable(c schema.ToolCall, editable bool) schema.ToolCall {
	c.Editable = editable
	return c
}

// writeMembers writes the non-empty members of v's JSON.
func writeMembers(t *testing.T, b *strings.Builder, prefix string, v any) {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	var all map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(text, &all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		value := string(all[name])
		var s string
		if json.Unmarshal(all[name], &s) == nil {
			value = quoteControl(s)
		}
		if value != "" && value != "null" {
			fmt.Fprintf(b, "%s%s: %s\n", prefix, name, value)
		}
	}
}

func formatReply(r hook.Reply) string {
	var b strings.Builder
	if len(r.Stdout) > 0 {
		fmt.Fprintf(&b, "stdout: %s\n", quoteControl(string(r.Stdout)))
	}
	if len(r.Stderr) > 0 {
		fmt.Fprintf(&b, "stderr: %s\n", quoteControl(string(r.Stderr)))
	}
	if r.Exit != 0 {
		fmt.Fprintf(&b, "exit: %d\n", r.Exit)
	}
	return b.String()
}

// quoteControl quotes s if it has control characters or surrounding white space.
func quoteControl(s string) string {
	if quoted := fmt.Sprintf("%q", s); strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == utf8.RuneError }) ||
		s != strings.TrimSpace(s) {
		return quoted
	}
	return s
}

var pointNames = map[hook.Point]string{hook.Observe: "observe", hook.Gate: "gate", hook.DeferToPrompt: "defer", hook.Prompt: "prompt", hook.Appeal: "appeal"}

func capabilityNames(c hook.Capability) string {
	var names []string
	for _, n := range []struct {
		can  hook.Capability
		name string
	}{
		{hook.CanAllow, "allow"}, {hook.CanDeny, "deny"}, {hook.CanAsk, "ask"},
		{hook.CanEdit, "edit"}, {hook.CanAnswer, "answer"}, {hook.CanRemember, "remember"},
	} {
		if c.Has(n.can) {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, " ")
}

// requireValidCall asserts the invariants of every parsed call: a hub would accept it.
func requireValidCall(t *testing.T, in hook.Input, c *hook.Call) {
	t.Helper()
	input := bytes.TrimSpace(bytes.TrimPrefix(in.Stdin, []byte("\ufeff")))
	_, hasHalf := schema.ReplaceHalfSurrogates(input)
	require.Equal(t, !utf8.Valid(input) || !json.Valid(input) || hasHalf, c.Event.PayloadSanitized)
	require.Equal(t, !json.Valid(input), c.Unreadable)
	require.True(t, json.Valid(c.Event.Payload) && utf8.Valid(c.Event.Payload))
	if !c.Event.PayloadSanitized {
		require.Equal(t, string(input), string(c.Event.Payload), "the payload is the input, untouched")
	}
	require.NoError(t, c.Event.Validate())
	_, known := hook.Find(c.Event.Agent)
	require.True(t, known, "agent %q", c.Event.Agent)
	require.Nil(t, c.Event.HumanInTheLoop, "the question belongs in Ask")
	require.LessOrEqual(t, utf8.RuneCountInString(c.Event.Summary), 120)
	require.False(t, strings.ContainsFunc(c.Event.Summary, func(r rune) bool { return r < ' ' }), "a summary is one line: %q", c.Event.Summary)
	require.Contains(t, pointNames, c.Point)
	require.Equal(t, c.Point == hook.Observe, c.Capabilities&^hook.CanMessage == 0, "exactly the events that are only observed have no capabilities")
	require.Contains(t, []hook.Effect{hook.Pass, hook.Ask}, c.Fallback, "no fallback approves or blocks")
	if c.Fallback == hook.Ask {
		require.True(t, c.Capabilities.Has(hook.CanAsk))
	}
	if c.Tool != nil {
		require.NotEmpty(t, c.Tool.Name)
		require.NotEmpty(t, c.Alias)
	}
	if c.Ask == nil {
		return
	}
	require.NotEqual(t, hook.Observe, c.Point)
	require.NoError(t, c.Ask.Validate())
	require.Empty(t, c.Ask.ResponseWebSocketURL+c.Ask.ListenerKey, "the caller sets the callback")
	require.Nil(t, c.Ask.Timeout, "the caller sets the deadline")
	require.False(t, c.Ask.RequiresResponse != nil && !*c.Ask.RequiresResponse)
	require.LessOrEqual(t, len(c.Ask.Question), schema.MaxQuestionBytes)
}

// requireValidReply asserts the invariants of every reply.
func requireValidReply(t *testing.T, c *hook.Call, v hook.Verdict, r hook.Reply) {
	t.Helper()
	if v.Effect == hook.Pass || c.Point == hook.Observe {
		require.Zero(t, r, "no opinion is an empty reply")
	}
	isOffered := c.Point == hook.Prompt && c.Ask != nil && c.Ask.Type == schema.Permission
	if isOffered && v.Effect == hook.Allow && v.Arguments == nil && v.Answers == nil {
		require.NotEmpty(t, r.Stdout, "an approval that a person can give reaches the agent")
	}
	if len(r.Stdout) > 0 {
		var object map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(r.Stdout, &object), "stdout is empty or one object: %s", r.Stdout)
		require.NotContains(t, string(r.Stdout), "\n")
	}
	if r.Exit == 0 {
		require.Empty(t, r.Stderr, "text on stderr blocks in some agents")
	} else {
		require.Contains(t, []string{"windsurf", "kiro"}, c.Event.Agent, "agents that can be denied through stdout exit with 0")
		require.Empty(t, r.Stdout)
		require.NotEmpty(t, r.Stderr, "a denial has a reason")
	}
}
