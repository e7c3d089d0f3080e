// Package scripts_test checks the rules of the repository that a compiler does not:
// length of functions, generated files that are current, plain English.
package scripts_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	root   = ".."
	module = "github.com/hookback/hookback"
)

// TestTree_TopLevel limits the files and folders at the root of the repository.
func TestTree_TopLevel(t *testing.T) {
	t.Parallel()
	allowed := []string{
		"README.md", "LICENSE", "Makefile", "go.mod", "go.sum", "schema", "agentclient", "server", "dashboard", "scripts",
		".ci", ".claude-plugin", ".git", ".gitignore", ".gitattributes", ".golangci.yml", ".editorconfig", ".github",
	}
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	ignored := ignoredNames(t)
	for _, e := range entries {
		if !slices.ContainsFunc(ignored, func(pattern string) bool { ok, _ := path.Match(pattern, e.Name()); return ok }) {
			require.Contains(t, allowed, e.Name(), "move it into schema, agentclient, server, dashboard or scripts")
		}
	}
}

// ignoredNames are the patterns of .gitignore that can match at the top.
func ignoredNames(t *testing.T) []string {
	content, err := os.ReadFile(filepath.Join(root, ".gitignore"))
	require.NoError(t, err)
	var patterns []string
	for line := range strings.Lines(string(content)) {
		patterns = append(patterns, strings.Trim(strings.TrimSpace(line), "/"))
	}
	return patterns
}

// sources returns the slash-separated names of all files with one of the extensions,
// without generated files.
func sources(t *testing.T, extensions ...string) []string {
	var files []string
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "node_modules", "dist", "bin", "test-results", "playwright-report"}, d.Name()):
			return fs.SkipDir
		case strings.Contains(name, "testdata/") && path.Ext(name) != ".txtar": // test data, but golden scripts are sources
		case !d.IsDir() && slices.Contains(extensions, path.Ext(name)) && !isGenerated(t, name):
			files = append(files, name)
		}
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

func isGenerated(t *testing.T, name string) bool {
	content := read(t, name)
	first, _, _ := bytes.Cut(content, []byte("\n"))
	return bytes.HasSuffix(first, []byte("Do not edit."))
}

func read(t *testing.T, name string) []byte {
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	require.NoError(t, err)
	return content
}

func goCommand(args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = errors.New("go " + strings.Join(args, " ") + ": " + string(exit.Stderr))
	}
	return out, err
}

// TestTree_HasNoBinaries keeps executables out of the repository, where go build in
// the wrong folder leaves them and history keeps them.
func TestTree_HasNoBinaries(t *testing.T) {
	t.Parallel()
	magic := [][]byte{[]byte("\x7fELF"), []byte("MZ\x90"), []byte("\xcf\xfa\xed\xfe"), []byte("!<arch>\n")}
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir = root
	tracked, err := cmd.Output()
	if err != nil {
		t.Skip("not a Git clone")
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(tracked), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed but not committed
		}
		require.NoError(t, err)
		for _, m := range magic {
			require.False(t, bytes.HasPrefix(content, m), "%s is an executable: run git rm", name)
		}
	}
}
