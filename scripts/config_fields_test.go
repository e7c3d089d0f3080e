package scripts_test

import (
	"go/ast"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// functionFields are the function fields of configurations that stay, with the reason. The
// clock needs none.
var functionFields = map[string]string{
	"agentclient/install agentConfig.ownedFile": "a row of a table of agents, not a dependency: the file that only we write",
}

// TestConfig_HasNoFunctionFields keeps the wiring visible in the import graph: a worker gets the
// interface that it needs, or follows the feed.
func TestConfig_HasNoFunctionFields(t *testing.T) {
	t.Parallel()
	files := serverAndClientFiles(t)
	named := map[string]bool{} // folder and name of each function type
	for _, f := range files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if _, isFunc := spec.Type.(*ast.FuncType); isFunc {
					named[path.Dir(f.name)+" "+spec.Name.Name] = true
				}
			}
			return true
		})
	}
	unused := maps.Clone(functionFields)
	for _, f := range files {
		for field, code := range f.configFields() {
			isFunc := strings.Contains(code, "func(") || named[path.Dir(f.name)+" "+code]
			if !isFunc || code == "func() time.Time" && strings.HasSuffix(field, ".Clock") {
				continue
			}
			name := path.Dir(f.name) + " " + field
			require.Contains(t, functionFields, name, "%s: pass an interface, or let the worker follow the feed", f.name)
			delete(unused, name)
		}
	}
	require.Empty(t, unused, "these fields are gone")
}

func serverAndClientFiles(t *testing.T) []goFile {
	return slices.DeleteFunc(slices.Clone(goFiles(t)), func(f goFile) bool {
		return f.test() || !strings.HasPrefix(f.name, "server/") && !strings.HasPrefix(f.name, "agentclient/")
	})
}

// configFields returns the fields of the structs named …Config, as Type.Field and the type.
func (f goFile) configFields() map[string]string {
	fields := map[string]string{}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || !strings.HasSuffix(strings.ToLower(spec.Name.Name), "config") {
			return true
		}
		if s, ok := spec.Type.(*ast.StructType); ok {
			for _, field := range s.Fields.List {
				for _, name := range field.Names {
					fields[spec.Name.Name+"."+name.Name] = types.ExprString(field.Type)
				}
			}
		}
		return true
	})
	return fields
}

// ownWaits are the files of the server that wait by other means than package feed, with the
// reason.
var ownWaits = map[string]string{
	"server/internal/auth/accounts.go":                      "two intervals: sign-ins that expire, and times of last use to store",
	"server/internal/httpapi/middleware/nethttp_adapter.go": "heartbeat of a slow response",
}

// TestWaits_UsePackageFeed: workers learn what happened from Follow, and wait for their own work
// with an Wakeup. No other package has wake-up channels or sleeps.
func TestWaits_UsePackageFeed(t *testing.T) {
	t.Parallel()
	unused := maps.Clone(ownWaits)
	for _, f := range serverAndClientFiles(t) {
		if !strings.HasPrefix(f.name, "server/internal/") || strings.HasPrefix(f.name, "server/internal/feed/") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			switch code := types.ExprString(call); {
			case code == "make(chan struct{}, 1)", strings.HasPrefix(code, "time.Sleep("), strings.HasPrefix(code, "time.NewTicker("):
				require.Contains(t, ownWaits, f.name, "%s: %s: use feed.Follow, feed.Wakeup or feed.Sleep", f.at(n), code)
				delete(unused, f.name)
			}
			return true
		})
	}
	require.Empty(t, unused, "these files don't wait any more")
}
