// Package scripts_test holds the rules of the tree that a compiler doesn't: who
// may import whom, how long a function may be, which files are fresh.
package scripts_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	root   = ".."
	module = "github.com/hookback/hookback"
)

// TestTopLevel keeps the root of the repository a table of contents.
func TestTopLevel(t *testing.T) {
	t.Parallel()
	allowed := []string{
		"README.md", "LICENSE", "Makefile", "go.mod", "go.sum", "schema", "agentclient", "server", "dashboard", "scripts",
		".ci", ".git", ".gitignore", ".gitattributes", ".golangci.yml", ".editorconfig", ".github",
	}
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	ignored := ignoredNames(t)
	for _, e := range entries {
		if !slices.ContainsFunc(ignored, func(pattern string) bool { ok, _ := path.Match(pattern, e.Name()); return ok }) {
			require.Contains(t, allowed, e.Name(), "nothing new at the top: which of schema, agentclient, server, dashboard, scripts is it?")
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

// sources lists the files below the root that people write, slash-separated.
func sources(t *testing.T, extensions ...string) []string {
	var files []string
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "node_modules", "dist", "bin", "test-results", "playwright-report"}, d.Name()):
			return fs.SkipDir
		case strings.Contains(name, "testdata/") && path.Ext(name) != ".txtar": // what tests read is no source, but golden scripts are
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

// goPackage is what go list tells of a package.
type goPackage struct {
	ImportPath   string
	Dir          string
	Export       string
	Standard     bool
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
	Imports      []string
	Deps         []string
}

// short is the package's path below the module: server/internal/hub.
func (p goPackage) short() string { return strings.TrimPrefix(p.ImportPath, module+"/") }

// ours lists the packages of this module, without their tests.
var ours = sync.OnceValues(func() ([]goPackage, error) { return list("./...") })

func list(args ...string) ([]goPackage, error) {
	out, err := goCommand(append([]string{"list", "-json=ImportPath,Dir,Export,Standard,GoFiles,TestGoFiles,XTestGoFiles,Imports,Deps"}, args...)...)
	if err != nil {
		return nil, err
	}
	var all []goPackage
	d := json.NewDecoder(bytes.NewReader(out))
	for {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
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

// TestNothingBuiltIsCommitted keeps programs out of the repository: a go build in
// the wrong place leaves one, and history keeps it for ever.
func TestNothingBuiltIsCommitted(t *testing.T) {
	t.Parallel()
	magic := [][]byte{[]byte("\x7fELF"), []byte("MZ\x90"), []byte("\xcf\xfa\xed\xfe"), []byte("!<arch>\n")}
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir = root
	tracked, err := cmd.Output()
	if err != nil {
		t.Skip("this is no clone")
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(tracked), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed, and not committed yet
		}
		require.NoError(t, err)
		for _, m := range magic {
			require.False(t, bytes.HasPrefix(content, m), "%s is a program: git rm it", name)
		}
	}
}
