package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// unnamed are the licenses of packages that name no SPDX identifier, read by a person.
var unnamed = map[string]string{"dejavu-fonts-ttf": "Bitstream-Vera"}

// npmPackages returns the packages of dir/package-lock.json, sorted by name. The lock
// file states the license of each; the texts of shipped ones come from node_modules.
func npmPackages(dir string) ([]component, error) {
	content, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct {
			Version, License string
			Dev, Optional    bool
		}
	}
	if err := json.Unmarshal(content, &lock); err != nil {
		return nil, fmt.Errorf("%s/package-lock.json: %w", dir, err)
	}
	var all []component
	for path, p := range lock.Packages {
		if path == "" { // the dashboard itself
			continue
		}
		name := path[strings.LastIndex(path, "node_modules/")+len("node_modules/"):]
		if license, ok := unnamed[name]; ok {
			p.License = license
		}
		c := component{Name: name, Version: p.Version, Licenses: spdxAlternatives(p.License)}
		if c.Shipped = !p.Dev && !p.Optional; c.Shipped {
			texts, err := componentOf(name, p.Version, filepath.Join(dir, path))
			if err != nil {
				return nil, fmt.Errorf("%w (make installs the dashboard's packages)", err)
			}
			if c.Text = texts.Text; c.Text == "" {
				c.Text = "License: " + p.License
			}
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b component) int {
		return strings.Compare(a.Name+" "+a.Version, b.Name+" "+b.Version)
	})
	return all, nil
}

// spdxAlternatives returns the identifiers of an SPDX expression of which one must be
// allowed. An expression with AND is one alternative, which no list contains.
func spdxAlternatives(expression string) []string {
	if expression == "" {
		return nil
	}
	return strings.Split(strings.Trim(expression, "()"), " OR ")
}
