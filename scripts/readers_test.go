package scripts_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// argumentReaders may decode the arguments of a tool call. Whoever judges or shows a call takes a call.Call,
// so that what is shown, what is judged and what runs are the same.
var argumentReaders = map[string]string{
	"agentclient/call":        "reads calls",
	"agentclient":             "takes the receipt of a confirmation out of the arguments, and compares the rest",
	"agentclient/recipes/adk": "shows a pending call to A2A clients, and gives a person's changes to the tool",
	"agentclient/hook":        "gives the arguments back to the agent with a person's changes",
	"server/internal/ratings": "shortens arguments that are too long to be read",
}

// decoders decode JSON.
var decoders = regexp.MustCompile(`^(json\.(Unmarshal|NewDecoder)|jsontext\.NewDecoder|splitObject|decodeObject|digest\.EachMember)$`)

// toolArguments is a value that holds the arguments of a tool call.
var toolArguments = regexp.MustCompile(`(?i)\b(\w+\.)*(arguments|toolinput|toolargs)\b`)

func TestCalls_AreReadOnce(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, name := range sources(t, ".go") {
		if strings.HasSuffix(name, "_test.go") || !strings.HasPrefix(name, "agentclient/") && !strings.HasPrefix(name, "server/") {
			continue
		}
		for _, line := range argumentDecoders(t, name) {
			found[path.Dir(name)] = true
			require.Contains(t, argumentReaders, path.Dir(name), "%s decodes the arguments of a call; take a call.Call instead", line)
		}
	}
	for folder := range argumentReaders {
		require.True(t, found[folder] || folder == "agentclient/call", "%s no longer decodes arguments: remove it from the list", folder)
	}
}

// argumentDecoders returns the calls in a file that decode the arguments of a tool call, with their lines.
func argumentDecoders(t *testing.T, name string) (lines []string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, filepath.Join(root, name), nil, 0)
	require.NoError(t, err)
	text := func(n ast.Node) string {
		var b bytes.Buffer
		require.NoError(t, printer.Fprint(&b, files, n))
		return b.String()
	}
	ast.Inspect(file, func(n ast.Node) bool {
		c, ok := n.(*ast.CallExpr)
		if !ok || !decoders.MatchString(text(c.Fun)) {
			return true
		}
		if slices.ContainsFunc(c.Args[:min(1, len(c.Args))], func(a ast.Expr) bool { return toolArguments.MatchString(text(a)) }) {
			lines = append(lines, files.Position(c.Pos()).String())
		}
		return true
	})
	return lines
}
