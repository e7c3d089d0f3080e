package call_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/call"
)

// commandsOf returns the commands of a line, one text each: its operator, and its words with \x00 as ◌.
func commandsOf(c *call.Call) (all []string) {
	for _, cmd := range c.Commands {
		var words []string
		for _, w := range append(append([]call.Word(nil), cmd.Assignments...), cmd.Words...) {
			words = append(words, strings.ReplaceAll(w.Text, call.Expansion, "◌"))
		}
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s", cmd.Before, strings.Join(words, " "))))
	}
	return all
}

func TestReadLine_Commands(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"git status":                          {"git status"},
		"a; b && c || d | e & f\ng":           {"a", "; b", "&& c", "|| d", "| e", "& f", "; g"},
		"ls;PASSWORD=x;./evil.sh":             {"ls", "; PASSWORD=x", "; ./evil.sh"},
		"A=1 B=$x cmd":                        {"A=1 B=◌ cmd"},
		`echo "$(rm x)" <(p)`:                 {"$( rm x", "$( p", "echo ◌ ◌"},
		"echo ${x:-`rm x`}":                   {"$( rm x", "echo ◌"},
		`r''m $'\x2drf' "a b"`:                {"rm -rf a b"},
		"{rm,-rf,x}":                          {"rm -rf x"},
		"sudo -u root env A=b rm x":           {"sudo -u root env A=b rm x", "run by root env A=b rm x", "run by env A=b rm x", "run by rm x"},
		"timeout 5 rm x":                      {"timeout 5 rm x", "run by 5 rm x", "run by rm x"},
		"find . -exec rm {} + -print":         {"find . -exec rm {} + -print", "run by rm {}"},
		"bash -lc 'a; b'":                     {"bash -lc a; b", "run by a", "; b"},
		"eval 'a;' b":                         {"eval a; b", "run by a", "; b"},
		"ssh host 'cd x && rm -rf y'":         {"ssh host cd x && rm -rf y", "run by host cd x", "&& rm -rf y", "run by cd x", "&& rm -rf y"},
		"echo 'rm x' | sh":                    {"echo rm x", "| sh", "run by rm x"},
		"sh <<X\nrm x\nX":                     {"sh", "run by rm x"},
		"cat <<'X'\nit's $(rm x)\nX\n":        {"cat"},
		"cat <<X\n$(rm x)\nX\n":               {"$( rm x", "cat"},
		"ls # it's":                           {"ls"},
		"f() { rm x; }; f":                    {"rm x", "; f"},
		"if a; then b; else c; fi":            {"a", "; b", "; c"},
		"for i in $(a); do b; done":           {"$( a", "b"},
		"x=`a` y":                             {"$( a", "x=◌ y"},
		"trap 'rm x' EXIT":                    {"trap rm x EXIT", "run by rm x"},
		"trap -- 'rm x' EXIT":                 {"trap -- rm x EXIT", "run by rm x"},
		"eval -- 'rm x'":                      {"eval -- rm x", "run by rm x"},
		"bash -euo pipefail -c 'rm x'":        {"bash -euo pipefail -c rm x", "run by rm x"},
		"bash --init-file e -c 'rm x'":        {"bash --init-file e -c rm x", "run by rm x"},
		"echo 'rm x' | bash -s -- y":          {"echo rm x", "| bash -s -- y", "run by rm x"},
		"sh <<< 'rm x' 3</dev/null":           {"sh", "run by rm x"},
		"env -S'rm\\_x'":                      {"env -Srm\\_x", "run by rm x"},
		"echo 'rm x' | ssh h":                 {"echo rm x", "| ssh h", "run by rm x", "run by h"},
		"export A=1; git commit -m 'Fix `x`'": {"export A=1", "; git commit -m Fix `x`"},
		"$HOME/bin/x ~/y":                     {"~/bin/x ~/y"},
		`$'\x{72}m' x`:                        {"rm x"},
		`echo 'rm x' | sh\`:                   {"echo rm x", "| sh", "run by rm x"},
		"command -v rm":                       {"command -v rm"},
		"sudo grep 'rm x' y":                  {"sudo grep rm x y", "run by grep rm x y"},
		"ls\r\nrm x\r\n":                      {"ls", "; rm x"},
	} {
		c := call.ReadLine(line, call.POSIX)
		require.Equal(t, want, commandsOf(c), line)
		require.Empty(t, c.Unread, line)
	}
}

// Text is no command unless its program runs it.
func TestReadLine_Texts(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`git commit -m "Docs: say that rm -r needs an approval"`, `gh issue create --body 'The rule on rm -rf is too wide'`,
		"git commit -m \"$(cat <<'EOF'\nThe total didn't include rm -rf (see issue 41).\nEOF\n)\"", `grep -rn "rm -rf" .`, "# it's rm -rf\nls",
	} {
		c := call.ReadLine(line, call.POSIX)
		require.Empty(t, c.Unread, line)
		require.Empty(t, c.Scripts, line)
		for _, cmd := range c.Commands {
			require.NotEqual(t, "rm", cmd.Words[0].Text, line)
		}
	}
}

func TestReadLine_Unread(t *testing.T) {
	t.Parallel()
	for line, why := range map[string]string{
		"$x -rf y":                             "known only at run time",
		"$(echo rm) x":                         "known only at run time",
		"/bin/r? x":                            "known only at run time",
		`sudo "$x"`:                            "known only at run time",
		`bash -c "$x"`:                         "text that is known only at run time",
		"bash <(curl x)":                       "text that is known only at run time",
		"curl x | sh":                          "the output of another command",
		"printf '\\162m x' | bash":             "the output of another command",
		"echo -e 'r\\x6d x' | bash":            "the output of another command",
		"f() { sh; }; echo rm | f":             "known only at run time",
		"echo 'a":                              "closing quote",
		"a \x00":                               "U+0000",
		strings.Repeat("$((", 10_000):          "nested too deeply",
		strings.Repeat("x", 300<<10):           "256 KiB",
		"x='a[$(rm y)]'; ((x))":                "evaluated as arithmetic",
		"x='$(rm y)'; echo ${x@P}":             "may run the value",
		"echo \"'rm x'\" | xargs sh -c":        "known only at run time",
		"find . `echo -exec rm {} +`":          "known only at run time",
		"(echo -n r; echo m x) | sh":           "the output of another command",
		"()a":                                  "a function has no name",
		"x!=[a]/../run":                        "may be a variable or a program",
		"ls # a\\\nrm x":                       "a comment ends with a backslash",
		"echo \\\r\nrm x":                      "line breaks in different ways",
		"x=\recho rm x":                        "line breaks in different ways",
		"cat <<E\r\nE\n: '\nE\r\nrm x\n: '":    "line breaks in different ways",
		"curl x | python3 -":                   "the output of another command",
		"$\\\n'rm' x":                          "line breaks in different ways",
		"echo >&'a$(rm x)'":                    "the name of a file twice",
		"x &>y rm z":                           "sh takes &> for the end",
		"coproc 2>&1 rm x":                     "begins with a redirect",
		"echo rm x > >(sh)":                    "known only at run time",
		strings.Repeat("env -a ", 9_000) + "x": "too often",
	} {
		c := call.ReadLine(line, call.POSIX)
		require.NotEmpty(t, c.Unread, "%.80q", line)
		require.Contains(t, c.Unread[0].Reason, why, "%.80q", line)
	}
}

// hostileLines are lines whose reading could take very long.
func hostileLines() map[string]string {
	r := strings.Repeat
	return map[string]string{
		"long word": "echo " + r("x", 1<<20), "commands": r("a;", 100_000), "pipes": r("sh|", 60_000) + "sh", "nesting": r("$(", 10_000),
		"values or commands": "env " + r("-a b ", 40_000), "joined words": "ssh " + r("-a b ", 40_000), "wrappers": r("sudo ", 40_000) + "x",
		"scripts": r("eval ", 50_000), "script of itself": "echo '" + r("sh a;", 10_000) + "'>a; sh a",
		"here-documents":   r("sh <<E\nx\nE\n", 8000),
		"growing variable": "A=x;" + r("A=$A$A;", 5000) + r("B=$A; ", 5000), "braces": r("{$(a),b}{c,d}{e,f}{g,h}{i,j}{k,l} ", 7000),
		"files": "echo x>f;" + r("cat $(sh *);", 15_000), "copies": "cp a b; cp b a; " + r("./a;", 10_000), "substitutions": r("a `b` ", 40_000),
	}
}

// The reading of a hostile line has limits, and tells that it has reached one.
func TestReadLine_BoundsHostileLines(t *testing.T) {
	t.Parallel()
	for name, line := range hostileLines() {
		c := call.ReadLine(line, call.POSIX)
		require.NotEmpty(t, c.Unread, name)
		require.LessOrEqual(t, len(c.Commands), 4096, name)
		words := 0
		for i := range c.Commands {
			words += len(c.Commands[i].Words)
		}
		require.Less(t, words, 400_000, name)
	}
}

func BenchmarkReadLine_HostileLines(b *testing.B) {
	for name, line := range hostileLines() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				call.ReadLine(line, call.POSIX)
			}
		})
	}
}

func TestReadLine_Files(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"cat .env":                        "read .env",
		"cd /p && cat -n .env > out":      "write /p/out, read /p/.env",
		"grep -rn '.env' src":             "read src",
		"cp -r a b .env":                  "read a, read b, write .env",
		"mv .env x":                       "move .env, write x",
		"rm -f -- -x .env":                "delete -x, delete .env",
		"sed -i s/a/b/ .env":              "write .env",
		"tee -a .env < in":                "read in, write .env",
		"dd if=.env of=x":                 "read .env, write x",
		"sudo cat .env":                   "read .env",
		"echo .env; git commit -m .env":   "",
		"sort --output=.env x":            "read .env, write .env, read x",
		"for f in *; do cat \"$f\"; done": "read \x00",
	} {
		var got []string
		for _, f := range call.ReadLine(line, call.POSIX).Files {
			got = append(got, string(f.Op)+" "+f.Path)
		}
		require.Equal(t, want, strings.Join(got, ", "), line)
	}
}

// Every place is that of the text that it names.
func TestReadLine_Spans(t *testing.T) {
	t.Parallel()
	const line = `ls; echo "a b" 'c' > out && sh -c 'rm x'`
	c := call.ReadLine(line, call.POSIX)
	for _, cmd := range c.Commands {
		for _, w := range cmd.Words {
			require.Contains(t, line[w.Span.From:w.Span.To], strings.Fields(w.Text)[0])
		}
	}
	require.Equal(t, "out", line[c.Files[0].Span.From:c.Files[0].Span.To])
	require.Empty(t, call.ReadLine("echo hi > $x", call.POSIX).Unread)

	const document = "cat <<E\na\nb\nE\nls"
	body := call.ReadLine(document, call.POSIX).Commands[0].Redirects[0].Target.Span
	require.Equal(t, "a\nb\n", document[body.From:body.To])
}

func TestReadLine_Windows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shell call.Shell
		line  string
		want  []string
	}{
		{call.PowerShell, `Remove-Item -Recurse .\build; ls`, []string{`Remove-Item -Recurse .\build`, "; ls"}},
		{call.PowerShell, "& 'a b' \"c `\"d\" # it's", []string{`a b c "d`}},
		{call.PowerShell, "if ($x) { rd y }", []string{"if", "; ◌x", "; rd y"}},
		{call.PowerShell, "iex 'rd y'", []string{"iex rd y", "run by rd y"}},
		{call.PowerShell, "Set-Content a @'\nrd y'\n'@", []string{"Set-Content a rd y'"}},
		{call.PowerShell, "$x = rd y; $z=1", []string{"◌x", "; rd y", "; ◌z", "; 1"}},
		{call.PowerShell, `npm x --a=b`, []string{"npm x --a=b"}},
		{call.PowerShell, `$_.Length -gt 1; "a $(rd x) b"`, []string{"◌_.Length -gt 1", "; rd x", "; a ◌ b"}},
		{call.PowerShell, `<# rd x #> ls`, []string{"ls"}},
		{call.PowerShell, `Start-Process cmd -ArgumentList "/c rd x"`, []string{"Start-Process cmd -ArgumentList /c rd x", "run by cmd /c rd x", "run by rd x"}},
		{call.Cmd, `rd /s /q build & del x`, []string{"rd /s /q build", "; del x"}},
		{call.Cmd, `cmd /c "rd /s x"`, []string{"cmd /c rd /s x", "run by rd /s x"}},
	} {
		require.Equal(t, c.want, commandsOf(call.ReadLine(c.line, c.shell)), c.line)
	}
	for _, line := range []string{
		"powershell -enc AAAA", "& $x y", "echo ’a", "& $x", ". $x", "&('r'+'d') x", "'rd x' | iex", "$x | iex", "iex (gc x)", "$x.Invoke()",
		"[scriptblock]::Create('rd x')", "New-Alias q rd; q x",
	} {
		require.NotEmpty(t, call.ReadLine(line, call.PowerShell).Unread, line)
	}
}

func FuzzReadLine(f *testing.F) {
	for _, line := range []string{"a; b | c", "sh -c 'x", "echo $(a <<E\nb\nE\n)", "{a,b}{c,d}", "$'\\x41'", "coproc x { a; }", "[[ a =~ b ]]", "iex \"$x\""} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		for _, shell := range []call.Shell{call.POSIX, call.PowerShell, call.Cmd} {
			c := call.ReadLine(line, shell)
			c.EachSpan(func(s *call.Span) {
				require.LessOrEqual(t, 0, s.From)
				require.LessOrEqual(t, s.From, s.To, "%q", line)
				require.LessOrEqual(t, s.To, len(line), "%q", line)
			})
		}
	})
}
