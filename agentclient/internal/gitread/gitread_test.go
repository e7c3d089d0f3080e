package gitread_test

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/internal/gitread"
)

// git runs git without the user's configuration, and returns its output.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=Ada", "-c", "user.email=ada@example.com"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return strings.TrimSpace(string(out))
}

// newRepo returns a repository with commits of one long file, of which packs have deltas.
func newRepo(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	git(t, dir, "init", "-q", "-b", "main")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "docs", "deep"), 0o700))
	text := ""
	for i := range 6 {
		for j := range 60 {
			text += fmt.Sprintf("line %d of version %d\n", j*7919, i)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "docs", "deep", "long.txt"), []byte(text), 0o600))
		git(t, dir, "add", ".")
		git(t, dir, "commit", "-q", "-m", fmt.Sprintf("version %d", i))
	}
	return dir
}

// requireSame compares every object with what git reads.
func requireSame(t *testing.T, dir string) {
	t.Helper()
	r, err := gitread.Open(filepath.Join(dir, "docs"))
	require.NoError(t, err)
	defer r.Close()
	require.Equal(t, dir, r.Root)
	id, err := r.Ref("HEAD")
	require.NoError(t, err)
	require.Equal(t, git(t, dir, "rev-parse", "HEAD"), hexOf(id))
	require.Equal(t, git(t, dir, "symbolic-ref", "HEAD"), r.HeadBranch())
	for _, path := range []string{"none", "docs/deep/none", "docs/deep/long.txt/x"} {
		_, found, err := r.FileAt(id, path)
		require.NoError(t, err, path)
		require.False(t, found, path)
	}
	_, _, err = r.FileAt(id, "docs/deep")
	require.ErrorContains(t, err, "not a regular file")
	for commits := 1; ; commits++ {
		c, err := r.Commit(id)
		require.NoError(t, err)
		require.Equal(t, "Ada", c.Author)
		require.Equal(t, git(t, dir, "rev-parse", hexOf(id)+"^{tree}"), hexOf(c.Tree))
		text, found, err := r.FileAt(id, "docs/deep/long.txt")
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, git(t, dir, "show", hexOf(id)+":docs/deep/long.txt"), strings.TrimSpace(text))
		if len(c.Parents) == 0 {
			require.Equal(t, 6, commits)
			return
		}
		id = c.Parents[0]
	}
}

func hexOf(id gitread.OID) string { return hex.EncodeToString([]byte(id)) }

func TestRepository_ReadsWhatGitReads(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	t.Run("loose", func(t *testing.T) { requireSame(t, dir) })
	git(t, dir, "gc", "-q", "--aggressive", "--prune=now")
	t.Run("packed", func(t *testing.T) { requireSame(t, dir) })
	copied, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	git(t, dir, "worktree", "add", "-q", filepath.Join(copied, "linked"))
	t.Run("worktree", func(t *testing.T) { requireSame(t, filepath.Join(copied, "linked")) })
	git(t, copied, "clone", "-q", "--shared", dir, "shared")
	r, err := gitread.Open(filepath.Join(copied, "shared"))
	require.NoError(t, err)
	defer r.Close()
	id, err := r.Ref("refs/remotes/origin/HEAD")
	require.NoError(t, err)
	require.Equal(t, git(t, dir, "rev-parse", "HEAD"), hexOf(id))
	_, _, err = r.FileAt(id, "docs/deep/long.txt")
	require.Error(t, err, "an alternate is not followed, and its objects do not count as absent files")
	for _, ref := range []string{"refs/../../../etc/passwd", "etc/passwd", "../HEAD", "refs/none"} {
		id, _ := r.Ref(ref)
		require.Empty(t, id, ref)
	}
}

// A hostile repository is an error: it blocks nothing and fills no memory.
func TestRepository_HostileFiles(t *testing.T) {
	t.Parallel()
	_, err := gitread.Open(t.TempDir())
	require.ErrorIs(t, err, gitread.ErrNoRepository)
	head := func(dir string) error {
		r, err := gitread.Open(dir)
		if err != nil {
			return err
		}
		defer r.Close()
		id, err := r.Ref("HEAD")
		if err != nil || id == "" {
			return cmp.Or(err, gitread.ErrNotFound)
		}
		_, _, err = r.FileAt(id, "docs/deep/long.txt")
		return err
	}
	packed := newRepo(t)
	git(t, packed, "gc", "-q", "--aggressive", "--prune=now")
	require.NoError(t, head(packed))
	packs, err := filepath.Glob(filepath.Join(packed, ".git/objects/pack/*"))
	require.NoError(t, err)
	for _, change := range []struct {
		name string
		do   func(git string) error
	}{
		{"HEAD that names itself", func(git string) error { return os.WriteFile(filepath.Join(git, "HEAD"), []byte("ref: HEAD"), 0o600) }},
		{"HEAD outside", func(git string) error {
			return os.WriteFile(filepath.Join(git, "HEAD"), []byte("ref: refs/../../../x"), 0o600)
		}},
		{"HEAD of no object", func(git string) error {
			return os.WriteFile(filepath.Join(git, "HEAD"), bytes.Repeat([]byte("ab"), 20), 0o600)
		}},
		{"HEAD with text", func(git string) error { return os.WriteFile(filepath.Join(git, "HEAD"), []byte("x"), 0o600) }},
		{"reftables", func(git string) error {
			return os.WriteFile(filepath.Join(git, "config"), []byte("[extensions]\n\trefStorage = reftable\n"), 0o600)
		}},
		{"no packs", func(git string) error { return os.RemoveAll(filepath.Join(git, "objects")) }},
		{"a pipe", func(git string) error {
			if runtime.GOOS == "windows" {
				return os.Remove(filepath.Join(git, "HEAD"))
			}
			file := filepath.Join(git, "HEAD")
			return errorOf(os.Remove(file), exec.Command("mkfifo", file).Run())
		}},
		{"a folder", func(git string) error {
			file := filepath.Join(git, "HEAD")
			return errorOf(os.Remove(file), os.Mkdir(file, 0o700))
		}},
	} {
		dir := t.TempDir()
		require.NoError(t, os.CopyFS(dir, os.DirFS(packed)))
		require.NoError(t, change.do(filepath.Join(dir, ".git")), change.name)
		require.Error(t, head(dir), change.name)
	}
	for _, pack := range packs { // every damage is an error or harmless, and none is a panic
		whole, err := os.ReadFile(pack)
		require.NoError(t, err)
		require.NoError(t, os.Chmod(pack, 0o600))
		for i := 0; i < len(whole); i += 97 {
			damaged := bytes.Clone(whole)
			damaged[i] ^= 0xff
			require.NoError(t, os.WriteFile(pack, damaged, 0o600))
			_ = head(packed)
			require.NoError(t, os.WriteFile(pack, whole[:i], 0o600))
			_ = head(packed)
		}
		require.NoError(t, os.WriteFile(pack, whole, 0o600))
	}
	require.NoError(t, head(packed))
}

func errorOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
