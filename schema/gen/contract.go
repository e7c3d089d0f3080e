package main

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/schema/routes"
	"github.com/hookback/hookback/schema/sign"
)

const (
	modulePath = "github.com/hookback/hookback"
	defs       = "#/$defs/"
)

// messages returns the root types: the bodies of the routes, and the messages that are none. The definitions
// include all types that they refer to.
func messages() []any {
	all := []any{
		schema.Ack{}, schema.Frame{}, schema.Hello{}, schema.Heartbeat{}, schema.StatusChange{}, schema.Problem{}, schema.ViewingMessage{}, schema.Presence{},
		schema.Control{}, schema.PushMessage{}, sign.Statement{}, sign.HubHello{}, sign.KeyRotation{}, sign.LedgerHead{},
		history.ImportedSession{}, control.PolicyReport{}, control.MessagesChanged{}, control.GateFacts{},
	}
	for i := range routes.All {
		for _, body := range []any{routes.All[i].Request, routes.All[i].Response} {
			if body != nil {
				all = append(all, body)
			}
		}
	}
	return all
}

// frameData is the type of a frame's data, by frame type.
var frameData = map[schema.FrameType]reflect.Type{
	schema.Initial:     reflect.TypeFor[[]schema.Event](),
	schema.EventFrame:  reflect.TypeFor[schema.Event](),
	schema.HelloFrame:  reflect.TypeFor[schema.Hello](),
	schema.StatusFrame: reflect.TypeFor[schema.StatusChange](),
	schema.Resync:      reflect.TypeFor[schema.Hello](),

	schema.PresenceFrame:  reflect.TypeFor[schema.Presence](),
	schema.MessageFrame:   reflect.TypeFor[control.MessagesChanged](),
	schema.HeartbeatFrame: reflect.TypeFor[schema.Heartbeat](),
	schema.FreezeFrame:    reflect.TypeFor[[]control.Freeze](),
	schema.AlertFrame:     reflect.TypeFor[[]control.Alert](),
	schema.AllowanceFrame: reflect.TypeFor[[]schema.Rule](),
	schema.RiskFrame:      reflect.TypeFor[history.RiskyCall](),
}

// fromClients are the types that clients send. Clients may send null for an optional member.
var fromClients = []string{
	"RPC",
	"Event", "HumanInTheLoop", "ToolCall", "FormQuestion", "Option", "Context", "Recipients", "Response", "Cancel", "Ack",
	"Approvals", "SeenRevision", "ViewingMessage", "Extend", "RuleDraft", "ReplayDraft",
	"GateFacts", "Installation", "MachineReport", "SafetySettings", "RequestDefaults", "RequestDefault", "AlertRule",
	"ShareDraft", "HitlVote", "HitlCancel", "ApproveCall", "RejectCall", "AgentApproval", "CallReport",
	"SignInRequest", "LockState", "PersonDraft", "TokenDraft", "PasskeyDraft", "ChallengeRequest", "CredentialAction", "Confirmation",
}

// bothSpellings are the types whose members may also be snake_case.
var bothSpellings = []string{"HumanInTheLoop", "FormQuestion", "Context", "Response"}

// contract holds the definitions of all messages.
type contract struct {
	defs jsonschema.Definitions
}

// reflectContract builds the definitions from the types of package schema, with the comments and
// constants of its source.
func reflectContract(root string) (*contract, error) {
	r := jsonschema.Reflector{Anonymous: true, AllowAdditionalProperties: true, Mapper: namedScalar}
	if err := addComments(&r, root); err != nil {
		return nil, err
	}
	c := &contract{defs: jsonschema.Definitions{}}
	for _, message := range messages() {
		for name, def := range r.Reflect(message).Definitions {
			c.defs[name] = def
		}
	}
	values, err := constants(filepath.Join(root, "schema"))
	if err != nil {
		return nil, err
	}
	for name, kind := range scalars {
		def := &jsonschema.Schema{Type: kind, Description: cmp.Or(r.CommentMap[modulePath+"/schema."+name], r.CommentMap[modulePath+"/schema/inbox."+name])}
		switch {
		case name == "Outcome": // a choice resolves to its label, so any string is valid
			def.Examples = values[name]
		default:
			def.Enum = values[name]
		}
		c.defs[name] = def
	}
	c.defs["Frame"] = frameSchema(c.defs["Frame"])
	names, err := wireNames(filepath.Join(root, "schema"))
	if err != nil {
		return nil, err
	}
	c.normalizeComments(names)
	return c, nil
}

