package scripts_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// builtFrom are the files beside src and public that the page is made of. The
// algorithm is that of dashboard/sources.ts, which writes dist/.sources.
var builtFrom = []string{
	"docs.ts", "index.html", "package.json", "package-lock.json", "sources.ts", "svelte.config.js", "tsconfig.json", "vite.config.ts",
}

// TestDistIsFresh finds a page that was not built again after its sources
// changed, on a machine without Node. make check builds it again and compares.
func TestDistIsFresh(t *testing.T) {
	t.Parallel()
	dashboard := os.DirFS(filepath.Join(root, "dashboard"))
	files := slices.Clone(builtFrom)
	for _, dir := range []string{"src", "public"} {
		err := fs.WalkDir(dashboard, dir, func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && endsUpInDist(name) {
				files = append(files, name)
			}
			return err
		})
		require.NoError(t, err)
	}
	slices.Sort(files)
	var text strings.Builder
	for _, name := range files {
		content, err := fs.ReadFile(dashboard, name)
		require.NoError(t, err)
		fmt.Fprintf(&text, "%s\x00%x\n", name, sha256.Sum256(content))
	}
	want := fmt.Sprintf("%x\n", sha256.Sum256([]byte(text.String())))
	got, err := fs.ReadFile(dashboard, "dist/.sources")
	require.NoError(t, err, "the page was never built: make build-dashboard")
	require.Equal(t, want, string(got), "dashboard/dist is older than its sources: make build-dashboard")
}

// endsUpInDist leaves out what only tests read.
func endsUpInDist(name string) bool {
	return !strings.HasSuffix(name, ".test.ts") && !strings.HasSuffix(name, ".golden.ts") && !strings.HasPrefix(name, "src/testing/")
}
