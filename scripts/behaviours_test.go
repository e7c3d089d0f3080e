package scripts_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	goProof = regexp.MustCompile("^`(Test\\w+)` in `([^`]+)`$")
	tsProof = regexp.MustCompile("^`([^`]+\\.ts)`: (.+)$")
)

// TestBehaviors_NameExistingTests checks that each behavior of the five seed systems
// names tests, and that these tests exist.
func TestBehaviors_NameExistingTests(t *testing.T) {
	t.Parallel()
	const table = "schema/BEHAVIOURS.md"
	seeds, rows := 0, 0
	for line := range strings.Lines(string(read(t, table))) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "## Seed 00") {
			seeds++
		}
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| | behaviour") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		require.Len(t, cells, 4, "a row has four cells (letters, behavior, where, proof): %s", line)
		rows++
		for proof := range strings.SplitSeq(strings.TrimSpace(cells[3]), "<br>") {
			require.True(t, isProof(t, proof), "%s: %q is not a test in this repository", table, proof)
		}
	}
	require.Equal(t, 5, seeds)
	require.Greater(t, rows, 80)
	require.Contains(t, string(read(t, "README.md")), table)
	require.Contains(t, string(read(t, "schema/doc.go")), "BEHAVIOURS.md")
}

func isProof(t *testing.T, proof string) bool {
	if m := tsProof.FindStringSubmatch(proof); m != nil {
		return strings.Contains(string(read(t, m[1])), m[2])
	}
	m := goProof.FindStringSubmatch(proof)
	if m == nil {
		return false
	}
	pattern, declaration := "*_test.go", "\nfunc "+m[1]+"(t *testing.T)"
	if m[2] == "server/internal/storetest/conformance" { // the tests are methods of a suite
		pattern, declaration = "*.go", "\nfunc (s suite) "+m[1]+"(t *testing.T)"
	}
	files, err := fs.Glob(os.DirFS(filepath.Join(root, filepath.FromSlash(m[2]))), pattern)
	require.NoError(t, err)
	for _, name := range files {
		if strings.Contains(string(read(t, m[2]+"/"+name)), declaration) {
			return true
		}
	}
	return false
}

// TestIsProof_RejectsUnknownTests shows that the check above can fail.
func TestIsProof_RejectsUnknownTests(t *testing.T) {
	t.Parallel()
	for _, proof := range []string{"", "-", "`TestNothing` in `scripts`", "TestBehaviors_NameExistingTests", "`dashboard/e2e/mcp.spec.ts`: not the name of a test"} {
		require.False(t, isProof(t, proof), proof)
	}
	require.True(t, isProof(t, "`TestBehaviors_NameExistingTests` in `scripts`"))
}
