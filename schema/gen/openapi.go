package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/hookback/hookback/schema"
)

const components = "#/components/schemas/"

// document is an OpenAPI 3.1 description, as much of it as a hub needs.
type document struct {
	OpenAPI    string                          `json:"openapi"`
	Info       info                            `json:"info"`
	Dialect    string                          `json:"jsonSchemaDialect"`
	Servers    []server                        `json:"servers"`
	Paths      map[string]map[string]operation `json:"paths"` // :: path → method → operation
	Components any                             `json:"components"`
}

type info struct {
	Title       string `json:"title"`
	Version     string `json:"version"`
	Description string `json:"description"`
}

type server struct {
	URL         string `json:"url"`
	Description string `json:"description"`
}

type operation struct {
	ID         string              `json:"operationId"`
	Summary    string              `json:"summary"`
	Parameters []parameter         `json:"parameters,omitempty"`
	Body       *body               `json:"requestBody,omitempty"`
	Responses  map[string]response `json:"responses"` // :: status or default → response
}

type parameter struct {
	Name        string             `json:"name"`
	In          string             `json:"in"`
	Description string             `json:"description"`
	Required    bool               `json:"required,omitempty"`
	Schema      *jsonschema.Schema `json:"schema"`
}

type body struct {
	Required bool               `json:"required"`
	Content  map[string]content `json:"content"`
}

type response struct {
	Description string             `json:"description"`
	Content     map[string]content `json:"content,omitempty"`
}

type content struct {
	Schema   *jsonschema.Schema `json:"schema"`
	Examples map[string]example `json:"examples,omitempty"`
}

type example struct {
	Value json.RawMessage `json:"value"`
}

// openAPI describes schema.Routes.
func openAPI(c *contract, goldens []golden) (any, error) {
	doc := document{
		OpenAPI: "3.1.1",
		Info: info{
			Title: "Hookback", Version: "2",
			Description: "What a hub can be asked for over HTTP. Errors are application/problem+json; their code tells them apart.",
		},
		Dialect:    "https://json-schema.org/draft/2020-12/schema",
		Servers:    []server{{"http://127.0.0.1:4000", "the hub, unless told otherwise"}},
		Paths:      map[string]map[string]operation{},
		Components: map[string]any{"schemas": c.defs},
	}
	for _, route := range schema.Routes {
		path := strings.ReplaceAll(route.Path, ":id", "{id}")
		if doc.Paths[path] == nil {
			doc.Paths[path] = map[string]operation{}
		}
		doc.Paths[path][strings.ToLower(route.Method)] = operationOf(route, goldens)
	}
	// JSON Schema's own references point elsewhere than OpenAPI's.
	text, err := encode(doc)
	if err != nil {
		return nil, err
	}
	return json.RawMessage(strings.ReplaceAll(string(text), `"$ref": "`+defs, `"$ref": "`+components)), nil
}

func operationOf(route schema.Route, goldens []golden) operation {
	key := route.Method + " " + route.Path
	op := operation{ID: operationID(route), Summary: route.Summary, Responses: responses(route, goldens)}
	if strings.Contains(route.Path, ":id") {
		op.Parameters = append(op.Parameters, parameter{"id", "path", "the event's id", true, &jsonschema.Schema{Ref: defs + "EventID"}})
	}
	for _, p := range route.Query {
		op.Parameters = append(op.Parameters, parameter{p.Name, "query", p.Description, false, queryType(p.Name)})
	}
	if route.Path == schema.PathResponse {
		op.Parameters = append(op.Parameters, parameter{
			schema.SecretHeader, "header", "the question's requestSecret; with it the pull counts as the agent's", false,
			&jsonschema.Schema{Type: "string"},
		})
	}
	if route.Request != nil {
		op.Body = &body{true, map[string]content{"application/json": {
			bodySchema(route.Request), examples(goldens, requestExamples[key]),
		}}}
	}
	return op
}

// operationID is the method and the path in one word: postEventsIdRespond.
func operationID(route schema.Route) string {
	words := strings.FieldsFunc(route.Path, func(r rune) bool { return strings.ContainsRune("/:-.", r) })
	id := strings.ToLower(route.Method)
	for _, word := range words {
		id += strings.ToUpper(word[:1]) + word[1:]
	}
	return id
}

func queryType(name string) *jsonschema.Schema {
	switch name {
	case "limit", "before", "after", "wait", "v":
		return &jsonschema.Schema{Type: "integer", Minimum: "0"}
	case "from", "to":
		return &jsonschema.Schema{Ref: defs + "Millis"}
	case "status":
		return &jsonschema.Schema{Type: "string", Enum: []any{"pending", "responded", "timeout", "error", "undelivered"}}
	default:
		return &jsonschema.Schema{Type: "string"}
	}
}

func bodySchema(value any) *jsonschema.Schema { return typeSchema(reflect.TypeOf(value)) }