// scalars maps the named types that are not structs to their JSON types.
var scalars = map[string]string{
	"EventID": "integer", "Millis": "number", "Kind": "string", "Risk": "string", "Class": "string", "PasskeyThreshold": "string", "State": "string", "Outcome": "string",
	"EndedBy": "string", "ApprovalID": "string", "HitlStatus": "string", "Waiter": "string", "DeliveryState": "string", "FrameType": "string",
}

// namedScalar keeps the names of scalars, which jsonschema would resolve to their basic types.
func namedScalar(t reflect.Type) *jsonschema.Schema {
	if _, ok := scalars[t.Name()]; ok && strings.HasPrefix(t.PkgPath(), modulePath+"/schema") {
		return &jsonschema.Schema{Ref: defs + t.Name()}
	}
	return nil
}

func addComments(r *jsonschema.Reflector, root string) error {
	// AddGoComments joins base and path literally. Only a path relative to the module root yields
	// the names that reflection uses.
	r.CommentMap = map[string]string{}
	read := jsonschema.Reflector{}
	dir := filepath.Join(root, "schema")
	if err := read.AddGoComments(modulePath, dir, jsonschema.WithFullComment()); err != nil {
		return err
	}
	from := filepath.ToSlash(filepath.Join(modulePath, dir))
	for name, text := range read.CommentMap {
		if rest, ok := strings.CutPrefix(name, from); ok {
			r.CommentMap[modulePath+"/schema"+rest] = text
		}
	}
	return nil
}

// constants returns the values of the typed string constants in a directory of Go source, by type
// and in source order.
func constants(dir string) (map[string][]any, error) {
	values := map[string][]any{}
	err := inspectSource(dir, func(n ast.Node) {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return
		}
		kind, typed := spec.Type.(*ast.Ident)
		if value, ok := stringValue(spec); ok && typed {
			values[kind.Name] = append(values[kind.Name], value)
		}
	})
	return values, err
}

func stringValue(spec *ast.ValueSpec) (string, bool) {
	if len(spec.Values) != 1 {
		return "", false
	}
	literal, ok := spec.Values[0].(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	value, err := strconv.Unquote(literal.Value)
	return value, err == nil
}

// inspectSource calls visit for every node of the Go files with messages in and below dir.
func inspectSource(dir string, visit func(ast.Node)) error {
	var paths []string
	for _, part := range []string{"inbox", "control", "", "sign", "history"} {
		found, err := filepath.Glob(filepath.Join(dir, part, "*.go"))
		if err != nil {
			return err
		}
		paths = append(paths, found...)
	}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			visit(n)
			return true
		})
	}
	return nil
}

// frameSchema returns the schema of a frame, in which the data depends on the type.
func frameSchema(from *jsonschema.Schema) *jsonschema.Schema {
	def := &jsonschema.Schema{Description: from.Description}
	for _, kind := range []schema.FrameType{
		schema.Initial, schema.EventFrame, schema.HelloFrame, schema.StatusFrame, schema.Resync, schema.PresenceFrame,
		schema.MessageFrame, schema.FreezeFrame, schema.RiskFrame, schema.AlertFrame,
		schema.AllowanceFrame, schema.HeartbeatFrame,
	} {
		properties := jsonschema.NewProperties()
		properties.Set("type", &jsonschema.Schema{Type: "string", Const: string(kind)})
		properties.Set("data", typeSchema(frameData[kind]))
		seq, _ := from.Properties.Get("seq")
		properties.Set("seq", seq)
		def.OneOf = append(def.OneOf, &jsonschema.Schema{
			Type: "object", Properties: properties, Required: []string{"type", "data"},
		})
	}
	return def
}

