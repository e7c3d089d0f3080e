package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/hookback/hookback/schema"
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
	"An unlocked hub requires no authentication from its own machine. Otherwise programs send a token, and pages send the cookie and the key of their sign-in. " +
	"This page authenticates like any other program: to use a locked hub, paste a token under Authorize.\n\n" +
	"x-access is the class of a route. public: every caller. asker: every caller with credentials or on the hub's machine; a secret in the request authorizes it. " +
	"post: agents' tokens, operators, and programs on the hub's machine. read: also viewers. decide and cancel: operators, and programs on the hub's machine while the hub is open. " +
	"keep: operators. own: people signed in with a browser. admin: admins. A request secret turns cancel and read of one question into asker."

// securitySchemes are the authentication methods.
var securitySchemes = map[string]any{
	"token":   map[string]string{"type": "http", "scheme": "bearer", "description": "a personal token (hubop_…) or an agent's token (hubin_…)"},
	"signIn":  map[string]string{"type": "apiKey", "in": "cookie", "name": "hookback", "description": "session cookie of a signed-in browser; its name ends with the hub's port"},
	"pageKey": map[string]string{"type": "apiKey", "in": "header", "name": "Hookback-Key", "description": "key of the same sign-in; the cookie alone permits only reading"},
}

var tags = []tag{
	{"Events", "Events of agents, and their questions"},
	{"Requests", "The inbox of requests, votes, and approvals in the formats of other systems"},
	{"People", "Accounts, roles, sign-ins, tokens and passkeys"},
	{"Rules", "Stored decisions that answer matching requests"},
	{"Notifications", "Channels, personal settings and signed links"},
	{"History", "Sessions, overviews and the audit log"},
	{"Agents", "Hooks and telemetry of coding agents, and the Model Context Protocol"},
	{"Operation", "Health, metrics and this document"},
}

// tagOf returns the tag of a path, by the first matching prefix.
func tagOf(path string) string {
	path = strings.TrimPrefix(path, schema.PathAuthenticated)
	for _, t := range []struct{ tag, prefix string }{
		{"Notifications", "/hitl/:id"}, {"Requests", "/hitl"}, {"Requests", "/api/approvals"}, {"Requests", "/api/agent"},
		{"Events", "/events"}, {"Events", schema.PathStream},
		{"Rules", "/api/rules"}, {"Notifications", "/api/channels"}, {"Notifications", "/api/push"},
		{"History", "/api/session"}, {"History", "/api/overview"}, {"History", "/api/ledger"},
		{"Agents", "/v1/"}, {"Agents", "/hooks/"}, {"Agents", schema.PathMCP},
		{"Operation", schema.PathHealth}, {"Operation", schema.PathReady}, {"Operation", schema.PathMetrics}, {"Operation", schema.PathOpenAPI},
		{"Operation", schema.PathLicenses}, {"Operation", schema.PathHub},
	} {
		if strings.HasPrefix(path, t.prefix) {
			return t.tag
		}
	}
	return "People"
}

// publicPaths require no authentication.
var publicPaths = []string{schema.PathHealth, schema.PathReady, schema.PathOpenAPI, schema.PathLicenses, schema.PathHub}

var pathParameter = regexp.MustCompile(`:([a-zA-Z]+)`)

func pathParameterOf(path, name string) parameter {
	p := parameter{name, "path", name + " of the item", true, &jsonschema.Schema{Type: "string"}}
	if tag := tagOf(path); name == "id" && (tag == "Events" || tag == "Requests" || strings.HasPrefix(path, "/hitl/")) {
		p.Description, p.Schema = "id of the event", &jsonschema.Schema{Ref: defs + "EventID"}
	}
	return p
}

// openAPI returns the OpenAPI description of schema.Routes.
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
		Tags:       tags,
	}
	for _, route := range schema.Routes {
		path := pathParameter.ReplaceAllString(route.Path, "{$1}")
		if doc.Paths[path] == nil {
			doc.Paths[path] = map[string]operation{}
		}
		doc.Paths[path][strings.ToLower(route.Method)] = operationOf(route, goldens)
	}
	// References to definitions have a different prefix in OpenAPI.
	text, err := encode(doc)
	if err != nil {
		return nil, err
	}
	return json.RawMessage(strings.ReplaceAll(string(text), `"$ref": "`+defs, `"$ref": "`+components)), nil
}

