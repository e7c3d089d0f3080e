package policy_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/call/matcher"
	"github.com/hookback/hookback/agentclient/call/programs"
	"github.com/hookback/hookback/agentclient/policy"
)

// optionCalls returns the harmless commands and, for each, a call that looks like it and does
// more.
func optionCalls(t testing.TB) (pairs [][2]string) {
	t.Helper()
	text, err := os.ReadFile("testdata/option_calls.txt")
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

func toJSON(t testing.TB, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

// commandForms returns the ways in which agents and MCP servers send a command.
func commandForms(t testing.TB, command string) []policy.Call {
	t.Helper()
	words := strings.Fields(command)
	list := toJSON(t, words)
	return []policy.Call{
		bashCall(command),
		aliasedCall("Bash", `{"command": `+list+`}`),
		aliasedCall("Bash", `{"command": `+toJSON(t, words[0])+`, "args": `+toJSON(t, words[1:])+`}`),
		aliasedCall("Bash", `{"cmd": `+toJSON(t, words[0])+`, "arguments": `+toJSON(t, strings.Join(words[1:], " "))+`}`),
		aliasedCall("Bash", `{"argv": `+list+`}`),
		aliasedCall("Bash", `{"commands": [`+toJSON(t, command)+`]}`),
		aliasedCall("Bash", `{"arguments": {"command": `+toJSON(t, command)+`}}`),
	}
}

// TestPolicyFile_OptionCalls compares calls with more options than a pattern with every kind of
// condition.
func TestPolicyFile_OptionCalls(t *testing.T) {
	t.Parallel()
	for _, pair := range optionCalls(t) {
		allowed, trick := pair[0], pair[1]
		program, _, _ := strings.Cut(allowed, " ")
		for _, test := range []string{
			`{"glob": ` + toJSON(t, allowed+"*") + `}`,
			`{"glob": ` + toJSON(t, allowed+" *") + `}`,
			`{"glob": ` + toJSON(t, program+"*") + `}`,
			`{"glob": ` + toJSON(t, program+" *") + `}`,
			`{"glob": "*"}`,
			`{"glob": ` + toJSON(t, program+" -*") + `}`,
			`{"contains": ` + toJSON(t, allowed) + `}`,
			`{"contains": ` + toJSON(t, program) + `}`,
			`{"regex": ` + toJSON(t, "^"+regexp.QuoteMeta(allowed)) + `}`,
			`{"regex": ` + toJSON(t, "^"+regexp.QuoteMeta(program)+`\b`) + `}`,
			`{"equals": ` + toJSON(t, allowed) + `}`,
			`{"runs": ` + toJSON(t, strings.TrimSuffix(allowed, " .")) + `}`,
			`{"runs": ` + toJSON(t, program) + `}`,
			"",
		} {
			if trick == "git statusx" && !strings.Contains(test, allowed) {
				continue // a command of git, if there is one
			}
			for _, c := range commandForms(t, trick) {
				for _, argument := range []string{"command", "cmd", "args", "argv", "commands", "arguments"} {
					when := ""
					if test != "" {
						when = `"when": {"` + argument + `": ` + test + `}, `
					}
					p := mustParsePolicy(t, `{"rules": [{"tool": "Bash", `+when+`"then": "allow"}]}`)
					require.Empty(t, p.Evaluate(c).Effect, "%s allows %s", when, c.Arguments)
				}
			}
		}
	}
}

func TestPolicyFile_AllowGlobMatchesWords(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		glob, command string
		want          bool
	}{
		{"git log*", "git log", true},
		{"git log*", "git log main", true},
		{"git log*", "git  'log' main", true},
		{"git log*", "git log --oneline -5 main", true}, // harmless
		{"git log*", "git logx", false},
		{"git log*", "git log-x", false},
		{"git log *", "git log", false},
		{"git log *", "git log main dev", true},
		{"git commit -m *", "git commit -m 'two words'", true},
		{"git commit -m *", "git commit -m x y", true},
		{"git commit -m *", "git commit -am x", false},
		{"git commit -m *", "git commit --m x", false},
		{"git commit -m *", "git commit -m x --no-verify", false},
		{"git commit -m *", "git commit -m x *", false}, // may expand to an option
		{"cat /p/*", "cat /p/a/b", true},
		{"cat /p/*", "cat /p/a /etc/passwd", false},
		{"npm run test:*", "npm run test:unit", false}, // runs code: needs equals
		{"npm test --reporter=*", "npm test --reporter=dot", true},
		{"npm test --reporter=*", "npm test --reporter dot", false},
		{"npm test --rep*", "npm test --reporter=dot", false},
		{"npm * --force", "npm test --force", true},
		{"npm * --force", "npm test x --force", true},
		{"npm * --force", "npm --force test", false},
		{"npm test -- *", "npm test -- --watch", true},
		{"npm test -- --watch *", "npm test -- --watch x", true},
		{"npm test -- --watch *", "npm test -- --watch --ui", false},
		{`echo \*`, "echo '*'", true},
		{`echo \*`, "echo x", false},
		{`x "a b"*`, "x 'a b'", true},
		{"make*", "make all", false}, // runs code
		{"*", "ls", true},
		{"*", "ls -la", true},
		{"*", "frobnicate all", true},
		{"*", "frobnicate --all", false},
		{"*", "A=b frobnicate", false},
	} {
		p := mustParsePolicy(t, `{"rules": [{"tool": "Bash", "when": {"command": {"glob": `+toJSON(t, test.glob)+`}}, "then": "allow"}]}`)
		for i, c := range []policy.Call{bashCall(test.command), aliasedCall("Bash", `{"command": `+toJSON(t, test.command)+`}`)} {
			require.Equal(t, test.want, p.Evaluate(c).Effect == policy.Allow, "%d: %s: %s", i, test.glob, test.command)
		}
	}
}

// Programs that run code that their operands name can be allowed by exact commands only.
func TestPolicyFile_AllowsExactCommands(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"make test", "npm run build", "bash check.sh", "frobnicate --all"} {
		p := mustParsePolicy(t, `{"rules": [{"tool": "Bash", "when": {"command": {"equals": `+toJSON(t, command)+`}}, "then": "allow"}]}`)
		require.Equal(t, policy.Allow, p.Evaluate(bashCall(command)).Effect, command)
		require.Equal(t, policy.Allow, p.Evaluate(aliasedCall("Bash", `{"command": `+toJSON(t, strings.Fields(command))+`}`)).Effect, command)
		require.Empty(t, p.Evaluate(bashCall(command+" x")).Effect, command)
		require.Empty(t, p.Evaluate(aliasedCall("Bash", `{"command": `+toJSON(t, command)+`, "args": ["x"]}`)).Effect, command)
		require.Empty(t, p.Evaluate(aliasedCall("Bash", `{"command": `+toJSON(t, command)+`, "cmd": "bash x"}`)).Effect, command)
	}
	p := mustParsePolicy(t, `{"rules": [{"tool": "Bash", "when": {"command": {"equals": "git -c core.pager=./x log"}}, "then": "allow"}]}`)
	require.Empty(t, p.Evaluate(bashCall("git -c core.pager=./x log")).Effect, "an option that executes a program is always a question")
}

