package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/policy"
)

// policyProblems returns the problems of an invalid policy.
func policyProblems(t *testing.T, text string) string {
	t.Helper()
	_, err := policy.Parse("p.json", []byte(text))
	var wrong *policy.Error
	require.ErrorAs(t, err, &wrong, "no error for %s", text)
	return err.Error()
}

func mustParsePolicy(t testing.TB, text string) *policy.File {
	t.Helper()
	f, err := policy.Parse("p.json", []byte(text))
	require.NoError(t, err)
	return f
}

func TestParsePolicy_ReportsPositionAndFix(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                              `p.json:1:1: the policy is not valid JSON: unexpected end`,
		`{"rules": [`:                   `p.json:1:12: the policy is not valid JSON: unexpected end`,
		"{\n  'rules': []}":             `p.json:2:3: the policy is not valid JSON`,
		`{"rules": []} {}`:              `p.json:1:15: the policy is not valid JSON: invalid character '{' after top-level value`,
		`[]`:                            `p.json:1:1: a policy must be an object, not an array`,
		`{}`:                            `p.json:1:1: a policy requires rules`,
		`{"rules": {}}`:                 `p.json:1:11: rules must be an array, not an object`,
		`{"rulez": []}`:                 `p.json:1:2: a policy has no member "rulez"; did you mean "rules"?`,
		`{"rules": [], "rules": []}`:    `p.json:1:15: a policy has the member "rules" twice`,
		`{"rules": [5]}`:                `p.json:1:12: a rule must be an object, not a number`,
		`{"rules": [{"tool": "Bash"}]}`: `p.json:1:12: a rule requires then: allow, ask, later or deny`,
		`{"rules": [{"then": "ask"}]}`:  `p.json:1:12: a rule requires tool`,
		`{"rules": [{"tool": "", "then": "ask"}]}`:                                                     `p.json:1:21: tool must not be empty; use "*" for any tool`,
		`{"rules": [{"tool": 5, "then": "ask"}]}`:                                                      `p.json:1:21: tool must be a string, not a number`,
		`{"rules": [{"tool": "Bash", "then": "alow"}]}`:                                                `p.json:1:37: then can't be "alow"; did you mean "allow"?`,
		`{"rules": [{"tool": "Bash", "then": "block"}]}`:                                               `p.json:1:37: then can't be "block"; use one of allow, ask, later, deny`,
		`{"rules": [{"tool": "Bash", "then": "ask", "risk": "hihg"}]}`:                                 `p.json:1:52: risk can't be "hihg"; did you mean "high"?`,
		`{"rules": [{"tool": "Bash", "then": "ask", "reasn": "x"}]}`:                                   `p.json:1:44: a rule has no member "reasn"; did you mean "reason"?`,
		`{"rules": [{"tool": "Bash", "then": "ask", "when": []}]}`:                                     `p.json:1:52: when must be an object`,
		`{"rules": [{"tool": "Bash", "then": "ask", "when": {}}]}`:                                     `p.json:1:52: when must not be empty`,
		`{"rules": [{"tool": "Bash", "then": "ask", "when": {"command": "rm"}}]}`:                      `p.json:1:64: command requires an object with a test`,
		`{"rules": [{"tool": "Bash", "then": "ask", "when": {"a..b": {"equals": 1}}}]}`:                `p.json:1:53: "a..b" is not a path`,
		`{"rules": [{"tool": "B", "then": "ask", "when": {"a": {"matches": "x"}}}]}`:                   `p.json:1:56: a condition has no member "matches"; use one of equals, contains, glob, regex, greater, less`,
		`{"rules": [{"tool": "B", "then": "ask", "when": {"a": {"regexp": "x"}}}]}`:                    `did you mean "regex"?`,
		`{"rules": [{"tool": "B", "then": "ask", "when": {"a": {"regex": "("}}}]}`:                     `p.json:1:65: the regular expression can't be used: missing closing )`,
		`{"rules": [{"tool": "B", "then": "ask", "when": {"a": {"regex": "(?=x)"}}}]}`:                 `the regular expression can't be used: invalid or unsupported Perl syntax`,
		`{"rules": [{"tool": "B", "then": "ask", "when": {"a": {"regex": "(abcdefgh){900}"}}}]}`:       `it is too big`,
		`{"rules": [{"tool": "B", "then": "ask", "when": {"a": {"greater": "5"}}}]}`:                   `p.json:1:67: greater requires a number`,
		`{"rules": [{"tool": "B", "then": "ask", "when": {"a": {"less": 1e999}}}]}`:                    `less requires a number of at most 400 digits`,
		`{"rules": [{"tool": "B", "then": "ask", "when": {"a": {"equals": null}}}]}`:                   `equals requires a string, a number or a boolean`,
		`{"rules": [{"tool": "B", "then": "ask", "when": {"a": {"contains": ""}}}]}`:                   `contains requires a string that is not empty`,
		`{"rules": [{"tool": "B", "then": "ask", "when": {"a": {"greater": 5, "less": 5}}}]}`:          `this rule can never match`,
		`{"rules": [{"tool": "Bash", "then": "allow", "when": {"command": {"glob": "git * | cat"}}}]}`: `this rule can never match: no rule allows a command with a separator`,
		`{"rules": [{"tool": "Read", "then": "allow", "when": {"file": {"glob": "../*"}}}]}`:           `this rule can never match: no rule allows a path with ".."; use the resulting path`,
	} {
		require.Contains(t, policyProblems(t, text), want, "%s", text)
	}
}

