package call_test

import (
	"bytes"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/stretchr/testify/require"
)

func TestSimpleWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text    string
		shell   call.Shell
		windows bool
		words   []string // nil if the command is not simple
	}{
		{"git status", call.POSIX, false, []string{"git", "status"}},
		{`git commit -m "two words"`, call.POSIX, false, []string{"git", "commit", "-m", "two words"}},
		{"ls -l", call.POSIX, false, []string{"ls", "-l"}},
		{"", call.POSIX, false, nil},
		{"   ", call.POSIX, false, nil},
		{`ls \`, call.POSIX, false, nil},
		{"time ls", call.POSIX, false, nil},
		{"! ls", call.POSIX, false, nil},
		{"if ls", call.POSIX, false, nil},
		{"A=b", call.POSIX, false, nil},
		{"A=b ls", call.POSIX, false, nil},
		{"ls &", call.POSIX, false, nil},
		{"ls\ttabbed", call.POSIX, false, nil},
		{"ls # all", call.POSIX, false, nil},
		{"#ls", call.POSIX, false, nil},
		{`printf $'\x41'`, call.POSIX, false, nil},
		{"ls a^b", call.POSIX, false, []string{"ls", "a^b"}},
		{"ls a^b", call.POSIX, true, nil},
		{"ls a%b", call.PowerShell, true, nil},
		{"dir ^& del x", call.Cmd, true, nil},
		{strings.Repeat("a ", 400), call.POSIX, false, nil},
		{"ls " + strings.Repeat("a", 5000), call.POSIX, false, nil},
	} {
		words, ok := call.SimpleWords(c.text, c.shell, c.windows)
		require.Equal(t, c.words != nil, ok, "%s %v", c.text, c.windows)
		if ok {
			require.Equal(t, c.words, call.Texts(words), c.text)
		}
	}
}

// TestSimpleCommand_MatchesShell checks random texts against real shells: a text that is
// accepted must be one command with the same words there.
func TestSimpleCommand_MatchesShell(t *testing.T) {
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
		list, ok := call.SimpleCommand(text, call.POSIX) // accepts more than SimpleWords
		if !ok || strings.Contains(text, "~") {          // tilde expansion happens later
			continue
		}
		if _, isStrict := call.SimpleWords(text, call.POSIX, false); isStrict {
			strict++
		}
		words := call.Texts(list)
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

func TestSameShape(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"bash abc", "bash [redacted:token]", false},
		{"bash -x abc", "bash -x [redacted:token]", false},
		{"python3 abc", "python3 [redacted:token]", false},
		{"cd abc && ls", "cd [redacted:token] && ls", false},
		{"bash -c 'X=abc ls'", "bash -c 'X=[redacted:token] ls'", true},
		{"python3 x.py --token abc", "python3 x.py --token [redacted:token]", true},
		{"mysql -px y", "mysql -p[redacted:password] y", true},
		{"unzip -P x y", "unzip -P [redacted:password] y", true},
		{"unzip -P x y", "unzip -P x z", false},
	} {
		require.Equal(t, c.want, call.SameShape(call.ReadLine(c.a, call.POSIX), call.ReadLine(c.b, call.POSIX)), "%s: %s", c.a, c.b)
	}
}
