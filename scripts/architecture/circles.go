package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const module = "github.com/hookback/hookback/"

// goPackage is a package in the output of go list.
type goPackage struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// printCircles writes one line for each package with files that all refer to one another:
// their number and their names. Methods of one type in several files are such a circle.
func printCircles(w io.Writer) error {
	packages, err := listPackages()
	if err != nil {
		return err
	}
	exports := map[string]string{}
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
	}
	fset := token.NewFileSet()
	from := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range packages {
		name, own := strings.CutPrefix(p.ImportPath, module)
		if !own || len(p.GoFiles) < 2 {
			continue
		}
		references, err := fileReferences(fset, from, p)
		if err != nil {
			return err
		}
		if circle := largestCircle(references); len(circle) > 1 {
			fmt.Fprintf(w, "%-42s %3d  %s\n", name, len(circle), strings.Join(circle, " "))
		}
	}
	return nil
}

// listPackages returns the packages of the module and their dependencies, compiled.
func listPackages() (all []goPackage, err error) {
	list := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "./...")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
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

// fileReferences returns the files that each file of a package refers to.
func fileReferences(fset *token.FileSet, from types.Importer, p goPackage) (map[string]map[string]bool, error) {
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: from}
	pkg, err := config.Check(p.ImportPath, fset, files, info)
	if err != nil {
		return nil, err
	}
	references := map[string]map[string]bool{}
	for id, object := range info.Uses {
		if object.Pkg() != pkg || !isTopLevel(object) {
			continue
		}
		user, definer := fileOf(fset, id.Pos()), fileOf(fset, object.Pos())
		if user == definer {
			continue
		}
		if references[user] == nil {
			references[user] = map[string]bool{}
		}
		references[user][definer] = true
	}
	return references, nil
}

func isTopLevel(object types.Object) bool {
	if object.Parent() == object.Pkg().Scope() {
		return true
	}
	function, ok := object.(*types.Func)
	return ok && function.Signature().Recv() != nil
}

func fileOf(fset *token.FileSet, pos token.Pos) string {
	return filepath.Base(fset.Position(pos).Filename)
}

// largestCircle returns the largest set of files that all reach one another.
func largestCircle(references map[string]map[string]bool) []string {
	var largest []string
	for _, start := range slices.Sorted(maps.Keys(references)) {
		var circle []string
		for file := range reachable(references, start) {
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
