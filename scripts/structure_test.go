package scripts_test

import (
	"bytes"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// maxPackageLines limits a package without its tests and generated files.
const maxPackageLines = 3000

// largePackages are the packages that may be larger, with the reason.
var largePackages = map[string]string{
	"server/internal/store/postgres": "one storage engine: its tables share one writer and one schema",
	"server/internal/store/sqlite":   "one storage engine: its tables share one writer and one schema",
}

func TestPackages_AreSmall(t *testing.T) {
	t.Parallel()
	lines := map[string]int{}
	for _, f := range goFiles(t) {
		if !f.test() {
			lines[filepath.ToSlash(filepath.Dir(f.name))] += bytes.Count(f.text, []byte("\n"))
		}
	}
	for name, n := range lines {
		if _, exempt := largePackages[name]; !exempt {
			require.LessOrEqual(t, n, maxPackageLines, "%s has %d lines: split it along its nouns", name, n)
		}
	}
	for name := range largePackages {
		require.Greater(t, lines[name], maxPackageLines, "%s needs no exemption", name)
	}
}

// cyclicPackages lists the packages whose files refer to one another in circles, with the
// number of files in the largest circle. Methods of one type in several files are such a
// circle. The numbers may only fall, and a new package has none.
var cyclicPackages = map[string]int{
	"agentclient":                           12,
	"agentclient/hook":                      3,
	"agentclient/install":                   10,
	"agentclient/internal/fakehub":          2,
	"agentclient/internal/pins":             2,
	"agentclient/policy":                    11,
	"agentclient/policy/programs":           3,
	"agentclient/receipt":                   2,
	"agentclient/socket":                    3,
	"schema":                                5,
	"schema/gen":                            3,
	"scripts/demo":                          6,
	"scripts/fault":                         2,
	"scripts/licenses":                      3,
	"server/hubtest":                        2,
	"server/internal/app":                   10,
	"server/internal/auth":                  13,
	"server/internal/delivery":              6,
	"server/internal/feed":                  2,
	"server/internal/httpapi":               19,
	"server/internal/httpapi/middleware":    3,
	"server/internal/httpapi/stream":        4,
	"server/internal/hub":                   9,
	"server/internal/mcp":                   4,
	"server/internal/notify":                15,
	"server/internal/peer":                  6,
	"server/internal/query":                 2,
	"server/internal/redact":                5,
	"server/internal/risk":                  16,
	"server/internal/risk/shell":            2,
	"server/internal/rules":                 3,
	"server/internal/sessions":              6,
	"server/internal/sessions/digest":       6,
	"server/internal/store/postgres":        25, // the hub is one of several: its writer, follower and membership share the engine
	"server/internal/store/sqlite":          36,
	"server/internal/storetest/conformance": 2,
}

// TestFiles_ReferOneWay holds the direction within packages: types, then logic, then
// I/O. A circle of files is one file in several pieces.
func TestFiles_ReferOneWay(t *testing.T) {
	t.Parallel()
	packages, err := list("-export", "-deps", "./...")
	require.NoError(t, err)
	exports := map[string]string{}
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
	}
	fset := token.NewFileSet()
	from := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	found := map[string]int{}
	for _, p := range packages {
		if !strings.HasPrefix(p.ImportPath, module) || len(p.GoFiles) < 2 {
			continue
		}
		references := map[string]map[string]bool{}
		for id, object := range uses(t, fset, from, p) {
			if object.Pkg() == nil || object.Pkg().Path() != p.ImportPath || !isTopLevel(object) {
				continue
			}
			user, definer := fileOf(fset, id), fileOfPos(fset, object.Pos())
			if user == definer {
				continue
			}
			if references[user] == nil {
				references[user] = map[string]bool{}
			}
			references[user][definer] = true
		}
		if circle := largestCircle(references); len(circle) > 1 {
			found[p.short()] = len(circle)
			t.Logf("%s: %s", p.short(), strings.Join(circle, " ")) // shown if the test fails
		}
	}
	for name, n := range found {
		require.LessOrEqual(t, n, cyclicPackages[name], "%s: move what these files share into one below them", name)
	}
	if runtime.GOOS == "linux" { // files of other systems change the numbers
		require.Equal(t, cyclicPackages, found, "lower the numbers")
	}
}

func isTopLevel(object types.Object) bool {
	if object.Parent() == object.Pkg().Scope() {
		return true
	}
	function, ok := object.(*types.Func)
	return ok && function.Signature().Recv() != nil
}

func fileOf(fset *token.FileSet, n ast.Node) string { return fileOfPos(fset, n.Pos()) }

func fileOfPos(fset *token.FileSet, pos token.Pos) string {
	return filepath.Base(fset.Position(pos).Filename)
}

// largestCircle returns the largest set of files that all reach one another.
func largestCircle(references map[string]map[string]bool) []string {
	var largest []string
	for _, start := range slices.Sorted(maps.Keys(references)) {
		forward := reachable(references, start)
		var circle []string
		for file := range forward {
			if file == start || reachable(references, file)[start] {
				circle = append(circle, file)
			}
		}
		if len(circle) > len(largest) {
			largest = circle
		}
	}
	slices.Sort(largest)
	return largest
}

func reachable(references map[string]map[string]bool, start string) map[string]bool {
	seen := map[string]bool{}
	queue := []string{start}
	for len(queue) > 0 {
		file := queue[0]
		queue = queue[1:]
		for next := range references[file] {
			if !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	return seen
}
