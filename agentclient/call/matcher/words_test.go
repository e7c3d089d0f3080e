package matcher_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/call/matcher"
)

func TestOptions_Cover(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		source, call string
		want         bool
	}{
		{"git log", "git log main", true},
		{"git log --oneline", "git log --oneline main", true},
		{"git log --oneline", "git log", true},
		{"git log --oneline", "git log main --oneline", true},
		{"git log --oneline", "git log --onelin", false},
		{"git log --oneline", "git log --oneline=x", false},
		{"git log -pn", "git log -p -n", false},
		{"git log -5", "git log -6", false},
		{"dd if=a", "dd if=a", true},
		{"dd if=a", "dd if=b", false},
		{"javac a.java", "javac @a", false},
		{"vim a", "vim +x a", false},
		{"rm a", "rm *", false},
		{"rm *", "rm *", true},
		{"rm a", "rm [a]", false},
		{"rm a", "rm –r a", false}, // PowerShell
		{"docker compose logs -f", "docker compose logs -f web", true},
		{"docker compose logs -f", "docker compose -f web logs", false}, // an option of another command
		{"git add a", "git add -- a", false},
		{"git add -- a", "git add -- -x", true},
		{"git add -- a", "git add -x -- a", false},
		{"npm test -- --watch", "npm test -- --watch", true},
		{"npm test -- --watch", "npm test -- --reporter=x", false}, // passed on to another program
	} {
		var o matcher.Options
		o.Add(strings.Fields(c.source))
		require.Equal(t, c.want, o.Cover(strings.Fields(c.call)), "%s: %s", c.source, c.call)
	}
	var windows matcher.Options
	windows.Windows = true
	windows.Add([]string{"dir", "/b"})
	require.True(t, windows.Cover([]string{"dir", "/b", "x"}))
	require.False(t, windows.Cover([]string{"dir", "/s"}))
}

func TestSplitPattern(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string][]string{
		"":                    nil,
		"git log*":            {"git", "log*"},
		"  a \t b ":           {"a", "b"},
		`git commit -m "a b"`: {"git", "commit", "-m", "a b"},
		`a 'b c'd ""`:         {"a", "b cd", ""},
		`a\ b \* c\`:          {`a\ b`, `\*`, `c\`},
		`it's *`:              {"it's", "*"},
	} {
		require.Equal(t, want, matcher.SplitPattern(pattern), "%q", pattern)
	}
}

// FuzzOptions_Cover: a covered call has no option outside of the source call.
func FuzzOptions_Cover(f *testing.F) {
	f.Add("git log --oneline", "git log --output=x")
	f.Add("git add -- a", "git add -- -x")
	f.Add("npm test -- --watch", "npm test -- --x")
	f.Fuzz(func(t *testing.T, source, call string) {
		var o matcher.Options
		sourceWords, words := strings.Split(source, " "), strings.Split(call, " ")
		o.Add(sourceWords)
		if !o.Cover(words) {
			require.NotEqual(t, sourceWords, words, "a call covers itself")
			return
		}
		for _, w := range words {
			if !matcher.IsOption(w, false) {
				require.False(t, strings.HasPrefix(w, "-") || strings.Contains(w, "="))
				continue
			}
			require.Contains(t, sourceWords, w)
			isOption := func(s string) bool { return matcher.IsOption(s, false) }
			if w == "--" && !slices.ContainsFunc(sourceWords[slices.Index(sourceWords, "--")+1:], isOption) {
				break
			}
		}
	})
}

func TestGlobsMeet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, shell string
		want        bool
	}{
		{"/etc/*", "/e*/passwd", true}, {"/etc/*", "/e?c/x", true}, {"/etc/*", "/e[!a]c/x", true}, {"/etc/*", "/E*/x", true},
		{"/etc/*", "/*/x", true}, {"/etc/*", "/e*", false}, {"/etc/*", "/x*/passwd", false}, {"/etc/passwd", "/e*/p*", true},
		{"*/.ssh/*", "/home/dev/.s*/x", true}, {"*/.ssh/*", "/home/dev/*/x", false}, {"*/.ssh/*", "/home/dev/?ssh/x", false},
		{"*.env", "/p*/.e*", true}, {"*.env", "/p*/x*", true}, {"*.env", "/p*/main.go", false}, {"a?c", "a*", true}, {"", "*", true},
	} {
		require.Equal(t, c.want, matcher.GlobsMeet(c.rule, c.shell), "%s %s", c.rule, c.shell)
	}
	require.True(t, matcher.GlobsMeet(strings.Repeat("*a", 1<<10), strings.Repeat("*b", 1<<10)))
}
