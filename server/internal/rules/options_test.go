package rules_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/rules"
)

// optionCalls returns the harmless commands and, for each, a call that looks like it and does
// more.
func optionCalls(t testing.TB) (pairs [][2]string) {
	t.Helper()
	text, err := os.ReadFile("../../../agentclient/policy/testdata/option_calls.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		allowed, trick, ok := strings.Cut(strings.TrimSpace(line), " | ")
		require.True(t, ok, line)
		pairs = append(pairs, [2]string{allowed, trick})
	}
	require.Len(t, pairs, 36)
	return pairs
}

func quoted(text string) string {
	raw, _ := json.Marshal(text)
	return string(raw)
}

func whenValue(when []schema.Condition) json.RawMessage {
	if len(when) == 0 {
		return nil
	}
	return when[0].Value
}

// TestMatch_OptionCalls compares calls with more options than a person saw with every kind of
// rule except one for exactly that call.
func TestMatch_OptionCalls(t *testing.T) {
	t.Parallel()
	for _, pair := range optionCalls(t) {
		allowed, trick := pair[0], pair[1]
		program, _, _ := strings.Cut(allowed, " ")
		for _, when := range [][]schema.Condition{
			{is("command", "starts_with", quoted(allowed))},
			{is("command", "starts_with", quoted(program))},
			{is("command", "contains", quoted(allowed))},
			{is("command", "contains", quoted(program))},
			{is("command", "equals", quoted(allowed))},
			{is("command", "glob", quoted(allowed+"*"))},
			{is("command", "glob", quoted(allowed+" *"))},
			{is("command", "glob", `"*"`)},
			{is("timeout", "at_most", "10")},
			nil, // every call of the tool
		} {
			if text := string(whenValue(when)); trick == "git statusx" && !strings.Contains(text, allowed) {
				continue // a command of git, if there is one
			}
			for _, tool := range []string{"Bash", "mcp__shell__run"} {
				stored := &schema.Rule{Then: schema.ThenAllow, Tool: tool, When: when}
				at := call(tool, `{"timeout":5,"command":`+quoted(allowed)+`}`)
				scope := schema.ScopeWhen
				if when == nil {
					scope = schema.ScopeTool
				}
				made, err := rules.Compile(draft("allow", scope, "everywhere", when...), at, "ada", now)
				if err != nil {
					made = stored
				}
				list := strings.Fields(trick)
				words, _ := json.Marshal(list)
				rest, _ := json.Marshal(list[1:])
				for _, arguments := range []string{
					`{"timeout":5,"command":` + quoted(trick) + `}`,
					`{"timeout":5,"command":` + string(words) + `}`,
					`{"timeout":5,"command":` + quoted(list[0]) + `,"args":` + string(rest) + `}`,
				} {
					for _, class := range []schema.Class{schema.ClassUnknown, call(tool, arguments).Class} {
						c := call(tool, arguments)
						c.Class = class
						require.False(t, rules.Match(stored, c), "stored %v: %s", when, arguments)
						require.False(t, rules.Match(made, c), "%s: %s", made.Text, arguments)
					}
				}
			}
		}
	}
}

// A rule for a project covers its git worktrees, and one that is made there is for the project. The directory
// that a call itself names counts, not the agent's.
func TestRule_ForProjectCoversItsWorktrees(t *testing.T) {
	t.Parallel()
	inTree := func(cwd, arguments string) *rules.Call {
		c := call("Bash", arguments)
		c.Cwd, c.Project = cwd, strings.Replace(cwd, "/home/dev/fix-1", "/home/dev/shop", 1)
		return c
	}
	const ls = `{"command":"ls"}`
	fromTree, err := rules.Compile(draft("deny", schema.ScopeTool, "project"), inTree("/home/dev/fix-1", ls), "ada", now)
	require.NoError(t, err)
	require.Equal(t, "/home/dev/shop", fromTree.Cwd)
	fromShop, err := rules.Compile(draft("deny", schema.ScopeTool, "project"), call("Bash", ls), "ada", now)
	require.NoError(t, err)
	below := *fromShop
	below.Cwd = "/home/dev/shop/web"
	for _, c := range []struct {
		call        *rules.Call
		shop, inWeb bool
	}{
		{call("Bash", ls), true, false},
		{inTree("/home/dev/fix-1", ls), true, false},
		{inTree("/home/dev/fix-1/web", ls), true, true},
		{inTree("/home/dev/fix-1", `{"command":"ls","workdir":"/home/dev/fix-1/web"}`), true, true},
		{inTree("/home/dev/fix-1", `{"command":"ls","workdir":"/etc"}`), false, false},
		{inTree("/home/dev/other", ls), false, false},
	} {
		require.Equal(t, c.shop, rules.Match(fromTree, c.call), "%s %s", c.call.Cwd, c.call.Arguments)
		require.Equal(t, c.shop, rules.Match(fromShop, c.call), "%s %s", c.call.Cwd, c.call.Arguments)
		require.Equal(t, c.inWeb, rules.Match(&below, c.call), "%s %s", c.call.Cwd, c.call.Arguments)
	}
}