func TestParsePolicy_ReportsAllProblemsInOrder(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		`p.json:2:3: a rule requires tool: a name such as "Bash", or a glob such as "mcp__*"`,
		`p.json:2:12: then can't be "never"; use one of allow, ask, later, deny`,
		`p.json:2:21: a rule has no member "toool"; did you mean "tool"?`,
		`p.json:3:25: when must be an object such as {"command": {"glob": "rm *"}}, not null`,
	}, strings.Split(policyProblems(t, `{"rules": [
  {"then": "never", "toool": "Bash"},
  {"tool": "Ü", "when": null, "then": "ask"}]}`), "\n"))
}

func TestPolicyFile_DescribesRules(t *testing.T) {
	t.Parallel()
	f := mustParsePolicy(t, "\ufeff"+`{
  "$schema": "https://example.com/policy.json",
  "rules": [
    {"tool": "Bash", "when": {"command": {"regex": "^rm ", "contains": "-r"}}, "then": "ask", "risk": "high", "reason": "It deletes."},
    {"tool": "refund", "when": {"amount": {"greater": 10000, "less": 2e4}, "currency": {"equals": "EUR"}, "test": {"equals": false}}, "then": "deny"},
    {"tool": "*", "then": "ask"}
  ]
}`)
	var words []string
	for _, r := range f.Rules() {
		words = append(words, r.Location+": "+r.Sentence)
	}
	require.Equal(t, []string{
		`p.json:4: Bash when command contains "-r" and command matches /^rm /: ask (high risk), because: It deletes.`,
		`p.json:5: refund when amount is greater than 10000 and amount is less than 2e4 and currency is "EUR" and test is false: deny`,
		`p.json:6: any tool: ask`,
	}, words)
}

func TestPolicyFile_WarnsOfProbableMistakes(t *testing.T) {
	t.Parallel()
	f := mustParsePolicy(t, `{"rules": [
{"tool": "Bahs", "then": "ask"},
{"tool": "mcp__github__merge", "then": "deny"},
{"tool": "run_shell_command", "then": "ask"},
{"tool": "*", "then": "ask"},
{"tool": "Edit", "then": "deny"},
{"tool": "Qwertyuiop", "then": "deny"}]}`)
	var got []string
	for _, w := range f.Warnings() {
		got = append(got, w.String())
	}
	require.Equal(t, []string{
		`p.json:2:1: no agent we know has a tool "Bahs"; did you mean "Bash"?`,
		`p.json:6:1: this rule has no effect: the rule at line 5 decides all calls of Edit`,
		`p.json:7:1: no agent we know has a tool "Qwertyuiop"`,
		`p.json:7:1: this rule has no effect: the rule at line 5 decides all calls of Qwertyuiop`,
	}, got)
	require.Empty(t, mustParsePolicy(t, `{"rules": [{"tool": "Bash", "then": "allow"}, {"tool": "bash", "then": "ask"}]}`).Warnings(),
		"an allow rule does not match every call")
}

