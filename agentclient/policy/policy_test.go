package policy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/call/matcher"
	"github.com/hookback/hookback/agentclient/policy"
)

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// bashCall returns a shell call of Claude Code.
func bashCall(command string) policy.Call {
	arguments, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		panic(err)
	}
	return policy.Call{Name: "Bash", Alias: "Bash", Command: command, Arguments: arguments}
}

func aliasedCall(name, arguments string) policy.Call {
	return policy.Call{Name: name, Alias: name, Arguments: raw(arguments)}
}

func TestCondition_Verdicts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		when, arguments string
		then            policy.Effect // result of a deny rule: deny, none, or ask if indeterminate
	}{
		{`"a": {"equals": "x"}`, `{"a": "x"}`, "deny"},
		{`"a": {"equals": "x"}`, `{"a": "X"}`, "deny"},
		{`"a": {"equals": "x"}`, `{"a": "y"}`, ""},
		{`"a": {"equals": "x"}`, `{}`, ""},
		{`"a": {"equals": "x"}`, ``, ""},
		{`"a": {"equals": "x"}`, `null`, ""},
		{`"a": {"equals": "x"}`, `{"a": null}`, ""},
		{`"a": {"equals": "x"}`, `{"a": 5}`, "ask"},
		{`"a": {"equals": true}`, `{"a": true}`, "deny"},
		{`"a": {"equals": true}`, `{"a": false}`, ""},
		{`"a": {"equals": true}`, `{"a": "true"}`, "ask"},
		{`"a": {"equals": 1}`, `{"a": 1.00}`, "deny"},
		{`"a": {"equals": 1}`, `{"a": "1"}`, "ask"},
		{`"a": {"equals": 100}`, `{"a": 1e2}`, "deny"},
		{`"a": {"contains": "ssh"}`, `{"a": "~/.SSH/id"}`, "deny"},
		{`"a": {"contains": "ssh"}`, `{"a": "s sh"}`, ""},
		{`"a": {"contains": "ssh"}`, `{"a": ["x", "ssh"]}`, "deny"},
		{`"a": {"contains": "ssh"}`, `{"a": {"b": "ssh"}}`, "ask"},
		{`"a": {"glob": "/etc/*"}`, `{"a": "/etc/x/y"}`, "deny"},
		{`"a": {"glob": "/etc/*"}`, `{"a": "/tmp/../etc/passwd"}`, "deny"},
		{`"a": {"glob": "/etc/*"}`, `{"a": "/tmp//..\\..//etc\\passwd"}`, "deny"},
		{`"a": {"glob": "/etc/*"}`, `{"a": "/home/etc/x"}`, ""},
		{`"a": {"regex": "^rm\\s"}`, `{"a": "rm -r"}`, "deny"},
		{`"a": {"regex": "^rm\\s"}`, `{"a": "RM -r"}`, ""},
		{`"a": {"regex": "^rm\\s"}`, `{"a": {}}`, "ask"},
		{`"a": {"regex": "^/etc/"}`, `{"a": "/tmp/../etc/passwd"}`, "deny"},
		{`"a": {"greater": 10000}`, `{"a": 10001}`, "deny"},
		{`"a": {"greater": 10000}`, `{"a": 10000}`, ""},
		{`"a": {"greater": 10000}`, `{"a": 10000.00000000000000000000001}`, "deny"},
		{`"a": {"greater": 10000}`, `{"a": "99999"}`, "ask"},
		{`"a": {"greater": 10000}`, `{"a": "NaN"}`, "ask"},
		{`"a": {"greater": 10000}`, `{"a": NaN}`, "ask"},
		{`"a": {"greater": 10000}`, `{"a": 1e999999999}`, "ask"},
		{`"a": {"greater": 10000}`, `{"a": 1` + strings.Repeat("0", 500) + `}`, "ask"},
		{`"a": {"greater": 10000}`, `{"a": [1, 20000]}`, "deny"},
		{`"a": {"greater": 10000}`, `{"A": 99999}`, "ask"},
		{`"ask": {"greater": 10000}`, `{"aſk": 99999}`, "ask"},
		{`"a": {"greater": 10000}`, `{"a": 1, "a": 99999}`, "ask"},
		{`"a": {"less": -1.5}`, `{"a": -2}`, "deny"},
		{`"a": {"less": -1.5}`, `{"a": -1.5}`, ""},
		{`"a": {"greater": 1, "less": 3}`, `{"a": 2}`, "deny"},
		{`"a": {"greater": 1, "less": 3}`, `{"a": 4}`, ""},
		{`"a": {"equals": 1}, "b": {"equals": 2}`, `{"a": 1}`, ""},
		{`"a": {"equals": 1}, "b": {"equals": 2}`, `{"a": "1", "b": 3}`, ""},
		{`"a": {"equals": 1}, "b": {"equals": 2}`, `{"a": "1", "b": 2}`, "ask"},
		{`"a.b.c": {"equals": 1}`, `{"a": {"b": {"c": 1}}}`, "deny"},
		{`"a.b": {"equals": 1}`, `{"a": "{\"b\": 1}"}`, "ask"},
		{`"a.b": {"equals": 1}`, `{"a": [{"b": 0}, {"b": 1}]}`, "deny"},
		{`"a.1.b": {"equals": 1}`, `{"a": [{"b": 1}, {"b": 0}]}`, ""},
		{`"a.1.b": {"equals": 1}`, `{"a": [{"b": 0}, {"b": 1}]}`, "deny"},
		{`"file": {"glob": "*.env"}`, `{"file_path": "/x/.env"}`, "deny"},
		{`"file": {"glob": "*.env"}`, `{"filePath": "/x/.ENV"}`, "deny"},
		{`"file": {"glob": "*.env"}`, `{"path": "/x", "notebook_path": ".env"}`, "deny"},
		{`"a": {"equals": 1}`, `["a"]`, "ask"},
		{`"a": {"equals": 1}`, `{"a": 1`, "ask"},
		{`"a": {"equals": 1}`, strings.Repeat(`{"a":`, 200) + `1` + strings.Repeat(`}`, 200), "ask"},
		{`"a": {"regex": "x$"}`, `{"a": "` + strings.Repeat("y", 300<<10) + `"}`, "ask"},
		{`"a": {"contains": "x"}`, `{"a": "` + strings.Repeat("y", 300<<10) + `"}`, ""},
	} {
		deny := mustParsePolicy(t, `{"rules": [{"tool": "T", "then": "deny", "when": {`+test.when+`}}]}`)
		got := deny.Evaluate(aliasedCall("T", test.arguments))
		require.Equal(t, test.then, got.Effect, "%s of %.80s", test.when, test.arguments)
		require.Equal(t, test.then != "", got.Location == "p.json:1", "%v", got)
		if test.then == policy.Ask {
			require.Contains(t, got.Reason, "could not be evaluated for this call: ")
			allow := mustParsePolicy(t, `{"rules": [{"tool": "T", "then": "allow", "when": {`+test.when+`}}]}`)
			require.Empty(t, allow.Evaluate(aliasedCall("T", test.arguments)), "an allow takes %s of %.80s", test.when, test.arguments)
		}
	}
}

