package scripts_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// scriptImport finds the relative module of an import, an export, a dynamic import or a
// mock in a script of the dashboard.
var scriptImport = regexp.MustCompile(`(?:\bfrom|\bimport|\bimport\(|\bmock\()\s*['"](\.[^'"]+)['"]`)

// dashboardRoom returns the room of a file below dashboard/src: "lib", "app", "testing",
// "features/inbox" and so on. Files directly in src are in the room "".
func dashboardRoom(file string) string {
	top, rest, below := strings.Cut(file, "/")
	if !below {
		return ""
	}
	if top != "features" {
		return top
	}
	feature, _, _ := strings.Cut(rest, "/")
	return top + "/" + feature
}

// mayImportRoom reports whether a file in one room of the dashboard may import from
// another: lib imports nothing but lib, a feature imports lib, and app imports all.
func mayImportRoom(from, to string) bool {
	switch {
	case from == to || to == "lib" || to == "testing":
		return true
	case from == "app":
		return strings.HasPrefix(to, "features/")
	default:
		return from == "" && to == "app"
	}
}

func TestDashboard_FeaturesImportLibOnly(t *testing.T) {
	t.Parallel()
	src := filepath.Join(root, "dashboard", "src")
	imports := 0
	err := fs.WalkDir(os.DirFS(src), ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(file) != ".ts" && path.Ext(file) != ".svelte" {
			return err
		}
		from := dashboardRoom(file)
		text, err := os.ReadFile(filepath.Join(src, file))
		if err != nil {
			return err
		}
		for _, m := range scriptImport.FindAllStringSubmatch(string(text), -1) {
			target := path.Join(path.Dir(file), m[1])
			if strings.HasPrefix(target, "../") {
				continue // a fixture of another part
			}
			imports++
			to := dashboardRoom(target)
			require.True(t, to != "testing" || from == "testing" || strings.HasSuffix(file, ".test.ts"), "%s: only tests import %s", file, target)
			if !mayImportRoom(from, to) {
				t.Errorf("dashboard/src/%s must not import %s: features import lib only, lib imports lib only", file, target)
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, imports, 500, "found no imports")
}

func TestMayImportRoom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"features/inbox", "lib", true},
		{"features/inbox", "features/inbox", true},
		{"features/inbox", "features/rules", false},
		{"features/inbox", "app", false},
		{"lib", "features/inbox", false},
		{"lib", "app", false},
		{"lib", "", false},
		{"app", "features/inbox", true},
		{"", "app", true},
		{"", "features/inbox", false},
	} {
		require.Equal(t, c.want, mayImportRoom(c.from, c.to), "%s imports %s", c.from, c.to)
	}
}