func TestParsePolicy_EnforcesLimits(t *testing.T) {
	t.Parallel()
	rule := `{"tool": "Bash", "then": "ask"}`
	require.Contains(t, policyProblems(t, `{"rules": [`+strings.Repeat(rule+",", 1000)+rule+`]}`), "at most 1000 rules")
	require.Contains(t, policyProblems(t, `{"rules": [{"tool": "`+strings.Repeat("x", 1001)+`", "then": "ask"}]}`), "tool must have at most 1000 characters")
	require.Contains(t, policyProblems(t, strings.Repeat("[", 200)+strings.Repeat("]", 200)), "nested too deeply")
	require.Less(t, len(policyProblems(t, `{"`+strings.Repeat("x", 100_000)+`": 1}`)), 500)

	dir := t.TempDir()
	file := filepath.Join(dir, "big.json")
	require.NoError(t, os.WriteFile(file, []byte(strings.Repeat(" ", 2<<20)), 0o600))
	_, err := policy.Read(file)
	require.ErrorContains(t, err, "larger than 1 MiB")
	_, err = policy.Read(dir)
	require.ErrorContains(t, err, "not a regular file")
}

// writeTree writes files to a new directory and returns its path.
func writeTree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return dir
}

func singleRulePolicy(tool, then string) string {
	return `{"rules": [{"tool": "` + tool + `", "then": "` + then + `"}]}`
}

func TestLoadPolicy_OuterFilesComeFirst(t *testing.T) {
	t.Parallel()
	dir := writeTree(t, map[string]string{
		"home/.config/hookback/hookback.json": singleRulePolicy("Write", "deny"),
		"hookback.json":                       singleRulePolicy("*", "allow"), // above the repository, possibly of another user
		"repo/.git/HEAD":                      "",
		"repo/hookback.json":                  singleRulePolicy("Edit", "ask"),
		"repo/vendor/x/hookback.json":         singleRulePolicy("*", "allow"),
		"other/hookback.json":                 singleRulePolicy("Read", "ask"),
		"other/sub/file":                      "",
	})
	source := func(at string) policy.Source {
		return policy.Source{Dir: filepath.Join(dir, at), UserFile: filepath.Join(dir, "home/.config/hookback/hookback.json")}
	}
	for _, test := range []struct{ dir, tool, then string }{
		{"repo/vendor/x", "Write", "deny"},
		{"repo/vendor/x", "Edit", "ask"},
		{"repo/vendor/x", "Read", ""}, // projects can't allow
		{"repo/vendor", "Read", ""},
		{"repo", "Write", "deny"},
		{"other", "Read", "ask"},
		{"other", "Write", "deny"},
		{"other/sub", "Read", ""},
		{"nowhere", "Write", "deny"},
	} {
		p, err := source(test.dir).Load()
		require.NoError(t, err)
		got := p.Evaluate(policy.Call{Name: test.tool})
		require.Equal(t, policy.Effect(test.then), got.Effect, "%v", test)
		p, err = source(test.dir).LoadFor(policy.Call{Name: test.tool})
		require.NoError(t, err)
		require.Equal(t, got, p.Evaluate(policy.Call{Name: test.tool}), "LoadFor gives the same result")
	}
	p, err := source("repo").Load()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "repo/hookback.json")+":1", p.Evaluate(policy.Call{Name: "Edit"}).Location)
}

// An invalid regular expression in a rule about another tool is ignored. In rules that may
// be about the call it is reported, and so is every other problem.
func TestPolicySource_LoadForKeepsRulesForCall(t *testing.T) {
	t.Parallel()
	const broken = `"when": {"x": {"regex": "("}}`
	for _, test := range []struct{ rules, tool, alias, err, then, where string }{
		{`{"tool": "Edit", ` + broken + `, "then": "deny"},` + "\n" + `{"tool": "Bash", "then": "deny"}`, "Bash", "", "", "deny", ":2"},
		{`{"tool": "Edit", ` + broken + `, "then": "allow"}`, "Bash", "", "", "", ""},
		{`{"tool": "Bash", "then": "allow"},` + "\n" + `{"tool": "Edit", ` + broken + `, "then": "deny"}`, "Edit", "", ":2:42: the regular expression can't be used: missing closing )", "", ""},
		{`{"tool": "bash", ` + broken + `, "then": "deny"}`, "Bash", "", "can't be used", "", ""},
		{`{"tool": "*", ` + broken + `, "then": "ask"}`, "anything", "", "can't be used", "", ""},
		{`{"tool": "Bash", ` + broken + `, "then": "allow"}`, "run_shell_command", "Bash", "can't be used", "", ""},
		{`{"tool": "Bash", ` + broken + `, "then": "allow"}`, "bash", "shell", "", "", ""}, // allow applies to exactly this tool
		{`{"tool": "Edit", "when": {"x": {"regex": ""}}, "then": "deny"}`, "Bash", "", "regex requires a string that is not empty", "", ""},
		{`{"tool": "Edit", "then": "dny"}`, "Bash", "", `did you mean "deny"?`, "", ""},
	} {
		dir := writeTree(t, map[string]string{"hookback.json": `{"rules": [` + test.rules + `]}`})
		call := policy.Call{Name: test.tool, Alias: test.alias}
		p, err := policy.Source{Dir: dir}.LoadFor(call)
		if test.err != "" {
			require.ErrorContains(t, err, test.err)
			require.Nil(t, p)
			continue
		}
		require.NoError(t, err)
		got := p.Evaluate(call)
		require.Equal(t, policy.Effect(test.then), got.Effect, "%v", test)
		require.True(t, strings.HasSuffix(got.Location, test.where), got.Location)
		if strings.Contains(test.rules, broken) {
			_, err = policy.Load(dir, func(string) string { return "" })
			require.ErrorContains(t, err, "can't be used", "LoadPolicy, as in hookback policy check, reports it")
		}
	}
}

