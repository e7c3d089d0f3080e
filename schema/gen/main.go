// Command gen writes what is made from the Go types of schema: hub.schema.json,
// openapi.json and, for the dashboard, schema.ts and schema.golden.ts.
//
//	go run ./schema/gen          # from the root of the repository
//
// It needs Go and nothing else, so that a stale file shows in go test.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	files, err := generate(".")
	if err == nil {
		err = write(".", files)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// generate makes every file, by its path below root, the repository's folder.
func generate(root string) (map[string][]byte, error) {
	c, err := reflectContract(root)
	if err != nil {
		return nil, err
	}
	goldens, err := readGoldens(filepath.Join(root, "schema", "testdata"))
	if err != nil {
		return nil, err
	}
	// The page's types come first: they are what the hub sends, and the hub
	// never sends null or a snake_case twin.
	page := typescript(c)
	c.acceptNull()
	c.acceptSnakeCase()
	schemaJSON, err := encode(c.jsonSchema())
	if err != nil {
		return nil, err
	}
	openAPI, err := openAPI(c, goldens)
	if err != nil {
		return nil, err
	}
	openAPIJSON, err := encode(openAPI)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		"schema/hub.schema.json":         schemaJSON,
		"schema/openapi.json":            openAPIJSON,
		"dashboard/src/schema.ts":        page,
		"dashboard/src/schema.golden.ts": writeFixtures(goldens),
	}, nil
}

func write(root string, files map[string][]byte) error {
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}
