package hook

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/hookback/hookback/schema"
)

// askQuestions reads the questions of AskUserQuestion: one to four, each with labels
// of which one or, with multiSelect, several are picked; Claude Code's dialog always
// takes a text of the user's own as well. Questions that can't be read can only be
// refused, or left to that dialog.
func (own *claudeCall) askQuestions(c *Call, where *schema.Context) {
	f := &form{}
	for _, raw := range c.args.list("questions") {
		var o object
		if json.Unmarshal(raw, &o) != nil || o == nil {
			continue
		}
		q := schema.FormQuestion{Question: o.text("question"), Header: o.text("header"), AllowOther: true}
		if multi := o.flag("multiSelect"); multi != nil {
			q.Multiple = *multi
		}
		for _, raw := range o.list("options") {
			var option object
			if json.Unmarshal(raw, &option) != nil {
				continue
			}
			shown := schema.Option{Label: option.text("label"), Description: option.text("description")}
			if option.has("preview") {
				shown.Extra = map[string]json.RawMessage{"preview": option["preview"]}
			}
			q.Options = append(q.Options, shown)
		}
		f.add(q)
		own.keys = append(own.keys, o.text("question"))
	}
	if !f.whole() {
		c.Capabilities &^= CanAllow | CanEdit
		c.Ask = c.permission("", where.Cwd)
		return
	}
	c.Capabilities = c.Capabilities&^CanEdit | CanAnswer
	own.asks, c.Ask = f, f.request("", where)
}

// answered is the tool's input with the answers in it: by the questions' texts, as
// the dialog would have put them there. nil: there is none.
func (own *claudeCall) answered(c *Call, v Verdict) json.RawMessage {
	answers := map[string]string{}
	for i, key := range own.keys {
		answer := strings.Join(own.asks.answers(i, v), ", ")
		if answer == "" {
			continue
		}
		if other := answers[key]; other != "" {
			answer = other + "; " + answer // the same question twice
		}
		answers[key] = answer
	}
	if len(answers) == 0 {
		return nil
	}
	input := maps.Clone(c.args)
	delete(input, "annotations") // the model's input must not pass for a person's notes
	input["answers"] = encode(answers)
	return encode(input)
}