// The environment can name a policy that denies and asks. One that allows would let an agent
// choose its own rules.
func TestLoadPolicy_EnvironmentNeverAllows(t *testing.T) {
	t.Parallel()
	rules := `{"rules": [{"tool": "Read", "then": "allow"}, {"tool": "Write", "then": "deny"}, {"tool": "Edit", "then": "ask"}, {"tool": "*", "then": "allow"}]}`
	dir := writeTree(t, map[string]string{
		"user/hookback.json": singleRulePolicy("Fetch", "deny"), "evil/hookback/hookback.json": rules, "evil/.config/hookback/hookback.json": rules,
		"repo/.git/HEAD": "", "repo/hookback.json": singleRulePolicy("Bash", "ask"),
	})
	evil := filepath.Join(dir, "evil")
	for _, variable := range []string{"XDG_CONFIG_HOME", "HOME"} {
		env := func(name string) string { return map[string]string{variable: evil}[name] }
		p, err := policy.Source{Dir: filepath.Join(dir, "repo"), UserFile: filepath.Join(dir, "user/hookback.json"), Env: env}.Load()
		require.NoError(t, err)
		for tool, want := range map[string]policy.Effect{"Fetch": "deny", "Bash": "ask", "Read": "", "Write": "deny", "Edit": "ask", "Task": ""} {
			require.Equal(t, want, p.Evaluate(policy.Call{Name: tool}).Effect, "%s, %s", variable, tool)
		}
	}
}

// A person's policy may be where $XDG_CONFIG_HOME leads. No rule of a project takes its denial away.
func TestLoadPolicy_ProjectNeverLoosensEnvironment(t *testing.T) {
	t.Parallel()
	dir := writeTree(t, map[string]string{
		"user/hookback.json": singleRulePolicy("Fetch", "deny"), "xdg/hookback/hookback.json": singleRulePolicy("Bash", "deny"),
		"repo/.git/HEAD": "", "repo/hookback.json": singleRulePolicy("Bash", "allow"), "repo/sub/hookback.json": singleRulePolicy("Bash", "ask"),
	})
	env := func(name string) string { return map[string]string{"XDG_CONFIG_HOME": filepath.Join(dir, "xdg")}[name] }
	for _, at := range []string{"repo", "repo/sub"} {
		p, err := policy.Source{Dir: filepath.Join(dir, at), UserFile: filepath.Join(dir, "user/hookback.json"), Env: env}.Load()
		require.NoError(t, err)
		require.Equal(t, policy.Deny, p.Evaluate(policy.Call{Name: "Bash"}).Effect, at)
		require.Equal(t, policy.Deny, p.Evaluate(policy.Call{Name: "Fetch"}).Effect, at)
	}
}

func TestLoadPolicy_PrefersXDGConfigHome(t *testing.T) {
	t.Parallel()
	dir := writeTree(t, map[string]string{"c/hookback/hookback.json": singleRulePolicy("Write", "deny"), ".config/hookback/hookback.json": singleRulePolicy("Read", "deny")})
	vars := map[string]string{"HOME": dir, "XDG_CONFIG_HOME": filepath.Join(dir, "c")}
	p, err := policy.Load(dir, func(name string) string { return vars[name] })
	require.NoError(t, err)
	require.Equal(t, policy.Deny, p.Evaluate(policy.Call{Name: "Write"}).Effect)
	require.Empty(t, p.Evaluate(policy.Call{Name: "Read"}))
}