func TestPolicyFile_FirstMatchDecides(t *testing.T) {
	t.Parallel()
	p := mustParsePolicy(t, `{"rules": [
{"tool": "refund", "when": {"amount": {"greater": 10000}}, "then": "deny", "risk": "critical", "reason": "Too much."},
{"tool": "refund", "when": {"amount": {"greater": 100}}, "then": "ask"},
{"tool": "refund", "then": "allow"},
{"tool": "mcp__*__delete*", "then": "ask", "risk": "high"},
{"tool": "*", "when": {"confirm": {"equals": "no"}}, "then": "deny"}]}`)
	for _, test := range []struct {
		call policy.Call
		want policy.Result
	}{
		{aliasedCall("refund", `{"amount": 20000}`), policy.Result{Effect: "deny", Risk: "critical", Reason: "Too much.", Location: "p.json:2"}},
		{aliasedCall("refund", `{"amount": 200}`), policy.Result{Effect: "ask", Location: "p.json:3"}},
		{aliasedCall("refund", `{"amount": 2}`), policy.Result{Effect: "allow", Location: "p.json:4"}},
		{aliasedCall("mcp__db__delete_row", `{}`), policy.Result{Effect: "ask", Risk: "high", Location: "p.json:5"}},
		{aliasedCall("mcp__db__read_row", `{}`), policy.Result{}},
		{
			// The first rules are indeterminate, so no later rule may allow the call.
			aliasedCall("refund", `{"amount": "2"}`),
			policy.Result{
				Effect: "ask", Risk: "critical", Location: "p.json:2",
				Reason: "The rule at p.json:2 could not be evaluated for this call: its argument amount has a type or size that the rule can't compare.",
			},
		},
	} {
		require.Equal(t, test.want, p.Evaluate(test.call), "%s", test.call.Arguments)
	}
	denied := mustParsePolicy(t, `{"rules": [
{"tool": "refund", "when": {"amount": {"greater": 100}}, "then": "ask"},
{"tool": "refund", "when": {"to": {"equals": "me"}}, "then": "deny"}]}`)
	require.Equal(t, policy.Deny, denied.Evaluate(aliasedCall("refund", `{"amount": "2", "to": "me"}`)).Effect)
}

