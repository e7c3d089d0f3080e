package main

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/hookback/hookback/schema"
)

// maxExamples is the maximum number of examples of a body that does not name its own.
const maxExamples = 3

// requestExamples and responseExamples name the goldens that are examples of a route. The other
// routes use the first goldens of their type.
var requestExamples = map[string][]string{
	http.MethodPost + " " + schema.PathEvents:     {"v1.Event.hook", "v1.Event.request", "v2.Event.tool-call", "v2.Event.several-questions", "v2.Event.quorum"},
	http.MethodPost + " " + schema.PathRespond:    {"v1.Response.permission", "v1.Response.question", "v1.Response.choice", "v2.Response.edited", "v2.Response.several-questions", "v2.Response.held"},
	http.MethodPost + " " + schema.PathMCP:        {"v2.RPC.call"},
	http.MethodPost + " " + schema.PathRejectCall: {"v2.RejectCall.reason"},
}

var responseExamples = map[string][]string{
	http.MethodPost + " " + schema.PathEvents:      {"v1.Event.pending"},
	http.MethodGet + " " + schema.PathEvent:        {"v1.Event.responded"},
	http.MethodPost + " " + schema.PathRespond:     {"v1.Event.responded"},
	http.MethodPost + " " + schema.PathApproveCall: {"v1.Event.responded"},
	http.MethodPost + " " + schema.PathRejectCall:  {"v1.Event.responded"},
	http.MethodPost + " " + schema.PathAgentApprove: {
		"v1.Event.responded",
	},
	http.MethodPost + " " + schema.PathCancel:       {"v1.Event.responded"},
	http.MethodPost + " " + schema.PathUndo:         {"v1.Event.pending"},
	http.MethodPost + " " + schema.PathRedeliver:    {"v1.Event.responded"},
	http.MethodPost + " " + schema.PathHandled:      {"v1.Event.responded"},
	http.MethodGet + " " + schema.PathResponse:      {"v2.Answer.edited", "v2.Answer.timeout", "v2.Answer.voted"},
	http.MethodGet + " " + schema.PathFilterOptions: {"v1.FilterOptions.values"},
	http.MethodGet + " " + schema.PathLedgerHead:    {"v2.Envelope.head"},
	http.MethodGet + " " + schema.PathHealth:        {"v2.Health.ok"},
	http.MethodPost + " " + schema.PathMCP:          {"v2.RPC.result", "v2.RPC.error"},
	http.MethodGet + " " + schema.PathHitlRequest:   {"v2.HitlRequest.voting", "v2.HitlRequest.answered"},
}

// rawBody describes a body that is not a message of package schema.
type rawBody struct {
	media, description string
	schema             *jsonschema.Schema
	example            json.RawMessage
}

var (
	anyText   = &jsonschema.Schema{Type: "string"}
	anyObject = &jsonschema.Schema{Type: "object"}
)

// rawRequests and rawResponses are the bodies of routes without a Go type.
var rawRequests = map[string]rawBody{
	schema.PathClaudeCode: {"application/json", "the hook's input", anyObject, json.RawMessage(
		`{"session_id":"f3a91c07","cwd":"/home/dev/shop","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"npm publish"},"tool_use_id":"toolu_01"}`)},
	schema.PathOTLPLogs: {"application/json", "an ExportLogsServiceRequest", anyObject, json.RawMessage(
		`{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"claude-code"}}]},"scopeLogs":[{"logRecords":[{"timeUnixNano":"1795262400000000000","body":{"stringValue":"claude_code.api_request"},"attributes":[{"key":"session.id","value":{"stringValue":"f3a91c07"}},{"key":"model","value":{"stringValue":"claude-sonnet-5"}},{"key":"cost_usd","value":{"doubleValue":0.0123}}]}]}]}]}`)},
	schema.PathOTLPMetrics: {"application/json", "an ExportMetricsServiceRequest", anyObject, json.RawMessage(
		`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"claude_code.cost.usage","sum":{"aggregationTemporality":1,"isMonotonic":true,"dataPoints":[{"timeUnixNano":"1795262400000000000","asDouble":0.0123,"attributes":[{"key":"session.id","value":{"stringValue":"f3a91c07"}}]}]}}]}]}]}`)},
}

var rawResponses = map[string]rawBody{
	schema.PathMetrics:  {"text/plain", "metrics in the Prometheus text format", anyText, json.RawMessage(`"hookback_questions_pending 2\n"`)},
	schema.PathOpenAPI:  {"application/json", "this document", anyObject, json.RawMessage(`{"openapi":"3.1.1"}`)},
	schema.PathLicenses: {"text/plain", "license notices", anyText, json.RawMessage(`"Hookback\nCopyright The Hookback Authors\nLicensed under the Apache License, Version 2.0\n"`)},
	schema.PathExport: {"application/x-ndjson", "the events, one per line; with format=markdown a report, as text/markdown", anyText, json.RawMessage(
		`"{\"id\":41,\"source_app\":\"shop\",\"session_id\":\"f3a91c07\",\"hook_event_type\":\"PreToolUse\",\"payload\":{}}\n"`)},
	schema.PathClaudeCode: {"application/json", "the output of the hook; {} means no decision", anyObject, json.RawMessage(
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
			isExample := g.kind == kind && !strings.HasSuffix(g.name, ".echo") && !slices.ContainsFunc(uncheckedGoldens, func(end string) bool { return strings.HasSuffix(g.name, end) })
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