func TestPolicyFile_NeverAllowsEnvironment(t *testing.T) {
	t.Parallel()
	p := mustParsePolicy(t, `{"rules": [{"tool": "Bash", "when": {"command": {"glob": "git log*"}}, "then": "allow"}, {"tool": "x", "then": "allow"}]}`)
	for _, fine := range []string{`{"command": "git log"}`, `{"command": "git log", "env": {}}`, `{"command": "git log", "env": null}`} {
		require.Equal(t, policy.Allow, p.Evaluate(aliasedCall("Bash", fine)).Effect, fine)
	}
	for _, trick := range []string{
		`{"command": "git log", "env": {"GIT_PAGER": "./x"}}`, `{"command": "git log", "Environment": ["GIT_PAGER=./x"]}`, `{"command": "git log", "envVars": "GIT_PAGER=./x"}`,
	} {
		require.Empty(t, p.Evaluate(aliasedCall("Bash", trick)).Effect, trick)
	}
	require.Empty(t, p.Evaluate(aliasedCall("x", `{"shellCommand": "git log --output=x"}`)).Effect, "a name in another spelling")
	require.Equal(t, policy.Allow, p.Evaluate(aliasedCall("x", `{"env": {"a": "b"}}`)).Effect, "no command")
}

// A deny or ask glob matches at least the texts that it matched as a pattern of characters.
func TestPolicyFile_DenyGlobMatchesTextAndWords(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		glob, command string
		want          bool
	}{
		{"git push*", "git push", true},
		{"git push*", "git pushx", true},
		{"git push*", "git push; ls", true},
		{"git push*", "GIT PUSH -f", true},
		{"git push*", "git  push -f", true},
		{"git push*", "git 'push' -f", true},
		{"*rm -rf*", "cd x && rm -rf y", true},
		{"git * -f", "git -C x push -f", true},
		{"git push*", "git pull", false},
	} {
		for _, then := range []policy.Effect{policy.Deny, policy.Ask} {
			p := mustParsePolicy(t, `{"rules": [{"tool": "Bash", "when": {"command": {"glob": `+toJSON(t, test.glob)+`}}, "then": "`+string(then)+`"}]}`)
			require.Equal(t, test.want, p.Evaluate(bashCall(test.command)).Effect == then, "%s: %s", test.glob, test.command)
			if !strings.ContainsAny(test.command, "'&;") {
				for _, c := range commandForms(t, test.command)[:3] {
					require.Equal(t, test.want, p.Evaluate(c).Effect == then, "%s: %s", test.glob, c.Arguments)
				}
			}
		}
	}
	item := mustParsePolicy(t, `{"rules": [{"tool": "x", "when": {"command": {"glob": "secret*"}}, "then": "deny"}]}`)
	require.Equal(t, policy.Deny, item.Evaluate(aliasedCall("x", `{"command": ["cat", "secret.txt"]}`)).Effect, "each word of a list")
}

