package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// programs are the packages that are distributed as binaries.
var programs = []string{"./server", "./agentclient/cmd/hookback"}

// systems are the values of GOOS that binaries are built for. Some dependencies exist
// on one of them only.
var systems = []string{"linux", "darwin", "windows"}

type goModule struct {
	Path, Version, Dir string
	Main               bool
}

// goModules returns the modules that any package of the repository needs, tests
// included, sorted by path, and Go itself.
func goModules() ([]component, error) {
	shipped := map[string]bool{}
	byPath := map[string]goModule{}
	for _, goos := range systems {
		for _, args := range [][]string{programs, {"-test", "./..."}} {
			modules, err := modulesOf(goos, args)
			if err != nil {
				return nil, err
			}
			for _, m := range modules {
				byPath[m.Path] = m
				shipped[m.Path] = shipped[m.Path] || args[0] != "-test"
			}
		}
	}
	var all []component
	for path, m := range byPath {
		c, err := componentOf(path, m.Version, m.Dir)
		if err != nil {
			return nil, err
		}
		c.Shipped = shipped[path]
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b component) int { return strings.Compare(a.Name, b.Name) })
	return withGo(all)
}

// withGo prepends Go: its runtime and standard library are part of every binary. It has
// no version, so that the notices don't depend on the toolchain.
func withGo(all []component) ([]component, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	c, err := componentOf("Go", "", strings.TrimSpace(string(root)))
	if err != nil {
		return nil, err
	}
	c.Shipped = true
	return slices.Insert(all, 0, c), nil
}

func modulesOf(goos string, args []string) ([]goModule, error) {
	list := exec.Command("go", append([]string{"list", "-deps", "-json=Module"}, args...)...)
	list.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list for %s: %w", goos, err)
	}
	var modules []goModule
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct{ Module *goModule }
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return modules, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list for %s: %w", goos, err)
		}
		if p.Module != nil && !p.Module.Main {
			modules = append(modules, *p.Module)
		}
	}
}

var licenseFile = regexp.MustCompile(`(?i)^(un)?licen[sc]e|^copying|^notice`)

// minCoverage is the share of a license file, in percent, that a known license must
// explain. A copyright line is not part of the license.
const minCoverage = 75

// componentOf reads the license and notice files at the top of dir.
func componentOf(name, version, dir string) (component, error) {
	c := component{Name: name, Version: version}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return c, fmt.Errorf("%s: %w", name, err)
	}
	var texts []string
	for _, e := range entries {
		if e.IsDir() || !licenseFile.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return c, err
		}
		texts = append(texts, strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")))
		coverage := licensecheck.Scan(text)
		for _, match := range coverage.Match {
			if coverage.Percent >= minCoverage && !match.IsURL && !slices.Contains(c.Licenses, match.ID) {
				c.Licenses = append(c.Licenses, match.ID)
			}
		}
	}
	c.Text = strings.Join(texts, "\n\n")
	return c, nil
}