func responses(route schema.Route, goldens []golden) map[string]response {
	all := map[string]response{"default": {"any other problem", problemContent(nil)}}
	switch {
	case route.Path == schema.PathStream:
		all["101"] = response{Description: "the socket; its messages are Frame, a version 2 message may be an array of them"}
	case route.Path == schema.PathMetrics:
		all["200"] = response{"the metrics, in Prometheus's text format", map[string]content{"text/plain": {Schema: &jsonschema.Schema{Type: "string"}}}}
	case route.Response == nil:
		all["200"] = response{"this document", map[string]content{"application/json": {Schema: &jsonschema.Schema{Type: "object"}}}}
	default:
		all["200"] = response{"done", map[string]content{"application/json": {
			bodySchema(route.Response), examples(goldens, responseExamples[route.Method+" "+route.Path]),
		}}}
	}
	if route.Path == schema.PathResponse {
		all["204"] = response{Description: "no answer yet"}
	}
	byStatus := map[int][]schema.Problem{}
	for _, p := range schema.Problems() {
		if slices.ContainsFunc(errorsOf(route), func(err error) bool { return errors.Is(p.Err(), err) }) {
			byStatus[p.Status] = append(byStatus[p.Status], p)
		}
	}
	for status, problems := range byStatus {
		var lines []string
		for _, p := range problems {
			lines = append(lines, p.Code+": "+p.Detail)
		}
		all[strconv.Itoa(status)] = response{strings.Join(lines, "; "), problemContent(problems)}
	}
	return all
}

// errorsOf are the errors that belong to a route. Those that any request can
// meet (the door, a hub that stops) are the default response.
func errorsOf(route schema.Route) []error {
	var errs []error
	if route.Request != nil {
		errs = append(errs, schema.ErrInvalid, schema.ErrTooLarge, schema.ErrUnsupportedType, schema.ErrFull)
	}
	if len(route.Query) > 0 {
		errs = append(errs, schema.ErrInvalid)
	}
	if strings.Contains(route.Path, ":id") {
		errs = append(errs, schema.ErrNotFound)
	}
	switch route.Path {
	case schema.PathRespond:
		errs = append(errs, schema.ErrNoQuestion, schema.ErrWrongAnswer, schema.ErrDecided, schema.ErrStale, schema.ErrHeld, schema.ErrExpired)
	case schema.PathUndo:
		errs = append(errs, schema.ErrNoQuestion, schema.ErrNotHeld)
	case schema.PathRedeliver:
		errs = append(errs, schema.ErrNoQuestion, schema.ErrUndecided, schema.ErrNoRetry)
	case schema.PathHandled:
		errs = append(errs, schema.ErrNoQuestion, schema.ErrUndecided)
	case schema.PathCancel:
		errs = append(errs, schema.ErrNoQuestion, schema.ErrDecided, schema.ErrExpired, schema.ErrForbidden)
	case schema.PathResponse:
		errs = append(errs, schema.ErrNoQuestion, schema.ErrExpired, schema.ErrForbidden)
	}
	return errs
}

func problemContent(problems []schema.Problem) map[string]content {
	shown := map[string]example{}
	for _, p := range problems {
		// A Problem is a flat struct of strings and numbers.
		value, err := json.Marshal(p)
		if err != nil {
			panic(fmt.Sprintf("a problem that is not JSON: %v", err))
		}
		shown[p.Code] = example{value}
	}
	return map[string]content{schema.ProblemMediaType: {&jsonschema.Schema{Ref: defs + "Problem"}, shown}}
}

// requestExamples and responseExamples name the goldens a route is shown with.
var requestExamples = map[string][]string{
	http.MethodPost + " " + schema.PathEvents:  {"v1.Event.hook", "v1.Event.request", "v2.Event.tool-call", "v2.Event.several-questions"},
	http.MethodPost + " " + schema.PathBatch:   {"v2.Event[].batch"},
	http.MethodPost + " " + schema.PathRespond: {"v1.Response.permission", "v1.Response.question", "v1.Response.choice", "v2.Response.edited", "v2.Response.several-questions", "v2.Response.held"},
	http.MethodPost + " " + schema.PathApprove: {"v2.Approvals.seen"},
	http.MethodPost + " " + schema.PathCancel:  {"v2.Cancel.person", "v2.Cancel.agent"},
}

var responseExamples = map[string][]string{
	http.MethodPost + " " + schema.PathEvents:       {"v1.Event.pending"},
	http.MethodPost + " " + schema.PathBatch:        {"v2.BatchResult[].mixed"},
	http.MethodPost + " " + schema.PathRespond:      {"v1.Event.responded"},
	http.MethodGet + " " + schema.PathResponse:      {"v2.Answer.edited", "v2.Answer.timeout"},
	http.MethodGet + " " + schema.PathFilterOptions: {"v1.FilterOptions.values"},
	http.MethodGet + " " + schema.PathHealth:        {"v2.Health.ok"},
}

func examples(goldens []golden, names []string) map[string]example {
	shown := map[string]example{}
	for _, g := range goldens {
		if slices.Contains(names, g.name) {
			_, what, _ := strings.Cut(g.name, g.kind+".")
			shown[what] = example{g.json}
		}
	}
	return shown
}