func operationOf(route schema.Route, goldens []golden) operation {
	key := route.Method + " " + route.Path
	op := operation{ID: operationID(route), Tags: []string{tagOf(route.Path)}, Summary: route.Summary, Access: route.Access, Responses: responses(route, goldens)}
	for _, name := range pathParameter.FindAllStringSubmatch(route.Path, -1) {
		op.Parameters = append(op.Parameters, pathParameterOf(route.Path, name[1]))
	}
	for _, p := range route.Query {
		op.Parameters = append(op.Parameters, parameter{p.Name, "query", p.Description, false, queryType(route.Path, p.Name)})
	}
	if route.Path == schema.PathResponse {
		op.Parameters = append(op.Parameters, parameter{
			schema.SecretHeader, "header", "requestSecret of the question; marks the caller as the agent", false,
			&jsonschema.Schema{Type: "string"},
		})
	}
	if b, ok := rawRequests[route.Path]; ok {
		op.Body = &body{true, b.content()}
	}
	if route.Request != nil {
		op.Body = &body{true, map[string]content{"application/json": {
			bodySchema(route.Request), examplesFor(goldens, requestExamples[key], route.Request),
		}}}
	}
	return op
}

func (p rawBody) content() map[string]content {
	return map[string]content{p.media: {p.schema, map[string]example{"example": {p.example}}}}
}

// operationID joins the method and the path into one word, such as postEventsIdRespond.
func operationID(route schema.Route) string {
	words := strings.FieldsFunc(route.Path, func(r rune) bool { return strings.ContainsRune("/:-.", r) })
	id := strings.ToLower(route.Method)
	for _, word := range words {
		id += strings.ToUpper(word[:1]) + word[1:]
	}
	return id
}

func queryType(path, name string) *jsonschema.Schema {
	if name == "status" && strings.Contains(path, schema.PathHitlRequests) {
		return &jsonschema.Schema{Ref: defs + "HitlStatus"}
	}
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
	all := map[string]response{"default": {"any other error", problemContent(nil)}}
	ok, isPlain := rawResponses[route.Path]
	switch {
	case route.Path == schema.PathStream:
		all["101"] = response{Description: "the WebSocket; its messages are Frame, and a version 2 message may be an array of frames"}
	case isPlain:
		all["200"] = response{ok.description, ok.content()}
	case route.Response == nil:
		all["200"] = response{Description: "done; the body has no meaning"}
	default:
		all["200"] = response{"done", map[string]content{"application/json": {
			bodySchema(route.Response), examplesFor(goldens, responseExamples[route.Method+" "+route.Path], route.Response),
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

// errorsOf returns the errors that are specific to a route. Errors that any request can get, from
// the origin guard or during shutdown, are in the default response.
func errorsOf(route schema.Route) []error {
	errs := []error{schema.ErrInvalid} // an unknown query parameter
	if !slices.Contains(publicPaths, route.Path) {
		errs = append(errs, schema.ErrSignIn, schema.ErrNotAllowed)
	}
	if route.Request != nil {
		errs = append(errs, schema.ErrTooLarge, schema.ErrUnsupportedType, schema.ErrFull)
	}
	if strings.Contains(route.Path, ":") {
		errs = append(errs, schema.ErrNotFound)
	}
	switch strings.TrimPrefix(route.Path, schema.PathAuthenticated) {
	case schema.PathRespond, schema.PathHitlVote, schema.PathApproveCall, schema.PathRejectCall, schema.PathAgentApprove:
		errs = append(errs, schema.ErrSelfApproval, schema.ErrProofRequired, schema.ErrNoQuestion, schema.ErrWrongAnswer, schema.ErrDecided, schema.ErrStale, schema.ErrHeld, schema.ErrExpired)
	case schema.PathPasskeyChallenge:
		errs = append(errs, schema.ErrNotFound, schema.ErrProofRequired, schema.ErrNoQuestion, schema.ErrWrongAnswer, schema.ErrDecided, schema.ErrExpired)
	case schema.PathUndo:
		errs = append(errs, schema.ErrNoQuestion, schema.ErrNotHeld)
	case schema.PathRedeliver:
		errs = append(errs, schema.ErrNoQuestion, schema.ErrUndecided, schema.ErrNoRetry)
	case schema.PathEvents:
		if route.Method == "POST" {
			errs = append(errs, schema.ErrKeyConflict)
		}
	case schema.PathHandled, schema.PathReceipt:
		errs = append(errs, schema.ErrNoQuestion, schema.ErrUndecided)
	case schema.PathCancel, schema.PathHitlCancel:
		errs = append(errs, schema.ErrNoQuestion, schema.ErrDecided, schema.ErrExpired, schema.ErrForbidden)
	case schema.PathResponse:
		errs = append(errs, schema.ErrNoQuestion, schema.ErrExpired, schema.ErrForbidden)
	}
	return errs
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
