package hookrun

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/internal/codeowners"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
)

// ownedRepo is a repository in which ada owns payments.
type ownedRepo struct {
	t   *testing.T
	dir string
}

func (r ownedRepo) git(args ...string) {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", r.dir, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	require.NoError(r.t, err, string(out))
}

func (r ownedRepo) write(name, text string) {
	r.t.Helper()
	file := filepath.Join(r.dir, name)
	require.NoError(r.t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(r.t, os.WriteFile(file, []byte(text), 0o600))
}

func newOwnedRepo(t *testing.T) ownedRepo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	r := ownedRepo{t, t.TempDir()}
	r.git("init", "-q", "-b", "main")
	r.write(".github/CODEOWNERS", "* @all\n/payments/ @ada\n/web/ @lin\n/.github/ @ada\n")
	r.write("payments/charge.go", "x")
	r.git("add", ".")
	r.git("commit", "-q", "-m", "first")
	return r
}

// owners returns the owners of a call of Claude Code, and the problem.
func (r ownedRepo) owners(tool, arguments string) (owners, problem string) {
	r.t.Helper()
	h := &hookRun{workDir: r.dir, env: func(string) string { return "" }}
	got := h.fileOwners(&hook.Call{Event: schema.Event{Agent: "claude-code"}, Tool: &schema.ToolCall{Name: tool, Arguments: []byte(arguments)}, Alias: tool})
	if got == nil {
		return "none", ""
	}
	for _, f := range got.Files {
		owners += strings.Join(f.Owners, " ") + ";"
	}
	return owners, got.Problem
}

func (r ownedRepo) edit(name string) string {
	owners, problem := r.owners("Edit", `{"file_path":"`+filepath.ToSlash(filepath.Join(r.dir, name))+`","old_string":"a","new_string":"b"}`)
	return owners + problem
}

func (r ownedRepo) bash(command string) string {
	owners, problem := r.owners("Bash", `{"command":"`+command+`"}`)
	return owners + problem
}

func TestFileOwners_OfTouchedPaths(t *testing.T) {
	t.Parallel()
	r := newOwnedRepo(t)
	require.Equal(t, "@ada;", r.edit("payments/charge.go"))
	require.Equal(t, "@ada;", r.edit(".github/CODEOWNERS"), "the old owners decide a change of the file")
	require.Equal(t, "@all;", r.edit("other/new/file.go"))
	require.Equal(t, "@ada;@lin;", r.bash("rm payments/charge.go web/x.js"))
	require.Equal(t, "@ada;", r.bash("cat web/x.js; rm payments/charge.go"), "what is changed counts")
	require.Equal(t, "@all;@ada;@lin;", r.bash("rm -rf ."), "a folder has the owners of its parts")
	require.Contains(t, r.bash("make"), "names no file")
	require.NoError(t, os.Symlink("payments", filepath.Join(r.dir, "safe")))
	require.Contains(t, r.edit("safe/charge.go"), "@ada", "a link leads to another owner")
}

// An agent that edits CODEOWNERS gains nothing: not in the working tree, the index, or a commit of its branch.
func TestFileOwners_IgnoresWhatAgentWrites(t *testing.T) {
	t.Parallel()
	r := newOwnedRepo(t)
	const changed = "/payments/ @friend\n"
	r.write(".github/CODEOWNERS", changed)
	require.Equal(t, "@ada;", r.edit("payments/charge.go"), "working tree")
	r.git("add", ".")
	require.Equal(t, "@ada;", r.edit("payments/charge.go"), "index")
	r.git("stash", "-q")
	r.git("checkout", "-q", "-b", "agent")
	r.write(".github/CODEOWNERS", changed)
	r.git("commit", "-q", "-am", "mine")
	require.Equal(t, "@ada;", r.edit("payments/charge.go"), "a commit of its own branch")
	r.git("checkout", "-q", "main")

	// In a clone the default branch of the remote repository counts, whatever is committed.
	clone := ownedRepo{t, filepath.Join(t.TempDir(), "clone")}
	r.git("clone", "-q", r.dir, clone.dir)
	clone.write(".github/CODEOWNERS", changed)
	clone.git("commit", "-q", "-am", "mine")
	require.Equal(t, "@ada;", clone.edit("payments/charge.go"), "a commit of the clone")
}

func TestFileOwners_NamesProblems(t *testing.T) {
	t.Parallel()
	r := newOwnedRepo(t)
	commit := func(text string) {
		r.write(".github/CODEOWNERS", text)
		r.git("commit", "-q", "-am", "next")
	}
	commit(strings.Repeat("/payments/ @ada\n", codeowners.MaxBytes/16) + "# 3 MB and more\n")
	require.Contains(t, r.edit("payments/charge.go"), "larger than")
	commit("[payments] @ada\n")
	require.Contains(t, r.edit("payments/charge.go"), ".github/CODEOWNERS has an error in line 1")
	r.git("rm", "-q", ".github/CODEOWNERS")
	r.git("commit", "-q", "-m", "gone")
	require.Equal(t, "none", r.edit("payments/charge.go"))
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, ".git", "refs", "heads", "main"), []byte("ref: refs/heads/main\n"), 0o600))
	require.Contains(t, r.edit("payments/charge.go"), "can't be read")
}

// A repository that names programs in its configuration starts none of them.
func TestFileOwners_RunsNothing(t *testing.T) {
	t.Parallel()
	r := newOwnedRepo(t)
	ran := filepath.Join(t.TempDir(), "ran")
	program := filepath.Join(t.TempDir(), "evil")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o700))
	for _, key := range []string{"core.fsmonitor", "core.sshCommand", "core.pager", "diff.external", "filter.x.smudge", "filter.x.clean", "alias.show"} {
		r.git("config", key, program)
	}
	r.write(".gitattributes", "* filter=x\n")
	require.NoFileExists(t, ran)
	require.Equal(t, "@ada;", r.edit("payments/charge.go"))
	require.NoFileExists(t, ran)
}

func TestBuildRequest_StatesOwnersAndQuorum(t *testing.T) {
	t.Parallel()
	r := newOwnedRepo(t)
	h := &hookRun{workDir: r.dir, env: func(string) string { return "" }}
	c := &hook.Call{Tool: &schema.ToolCall{Name: "Edit", Arguments: []byte(`{"file_path":"payments/charge.go"}`)}, Alias: "Edit"}
	ask := schema.HumanInTheLoop{Type: schema.Permission}
	h.addOwnersTo(&ask, c, hookDecision{policy: policy.Result{Owners: true, Quorum: 2}})
	require.Equal(t, &schema.Recipients{Owners: true}, ask.Recipients)
	require.Equal(t, 2, ask.RequiredApprovals)
	require.Equal(t, []string{"@ada"}, ask.Context.Owners.Files[0].Owners)
	require.Contains(t, ask.Context.Owners.From, ".github/CODEOWNERS of main, commit ")
	text := schema.HumanInTheLoop{Type: schema.FreeText}
	h.addOwnersTo(&text, c, hookDecision{policy: policy.Result{Quorum: 2}})
	require.Zero(t, text.RequiredApprovals)
	require.Nil(t, text.Recipients)
}
