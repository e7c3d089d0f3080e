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

// omitLabel is the label that leaves an optional property out. A hub wants an answer
// to every question.
const omitLabel = "(leave it out)"

// elicitedProperty is a property that an MCP server asks for.
type elicitedProperty struct {
	name     string
	kind     string // string, number, integer, boolean or array
	required bool
	values   map[string]json.RawMessage // label → the value it stands for; nil: a text is wanted
}

// setElicitation reads an MCP server's question to the user. Claude Code opens its own dialog
// when the hook has ended, so nothing is open meanwhile.
func (own *claudeCall) setElicitation(c *Call, o object) {
	server := cmp.Or(oneLine(o.text("mcp_server_name"), 100), "An MCP server")
	message := strings.TrimSpace(o.text("message"))
	where := &schema.Context{Cwd: o.text("cwd")}
	switch {
	case o.text("mode") == "url":
		address := o.text("url")
		if address == "" {
			return
		}
		where.Links = []string{address}
		c.Ask = &schema.HumanInTheLoop{
			Question: clip(fmt.Sprintf("%s wants to send you to %s\n\n%s", server, oneLine(address, 2000), message), schema.MaxQuestionBytes),
			Type:     schema.Permission, Context: where,
		}
		c.Capabilities = CanAllow | CanDeny
	default:
		requested := o.object("requested_schema")
		if !own.parseSchema(requested) {
			return // its own dialog may know better
		}
		title := clip(cmp.Or(message, server+" asks"), schema.MaxQuestionBytes)
		if len(own.properties) == 0 {
			c.Ask, c.Capabilities = &schema.HumanInTheLoop{Question: title, Type: schema.Permission, Context: where}, CanAllow|CanDeny
			break
		}
		c.Ask, c.Capabilities = own.form.buildQuestion(title, where), CanAllow|CanDeny|CanAnswer
		c.Ask.Question = title
		if name := o.text("mcp_server_name"); name != "" {
			where.Why = "Asked by the MCP server " + oneLine(name, 100)
		}
	}
	c.Point = Prompt
}

// parseSchema makes questions of a flat object of strings, numbers, booleans and
// choices, which is all that the MCP specification lets a server ask for.
func (own *claudeCall) parseSchema(requested object) bool {
	var required []string
	_ = json.Unmarshal(requested["required"], &required)
	own.form = &form{}
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
		own.properties = append(own.properties, p)
		own.form.add(q)
	}
	return len(own.properties) == 0 || own.form.fitsOneQuestion()
}

// parseOptions reads what can be picked. false: this property can't be asked for.
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

// addOption adds one value that can be picked.
func (p *elicitedProperty) addOption(label, value json.RawMessage, q *schema.FormQuestion) {
	var s string
	if json.Unmarshal(label, &s) != nil {
		s = compactJSON(label)
	}
	if p.values == nil {
		p.values = map[string]json.RawMessage{}
	}
	if _, twice := p.values[s]; !twice {
		p.values[s] = value
		q.Options = append(q.Options, schema.Option{Label: s})
	}
}

// decodeAnswer is a property's value, of the type the server wants. ok is false where the
// answer is none.
func (p *elicitedProperty) decodeAnswer(picked []string) (value json.RawMessage, ok bool) {
	switch {
	case p.kind == "array":
		all := make([]json.RawMessage, len(picked))
		for i, label := range picked {
			if all[i], ok = p.values[label]; !ok {
				return nil, false
			}
		}
		return encodeJSON(all), len(all) > 0
	case len(picked) != 1:
		return nil, false
	case p.values != nil:
		value, ok = p.values[picked[0]]
		return value, ok
	case p.kind == "string":
		return encodeJSON(picked[0]), true
	default:
		n := []byte(strings.TrimSpace(picked[0]))
		var f float64
		whole := !bytes.ContainsAny(n, ".eE")
		return n, json.Unmarshal(n, &f) == nil && (whole || p.kind == "number")
	}
}

// elicitationReply accepts with everything the server wants, or declines. An answer
// that is not of the wanted type leaves the question to Claude Code's own dialog.
func (own *claudeCall) elicitationReply(v Verdict) Reply {
	type output struct {
		HookEventName string                      `json:"hookEventName"`
		Action        string                      `json:"action"`
		Content       *map[string]json.RawMessage `json:"content,omitempty"`
	}
	out := output{HookEventName: "Elicitation"}
	switch v.Effect {
	case Deny:
		out.Action = "decline"
	case Allow:
		out.Action = "accept"
		content, ok := own.elicitedContent(v)
		if !ok {
			return Reply{}
		}
		if own.form != nil {
			out.Content = &content
		}
	default:
		return Reply{}
	}
	return Reply{Stdout: encodeJSON(map[string]output{"hookSpecificOutput": out})}
}

func (own *claudeCall) elicitedContent(v Verdict) (map[string]json.RawMessage, bool) {
	content := map[string]json.RawMessage{}
	for i, p := range own.properties {
		picked := own.form.answers(i, v)
		if !p.required && (len(picked) == 0 || slices.Contains(picked, omitLabel)) {
			continue
		}
		value, ok := p.decodeAnswer(picked)
		if !ok {
			return nil, false
		}
		content[p.name] = value
	}
	return content, true
}
