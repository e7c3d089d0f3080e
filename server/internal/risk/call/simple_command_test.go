package call_test

import (
	"bytes"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/hookback/hookback/server/internal/risk/call"
	"github.com/stretchr/testify/require"
)

func TestParseSimpleCommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool, text, cwd string
		words           []string // nil if the command is not simple
	}{
		{"Bash", "git status", "/x", []string{"git", "status"}},
		{"Bash", `git commit -m "two words"`, "", []string{"git", "commit", "-m", "two words"}},
		{"mcp__shell__run", "ls -l", "", []string{"ls", "-l"}},
		{"Bash", "", "", nil},
		{"Bash", "   ", "", nil},
		{"Bash", `ls \`, "", nil},
		{"Bash", "time ls", "", nil},
		{"Bash", "! ls", "", nil},
		{"Bash", "if ls", "", nil},
		{"Bash", "A=b", "", nil},
		{"Bash", "A=b ls", "", nil},
		{"Bash", "ls &", "", nil},
		{"Bash", "ls\ttabbed", "", nil},
		{"Bash", "ls # all", "", nil},
		{"Bash", "#ls", "", nil},
		{"Bash", `printf $'\x41'`, "", nil},
		{"Bash", "ls a^b", "/x", []string{"ls", "a^b"}},
		{"Bash", "ls a^b", `C:\x`, nil},
		{"PowerShell", "ls a%b", "", nil},
		{"cmd", "dir ^& del x", "", nil},
		{"Bash", strings.Repeat("a ", 400), "", nil},
		{"Bash", "ls " + strings.Repeat("a", 5000), "", nil},
	} {
		words, ok := call.ParseSimpleCommand(c.tool, c.text, c.cwd)
		require.Equal(t, c.words != nil, ok, "%s in %q", c.text, c.cwd)
		if ok {
			require.Equal(t, c.words, words)
		}
	}
}

// TestParseSimpleCommand_MatchesShell checks random texts against real shells: a text that is
// accepted must be one command with the same words there.
func TestParseSimpleCommand_MatchesShell(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(7, 7))
	pieces := []string{"a", "b ", " ", "  ", "'", `"`, `\`, "=", "-x", "#", " #", ";", "&", "|", "$A", "`", "(", ")", "{", "}", "<", ">", "!", "^", "%", ":", "\n", "\r", "é", "if ", "time ", "[", "~x", "--", ",", "$'", "\\\n", "'|'", "'$A'", `";("`, `"{`}
	var script bytes.Buffer
	var want, texts []string
	script.WriteString("set -f\nshow() { printf '<%s>' \"$@\"; echo; }\n")
	strict := 0
	for len(want) < 3000 {
		text := ""
		for range 1 + rnd.IntN(9) {
			text += pieces[rnd.IntN(len(pieces))]
		}
		list, ok := call.SimpleCommand("Bash", text, "") // accepts more than ParseSimpleCommand
		if !ok || strings.Contains(text, "~") {          // tilde expansion happens later
			continue
		}
		words, isStrict := call.ParseSimpleCommand("Bash", text, "")
		if isStrict {
			strict++
			require.Len(t, words, len(list))
		}
		words = words[:0]
		for i := range list {
			words = append(words, list[i].Text)
		}
		script.WriteString("show " + text + "\n")
		texts = append(texts, text)
		want = append(want, "<"+strings.Join(words, "><")+">")
	}
	require.Greater(t, strict, 1000)
	require.Less(t, strict, len(want)-100, "quoted metacharacters are tested")
	for _, name := range []string{"sh", "bash"} {
		shell, err := exec.LookPath(name)
		if err != nil {
			continue // not installed
		}
		cmd := exec.Command(shell)
		cmd.Stdin = bytes.NewReader(script.Bytes())
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		for i := range min(len(want), len(got)) {
			require.Equal(t, want[i], got[i], "%s: %s", name, texts[i])
		}
		require.Len(t, got, len(want))
	}
}

func TestWorkingDir(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, arguments, cwd, want string }{
		{"Bash", `{"command":"ls"}`, "/home/dev/shop/", "/home/dev/shop"},
		{"Bash", `{"command":"ls","workdir":"web"}`, "/home/dev/shop", "/home/dev/shop/web"},
		{"Bash", `{"command":"ls","cwd":"../bank"}`, "/home/dev/shop", "/home/dev/bank"},
		{"Bash", `{"command":"ls","cwd":"/etc"}`, "/home/dev/shop", "/etc"},
		{"Bash", `{"command":"ls","cwd":"web"}`, "", ""},
		{"Bash", `{"command":"ls"}`, "shop", ""},
		{"Write", `{"file_path":"x","cwd":"/etc"}`, "/home/dev/shop", "/home/dev/shop"},
	} {
		require.Equal(t, c.want, call.WorkingDir(c.tool, []byte(c.arguments), c.cwd), c)
	}
}
