package main

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/hookback/hookback/schema"
)

// maxExamples is the maximum number of examples of a body that does not name its own.
const maxExamples = 3

// rawBody describes a body that is not a message of package schema.
type rawBody struct {
	media   string
	schema  *jsonschema.Schema
	example json.RawMessage
}

var (
	anyText   = &jsonschema.Schema{Type: "string"}
	anyObject = &jsonschema.Schema{Type: "object"}
)

// rawRequests and rawResponses are the bodies of routes without a Go type.
var rawRequests = map[string]rawBody{
	schema.PathClaudeCode: {"application/json", anyObject, json.RawMessage(
		`{"session_id":"f3a91c07","cwd":"/home/dev/shop","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"npm publish"},"tool_use_id":"toolu_01"}`)},
	schema.PathAsk: {"application/json", anyObject, json.RawMessage(
		`{"question":"Delete ./build?","source_app":"deploy","timeout":600}`)},
	schema.PathOTLPLogs: {"application/json", anyObject, json.RawMessage(
		`{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"claude-code"}}]},"scopeLogs":[{"logRecords":[{"timeUnixNano":"1795262400000000000","body":{"stringValue":"claude_code.api_request"},"attributes":[{"key":"session.id","value":{"stringValue":"f3a91c07"}},{"key":"model","value":{"stringValue":"claude-sonnet-5"}},{"key":"cost_usd","value":{"doubleValue":0.0123}}]}]}]}]}`)},
	schema.PathOTLPMetrics: {"application/json", anyObject, json.RawMessage(
		`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"claude_code.cost.usage","sum":{"aggregationTemporality":1,"isMonotonic":true,"dataPoints":[{"timeUnixNano":"1795262400000000000","asDouble":0.0123,"attributes":[{"key":"session.id","value":{"stringValue":"f3a91c07"}}]}]}}]}]}]}`)},
}

var rawResponses = map[string]rawBody{
	schema.PathMetrics:  {"text/plain", anyText, json.RawMessage(`"hookback_questions_pending 2\n"`)},
	schema.PathOpenAPI:  {"application/json", anyObject, json.RawMessage(`{"openapi":"3.1.1"}`)},
	schema.PathLicenses: {"text/plain", anyText, json.RawMessage(`"Hookback\nCopyright The Hookback Authors\nLicensed under the Apache License, Version 2.0\n"`)},
	schema.PathExport: {"application/x-ndjson", anyText, json.RawMessage(
		`"{\"id\":41,\"source_app\":\"shop\",\"session_id\":\"f3a91c07\",\"hook_event_type\":\"PreToolUse\",\"payload\":{}}\n"`)},
	schema.PathClaudeCode: {"application/json", anyObject, json.RawMessage(
		`{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow","updatedInput":{"command":"npm publish --dry-run"}}}}`)},
}

// examplesFor returns the examples of a body: the named goldens, or the first of its type.
func examplesFor(goldens []golden, names []string, body any) map[string]example {
	if len(names) > 0 {
		return namedExamples(goldens, names)
	}
	typ := reflect.TypeOf(body)
	all := map[string]example{}
	for _, kind := range kindsOf(typ) {
		for _, g := range goldens {
			isExample := g.kind == kind && !strings.HasSuffix(g.name, ".echo") &&
				!slices.ContainsFunc(uncheckedGoldens, func(end string) bool { return strings.HasSuffix(g.name, end) })
			if isExample && len(all) < maxExamples {
				_, label, _ := strings.Cut(g.name, g.kind+".")
				value := g.json
				if typ.Kind() == reflect.Slice && !strings.HasSuffix(kind, "[]") {
					value = slices.Concat(json.RawMessage("["), value, json.RawMessage("]"))
				}
				all[label] = example{value}
			}
		}
		if len(all) > 0 {
			break
		}
	}
	return all
}

// kindsOf returns the kinds of golden that can serve as examples of a type, best first.
func kindsOf(typ reflect.Type) []string {
	if typ.Kind() == reflect.Slice {
		return []string{typ.Elem().Name() + "[]", typ.Elem().Name()}
	}
	return []string{typ.Name()}
}

func namedExamples(goldens []golden, names []string) map[string]example {
	found := map[string]example{}
	for _, g := range goldens {
		if slices.Contains(names, g.name) {
			_, label, _ := strings.Cut(g.name, g.kind+".")
			found[label] = example{g.json}
		}
	}
	return found
}