func TestPolicyFile_MatchesNameAndAlias(t *testing.T) {
	t.Parallel()
	codex := policy.Call{Name: "shell", Alias: "Bash", Command: "ls", Arguments: raw(`{"command": ["bash", "-lc", "ls"]}`)}
	for tool, want := range map[string]string{
		"Bash": "deny allow", "shell": "deny allow", "sh*": "deny allow", "*": "deny allow", "B?sh": "deny allow",
		"bash": "deny ", "SHELL": "deny ", // deny ignores case, allow does not
		"Вash": " ", "Bas": " ", "Bashh": " ", // the first one starts with a Cyrillic В
	} {
		require.Equal(t, want,
			fmt.Sprintf("%s %s", mustParsePolicy(t, singleRulePolicy(tool, "deny")).Evaluate(codex).Effect,
				mustParsePolicy(t, singleRulePolicy(tool, "allow")).Evaluate(codex).Effect), "%s", tool)
	}
}

func TestPolicyFile_NormalizesCommandArgument(t *testing.T) {
	t.Parallel()
	p := mustParsePolicy(t, `{"rules": [{"tool": "Bash", "when": {"command": {"glob": "git push*"}}, "then": "deny"}]}`)
	require.Equal(t, policy.Deny, p.Evaluate(policy.Call{
		Name: "execute", Alias: "Bash", Command: "git push -f", Arguments: raw(`{"cmdline": "git push -f"}`),
	}).Effect)
}

func TestPolicyFile_AllowsOnlySimpleCommands(t *testing.T) {
	t.Parallel()
	p := mustParsePolicy(t, `{"rules": [
{"tool": "Bash", "when": {"command": {"glob": "git *"}}, "then": "allow"},
{"tool": "Bash", "when": {"command": {"glob": "git commit -m *"}}, "then": "allow"},
{"tool": "run", "then": "allow"}]}`)
	for _, fine := range []string{
		"git status", "git log --format=%h -5", "git diff HEAD^ HEAD~2", "git commit -m 'a word'", `git commit -m "two words"`, "git add src/*.go",
		`git commit -m don\'t`, "git show HEAD!", "git commit -m Größe",
	} {
		require.Equal(t, policy.Allow, p.Evaluate(bashCall(fine)).Effect, "%q", fine)
	}
	for _, trick := range []string{
		"git status; rm -rf /", "git status;rm x", "git status && rm x", "git status & rm x", "git status || rm x", "git log | sh",
		"git log |& sh", "git log > ~/.bashrc", "git log >> x", "git log 2>x", "git log < /etc/passwd", "git log <<EOF", "git log <<< x",
		"git log $(rm x)", "git log `rm x`", "git log ${IFS}x", "git log $IFS", "git log <(rm x)", "git log >(rm x)", "git log $((1))",
		"git log \"$(rm x)\"", "git log \"`rm x`\"", "git log $'\\n'", "git log\nrm x", "git log\rrm x", "git log\r\nrm x", "git log \\\nrm",
		"git log\u2028rm x", "git log\u2029rm x", "git log\u0085rm x", "git log\x00rm x", "git log\vrm", "git log\frm", "git log\x1brm",
		"git log 'a", `git log "a`, `git log \`, `git log 'it's'`, "git log '; rm x'", `git -c alias.x="!sh -c 'rm x; true'" x`,
		"git log \u202e; x", "git log \u200b", "git log \xff", "git log ；rm", "git log ｜ sh", "git log ＆ x",
		"git {a,b}", "git (x)", "git log; ", "git log &", "git log\t;x", "git diff ../../etc/passwd", "git diff ..", `git diff "../x"`, "git --git-dir=../x log",
		"git add hookback.json", "git add HookBack.JSON",
	} {
		require.Empty(t, p.Evaluate(bashCall(trick)).Effect, "%q", trick)
	}
	for _, hidden := range []policy.Call{
		{Name: "Bash", Alias: "Bash", Arguments: raw(`{"x": 1}`)},                                  // no known command
		{Name: "Bash", Alias: "Bash", Command: "git status", Arguments: raw(`{"command": "a;b"}`)}, // contradicts Command
		{Name: "Bash", Alias: "Bash", Command: "git status", Arguments: raw(`{"command": "git status", "Command": "rm"}`)},
		{Name: "Bash", Alias: "Bash", Command: "git status", Arguments: raw(`{"command": "git status", "command": "rm"}`)},
		aliasedCall("run", `{"cmd": "a | b"}`), aliasedCall("run", `{"Script": "a\nb"}`), aliasedCall("run", `{"commands": ["a", "b > c"]}`),
		aliasedCall("run", `{"args": {"x": ["a; b"]}}`), aliasedCall("run", `{"x": {"y": 1, "y": 2}}`), aliasedCall("run", `{"x": [{"y": 1, "Y": 2}]}`),
		aliasedCall("run", `{"x": 1`), aliasedCall("run", `[]`), aliasedCall("run", `"x"`), aliasedCall("run", `{"x": "./hookback.json"}`),
	} {
		require.Empty(t, p.Evaluate(hidden).Effect, "%s", hidden.Arguments)
	}
	require.Equal(t, policy.Allow, p.Evaluate(aliasedCall("run", `{"cmd": "ls", "text": "a; b | c"}`)).Effect, "text is not a command")
}

