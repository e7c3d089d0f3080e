package scripts_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// The limits of the house style.
const (
	maxFileLines     = 650
	p95FileLines     = 400
	maxFunctionLines = 80 // tables not counted
	p95FunctionLines = 45
	maxParameters    = 4
	maxLineColumns   = 140 // literals not counted
	linesByInterface = 1000
)

type goFile struct {
	name string
	fset *token.FileSet
	ast  *ast.File
	text []byte
}

// test reports whether the file is test code. A suite that other packages run cannot be in
// files named _test.go.
func (f goFile) test() bool {
	return strings.HasSuffix(f.name, "_test.go") || strings.HasPrefix(f.name, "server/internal/storetest/conformance/")
}

func (f goFile) at(n ast.Node) string {
	return f.name + ":" + f.fset.Position(n.Pos()).String()[len(f.name)+1:]
}

func (f goFile) lines(n ast.Node) int {
	return f.fset.Position(n.End()).Line - f.fset.Position(n.Pos()).Line + 1
}

var (
	parseOnce sync.Once
	parsed    []goFile
)

// goFiles returns all Go files. The tests share the result and must not change it.
func goFiles(t *testing.T) []goFile {
	parseOnce.Do(func() { parsed = parseGoFiles(t) })
	require.NotEmpty(t, parsed)
	return parsed
}

func parseGoFiles(t *testing.T) (files []goFile) {
	for _, name := range sources(t, ".go") {
		f := goFile{name: name, fset: token.NewFileSet(), text: read(t, name)}
		var err error
		f.ast, err = parser.ParseFile(f.fset, name, f.text, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, f)
	}
	return files
}

func percentile95(lengths []int) int {
	slices.Sort(lengths)
	return lengths[(len(lengths)-1)*95/100]
}

func TestStyle_FilesAreShort(t *testing.T) {
	t.Parallel()
	var lengths []int
	var long []string
	for _, name := range sources(t, ".go", ".ts", ".svelte", ".css", ".sh") {
		n := bytes.Count(read(t, name), []byte("\n"))
		if n > maxFileLines {
			long = append(long, fmt.Sprintf("%s has %d lines", name, n))
		}
		lengths = append(lengths, n)
	}
	require.Empty(t, long, "split them by noun")
	require.LessOrEqual(t, percentile95(lengths), p95FileLines, "files grow long")
}

func TestStyle_FunctionsAreShort(t *testing.T) {
	t.Parallel()
	var lengths []int
	var long []string
	for _, f := range goFiles(t) {
		for _, decl := range f.ast.Decls {
			function, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			n := f.lines(function) - f.tableLines(function)
			if n > maxFunctionLines {
				long = append(long, fmt.Sprintf("%s %s has %d lines", f.at(function), function.Name, n))
			}
			if n := parameters(function); n > maxParameters {
				long = append(long, fmt.Sprintf("%s %s has %d parameters", f.at(function), function.Name, n))
			}
			lengths = append(lengths, n)
		}
	}
	require.Empty(t, long)
	require.LessOrEqual(t, percentile95(lengths), p95FunctionLines, "functions grow long")
}

// parameters counts parameters except a leading context or testing.TB.
func parameters(function *ast.FuncDecl) int {
	n := function.Type.Params.NumFields()
	if n > 0 && slices.Contains([]string{"context.Context", "*testing.T", "*testing.B", "testing.TB"}, types.ExprString(function.Type.Params.List[0].Type)) {
		n--
	}
	return n
}

// tableLines counts the lines of the composite literals in a function.
func (f goFile) tableLines(function *ast.FuncDecl) (n int) {
	ast.Inspect(function, func(node ast.Node) bool {
		literal, ok := node.(*ast.CompositeLit)
		if !ok {
			return true
		}
		n += f.lines(literal) - 1
		return false
	})
	return n
}

func TestStyle_LinesAreNarrow(t *testing.T) {
	t.Parallel()
	var wide []string
	for _, f := range goFiles(t) {
		for i, n := range f.columns() {
			if n > maxLineColumns {
				wide = append(wide, fmt.Sprintf("%s:%d has %d columns", f.name, i+1, n))
			}
		}
	}
	require.Empty(t, wide, "break them after an operator or a comma")
}

// columns returns the width of each line. A tab counts 4. Strings, struct tags, tables and other
// composite literals count 0, as do the spaces that align comments and the examples in comments.
func (f goFile) columns() (widths []int) {
	isLiteral := make([]bool, len(f.text))
	mark := func(from, to token.Pos) {
		for i := f.fset.Position(from).Offset; i < f.fset.Position(to).Offset; i++ {
			isLiteral[i] = true
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			mark(n.Lbrace, n.End())
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				mark(n.Pos(), n.End())
			}
		}
		return true
	})
	offset := 0
	for line := range bytes.Lines(f.text) {
		width := 0
		for i, r := range string(line) {
			switch {
			case isLiteral[offset+i] || r == '\n' || r == ' ' && i > 0 && line[i-1] == ' ':
			case r == '\t':
				width += 4
			default:
				width++
			}
		}
		if bytes.HasPrefix(bytes.TrimSpace(line), []byte("//\t")) {
			width = 0
		}
		widths = append(widths, width)
		offset += len(line)
	}
	return widths
}

