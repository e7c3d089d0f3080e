// Command gen generates files from the Go types of package schema: hub.schema.json, openapi.json
// and, for the dashboard, schema.ts and schema.golden.ts. From the table of package install it
// generates the plugin for Claude Code, from package comments the guides for Go and the protocol, and from
// its proven versions the agents in README, guide and dashboard.
//
//	go run ./schema/gen          # from the root of the repository
//
// It needs nothing but Go, so go test can detect stale files.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/hookback/hookback/agentclient/install"
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

// generate returns the contents of all generated files by path. root is the root of the repository,
// and paths are relative to it.
func generate(root string) (map[string][]byte, error) {
	c, err := reflectContract(root)
	if err != nil {
		return nil, err
	}
	goldens, err := readGoldens(filepath.Join(root, "schema", "testdata"))
	if err != nil {
		return nil, err
	}
	// Generate the page's types first: they describe what the hub sends, and the hub never sends
	// null or snake_case names.
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
	files, err := packageDocs(root)
	if err != nil {
		return nil, err
	}
	plugin, err := install.PluginFiles()
	if err != nil {
		return nil, err
	}
	maps.Copy(files, plugin)
	agents, err := agentDocs(root)
	if err != nil {
		return nil, err
	}
	maps.Copy(files, agents)
	files["schema/hub.schema.json"] = schemaJSON
	files["schema/openapi.json"] = openAPIJSON
	files["dashboard/src/lib/api/schema.ts"] = page
	files["dashboard/src/lib/api/schema.golden.ts"] = writeFixtures(goldens)
	return files, nil
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