func TestRunsCondition(t *testing.T) {
	t.Parallel()
	const (
		ask   = policy.Ask
		asks  = policy.Ask + " unclear"
		never = policy.Effect("")
	)
	rm := `{"runs": "rm", "option": ["r", "recursive"]}`
	for _, test := range []struct {
		condition, command string
		want               policy.Effect
	}{
		{rm, "rm -r x", ask},
		{rm, "rm -rf x", ask},
		{rm, "rm -fr x", ask},
		{rm, "rm -f -r x", ask},
		{rm, "rm -r -f x", ask},
		{rm, "rm -Rf x", ask},
		{rm, "rm x -fr", ask},
		{rm, "rm --recursive x", ask},
		{rm, "rm --rec x", ask},
		{rm, "rm -v --force --r x", ask},
		{rm, "rm  -v\t-fr x", ask},
		{rm, "/bin/rm -fr x", ask},
		{rm, `\rm -fr x`, ask},
		{rm, `r\m -fr x`, ask},
		{rm, `'rm' "-fr" x`, ask},
		{rm, `r''m -f"r" x`, ask},
		{rm, "rm \\\n -fr x", ask},
		{rm, "RM -fr x", ask},
		{rm, "cd x && rm -fr y", ask},
		{rm, "ls\nrm -fr y", ask},
		{rm, "(rm -fr y)", ask},
		{rm, "{ rm -fr y; }", ask},
		{rm, "x=$(rm -fr y)", ask},
		{rm, `echo "$(rm -fr y)"`, ask},
		{rm, `echo "$( (true); rm -fr y)"`, ask},
		{rm, "echo `rm -fr y`", ask},
		{rm, "sudo -u a rm -fr y", ask},
		{rm, "ls | xargs rm -fr", ask},
		{rm, "find . -name x -exec rm -fr {} +", ask},
		{rm, "A=b rm -fr x", ask},
		{rm, `sh -c "rm -fr x"`, ask},
		{rm, `sh -c 'cd x; sh -c "rm -fr y"'`, ask},
		{rm, "sh <<X\nrm -fr x\nX", ask},
		{rm, "/bin/r? -fr x", ask},
		{rm, "rm x", never},
		{rm, "rm -f x", never},
		{rm, "rm --force x", never},
		{rm, "rm -- -r", never},
		{rm, "rm -f -- -r", never},
		{rm, "xrm -r x", never},
		{rm, "rmdir -r x", never},
		{rm, "git commit -m 'rm the form'", never},
		{rm, "ls -r; rm x", never},
		{rm, `cd "$HOME" && ls -r`, never},
		{rm, `"$HOME/bin/tool" -r`, never},
		{rm, "find . -name '*.go'", never},
		{rm, `rm "dir/$x"`, never},
		{rm, "rm $x", asks},
		{rm, `rm "$x"`, asks},
		{rm, "rm dir/$x", asks},
		{rm, "rm *", asks},
		{rm, "rm -$x y", asks},
		{rm, "$x -fr y", asks},
		{rm, "r${x}m -fr y", asks},
		{rm, "{rm,-fr,y}", ask},
		{rm, "$(echo rm) -fr y", asks},
		{rm, "`echo rm` -fr y", asks},
		{rm, `eval "$x"`, asks},
		{rm, `bash -c "$x"`, asks},
		{rm, "sudo $x", asks},
		{rm, "echo 'a", asks},
		{rm, "echo $(ls", asks},
		{rm, "echo " + strings.Repeat("$(", 300), asks},
		{rm, strings.Repeat("x", 300<<10), asks},
		{`{"runs": "git push", "option": ["--force", "-f"]}`, "git push --force", ask},
		{`{"runs": "git push", "option": ["--force", "-f"]}`, "git -C x push origin --force-with-lease", never},
		{`{"runs": "git push", "option": ["--force", "-f"]}`, "git -C x push -uf", ask},
		{`{"runs": "git push", "option": ["--force", "-f"]}`, "git fetch -f", never},
		{`{"runs": "git push"}`, "git -C x push", ask},
		{`{"runs": "git push"}`, "git pull", never},
		{`{"runs": "terraform", "option": ["auto-approve"]}`, "terraform apply -auto-approve", ask},
		{`{"runs": "terraform", "option": ["auto-approve"]}`, "terraform apply -auto-approve=true", ask},
		{`{"runs": "python"}`, "python3.12 x.py", ask},
	} {
		p := mustParsePolicy(t, `{"rules": [{"tool": "Bash", "when": {"command": `+test.condition+`}, "then": "ask"}]}`)
		got := p.Evaluate(bashCall(test.command))
		want, unclear := strings.CutSuffix(string(test.want), " unclear")
		require.Equal(t, want, string(got.Effect), "%s: %.200q", test.condition, test.command)
		require.Equal(t, unclear, strings.Contains(got.Reason, "could not be evaluated"), "%s: %.200q", test.condition, test.command)
		if !strings.ContainsAny(test.command, "'\"\\`$&;|(){}<\n*?") && len(test.command) < 100 {
			for _, c := range commandForms(t, test.command)[:4] {
				require.Equal(t, want, string(p.Evaluate(c).Effect), "%s: %s", test.condition, c.Arguments)
			}
		}
	}
	script := aliasedCall("Bash", `{"command": ["bash", "-c", "cd x && rm -fr y"]}`)
	p := mustParsePolicy(t, `{"rules": [{"tool": "Bash", "when": {"command": `+rm+`}, "then": "deny"}]}`)
	require.Equal(t, policy.Deny, p.Evaluate(script).Effect)
	allow := mustParsePolicy(t, `{"rules": [{"tool": "Bash", "when": {"command": {"runs": "npm test"}}, "then": "allow"}]}`)
	require.Equal(t, policy.Allow, allow.Evaluate(bashCall("npm test src")).Effect)
	for _, trick := range []string{"npm test --x", "npm testx", "npm run test", "sudo npm test", "npm test; ls", "./npm test"} {
		require.Empty(t, allow.Evaluate(bashCall(trick)).Effect, trick)
	}
}

