package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/schema/routes"
)

const components = "#/components/schemas/"

// document is an OpenAPI 3.1 description, reduced to the members used here.
type document struct {
	OpenAPI    string                          `json:"openapi"`
	Info       info                            `json:"info"`
	Servers    []server                        `json:"servers"`
	Paths      map[string]map[string]operation `json:"paths"` // :: path → method → operation
	Components any                             `json:"components"`
	Security   []map[string][]string           `json:"security"` // :: alternatives
	Tags       []tag                           `json:"tags"`
}

// tag is a group of operations.
type tag struct {
	Name        string `json:"name"`
	Description string `json:"description"`
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
	Tags       []string            `json:"tags"`
	Summary    string              `json:"summary"`
	Text       string              `json:"description"`
	Access     schema.Access       `json:"x-access"`
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

const overviewText = "The HTTP API of a hub. Errors are application/problem+json documents, identified by their code.\n\n" +
	"An unlocked hub requires no authentication from its own machine. Otherwise programs send a token as Authorization: Bearer TOKEN, and pages send the cookie and the key of their sign-in.\n\n" +
	"x-access is the class of a route. public: every caller. asker: every caller with credentials or on the hub's machine; a secret in the request authorizes it. " +
	"post: agents' tokens, operators, and programs on the hub's machine. read: also viewers. decide and cancel: operators, and programs on the hub's machine while the hub is open. " +
	"keep: operators. own: people signed in with a browser. admin: admins. A request secret turns cancel and read of one question into asker."

// securitySchemes are the authentication methods.
var securitySchemes = map[string]any{
	"token":   map[string]string{"type": "http", "scheme": "bearer", "description": "a personal token (hubop_…) or an agent's token (hubin_…)"},
	"signIn":  map[string]string{"type": "apiKey", "in": "cookie", "name": "hookback", "description": "session cookie of a signed-in browser; its name ends with the hub's port"},
	"pageKey": map[string]string{"type": "apiKey", "in": "header", "name": "Hookback-Key", "description": "key of the same sign-in; the cookie alone permits only reading"},
}

var pathParameter = regexp.MustCompile(`:([a-zA-Z]+)`)

func pathParameterOf(group, path, name string) parameter {
	p := parameter{name, "path", name + " of the item", true, &jsonschema.Schema{Type: "string"}}
	if name == "id" && (group == "Events" || group == "Requests" || strings.HasPrefix(path, "/hitl/")) {
		p.Description, p.Schema = "id of the event", &jsonschema.Schema{Ref: defs + "EventID"}
	}
	return p
}

// openAPI returns the OpenAPI description of routes.All.
func openAPI(c *contract, goldens []golden) (any, error) {
	doc := document{
		OpenAPI: "3.1.1",
		Info: info{
			Title: "Hookback", Version: "2",
			Description: overviewText,
		},
		Servers:    []server{{"/", "the hub that serves this document; default http://127.0.0.1:4000"}},
		Paths:      map[string]map[string]operation{},
		Components: map[string]any{"schemas": c.defs, "securitySchemes": securitySchemes},
		Security:   []map[string][]string{{}, {"token": {}}, {"signIn": {}, "pageKey": {}}},
	}
	for _, group := range routes.Groups {
		doc.Tags = append(doc.Tags, tag{group.Name, group.Description})
		for i := range group.Routes {
			route := &group.Routes[i]
			path := pathParameter.ReplaceAllString(route.Path, "{$1}")
			if doc.Paths[path] == nil {
				doc.Paths[path] = map[string]operation{}
			}
			doc.Paths[path][strings.ToLower(route.Method)] = operationOf(group.Name, route, goldens)
		}
	}
	// References to definitions have a different prefix in OpenAPI.
	text, err := encode(doc)
	if err != nil {
		return nil, err
	}
	return json.RawMessage(strings.ReplaceAll(string(text), `"$ref": "`+defs, `"$ref": "`+components)), nil
}

func operationOf(group string, route *routes.Route, goldens []golden) operation {
	op := operation{
		ID: operationID(route), Tags: []string{group}, Summary: route.Summary, Text: route.Description,
		Access: route.Access, Responses: responses(route, goldens),
	}
	for _, name := range pathParameter.FindAllStringSubmatch(route.Path, -1) {
		op.Parameters = append(op.Parameters, pathParameterOf(group, route.Path, name[1]))
	}
	for _, p := range route.Query {
		op.Parameters = append(op.Parameters, parameter{p.Name, "query", p.Description, false, queryType(route, p.Name)})
	}
	for _, p := range route.Headers {
		op.Parameters = append(op.Parameters, parameter{p.Name, "header", p.Description, false, &jsonschema.Schema{Type: "string"}})
	}
	if b, ok := rawRequests[route.Path]; ok {
		op.Body = &body{true, b.content()}
	}
	if route.Request != nil {
		op.Body = &body{true, map[string]content{"application/json": {
			bodySchema(route.Request), examplesFor(goldens, route.Examples.Request, route.Request),
		}}}
	}
	return op
}

func (p rawBody) content() map[string]content {
	return map[string]content{p.media: {p.schema, map[string]example{"example": {p.example}}}}
}

// operationID joins the method and the path into one word, such as postEventsIdRespond.
func operationID(route *routes.Route) string {
	words := strings.FieldsFunc(route.Path, func(r rune) bool { return strings.ContainsRune("/:-.", r) })
	id := strings.ToLower(route.Method)
	for _, word := range words {
		id += strings.ToUpper(word[:1]) + word[1:]
	}
	return id
}

// queryType returns the type of a query parameter. The bounds and the default of an integer are those that the hub applies.
func queryType(route *routes.Route, name string) *jsonschema.Schema {
	bounds, isInteger := route.RangeOf(name)
	switch {
	case name == "from", name == "to":
		return &jsonschema.Schema{Ref: defs + "Millis"}
	case isInteger:
		kind := &jsonschema.Schema{Type: "integer", Minimum: json.Number(strconv.FormatInt(bounds.Min, 10))}
		if bounds.Max < routes.Unbounded {
			kind.Maximum, kind.Default = json.Number(strconv.FormatInt(bounds.Max, 10)), bounds.Default
		}
		return kind
	case name == "status" && strings.Contains(route.Path, inbox.PathHitlRequests):
		return &jsonschema.Schema{Ref: defs + "HitlStatus"}
	case name == "status":
		return &jsonschema.Schema{Type: "string", Enum: []any{"pending", "responded", "timeout", "error", "undelivered"}}
	default:
		return &jsonschema.Schema{Type: "string"}
	}
}

func bodySchema(value any) *jsonschema.Schema { return typeSchema(reflect.TypeOf(value)) }

func responses(route *routes.Route, goldens []golden) map[string]response {
	all := map[string]response{"default": {"any other error: " + problemText(commonProblems()), problemContent(commonProblems())}}
	if route.Returns != "" {
		ok := response{Description: route.Returns}
		if raw, isRaw := rawResponses[route.Path]; isRaw {
			ok.Content = raw.content()
		} else if route.Response != nil {
			ok.Content = map[string]content{"application/json": {
				bodySchema(route.Response), examplesFor(goldens, route.Examples.Response, route.Response),
			}}
		}
		all[strconv.Itoa(route.Success())] = ok
	}
	for status, meaning := range route.Also {
		all[strconv.Itoa(status)] = response{Description: meaning}
	}
	for status, problems := range route.Problems() {
		all[strconv.Itoa(status)] = response{problemText(problems), problemContent(problems)}
	}
	return all
}

// commonProblems returns the problems of routes.Everywhere.
func commonProblems() (all []schema.Problem) {
	for _, err := range routes.Everywhere {
		all = append(all, schema.ProblemOf(err))
	}
	return all
}

func problemText(problems []schema.Problem) string {
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.Code + ": " + p.Detail
	}
	return strings.Join(lines, "; ")
}

func problemContent(problems []schema.Problem) map[string]content {
	examples := map[string]example{}
	for _, p := range problems {
		// A Problem is a flat struct of strings and numbers.
		value, err := json.Marshal(p)
		if err != nil {
			panic(fmt.Sprintf("encode problem: %v", err))
		}
		examples[p.Code] = example{value}
	}
	return map[string]content{schema.ProblemMediaType: {&jsonschema.Schema{Ref: defs + "Problem"}, examples}}
}
