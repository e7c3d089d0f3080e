package project_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/project"
)

func TestName(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]string{
		"/home/dev/shop":                         "shop",
		"/home/dev/shop/":                        "shop",
		`C:\src\shop\`:                           "shop",
		`C:\`:                                    "",
		"/":                                      "",
		"":                                       "",
		"/home/dev/shop/.claude/worktrees/fix-1": "shop",
		"/home/dev/shop/.claude/worktrees/fix-1/":    "shop",
		"/home/dev/shop/.claude/worktrees/fix-1/web": "web", // as in the main working tree
		`C:\src\shop\.claude\worktrees\fix-1`:        "shop",
		"/home/dev/.cursor/worktrees/shop/a1b2c":     "shop",
		"/home/dev/.cursor/worktrees/shop/a1b2c/web": "web",
		"/home/dev/shop/.claude/worktrees":           "worktrees",
		"/.claude/worktrees/fix-1":                   "fix-1",
		"/home/dev/" + strings.Repeat("é", 20):       strings.Repeat("é", 16),
		"/home/dev/x" + strings.Repeat("é", 20):      "x" + strings.Repeat("é", 15),
	} {
		require.Equal(t, want, project.Name(32, dir), dir)
	}
	require.Equal(t, "b", project.Name(32, "/", "/a/b", "/c"))
}

// git runs git without the user's configuration.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

func TestMain_FindsTheMainWorkingTree(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	shop, bare := filepath.Join(dir, "shop"), filepath.Join(dir, "api", ".bare")
	require.NoError(t, os.MkdirAll(shop, 0o700))
	git(t, shop, "init", "-q")
	git(t, shop, "commit", "-q", "--allow-empty", "-m", "first")
	git(t, shop, "worktree", "add", "-q", filepath.Join(dir, "fix-1"))
	git(t, shop, "clone", "-q", "--bare", shop, bare)
	git(t, bare, "worktree", "add", "-q", filepath.Join(dir, "api", "main-tree"))
	git(t, shop, "clone", "-q", "--bare", shop, filepath.Join(dir, "web.git"))
	git(t, filepath.Join(dir, "web.git"), "worktree", "add", "-q", filepath.Join(dir, "web-tree"))
	for from, want := range map[string]string{
		"shop": "shop", "fix-1": "shop", "fix-1/src/cmd": "shop/src/cmd", "api/main-tree": "api", "web-tree": "web", "elsewhere": "elsewhere",
	} {
		require.Equal(t, filepath.Join(dir, want), project.Main(filepath.Join(dir, from)), from)
	}
	require.Equal(t, "relative", project.Main("relative"))
	require.Empty(t, project.Main(""))

	// A file that only claims to be a worktree names no other project.
	claim := filepath.Join(dir, "claim")
	require.NoError(t, os.Mkdir(claim, 0o700))
	link, err := os.ReadFile(filepath.Join(dir, "fix-1", ".git"))
	require.NoError(t, err)
	for _, text := range []string{string(link), "gitdir: ../shop/.git/worktrees/fix-1\n", "gitdir: /nonexistent/.git/worktrees/x", "", "x"} {
		require.NoError(t, os.WriteFile(filepath.Join(claim, ".git"), []byte(text), 0o600))
		require.Equal(t, claim, project.Main(claim), text)
	}
	// An archive that contains the repository that it claims to belong to.
	inside := filepath.Join(claim, "doc", "trusted", ".git", "worktrees", "x")
	require.NoError(t, os.MkdirAll(inside, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(claim, ".git"), []byte("gitdir: doc/trusted/.git/worktrees/x\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(inside, "gitdir"), []byte("../../../../../.git\n"), 0o600))
	require.Equal(t, claim, project.Main(claim))
	// A worktree with relative paths, as git writes them with worktree.useRelativePaths.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "fix-1", ".git"), []byte("gitdir: ../shop/.git/worktrees/fix-1\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(shop, ".git", "worktrees", "fix-1", "gitdir"), []byte("../../../../fix-1/.git\n"), 0o600))
	require.Equal(t, shop, project.Main(filepath.Join(dir, "fix-1")))
}