func TestIsSimpleCommandFor(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]bool{ // on other systems, on Windows
		`dir C:\x`: {true, true}, `dir "C:\x\"`: {false, true}, "echo it's": {false, true},
		"echo %PATH%": {true, false}, "echo a^b": {true, false}, "echo !x!": {true, false},
		"dir & del x": {false, false}, "dir 'a & b'": {false, false}, "$env:x": {false, false}, "@(1)": {false, false}, "a`nb": {false, false},
	} {
		require.Equal(t, want, [2]bool{policy.IsSimpleCommandFor(text, false), policy.IsSimpleCommandFor(text, true)}, "%s", text)
	}
}

func TestPolicyFile_AllowRequiresEveryValue(t *testing.T) {
	t.Parallel()
	p := mustParsePolicy(t, `{"rules": [
{"tool": "Edit", "when": {"file": {"glob": "/repo/src/*"}}, "then": "allow"},
{"tool": "Many", "when": {"edits.path": {"contains": "/repo/"}}, "then": "allow"},
{"tool": "Pay", "when": {"amount": {"less": 100}}, "then": "allow"},
{"tool": "Fetch", "when": {"url": {"regex": "^https://example\\.com/"}}, "then": "allow"}]}`)
	for _, fine := range []policy.Call{
		aliasedCall("Edit", `{"file_path": "/repo/src/a.go", "new": "a; b"}`), aliasedCall("Many", `{"edits": [{"path": "/repo/a"}, {"path": "/repo/b"}]}`),
		aliasedCall("Pay", `{"amount": 99.5}`), aliasedCall("Fetch", `{"url": "https://example.com/x"}`),
	} {
		require.Equal(t, policy.Allow, p.Evaluate(fine).Effect, "%s", fine.Arguments)
	}
	for _, trick := range []policy.Call{
		aliasedCall("Edit", `{"file_path": "/repo/src/../../etc/passwd"}`), aliasedCall("Edit", `{"file_path": "/REPO/src/a.go"}`),
		aliasedCall("Edit", `{"file_path": "/repo/src/a.go", "path": "/etc/passwd"}`), aliasedCall("Edit", `{"file_path": "/repo/src/a.go", "FILE_PATH": "/repo/src/b.go"}`),
		aliasedCall("Edit", `{"file_path": ["/repo/src/a.go", "/etc/passwd"]}`), aliasedCall("Edit", `{"file_path": "/repo/src/\u202ea"}`),
		aliasedCall("Edit", `{"file_path": "/repo/src/hookback.json"}`), aliasedCall("Edit", `{}`), aliasedCall("edit", `{"file_path": "/repo/src/a.go"}`),
		aliasedCall("Edit", `{"file_path": "/repo/src/`+strings.Repeat("a", 300<<10)+`"}`),
		aliasedCall("Many", `{"edits": [{"path": "/repo/a"}, {"path": "/etc/b"}]}`), aliasedCall("Many", `{"edits": []}`), aliasedCall("Many", `{"edits": "/repo/"}`),
		aliasedCall("Pay", `{"amount": "5"}`), aliasedCall("Pay", `{"amount": null}`), aliasedCall("Pay", `{"amount": -1e500}`), aliasedCall("Pay", `{"amount": 5, "Amount": 500}`),
		aliasedCall("Pay", `{"amount": true}`), aliasedCall("Pay", `{"amount": []}`),
		aliasedCall("Fetch", `{"url": "HTTPS://EXAMPLE.COM/x"}`), aliasedCall("Fetch", `{"url": "https://example.com/../x"}`), aliasedCall("Fetch", `{"url": 1}`),
	} {
		require.Empty(t, p.Evaluate(trick).Effect, "%.100s", trick.Arguments)
	}
}