// typeSchema returns a reference to t's definition, or an array of references.
func typeSchema(t reflect.Type) *jsonschema.Schema {
	if t.Kind() == reflect.Slice {
		return &jsonschema.Schema{Type: "array", Items: typeSchema(t.Elem())}
	}
	return &jsonschema.Schema{Ref: defs + t.Name()}
}

var (
	lineBreak = regexp.MustCompile(`([^\n])\n([^\n])`)
	goName    = regexp.MustCompile(`\b[A-Z][A-Za-z]*[a-z][A-Z][A-Za-z]*\b`)
)

// normalizeComments joins the lines of the Go comments and replaces Go names with wire names.
func (c *contract) normalizeComments(names map[string]string) {
	tidy := func(text string) string {
		text = lineBreak.ReplaceAllString(text, "$1 $2")
		return goName.ReplaceAllStringFunc(text, func(word string) string {
			if name, ok := names[word]; ok && c.defs[word] == nil {
				return name
			}
			return word
		})
	}
	for _, def := range c.defs {
		def.Description = tidy(def.Description)
		for _, property := range properties(def) {
			property.Description = tidy(property.Description)
		}
	}
}

// wireNames maps the Go names of struct fields and string constants to their wire names or values.
func wireNames(dir string) (map[string]string, error) {
	names := map[string]string{}
	err := inspectSource(dir, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.Field:
			if n.Tag != nil && len(n.Names) == 1 {
				tag, _ := strconv.Unquote(n.Tag.Value)
				name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
				names[n.Names[0].Name] = name
			}
		case *ast.ValueSpec:
			if value, ok := stringValue(n); ok {
				names[n.Names[0].Name] = value
			}
		}
	})
	return names, err
}

// properties iterates over the members of an object, in order.
func properties(def *jsonschema.Schema) func(yield func(string, *jsonschema.Schema) bool) {
	return func(yield func(string, *jsonschema.Schema) bool) {
		if def.Properties == nil {
			return
		}
		for pair := def.Properties.Oldest(); pair != nil; pair = pair.Next() {
			if !yield(pair.Key, pair.Value) {
				return
			}
		}
	}
}

// acceptNull allows null for every optional member that a client may send.
func (c *contract) acceptNull() {
	for _, name := range fromClients {
		def := c.defs[name]
		for member, property := range properties(def) {
			if slices.Contains(def.Required, member) || allowsAnything(property) {
				continue
			}
			was := *property
			was.Description = ""
			*property = jsonschema.Schema{
				Description: property.Description,
				AnyOf:       []*jsonschema.Schema{&was, {Type: "null"}},
			}
		}
	}
}

// allowsAnything reports whether a schema accepts every value.
func allowsAnything(s *jsonschema.Schema) bool {
	return s.Type == "" && s.Ref == "" && s.OneOf == nil && s.AnyOf == nil && s.Enum == nil && s.Const == nil
}

// acceptSnakeCase adds the snake_case names to the types that accept them.
func (c *contract) acceptSnakeCase() {
	for _, name := range bothSpellings {
		def := c.defs[name]
		var members []string
		for member := range properties(def) {
			members = append(members, member)
		}
		for _, member := range members {
			twin := snakeCase(member)
			if twin == member {
				continue
			}
			def.Properties.Set(twin, &jsonschema.Schema{Ref: defs + name + "/properties/" + member})
		}
	}
}

// snakeCase spells names like the Python model of version 1, in which WebSocket is one word.
func snakeCase(camel string) string {
	var b strings.Builder
	for _, r := range strings.ReplaceAll(camel, "WebSocket", "Websocket") {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// jsonSchema returns the definitions as one JSON Schema document.
func (c *contract) jsonSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Version:     jsonschema.Version,
		ID:          "https://" + modulePath + "/schema/hub.schema.json",
		Title:       "Hookback",
		Description: "The messages between agents, the hub and its dashboard, one definition each. Generated by go run ./schema/gen.",
		Definitions: c.defs,
	}
}
