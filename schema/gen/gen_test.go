package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/routes"
)

const root = "../.."

func generateFiles(t *testing.T) map[string][]byte {
	files, err := generate(root)
	require.NoError(t, err)
	return files
}

func TestGenerate_FilesAreCurrent(t *testing.T) {
	t.Parallel()
	for name, want := range generateFiles(t) {
		got, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "%s is stale: run go run ./schema/gen", name)
	}
}

func TestGenerate_IsDeterministic(t *testing.T) {
	t.Parallel()
	first := generateFiles(t)
	for range 3 {
		require.Equal(t, first, generateFiles(t))
	}
}

func TestJSONSchema_DefinesEveryMessage(t *testing.T) {
	t.Parallel()
	var doc struct {
		Defs map[string]struct {
			Description string
			Enum        []string
			Properties  map[string]json.RawMessage // true if any value is valid
		} `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(schema.JSONSchema, &doc))
	for name := range scalars {
		require.NotEmpty(t, doc.Defs[name].Description, name)
	}
	require.Equal(t, []string{"permission", "question", "choice"}, doc.Defs["Kind"].Enum)
	require.Len(t, doc.Defs["DeliveryState"].Enum, 12)
	require.Empty(t, doc.Defs["Outcome"].Enum, "any label may be an outcome")
	require.Contains(t, doc.Defs["HumanInTheLoop"].Properties, "response_websocket_url")
	require.Contains(t, string(doc.Defs["Event"].Properties["payload"]), "byte for byte")
	for name, def := range doc.Defs {
		require.NotEmpty(t, def.Description, "%s has no doc comment", name)
	}
}

// TestJSONSchema_CompilesAsDraft2020 compiles the document, with all references, in an independent
// implementation.
func TestJSONSchema_CompilesAsDraft2020(t *testing.T) {
	t.Parallel()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema.JSONSchema))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	require.NoError(t, c.AddResource("hub.schema.json", doc))
	for name := range doc.(map[string]any)["$defs"].(map[string]any) {
		_, err := c.Compile("hub.schema.json#/$defs/" + name)
		require.NoError(t, err, name)
	}
}

func TestOpenAPI_DescribesEveryRoute(t *testing.T) {
	t.Parallel()
	var doc document
	require.NoError(t, json.Unmarshal(schema.OpenAPI, &doc))
	require.Equal(t, "3.1.1", doc.OpenAPI)
	ids := map[string]bool{}
	for _, route := range routes.All {
		path := pathParameter.ReplaceAllString(route.Path, "{$1}")
		op, ok := doc.Paths[path][strings.ToLower(route.Method)]
		require.True(t, ok, "%s %s", route.Method, route.Path)
		require.Equal(t, route.Summary, op.Summary)
		require.NotEqual(t, op.Summary, op.Text)
		require.True(t, strings.HasSuffix(op.Text, "."), "%s: a description consists of sentences", path)
		for _, status := range route.Statuses() {
			require.NotEmpty(t, op.Responses[strconv.Itoa(status)].Description, "%s: %d", path, status)
		}
		require.Equal(t, route.Access, op.Access)
		require.Contains(t, op.Responses, "default")
		if route.Request != nil {
			require.NotNil(t, op.Body, path)
		}
		for _, name := range strings.FieldsFunc(path, func(r rune) bool { return r == '/' }) {
			if trimmed := strings.Trim(name, "{}"); trimmed != name {
				require.True(t, slices.ContainsFunc(op.Parameters, func(p parameter) bool {
					return p.Name == trimmed && p.In == "path" && p.Required
				}), path)
			}
		}
		require.NotEmpty(t, op.Summary, path)
		require.True(t, slices.ContainsFunc(doc.Tags, func(t tag) bool { return t.Name == op.Tags[0] }), path)
		require.False(t, ids[op.ID], op.ID)
		ids[op.ID] = true
		for _, p := range route.Query {
			require.True(t, slices.ContainsFunc(op.Parameters, func(have parameter) bool {
				return have.Name == p.Name && have.In == "query" && have.Description == p.Description
			}), p.Name)
		}
	}
	respond := doc.Paths["/events/{id}/respond"]["post"]
	require.Subset(t, slices.Collect(maps.Keys(respond.Responses)), []string{"200", "400", "404", "409", "410", "413", "415", "422"})
	require.Len(t, respond.Responses["409"].Content[schema.ProblemMediaType].Examples, 4, "decided, stale, held and frozen")
}

// TestOpenAPI_EveryBodyHasExamples requires an example of every message. A route without one needs
// a golden of its type, or a row in rawRequests or rawResponses.
func TestOpenAPI_EveryBodyHasExamples(t *testing.T) {
	t.Parallel()
	var doc document
	require.NoError(t, json.Unmarshal(schema.OpenAPI, &doc))
	for path, methods := range doc.Paths {
		for method, op := range methods {
			if op.Body != nil {
				requireExamples(t, op.Body.Content, method+" "+path+": request")
			}
			if ok, there := op.Responses["200"]; there {
				requireExamples(t, ok.Content, method+" "+path+": response")
			}
			for status, r := range op.Responses {
				if status >= "400" && status != "default" {
					requireExamples(t, r.Content, method+" "+path+": "+status)
				}
			}
		}
	}
}

func requireExamples(t *testing.T, bodies map[string]content, what string) {
	for media, body := range bodies {
		require.NotNil(t, body.Schema, "%s has no schema", what)
		require.NotEmpty(t, body.Examples, "%s (%s) has no example", what, media)
		for name, e := range body.Examples {
			require.True(t, json.Valid(e.Value), "%s: %s", what, name)
		}
	}
}

// TestOpenAPI_DescribesSecurity checks that every security scheme has a description and that public
// routes have no 401 response.
func TestOpenAPI_DescribesSecurity(t *testing.T) {
	t.Parallel()
	var doc struct {
		document
		Components struct {
			Schemes map[string]map[string]string `json:"securitySchemes"`
		} `json:"components"`
	}
	require.NoError(t, json.Unmarshal(schema.OpenAPI, &doc))
	for _, alternative := range doc.Security {
		for name := range alternative {
			require.NotEmpty(t, doc.Components.Schemes[name]["description"], name)
		}
	}
	require.Contains(t, doc.Paths["/events/{id}/respond"]["post"].Responses, "401")
	require.NotContains(t, doc.Paths["/healthz"]["get"].Responses, "401")
}

// TestOpenAPI_ExamplesExist checks that the named goldens exist, so that renaming one does not drop
// an example, and that no route about questions shows the hook events that are the first goldens.
func TestOpenAPI_ExamplesExist(t *testing.T) {
	t.Parallel()
	all, err := readGoldens(filepath.Join(root, "schema", "testdata"))
	require.NoError(t, err)
	for _, route := range routes.All {
		for _, names := range [][]string{route.Examples.Request, route.Examples.Response} {
			require.Len(t, namedExamples(all, names), len(names), "%s %s", route.Method, route.Path)
		}
		if _, ok := route.Response.(schema.Event); ok {
			require.NotEmpty(t, route.Examples.Response, "%s %s", route.Method, route.Path)
		}
	}
}

// TestOpenAPI_ExamplesMatchSchemas validates every example of the document with the schema of its
// body, in an independent implementation.
func TestOpenAPI_ExamplesMatchSchemas(t *testing.T) {
	t.Parallel()
	var doc document
	require.NoError(t, json.Unmarshal(schema.OpenAPI, &doc))
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema.OpenAPI))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	require.NoError(t, c.AddResource("openapi.json", parsed))
	checked := 0
	check := func(pointer string, bodies map[string]content) {
		for media, body := range bodies {
			at := "openapi.json#" + pointer + "/content/" + strings.ReplaceAll(media, "/", "~1") + "/schema"
			compiled, err := c.Compile(at)
			require.NoError(t, err, at)
			for name, e := range body.Examples {
				value, err := jsonschema.UnmarshalJSON(bytes.NewReader(e.Value))
				require.NoError(t, err)
				require.NoError(t, compiled.Validate(value), "%s: %s", at, name)
				checked++
			}
		}
	}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			pointer := "/paths/" + strings.ReplaceAll(path, "/", "~1") + "/" + method
			if op.Body != nil {
				check(pointer+"/requestBody", op.Body.Content)
			}
			for status, r := range op.Responses {
				check(pointer+"/responses/"+status, r.Content)
			}
		}
	}
	require.Greater(t, checked, 300)
}

func TestOpenAPI_ReferencesResolve(t *testing.T) {
	t.Parallel()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema.OpenAPI))
	require.NoError(t, err)
	require.NotContains(t, string(schema.OpenAPI), "$defs")
	var walk func(node any)
	walk = func(node any) {
		switch node := node.(type) {
		case []any:
			for _, child := range node {
				walk(child)
			}
		case map[string]any:
			if ref, ok := node["$ref"].(string); ok {
				require.NotNil(t, lookup(doc, strings.Split(ref, "/")[1:]), ref)
			}
			for _, child := range node {
				walk(child)
			}
		}
	}
	walk(doc)
}

func lookup(node any, path []string) any {
	for _, key := range path {
		object, ok := node.(map[string]any)
		if !ok {
			return nil
		}
		node = object[key]
	}
	return node
}
