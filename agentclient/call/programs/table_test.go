package programs

import (
	"context"
	"crypto/sha256"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// kindSamples has a value of each kind that exists in the test's directory.
var kindSamples = map[string]string{
	"text": "a", "number": "1", "word": "a", "path": "src/a.txt", "file": "src/a.txt", "revision": "HEAD", "lines": "1,2p", "filter": ".", "format": "+%s",
	"resource": "pods", "named": "src/a.txt", "literal": "a", "names": "*.txt", "package": "a", "archive": "src/a.txt", "setting": "user.name",
	"tree": "src", "searched": "a", "program": "ls", "github": "12", "traced": "1,1:src/a.txt",
}

func (k kind) sample() string {
	if s, ok := kindSamples[k.name]; ok {
		return s
	}
	first, _, _ := strings.Cut(k.name, "|")
	return first
}

// calls returns a call for each option of the row, and one without.
func (r *harmlessRow) calls(program string) (calls [][]string) {
	var operands []string
	for _, k := range r.operands {
		operands = append(operands, k.sample())
	}
	names := []string{""}
	for name := range r.options {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		o := r.options[name]
		call := append([]string{program}, r.subcommands...)
		rest := operands
		switch {
		case name == "":
		case name == "-#":
			call = append(call, "-5")
		case !o.hasValue():
			call = append(call, name)
		case o.optional && len(name) > 2:
			call = append(call, name+"="+o.value.sample())
		case o.optional:
			call = append(call, name+o.value.sample())
		default:
			call = append(call, name, o.value.sample())
		}
		if o.operand && len(rest) > 0 {
			rest = rest[1:]
		}
		if r.needsOption && !o.needed {
			continue
		}
		calls = append(calls, append(call, rest...))
	}
	return calls
}

// unwatched are programs that need a network or a service, or that wait.
var unwatched = strings.Fields("docker podman kubectl oc helm gh npm npx pip pip3 brew apt apt-cache journalctl systemctl tmux nvidia-smi sleep terraform tofu aws gcloud az code ssh bun deno go")

// TestHarmlessTable_ChangesNothing runs every line of the table with each of its options, as far as
// the programs are installed, in a repository, and compares all files before and after, those of git
// included.
func TestHarmlessTable_ChangesNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs several hundred programs")
	}
	dir := testRepository(t)
	here := WorkingDir{Project: dir}
	ran := 0
	for program := range harmlessPrograms.lines() {
		rows := harmlessPrograms.of(program)
		file, err := exec.LookPath(program)
		runs := err == nil && !slices.Contains(unwatched, program)
		for _, r := range rows {
			if slices.Equal(r.subcommands, beforeSubcommand) {
				continue
			}
			before := snapshot(t, dir)
			for _, call := range r.calls(program) {
				require.True(t, Harmless(call, here), "%q", call)
				if runs && !follows(call) {
					ran++
					runQuietly(t, dir, file, call[1:])
				}
			}
			require.Equal(t, before, snapshot(t, dir), "%s %v changed a file", program, r.subcommands)
		}
	}
	require.Greater(t, ran, 300)
}

// follows reports whether a call waits for more input.
func follows(call []string) bool {
	return call[0] == "tail" && slices.ContainsFunc(call, func(w string) bool {
		return w == "-f" || w == "-F" || strings.HasPrefix(w, "--follow") || w == "--retry" || w == "--pid"
	}) ||
		call[0] == "free" && slices.Contains(call, "-s")
}

func runQuietly(t *testing.T, dir, file string, args []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, file, args...) //nolint:gosec // the calls of the table
	c.Dir = dir
	c.Env = append(withoutGit(), "HOME="+filepath.Join(dir, ".."), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	_ = c.Run() // many samples are no valid values: a call that fails changes nothing either
}

// withoutGit returns the environment without the variables of git. In a git hook or a rebase they name the repository
// of whoever runs the tests, and the commands here would write to it.
func withoutGit() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") })
}

func testRepository(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"src/a.txt": "b\na\nTODO\n", "README.md": "# x\n", "a": "a\n", "go.mod": "module x\n"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o750))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for _, line := range []string{"init -q", "add -A", "-c user.name=x -c user.email=x commit -q -m x", "tag v1", "status"} {
		c := exec.CommandContext(t.Context(), "git", strings.Fields(line)...) //nolint:gosec // fixed words
		c.Dir, c.Env = dir, withoutGit()
		out, err := c.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	return dir
}

// snapshot returns the hash of every file below dir.
func snapshot(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	files := map[string][32]byte{}
	require.NoError(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			files[name] = [32]byte{}
			return err
		}
		text, err := os.ReadFile(name) //nolint:gosec // below the test's directory
		files[name] = sha256.Sum256(text)
		return err
	}))
	return files
}