func TestParsePolicy_ReportsWrongRuns(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`"then": "ask", "when": {"command": {"option": ["r"]}}`:                     "option requires runs",
		`"then": "ask", "when": {"command": {"runs": ""}}`:                          "runs requires a program",
		`"then": "ask", "when": {"command": {"runs": 5}}`:                           "runs requires a program",
		`"then": "ask", "when": {"command": {"runs": "rm *"}}`:                      "runs requires a program",
		`"then": "ask", "when": {"command": {"runs": "rm", "option": "r"}}`:         "option requires a list of names",
		`"then": "ask", "when": {"command": {"runs": "rm", "option": []}}`:          "option requires a list of names",
		`"then": "ask", "when": {"command": {"runs": "rm", "option": ["--"]}}`:      "option requires a list of names",
		`"then": "allow", "when": {"command": {"runs": "git", "option": ["a"]}}`:    "option is for rules that ask or deny",
		`"then": "ask", "when": {"command": {"run": "rm"}}`:                         `did you mean "runs"?`,
		`"then": "ask", "when": {"command": {"runs": "rm", "options": ["r", "x"]}}`: `did you mean "option"?`,
	} {
		require.Contains(t, policyProblems(t, `{"rules": [{"tool": "Bash", `+text+`}]}`), want, text)
	}
	f := mustParsePolicy(t, `{"rules": [{"tool": "Bash", "when": {"command": {"runs": "rm", "option": ["r", "recursive"]}}, "then": "ask"}]}`)
	require.Equal(t, `Bash when command runs "rm" with the option r or recursive: ask`, f.Rules()[0].Sentence)
}

