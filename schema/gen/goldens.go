package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// golden is one example message of schema/testdata. Its file is named
// version.Type.what.json, so v1.Event.request.json; Type[] is an array. What the
// hub makes of a message that it would write differently stands beside it, in
// version.Type.what.echo.json.
type golden struct {
	name string // v1.Event.request
	kind string // Event
	json json.RawMessage
}

func readGoldens(dir string) ([]golden, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	var all []golden
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		parts := strings.Split(name, ".")
		if len(parts) < 3 {
			return nil, fmt.Errorf("%s is not named version.Type.what.json", path)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var line bytes.Buffer // people read the golden itself
		if err := json.Compact(&line, content); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, golden{name, parts[1], line.Bytes()})
	}
	return all, nil
}

// uncheckedGoldens are the goldens that tsc would rightly refuse: what the protocol's text
// abridged, and members that no type knows.
var uncheckedGoldens = []string{".shortened", ".unknown-members"}

// writeFixtures writes the goldens as TypeScript, each held against its type by tsc.
// Of a message and its echo it takes the echo, which is what a page gets.
func writeFixtures(goldens []golden) []byte {
	echoed := map[string]bool{}
	for _, g := range goldens {
		if name, ok := strings.CutSuffix(g.name, ".echo"); ok {
			echoed[name] = true
		}
	}
	kinds := map[string]bool{}
	var body bytes.Buffer
	for _, g := range goldens {
		if echoed[g.name] || slices.ContainsFunc(uncheckedGoldens, func(what string) bool { return strings.HasSuffix(g.name, what) }) {
			continue
		}
		kinds[strings.TrimSuffix(g.kind, "[]")] = true
		fmt.Fprintf(&body, "\n// prettier-ignore\nexport const %s = %s satisfies %s\n", camelName(g.name), g.json, g.kind)
	}
	names := make([]string, 0, len(kinds))
	for kind := range kinds {
		names = append(names, kind)
	}
	slices.Sort(names)
	var b bytes.Buffer
	b.WriteString("// Made from schema/testdata by go run ./schema/gen. Do not edit.\n\n")
	b.WriteString("// prettier-ignore\nimport type { " + strings.Join(names, ", ") + " } from './schema'\n")
	b.Write(body.Bytes())
	return b.Bytes()
}

// camelName turns v1.Event.request-python.echo into v1EventRequestPython.
func camelName(name string) string {
	name = strings.ReplaceAll(strings.TrimSuffix(name, ".echo"), "[]", "s")
	var b strings.Builder
	for i, part := range strings.FieldsFunc(name, func(r rune) bool { return r == '.' || r == '-' }) {
		if i > 0 {
			part = strings.ToUpper(part[:1]) + part[1:]
		}
		b.WriteString(part)
	}
	return b.String()
}