func FuzzPolicyFile_AllowedCommandIsSimple(f *testing.F) {
	f.Add("git status")
	f.Add("git 'a; b'")
	f.Fuzz(func(t *testing.T, command string) {
		p := mustParsePolicy(t, singleRulePolicy("Bash", "allow"))
		if p.Evaluate(bashCall(command)).Effect == policy.Allow {
			require.NotRegexp(t, "[;&|<>`$(){}\\n\\r\\x00]", command)
		}
	})
}

func FuzzMatchGlob(f *testing.F) {
	for _, pattern := range []string{"a*b", "*", "", "a?c", "*.go", "a*b*c", `\*x`, `a\`, "??", "*a?b*", "aab", "*aab"} {
		f.Add(pattern, "aaxbxc.go")
		f.Add(pattern, "ab")
		f.Add(pattern, "*x")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		want, escaped := "", false
		for _, r := range pattern {
			switch {
			case !escaped && r == '\\':
				escaped = true
				continue
			case !escaped && r == '*':
				want += "(?s:.*)"
			case !escaped && r == '?':
				want += "(?s:.)"
			default:
				want += regexp.QuoteMeta(string(r))
			}
			escaped = false
		}
		if escaped {
			want += `\\`
		}
		re, err := regexp.Compile("^(?:" + want + ")$")
		if err != nil {
			t.Skip()
		}
		require.Equal(t, re.MatchString(text), matcher.NewGlob(pattern, false).Match(text), "%q of %q", pattern, text)
	})
}

// BenchmarkPolicySource_LoadFor measures the policy work of one hook: it reads two files with
// twenty rules each and evaluates a call that none of the rules matches.
func BenchmarkPolicySource_LoadFor(b *testing.B) {
	var list []string
	for i := range 20 {
		list = append(list, fmt.Sprintf(`{"tool": "Bash", "when": {"command": {"regex": "\\b(rm|rmdir)\\s+-[a-z]*r[a-z]* /tmp/%d"}}, "then": "ask", "reason": "It deletes."}`, i))
	}
	text := `{"rules": [` + strings.Join(list, ",\n") + `]}`
	home := b.TempDir()
	for _, dir := range []string{".config/hookback", "repo/.git"} {
		require.NoError(b, os.MkdirAll(filepath.Join(home, dir), 0o700))
	}
	for _, file := range []string{".config/hookback/hookback.json", "repo/hookback.json"} {
		require.NoError(b, os.WriteFile(filepath.Join(home, file), []byte(text), 0o600))
	}
	source := policy.Source{Dir: filepath.Join(home, "repo"), UserFile: filepath.Join(home, ".config/hookback/hookback.json")}
	for name, c := range map[string]policy.Call{"other-tool": aliasedCall("Read", `{"file_path": "x"}`), "every-regex": bashCall("go test ./...")} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				p, err := source.LoadFor(c)
				if err != nil || p.Evaluate(c).Effect != "" {
					b.Fatal(err)
				}
			}
		})
	}
}

// A dangling link is an unreadable policy, not a missing one.
func TestLoadPolicy_RejectsDanglingLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Symlink(filepath.Join(dir, "gone"), filepath.Join(dir, policy.FileName)))
	_, err := policy.Load(dir, func(string) string { return "" })
	require.ErrorAs(t, err, new(*policy.Error))
}
