package scripts_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPins keeps modules at versions without a known vulnerability. Fiber alone would
// select older ones.
func TestPins(t *testing.T) {
	t.Parallel()
	for module, least := range map[string]string{
		"github.com/gofiber/fiber/v2":   "v2.52.15",
		"github.com/valyala/fasthttp":   "v1.74.0", // GO-2026-4950; request smuggling in front of a hub
		"github.com/klauspost/compress": "v1.18.7",
		"golang.org/x/net":              "v0.56.0",
		"github.com/coder/websocket":    "v1.8.15",
		"github.com/andybalholm/brotli": "v1.2.8",
		"github.com/jackc/pgx/v5":       "v5.9.0", // CVE-2026-33815, CVE-2026-33816
	} {
		version := moduleOf(t, module).Version
		require.True(t, atLeast(t, version, least), "%s is %s, below %s", module, version, least)
	}
}

// TestPins_LibcMatchesSQLite: the generated code of modernc.org/sqlite works with
// exactly one version of modernc.org/libc, which its go.mod requires.
func TestPins_LibcMatchesSQLite(t *testing.T) {
	t.Parallel()
	sqlite := moduleOf(t, "modernc.org/sqlite")
	require.Regexp(t, `^v1\.60\.`, sqlite.Version, "v1.61.1 does not pass go mod tidy")
	content, err := os.ReadFile(filepath.Join(sqlite.Dir, "go.mod"))
	require.NoError(t, err)
	named := regexp.MustCompile(`modernc\.org/libc (v\S+)`).FindSubmatch(content)
	require.NotNil(t, named)
	require.Equal(t, string(named[1]), moduleOf(t, "modernc.org/libc").Version)
}

type goModule struct{ Version, Dir string }

func moduleOf(t *testing.T, path string) goModule {
	out, err := goCommand("list", "-m", "-json=Version,Dir", path)
	require.NoError(t, err)
	var m goModule
	require.NoError(t, json.Unmarshal(out, &m))
	return m
}

func atLeast(t *testing.T, version, least string) bool {
	a, b := numbers(t, version), numbers(t, least)
	for i := range a {
		if a[i] != b[i] {
			return a[i] > b[i]
		}
	}
	return true
}

func numbers(t *testing.T, version string) (n [3]int) {
	_, err := fmt.Sscanf(version, "v%d.%d.%d", &n[0], &n[1], &n[2])
	require.NoError(t, err, version)
	return n
}

// TestWorkflows_ActionsArePinned: a tag of an action can be moved, a commit can't.
func TestWorkflows_ActionsArePinned(t *testing.T) {
	t.Parallel()
	used := regexp.MustCompile(`(?m)^\s*(?:- )?uses: (.*)$`)
	pinned := regexp.MustCompile(`^\S+@[0-9a-f]{40} # v[0-9.]+$`)
	files := sources(t, ".yml")
	require.Contains(t, files, ".github/workflows/ci.yml")
	for _, file := range files {
		for _, use := range used.FindAllStringSubmatch(string(read(t, file)), -1) {
			require.Regexp(t, pinned, use[1], file)
		}
	}
}

// TestDependencies_AreExplained keeps direct dependencies few: each one is listed in
// dependencies.md with its purpose.
func TestDependencies_AreExplained(t *testing.T) {
	t.Parallel()
	const list = "server/docs/dependencies.md"
	purposes := string(read(t, list))
	out, err := goCommand("list", "-m", "-f", "{{if not (or .Indirect .Main)}}{{.Path}}{{end}}", "all")
	require.NoError(t, err)
	paths := strings.Fields(string(out))
	require.NotEmpty(t, paths)
	for _, path := range paths {
		require.True(t, strings.Contains(purposes, path), "%s does not list %s", list, path)
	}
}
