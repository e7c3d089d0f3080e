package scripts_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/stretchr/testify/require"
)

// dashboardInputs are the inputs of the dashboard build besides src and public. The
// hash is computed as in dashboard/sources.ts, which writes dist/.sources.
var dashboardInputs = []string{
	"compress.ts", "index.html", "package.json", "package-lock.json", "sources.ts", "svelte.config.js", "tsconfig.json", "vite.config.ts",
}

// TestDist_IsCurrent fails if the sources of the dashboard changed after its last
// build. It needs no Node; make check rebuilds and compares.
func TestDist_IsCurrent(t *testing.T) {
	t.Parallel()
	dashboard := os.DirFS(filepath.Join(root, "dashboard"))
	files := slices.Clone(dashboardInputs)
	for _, dir := range []string{"src", "public"} {
		err := fs.WalkDir(dashboard, dir, func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && isDashboardInput(name) {
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
	require.NoError(t, err, "no build: run make build-dashboard")
	require.Equal(t, want, string(got), "dashboard/dist is not current: run make build-dashboard")
}

// TestDist_CompressedFilesAreCurrent unpacks every compressed file of the build. make check does not
// compare their bytes: another version of Node may compress otherwise.
func TestDist_CompressedFilesAreCurrent(t *testing.T) {
	t.Parallel()
	dist := os.DirFS(filepath.Join(root, "dashboard", "dist"))
	unpacked := 0
	for ending, unpack := range map[string]func(io.Reader) (io.Reader, error){
		".br": func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil },
		".gz": func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	} {
		require.NoError(t, fs.WalkDir(dist, ".", func(name string, _ fs.DirEntry, err error) error {
			plain, isCompressed := strings.CutSuffix(name, ending)
			if err != nil || !isCompressed {
				return err
			}
			want, err := fs.ReadFile(dist, plain)
			require.NoError(t, err)
			packed, err := fs.ReadFile(dist, name)
			require.NoError(t, err)
			require.Less(t, len(packed), len(want), name)
			r, err := unpack(bytes.NewReader(packed))
			require.NoError(t, err)
			got, err := io.ReadAll(r)
			require.NoError(t, err, name)
			require.Equal(t, string(want), string(got), name)
			unpacked++
			return nil
		}))
	}
	require.Greater(t, unpacked, 40)
}

// isDashboardInput reports whether a file of src or public is part of the build; files
// that only tests read are not.
func isDashboardInput(name string) bool {
	return !strings.HasSuffix(name, ".test.ts") && !strings.HasSuffix(name, ".golden.ts") && !strings.HasPrefix(name, "src/testing/")
}
