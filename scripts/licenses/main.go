// Command licenses checks the license of every dependency and writes the notices that
// the hub serves at /licenses. Run it in the root of the repository, with
// dashboard/node_modules installed:
//
//	go run ./scripts/licenses          # write the notices
//	go run ./scripts/licenses -check   # fail if they are not current
//
// Both fail if a dependency, build and test tools included, has a license that is not
// in allowed.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

const noticesFile = "server/internal/httpapi/licenses.txt"

// allowed are the SPDX identifiers that are compatible with distribution under
// Apache-2.0. MPL-2.0 qualifies because no file under it is modified.
var allowed = []string{
	"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "Bitstream-Vera", "BlueOak-1.0.0", "CC0-1.0", "ISC", "MIT", "MIT-0",
	"MPL-2.0",
	"Unlicense",
}

// A component is one dependency at one version.
type component struct {
	Name     string
	Version  string
	Licenses []string // SPDX identifiers found; empty: none recognized
	Text     string   // the license and notice files, for shipped components
	Shipped  bool     // part of a binary or of the dashboard
}

func main() {
	check := flag.Bool("check", false, "compare with "+noticesFile+" instead of writing it")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	modules, err := goModules()
	if err != nil {
		return err
	}
	packages, err := npmPackages("dashboard")
	if err != nil {
		return err
	}
	recipes, err := npmPackages("agentclient/recipes")
	if err != nil {
		return err
	}
	all := slices.Concat(modules, packages, recipes)
	if err := checkAllowed(all); err != nil {
		return err
	}
	text := notices(all)
	if !check {
		return os.WriteFile(noticesFile, text, 0o644)
	}
	current, err := os.ReadFile(noticesFile)
	if err != nil {
		return err
	}
	if !bytes.Equal(current, text) {
		return fmt.Errorf("%s is not current: run go run ./scripts/licenses", noticesFile)
	}
	return nil
}

// checkAllowed returns one error for each component that has no recognized license, or
// only licenses that are not allowed. A dual-licensed component passes with one allowed
// license.
func checkAllowed(all []component) error {
	var errs []error
	for _, c := range all {
		if !slices.ContainsFunc(c.Licenses, func(id string) bool { return slices.Contains(allowed, id) }) {
			errs = append(errs, fmt.Errorf("%s %s: license %q is not allowed", c.Name, c.Version, strings.Join(c.Licenses, ", ")))
		}
		if c.Shipped && strings.TrimSpace(c.Text) == "" {
			errs = append(errs, fmt.Errorf("%s %s: no license text", c.Name, c.Version))
		}
	}
	return errors.Join(errs...)
}

// notices renders the shipped components, grouped by identical text.
func notices(all []component) []byte {
	byText := map[string][]string{}
	var order []string
	for _, c := range all {
		if !c.Shipped {
			continue
		}
		if _, ok := byText[c.Text]; !ok {
			order = append(order, c.Text)
		}
		byText[c.Text] = append(byText[c.Text], fmt.Sprintf("%s %s (%s)", c.Name, c.Version, strings.Join(c.Licenses, ", ")))
	}
	var out bytes.Buffer
	out.WriteString("Hookback\nCopyright The Hookback Authors\nLicensed under the Apache License, Version 2.0\n\n" +
		"Hookback contains the following components.\n")
	for _, text := range order {
		out.WriteString("\n" + strings.Repeat("-", 80) + "\n")
		for _, line := range byText[text] {
			out.WriteString(line + "\n")
		}
		out.WriteString("\n" + strings.TrimSpace(text) + "\n")
	}
	return out.Bytes()
}
