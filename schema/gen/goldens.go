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

// golden is one example message of schema/testdata. Its file is named version.Type.label.json, such
// as v1.Event.request.json; Type[] is an array. If the hub encodes the message differently, that
// form is in version.Type.label.echo.json.
type golden struct {
	name string // such as v1.Event.request
	kind string // such as Event
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
			return nil, fmt.Errorf("%s: file name must be version.Type.label.json", path)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var line bytes.Buffer // the golden itself is the readable form
		if err := json.Compact(&line, content); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, golden{name, parts[1], line.Bytes()})
	}
	return all, nil
}

// uncheckedGoldens are the suffixes of goldens that tsc correctly rejects: abridged examples of the
// protocol's guide, and messages with unknown members.
var uncheckedGoldens = []string{".shortened", ".unknown-members"}

// writeFixtures returns the goldens as TypeScript constants that tsc checks against their types. If
// a message has an echo, it uses the echo, which is the form that a page receives; it receives no event
// without an id.
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
		isDraft := strings.TrimSuffix(g.kind, "[]") == "Event" && !bytes.HasPrefix(bytes.TrimLeft(g.json, "["), []byte(`{"id"`))
		isUnchecked := slices.ContainsFunc(uncheckedGoldens, func(suffix string) bool { return strings.HasSuffix(g.name, suffix) })
		if echoed[g.name] || isDraft || isUnchecked {
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
	b.WriteString("// Generated from schema/testdata by go run ./schema/gen. Do not edit.\n\n")
	b.WriteString("// prettier-ignore\nimport type { " + strings.Join(names, ", ") + " } from './schema'\n")
	b.Write(body.Bytes())
	return b.Bytes()
}

// camelName converts v1.Event.request-python.echo to v1EventRequestPython.
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
