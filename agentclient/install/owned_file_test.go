package install_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/install"
)

const clineFile = "Documents/Cline/Hooks/PreToolUse"

// writeScript writes an executable that records its input and arguments and prints an
// answer.
func (m *testMachine) writeScript(path, answer string) {
	m.write(path, "#!/bin/sh\ncat > \"$0.in\"\necho \"$@\" > \"$0.args\"\n"+answer+"\n")
	require.NoError(m.t, os.Chmod(path, 0o700)) //nolint:gosec // it is run
}

// runClineHook runs the installed Cline hook and returns its output.
func (m *testMachine) runClineHook(input string) (stdout string) {
	m.t.Helper()
	cmd := exec.CommandContext(m.t.Context(), m.home(clineFile))
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.Output()
	require.NoError(m.t, err)
	return string(out)
}

func TestClineScript_ChainsPreviousHook(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	input := `{"hookName": "PreToolUse", "text": "a 'b' %s \\n $x"}`
	m.writeScript(m.home("bin of mine/hookback"), `echo '{"cancel":false}'`)
	m.writeScript(m.home(clineFile), `echo '{"contextModification":"theirs"}'`)
	before := m.read(m.home(clineFile))

	o := installOptions("cline")
	o.Binary = m.home("bin of mine/hookback")
	p := m.install(o)
	require.Contains(t, planNotes(p), "the existing hook is renamed to PreToolUse.chained and runs after ours")
	require.Equal(t, "{\"contextModification\":\"theirs\"}\n", m.runClineHook(input))
	require.Equal(t, input+"\n", m.read(m.home("bin of mine/hookback.in")))
	require.Equal(t, "hook cline --event PreToolUse\n", m.read(m.home("bin of mine/hookback.args")))
	require.Equal(t, input+"\n", m.read(m.home(clineFile+".chained.in")))
	require.False(t, planHasChanges(m.plan(o)), "again")

	m.writeScript(o.Binary, `echo '{"cancel":true,"errorMessage":"no"}'`)
	require.NoError(t, os.Remove(m.home(clineFile+".chained.in")))
	require.Equal(t, "{\"cancel\":true,\"errorMessage\":\"no\"}\n", m.runClineHook(input))
	require.NoFileExists(t, m.home(clineFile+".chained.in"), "a denial is final")

	m.writeScript(o.Binary, `echo '{"overrideInput":{"commands":["ls"]}}'`)
	require.Equal(t, "{\"overrideInput\":{\"commands\":[\"ls\"]}}\n", m.runClineHook(input), "the unedited call must not run")
	m.writeScript(m.home(clineFile+".chained"), `echo '{"cancel": true}'`)
	require.Equal(t, "{\"cancel\": true}\n", m.runClineHook(input), "the previous hook can still deny")
	m.writeScript(m.home(clineFile+".chained"), `echo '{"contextModification":"theirs"}'`)

	require.NoError(t, os.Remove(o.Binary))
	require.Equal(t, "{\"contextModification\":\"theirs\"}\n", m.runClineHook(input), "without hookback")

	m.uninstall(install.Options{})
	require.Equal(t, before, m.read(m.home(clineFile)))
	files, err := filepath.Glob(m.home("Documents/Cline/Hooks/*"))
	require.NoError(t, err)
	require.Equal(t, []string{m.home(clineFile), m.home(clineFile + ".chained.in"), m.home(clineFile + ".chained.args")}[:1], files[:1])
	for _, file := range files {
		require.Contains(t, file, "PreToolUse", "the other events had no hook")
	}
}

func TestClineScript_WithoutPreviousHook(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	o := installOptions("cline")
	o.Binary = m.home("hookback")
	m.install(o)
	require.Empty(t, m.runClineHook("{}"), "without hookback, no opinion")
	m.writeScript(o.Binary, "exit 3")
	require.Empty(t, m.runClineHook("{}"), "a failing hookback has no opinion either")
	m.writeScript(o.Binary, "echo '{}'")
	require.Equal(t, "{}\n", m.runClineHook("{}"))
}

func TestOwnedFile_ModifiedFileIsKept(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	m.install(installOptions("cline"))
	edited := m.read(m.home(clineFile)) + "# mine\n"
	m.write(m.home(clineFile), edited)
	require.Contains(t, planNotes(m.install(installOptions("cline"))), "it was changed by hand and was kept; use --force to overwrite it")
	require.Equal(t, edited, m.read(m.home(clineFile)))
	require.Contains(t, planNotes(m.uninstall(install.Options{})), "it was changed by hand and was kept; use --force to remove it")
	require.Equal(t, edited, m.read(m.home(clineFile)))
	require.NoError(t, os.RemoveAll(m.machine.State))
	m.uninstall(install.Options{})
	require.NoFileExists(t, m.home(clineFile), "without a manifest, the second line identifies the owner")
}