// isEngineContract reports whether the interfaces of the folder are the contract of a storage engine.
func isEngineContract(dir string) bool {
	return dir == "server/internal/store" || dir == "server/internal/store/tables"
}

func TestStyle_InterfacesAreRare(t *testing.T) {
	t.Parallel()
	lines, interfaces := 0, []string{}
	for _, f := range goFiles(t) {
		if f.test() {
			continue
		}
		lines += bytes.Count(f.text, []byte("\n"))
		ast.Inspect(f.ast, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if i, ok := spec.Type.(*ast.InterfaceType); ok && !isEngineContract(path.Dir(f.name)) {
				interfaces = append(interfaces, f.at(spec)+" "+spec.Name.Name)
				require.LessOrEqual(t, i.Methods.NumFields(), 4, "%s %s", f.at(spec), spec.Name)
			}
			return true
		})
	}
	require.LessOrEqual(t, len(interfaces)*linesByInterface, max(lines, linesByInterface), "%v", interfaces)
}

func TestStyle_ExportedNamesAreDocumented(t *testing.T) {
	t.Parallel()
	documented := map[string]bool{} // folder → has a package comment
	var bare []string
	for _, f := range goFiles(t) {
		dir := path.Dir(f.name)
		documented[dir] = documented[dir] || f.ast.Doc.Text() != ""
		if f.test() || dir == "server/internal/store/tables" { // its methods are documented at the roles of package store
			continue
		}
		for _, decl := range f.ast.Decls {
			for _, name := range undocumented(decl) {
				bare = append(bare, f.at(decl)+" "+name)
			}
		}
	}
	require.Empty(t, bare, "exported names without a comment")
	for dir, ok := range documented {
		require.True(t, ok, "%s has no package comment", dir)
	}
}

func undocumented(decl ast.Decl) (names []string) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		// The names Error, String and Unwrap state the interface that the method implements.
		plain := d.Recv != nil && d.Type.Params.NumFields() == 0 && slices.Contains([]string{"Error", "String", "Unwrap"}, d.Name.Name)
		if d.Name.IsExported() && exportedReceiver(d) && d.Doc.Text() == "" && !plain {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && d.Doc.Text() == "" && s.Doc.Text() == "" {
					names = append(names, s.Name.Name)
				}
			case *ast.ValueSpec:
				if s.Names[0].IsExported() && d.Doc.Text() == "" && s.Doc.Text() == "" && s.Comment.Text() == "" {
					names = append(names, s.Names[0].Name)
				}
			}
		}
	}
	return names
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	exported := true
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok {
			exported = exported && name.IsExported()
		}
		return true
	})
	return exported
}

func TestStyle_TestsDoNotSleep(t *testing.T) {
	t.Parallel()
	for _, f := range goFiles(t) {
		if !f.test() {
			continue
		}
		for _, i := range f.ast.Imports {
			require.NotEqual(t, `"github.com/stretchr/testify/assert"`, i.Path.Value, "%s: require, not assert", f.name)
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := s.X.(*ast.Ident)
			require.False(t, ok && pkg.Name == "time" && s.Sel.Name == "Sleep", "%s: wait on a condition", f.at(s))
			return true
		})
	}
}

// TestStyle_GoroutinesAreChecked requires a goroutine leak check in the tests of every
// package that starts goroutines.
func TestStyle_GoroutinesAreChecked(t *testing.T) {
	t.Parallel()
	starts, watched := map[string]string{}, map[string]bool{}
	for _, f := range goFiles(t) {
		dir := path.Dir(f.name)
		if f.test() {
			watched[dir] = watched[dir] || bytes.Contains(f.text, []byte("goleak."))
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				starts[dir] = f.at(g)
			}
			return true
		})
	}
	for dir, where := range starts {
		command := dir == "server" || strings.HasPrefix(dir, "scripts")                                                              // its goroutines end with the process
		testServer := dir == "server/hubtest" || dir == "agentclient/internal/fakehub" || dir == "server/internal/notify/notifytest" // checked by the tests that start it
		if command || testServer {
			continue
		}
		require.True(t, watched[dir], "%s starts a goroutine; %s needs goleak in its TestMain", where, dir)
	}
}

func TestStyle_PackageNamesAreSpecific(t *testing.T) {
	t.Parallel()
	vague := []string{
		"util", "utils", "common", "helper", "helpers", "model", "models", "types", "core", "base", "manager", "misc", "shared", "lib",
	}
	for _, f := range goFiles(t) {
		require.NotContains(t, vague, strings.TrimSuffix(f.ast.Name.Name, "_test"), f.name)
	}
}

func TestStyle_NoCommentBanners(t *testing.T) {
	t.Parallel()
	banner := regexp.MustCompile(`(?m)^\s*(//|/\*|\*|#|<!--)\s*([-=*#~_/+]\s?){4,}`)
	step := regexp.MustCompile(`(?mi)^\s*(//|#)\s*step \d`)
	for _, name := range sources(t, ".go", ".ts", ".svelte", ".css", ".sh", ".js") {
		text := read(t, name)
		require.Empty(t, string(banner.Find(text)), "%s: a banner", name)
		require.Empty(t, string(step.Find(text)), "%s: give the reason instead of a step number", name)
	}
}