func TestLoadPolicy_WithoutFilesHasNoOpinion(t *testing.T) {
	t.Parallel()
	p, err := policy.Load(t.TempDir(), func(string) string { return "" })
	require.NoError(t, err)
	require.Equal(t, policy.Result{}, p.Evaluate(policy.Call{Name: "Bash"}))
}

func TestLoadPolicy_ReportsProblemsOfAllFiles(t *testing.T) {
	t.Parallel()
	dir := writeTree(t, map[string]string{".config/hookback/hookback.json": `{"rules": 1}`, "repo/.git/HEAD": "", "repo/hookback.json": `{"rule": []}`})
	p, err := policy.Source{Dir: filepath.Join(dir, "repo"), UserFile: filepath.Join(dir, ".config/hookback/hookback.json")}.Load()
	require.Nil(t, p)
	var wrong *policy.Error
	require.ErrorAs(t, err, &wrong)
	require.Len(t, wrong.Problems, 3)
	require.Equal(t, filepath.Join(dir, ".config/hookback/hookback.json"), wrong.Problems[0].File)
	require.Equal(t, 11, wrong.Problems[0].Column)
	require.Equal(t, filepath.Join(dir, "repo/hookback.json"), wrong.Problems[1].File)
}

func FuzzParsePolicy(f *testing.F) {
	f.Add(`{"rules": [{"tool": "B*", "when": {"a.b": {"regex": "^x", "less": 1e3}}, "then": "deny"}]}`, `{"a": {"b": "x"}}`)
	f.Add(`{"rules": [{"tool": "*", "then": "allow"}]}`, `{"A": [1], "a": null}`)
	f.Fuzz(func(t *testing.T, text, arguments string) {
		p, err := policy.Parse("p.json", []byte(text))
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		call := policy.Call{Name: "Bash", Alias: "Bash", Arguments: []byte(arguments)}
		got := p.Evaluate(call)
		require.Contains(t, []policy.Effect{"", "allow", "ask", "deny"}, got.Effect)
		require.Equal(t, got, p.Evaluate(call))
	})
}

// The weight of a policy bounds the steps of its patterns.
func TestFile_WeightCountsPatterns(t *testing.T) {
	t.Parallel()
	weight := func(when string) int {
		f, err := policy.Parse("f", []byte(`{"rules":[{"tool":"Bash","when":{"command":`+when+`},"then":"ask"}]}`))
		require.NoError(t, err)
		return f.Weight()
	}
	require.Equal(t, 4, weight(`{"glob":"rm *"}`))
	require.Equal(t, 8, weight(`{"glob":"rm *","contains":"-rf "}`))
	require.Zero(t, weight(`{"greater":5}`))
	require.Greater(t, weight(`{"regex":"a{1000}"}`), 1000)
	require.Greater(t, weight(`{"regex":"(a{30}){30}"}`), 900)
	empty, err := policy.Parse("f", []byte(`{"rules":[{"tool":"*","then":"ask"}]}`))
	require.NoError(t, err)
	require.Zero(t, empty.Weight())
}

// The administrator's rules ask and deny whatever others allow, and allow nothing.
func TestSource_ManagedPolicy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	s := policy.Source{
		Dir: t.TempDir(), UserFile: write("user.json", `{"rules": [{"tool": "*", "then": "allow"}]}`),
		ManagedFile: write("managed.json", `{"rules": [{"tool": "Bash", "then": "deny"}, {"tool": "Write", "then": "ask"}, {"tool": "Read", "then": "allow"}]}`),
	}
	for tool, want := range map[string]policy.Effect{"Bash": policy.Deny, "Write": policy.Ask, "WebFetch": policy.Allow} {
		p, err := s.Load()
		require.NoError(t, err)
		require.Equal(t, want, p.Evaluate(policy.Call{Name: tool}).Effect, tool)
	}
	s.UserFile = filepath.Join(dir, "none.json")
	p, err := s.Load()
	require.NoError(t, err)
	require.Empty(t, p.Evaluate(policy.Call{Name: "Read"}).Effect, "an allowance of the administrator leaves the call to the agent")
	write("managed.json", `{`)
	_, err = s.Load()
	require.Error(t, err, "a policy that can't be read asks for every call")
	require.False(t, s.MayAllow(s.ManagedFile))
}
