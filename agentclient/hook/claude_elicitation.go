package hook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hookback/hookback/schema"
)

// omitLabel is the option that omits an optional property. It is needed because a hub
// requires an answer to every question.
const omitLabel = "(leave it out)"

// elicitedProperty is one property of the form that an MCP server requests.
type elicitedProperty struct {
	name     string
	kind     string // string, number, integer, boolean or array
	required bool
	values   map[string]json.RawMessage // label → its value; nil for free text
}

// setElicitation sets the question for an MCP server's elicitation. Claude Code opens
// its own dialog only after the hook has ended, so HasPrompt stays false.
func (s *claudeCall) setElicitation(c *Call, o object) {
	server := cmp.Or(oneLine(o.text("mcp_server_name"), 100), "An MCP server")
	message := strings.TrimSpace(o.text("message"))
	context := &schema.Context{Cwd: o.text("cwd")}
	switch {
	case o.text("mode") == "url":
		target := o.text("url")
		if target == "" {
			return
		}
		context.Links = []string{target}
		c.Ask = &schema.HumanInTheLoop{
			Question: clip(fmt.Sprintf("%s asks you to open %s\n\n%s", server, oneLine(target, 2000), message), schema.MaxQuestionBytes),
			Type:     schema.Permission, Context: context,
		}
		c.Capabilities = CanAllow | CanDeny
	default:
		requested := o.object("requested_schema")
		if !s.parseSchema(requested) {
			return // unsupported schema: leave it to the agent's dialog
		}
		title := clip(cmp.Or(message, server+" asks"), schema.MaxQuestionBytes)
		if len(s.properties) == 0 {
			c.Ask, c.Capabilities = &schema.HumanInTheLoop{Question: title, Type: schema.Permission, Context: context}, CanAllow|CanDeny
			break
		}
		c.Ask, c.Capabilities = s.form.buildQuestion(title, context), CanAllow|CanDeny|CanAnswer
		c.Ask.Question = title
		if name := o.text("mcp_server_name"); name != "" {
			context.Why = "Asked by the MCP server " + oneLine(name, 100)
		}
	}
	c.Point = Prompt
}

// parseSchema converts a flat object of strings, numbers, booleans and choices, the
// only schema that the MCP specification allows here. It returns false if the schema
// is not supported.
func (s *claudeCall) parseSchema(requested object) bool {
	var required []string
	_ = json.Unmarshal(requested["required"], &required)
	s.form = &form{}
	for _, m := range orderedMembers(requested["properties"]) {
		var o object
		if json.Unmarshal(m.value, &o) != nil || o == nil {
			return false
		}
		p := elicitedProperty{name: m.name, kind: o.text("type"), required: slices.Contains(required, m.name)}
		q := schema.FormQuestion{Header: cmp.Or(o.text("title"), m.name), Question: cmp.Or(o.text("description"), o.text("title"), m.name)}
		if !p.parseOptions(o, &q) {
			return false
		}
		if !p.required {
			q.Options = append(q.Options, schema.Option{Label: omitLabel})
		}
		s.properties = append(s.properties, p)
		s.form.add(q)
	}
	return len(s.properties) == 0 || s.form.fitsOneQuestion()
}

// parseOptions sets the options of a property. It returns false if the property can't
// be put to a person.
func (p *elicitedProperty) parseOptions(o object, q *schema.FormQuestion) bool {
	choices := o
	switch p.kind {
	case "boolean":
		p.values = map[string]json.RawMessage{"Yes": []byte("true"), "No": []byte("false")}
		q.Options = []schema.Option{{Label: "Yes"}, {Label: "No"}}
		return true
	case "array":
		q.Multiple = true
		choices = o.object("items")
	case "string", "number", "integer":
	default:
		return false
	}
	labels := choices.array("enumNames")
	for i, value := range choices.array("enum") {
		label := value
		if i < len(labels) {
			label = labels[i]
		}
		p.addOption(label, value, q)
	}
	for _, member := range []string{"oneOf", "anyOf"} {
		for _, raw := range choices.array(member) {
			var choice object
			if json.Unmarshal(raw, &choice) != nil || !choice.has("const") {
				continue
			}
			label := choice["const"]
			if choice.text("title") != "" {
				label = choice["title"]
			}
			p.addOption(label, choice["const"], q)
		}
	}
	if p.values == nil {
		q.AllowOther = true
		if def := o.text("default"); def != "" {
			q.Options = []schema.Option{{Label: def, Description: "as the server suggests"}}
		}
	}
	return p.values != nil || p.kind != "array"
}

// addOption adds an option; the first of several with the same label wins.
func (p *elicitedProperty) addOption(label, value json.RawMessage, q *schema.FormQuestion) {
	var s string
	if json.Unmarshal(label, &s) != nil {
		s = compactJSON(label)
	}
	if p.values == nil {
		p.values = map[string]json.RawMessage{}
	}
	if _, duplicate := p.values[s]; !duplicate {
		p.values[s] = value
		q.Options = append(q.Options, schema.Option{Label: s})
	}
}

// decodeAnswer converts an answer to the type that the server requests. ok is false if
// it can't be converted.
func (p *elicitedProperty) decodeAnswer(labels []string) (value json.RawMessage, ok bool) {
	switch {
	case p.kind == "array":
		all := make([]json.RawMessage, len(labels))
		for i, label := range labels {
			if all[i], ok = p.values[label]; !ok {
				return nil, false
			}
		}
		return encodeJSON(all), len(all) > 0
	case len(labels) != 1:
		return nil, false
	case p.values != nil:
		value, ok = p.values[labels[0]]
		return value, ok
	case p.kind == "string":
		return encodeJSON(labels[0]), true
	default:
		n := []byte(strings.TrimSpace(labels[0]))
		var f float64
		isInteger := !bytes.ContainsAny(n, ".eE")
		return n, json.Unmarshal(n, &f) == nil && (isInteger || p.kind == "number")
	}
}

// elicitationReply accepts with all requested values, or declines. If an answer has the
// wrong type it returns no opinion, so that Claude Code's own dialog asks.
func (s *claudeCall) elicitationReply(v Verdict) Reply {
	var action string
	var content any
	switch v.Effect {
	case Deny:
		action = "decline"
	case Allow:
		action = "accept"
		values, ok := s.elicitedContent(v)
		if !ok {
			return Reply{}
		}
		if s.form != nil {
			content = values
		}
	default:
		return Reply{}
	}
	return encodeReply("hookSpecificOutput", encodeMembers("hookEventName", "Elicitation", "action", action, "content", content))
}

func (s *claudeCall) elicitedContent(v Verdict) (map[string]json.RawMessage, bool) {
	content := map[string]json.RawMessage{}
	for i, p := range s.properties {
		answers := s.form.answers(i, v)
		if !p.required && (len(answers) == 0 || slices.Contains(answers, omitLabel)) {
			continue
		}
		value, ok := p.decodeAnswer(answers)
		if !ok {
			return nil, false
		}
		content[p.name] = value
	}
	return content, true
}