func TestOwnedFile_SecondChainIsRejected(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	m.write(m.home(clineFile), "theirs")
	m.write(m.home(clineFile+".chained"), "theirs too")
	p := m.plan(installOptions("cline"))
	require.Len(t, p.Problems, 1)
	require.ErrorIs(t, p.Problems[0].Err, os.ErrExist)
	require.Empty(t, p.Apply())
	require.Equal(t, "theirs", m.read(m.home(clineFile)))
}

// Applying a diff by its line numbers must yield the new file.
func TestDiff_AppliesAsPatch(t *testing.T) {
	t.Parallel()
	var long strings.Builder
	for i := range 40 {
		long.WriteString(strings.Repeat("x", i) + "\n")
	}
	for _, test := range []struct{ before, after string }{
		{"a\nb\n", "a\nb"},
		{"", "a\nb\n"},
		{long.String(), "first\n" + strings.Replace(long.String(), "xxxxx\n", "new\nnew\n", 1) + "last"},
		{long.String(), strings.Replace(long.String(), "\nxxx\n", "\n", 1)},
		{"a\r\nb\r\n", "a\nb\n"},
	} {
		diff := install.DiffOf(test.before, test.after)
		require.Equal(t, test.after, applyPatch(t, test.before, diff), diff)
	}
	require.Equal(t, 3, strings.Count(install.DiffOf(long.String(), "first\n"+strings.Replace(long.String(), strings.Repeat("x", 20)+"\n", "new\n", 1)+"last\n"), "@@ -"))
	require.Empty(t, install.DiffOf("a", "a"))
	deleted := install.Change{File: "f", Exists: true, Delete: true}
	require.Equal(t, "--- f\n+++ /dev/null\n", deleted.Diff())
}

func applyPatch(t *testing.T, before, diff string) string {
	t.Helper()
	_, diff, found := strings.Cut(diff, "\n+++ ")
	require.True(t, found)
	_, diff, _ = strings.Cut(diff, "\n")
	from := strings.SplitAfter(before, "\n")
	at, out := 0, ""
	for _, line := range strings.SplitAfter(diff, "\n") {
		switch {
		case line == "":
		case strings.HasPrefix(line, "@@ "):
			var start int
			for _, r := range line[4:] {
				if r < '0' || r > '9' {
					break
				}
				start = start*10 + int(r-'0')
			}
			if strings.Contains(line, ",0 +") {
				start++ // an empty range starts after this line
			}
			for ; at < start-1; at++ {
				out += from[at]
			}
		case line[0] == ' ':
			require.Equal(t, from[at], line[1:])
			out, at = out+line[1:], at+1
		case line[0] == '-':
			require.Equal(t, strings.TrimSuffix(from[at], "\n"), strings.TrimSuffix(line[1:], "\n"))
			at++
		case line[0] == '+':
			out += line[1:]
		case line[0] == '\\':
			out = strings.TrimSuffix(out, "\n")
		}
	}
	for ; at < len(from); at++ {
		out += from[at]
	}
	return out
}

func TestParseCommand_RecognizesOwnHooks(t *testing.T) {
	t.Parallel()
	for line, ours := range map[string]bool{
		"/a/hookback hook codex":                                                      true,
		"hookback hook codex --observe":                                               true,
		`C:\x\hookback.exe hook codex`:                                                false, // a shell would interpret the backslashes
		"'C:\\x\\hookback.exe' hook codex":                                            false, // a path of another system
		"C:/x/hookback.exe hook codex":                                                true,
		"[ -x /a/hookback ] || exit 0; exec /a/hookback hook codex --limit 1s":        true,
		"[ -x '/it'\\''s/hookback' ] || exit 0; exec '/it'\\''s/hookback' hook codex": true,
		"command -v hookback >/dev/null 2>&1 || exit 0; exec hookback hook codex":     true,
		"[ -x /a/hookback ] || exit 0; exec /b/hookback hook codex":                   false,
		"[ -x /a/hookback ] || exit 1; exec /a/hookback hook codex":                   false,
		"command -v hookback >/dev/null 2>&1 || exit 0; exec /a/hookback hook codex":  false,
		"/a/hookback hook gemini":                                                     false,
		"/a/hookback hook":                                                            false,
		"/a/hookback ask hook codex":                                                  false,
		"/a/hookback-old hook codex":                                                  false,
		"./hookback hook codex":                                                       false,
		"/a/hookback hook codex | tee log":                                            false,
		"/a/hookback hook codex && x":                                                 false,
		"/a/hookback hook codex $(x)":                                                 false,
		"/a/hookback hook codex 'x":                                                   false,
		"sh -c '/a/hookback hook codex'":                                              false,
		"":                                                                            false,
	} {
		require.Equal(t, ours, install.IsOurs(line, "codex"), line)
	}
}