func TestCompile_KeepsOptionsOfSourceCall(t *testing.T) {
	t.Parallel()
	const source = "npm test --bail -t unit"
	for _, when := range []schema.Condition{
		is("command", "starts_with", `"npm test"`), is("command", "starts_with", `"npm"`), is("command", "contains", `"test"`), is("command", "glob", `"npm test*"`),
	} {
		made, err := rules.Compile(draft("allow", "when", "everywhere", when), bash(source), "ada", now)
		require.NoError(t, err, when.Is)
		require.Equal(t, []string{"npm", "test", "--bail", "-t", "unit"}, made.Command)
		require.Contains(t, made.Text, ` and has no other options than "--bail" "-t",`)
		for command, want := range map[string]bool{
			source: true, "npm test": true, "npm test --bail src": true, "npm test src -t unit": true,
			"npm test --bai": false, "npm test --bail=x": false, "npm test -b": false, "npm test -- --bail": false, "npm --bail test": false,
			"npm test *": false, "npm test @x": false, "npm test +x": false, "npm test a=b": false, "npm test --bail --ci": false,
		} {
			require.Equal(t, want, rules.Match(made, bash(command)), "%s %s: %s", when.Is, when.Value, command)
		}
	}
	made, err := rules.Compile(draft("deny", "when", "everywhere", is("command", "starts_with", `"npm test"`)), bash(source), "ada", now)
	require.NoError(t, err)
	require.Empty(t, made.Command)
	require.True(t, rules.Match(made, bash("npm test --ci")), "a deny covers any option")
}

func TestMatch_EnvironmentOfCall(t *testing.T) {
	t.Parallel()
	r := &schema.Rule{Then: schema.ThenAllow, Tool: "mcp__shell__run", When: []schema.Condition{is("command", "starts_with", `"npm test"`)}}
	for arguments, want := range map[string]bool{
		`{"command":"npm test"}`: true, `{"command":"npm test","env":{}}`: true, `{"command":"npm test","env":null}`: true,
		`{"command":"npm test","env":{"NODE_OPTIONS":"-r ./x"}}`: false, `{"command":"npm test","env_vars":["A=b"]}`: false, `{"command":"npm test","environment":"A=b"}`: false,
	} {
		require.Equal(t, want, rules.Match(r, call("mcp__shell__run", arguments)), arguments)
	}
}

func TestMatch_ClassesOfCalls(t *testing.T) {
	t.Parallel()
	starts := is("command", "starts_with", `"git log"`)
	for _, c := range []struct {
		class schema.Class
		want  bool
	}{{schema.ClassHarmless, true}, {schema.ClassUnknown, false}, {schema.ClassRisky, false}, {"", false}} {
		r := &schema.Rule{Then: schema.ThenAllow, Tool: "Bash", When: []schema.Condition{starts}}
		asked := bash("git log --oneline")
		asked.Class = c.class
		require.Equal(t, c.want, rules.Match(r, asked), "a condition: %s", c.class)
		r.Then = schema.ThenDeny
		require.True(t, rules.Match(r, asked), "a deny: %s", c.class)
	}
	medium := bash("frobnicate x")
	medium.Class, medium.HubRisk = schema.ClassRisky, schema.MediumRisk
	_, err := rules.Compile(draft("allow", "when", "session", is("command", "starts_with", `"frobnicate"`)), medium, "ada", now)
	require.ErrorContains(t, err, "This call is risky")
	exact, err := rules.Compile(draft("allow", "call", "session"), medium, "ada", now)
	require.NoError(t, err)
	require.True(t, rules.Match(exact, medium), "exactly this call of medium risk")
	medium.HubRisk = schema.HighRisk
	require.False(t, rules.Match(exact, medium))
}

func TestExactScope(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"npm test": "", "npm test --bail": "", "git log --oneline": "", "frobnicate -x": "",
		"make test": schema.ExactCommand, "npm run build": schema.ExactCommand, "./x; ls": schema.ExactCall,
		"go test -exec ./x ./...": schema.ExactCall, "sort -o a b": schema.ExactCall, "frobnicate $X": schema.ExactCall,
	} {
		require.Equal(t, want, rules.ExactScope(bash(command)), command)
		for scope, when := range map[string][]schema.Condition{
			"":                  {is("command", "starts_with", quoted(strings.Fields(command)[0]))},
			schema.ExactCommand: {is("command", "equals", quoted(command))},
		} {
			_, err := rules.Compile(draft("allow", "when", "project", when...), bash(command), "ada", now)
			require.Equal(t, want == "" || want == scope, err == nil, "%s %s: %v", command, when[0].Is, err)
		}
		_, err := rules.Compile(draft("allow", "call", "project"), bash(command), "ada", now)
		require.NoError(t, err, command)
	}
	require.Empty(t, rules.ExactScope(call("mcp__x__y", `{"a":1}`)))
	made, err := rules.Compile(draft("allow", "when", "project", is("command", "equals", `"make test"`)), bash("make test"), "ada", now)
	require.NoError(t, err)
	require.True(t, rules.Match(made, bash("make  test")))
	require.False(t, rules.Match(made, bash("make test x")))
}