// FuzzPolicyFile_AllowedOptionsAreListed: no allowed call has an option that is neither in the
// pattern nor part of a harmless call.
func FuzzPolicyFile_AllowedOptionsAreListed(f *testing.F) {
	for _, pair := range optionCalls(f) {
		f.Add(pair[0]+"*", pair[1])
		f.Add(pair[1]+" *", pair[1]+" x")
	}
	f.Add("x -a=* -- *", "x -a=b -- -c")
	f.Fuzz(func(t *testing.T, pattern, command string) {
		p, err := policy.Parse("p.json", []byte(`{"rules": [{"tool": "Bash", "when": {"command": {"glob": `+toJSON(t, pattern)+`}}, "then": "allow"}]}`))
		if err != nil || p.Evaluate(bashCall(command)).Effect != policy.Allow {
			return
		}
		words, ok := policy.SimpleWords(command, false)
		require.True(t, ok, "%q", command)
		if programs.Harmless(words, programs.WorkingDir{}) {
			return
		}
		for _, w := range words {
			name, _, _ := strings.Cut(w, "=")
			if matcher.IsOption(w, false) {
				unescaped := strings.NewReplacer(`\`, "", `'`, "", `"`, "").Replace(pattern)
				require.Contains(t, unescaped, strings.NewReplacer(`\`, "", `'`, "", `"`, "").Replace(name), "%q allows %q", pattern, command)
			}
			if w == "--" {
				break
			}
		}
		require.False(t, programs.RunsCode(words), "%q allows %q", pattern, command)
		_, effect := programs.ExecutingOption(words)
		require.False(t, slices.Contains([]programs.Effect{programs.Executes}, effect), "%q allows %q", pattern, command)
	})
}

// FuzzRunsCondition_KeepsMatchWhenExtended: a command before or after, or quotes around it,
// never hide a command.
func FuzzRunsCondition_KeepsMatchWhenExtended(f *testing.F) {
	for _, command := range []string{"rm -fr x", "echo $(rm -r x)", `sh -c "rm -r x"`, "a 'b", "`x", "$((1"} {
		f.Add(command)
	}
	f.Fuzz(func(t *testing.T, command string) {
		p := mustParsePolicy(t, `{"rules": [{"tool": "Bash", "when": {"command": {"runs": "rm", "option": ["r"]}}, "then": "deny"}]}`)
		got := p.Evaluate(bashCall(command)).Effect
		require.Contains(t, []policy.Effect{"", "ask", "deny"}, got)
		require.Equal(t, policy.Deny, p.Evaluate(bashCall("rm -fr x; "+command)).Effect, "%q", command)
		if got == policy.Deny {
			require.Equal(t, policy.Deny, p.Evaluate(bashCall("ls; "+command)).Effect, "%q", command)
		}
	})
}
