package consequence_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/consequence"
	"github.com/hookback/hookback/schema"
)

// gitEnv keeps git from reading the settings of the account.
func gitEnv(home string) []string {
	env := []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "LC_ALL=C", "TZ=UTC",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_AUTHOR_NAME=Ada",
	}
	return env
}

// prepare runs a shell script in an empty project whose git repository has the branch main, and returns the project.
// commit records all files. write N FILE writes N lines. The parent of the project has the folder other.
func prepare(t testing.TB, script string) string {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	dir := filepath.Join(home, "shop")
	require.NoError(t, os.MkdirAll(filepath.Join(home, "other"), 0o700))
	require.NoError(t, os.MkdirAll(dir, 0o700))
	cmd := exec.Command("sh", "-ec", `
clock=1700000000
commit() { clock=$((clock+60)); GIT_AUTHOR_DATE="$clock +0000" GIT_COMMITTER_DATE="$clock +0000" git commit -q --allow-empty "$@"; }
save() { git add -A; commit -m "$1"; }
write() { for n in $(seq "$1"); do echo "line $n"; done > "$2"; }
repo() { git init -q -b main "${1:-.}"; }
`+script)
	cmd.Dir, cmd.Env = dir, gitEnv(home)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return dir
}

// of returns the consequence of a shell command, or of a tool with JSON arguments: Write {"file_path":…}.
func of(dir, text string) *schema.Consequence {
	tool, arguments, ok := strings.Cut(text, ` {"`)
	if ok {
		arguments = `{"` + strings.ReplaceAll(arguments, "$P", dir)
	} else {
		tool = "Bash"
		raw, _ := json.Marshal(map[string]string{"command": text})
		arguments = string(raw)
	}
	c := call.Read(call.Input{Agent: "claude-code", Tool: tool, Dir: filepath.ToSlash(dir), Arguments: json.RawMessage(arguments)})
	return consequence.Of(consequence.Input{Call: c, Home: filepath.Dir(dir), MaxTime: 5 * time.Minute})
}

// show returns the numbers and the sentences on one line each.
func show(c *schema.Consequence, dir string) string {
	if c == nil {
		return "unknown"
	}
	var parts []string
	for _, name := range schema.ConsequenceNumbers {
		if n, ok := c.Number(name); ok {
			parts = append(parts, fmt.Sprint(name, " ", n))
		}
	}
	for name, isSet := range map[string]bool{"outside": c.Outside, "partial": c.Partial} {
		if isSet {
			parts = append(parts, name)
		}
	}
	text := strings.Join(append([]string{strings.Join(parts, ", ")}, c.Sentences...), "\n")
	return strings.TrimSpace(strings.ReplaceAll(text, filepath.Dir(dir), ""))
}

// A file that something else changed after the agent last read it is noted, for Write as for Edit.
func TestOf_NotesChangesSinceTheAgentRead(t *testing.T) {
	t.Parallel()
	dir := prepare(t, "repo; write 3 a; touch -d '2026-01-01 10:00:00 UTC' a")
	for at, want := range map[string]bool{"2026-01-01T09:59:00Z": true, "2026-01-01T09:59:59.5Z": false, "2026-01-01T10:01:00Z": false} {
		read, err := time.Parse(time.RFC3339, at)
		require.NoError(t, err)
		for tool, arguments := range map[string]string{"Write": `"content":"x"`, "Edit": `"old_string":"line 1","new_string":"x"`} {
			c := call.Read(call.Input{
				Agent: "claude-code", Tool: tool, Dir: filepath.ToSlash(dir), Arguments: json.RawMessage(`{"file_path":"a",` + arguments + `}`),
			})
			got := consequence.Of(consequence.Input{Call: c, MaxTime: 10 * time.Second, NamedAt: func(p string) time.Time {
				require.Equal(t, filepath.Join(dir, "a"), p)
				return read
			}})
			require.Equal(t, want, slices.Contains(got.Sentences, `"a" changed since the agent read it.`), "%s %s %v", tool, at, got.Sentences)
		}
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/cases.txt")
	require.NoError(t, err)
	cases := strings.Split(string(text), "\n=== ")[1:]
	require.GreaterOrEqual(t, len(cases), 60)
	for _, c := range cases {
		name, rest, _ := strings.Cut(c, "\n")
		script, rest, _ := strings.Cut(rest, "\n$ ")
		command, want, _ := strings.Cut(rest, "\n")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := prepare(t, script)
			got := of(dir, strings.ReplaceAll(command, "⏎", "\n"))
			if got != nil && len(got.Sentences) > 0 {
				q := schema.HumanInTheLoop{Question: "?", Type: schema.Permission, ToolCall: &schema.ToolCall{Name: "Bash", Consequence: got}}
				require.NoError(t, q.Validate())
			}
			require.Equal(t, strings.TrimSpace(want), show(got, dir))
		})
	}
}
