package hook

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/hookback/hookback/schema"
)

// setUserQuestions reads the questions of AskUserQuestion: one to four, each with labels
// of which one or, with multiSelect, several are picked; Claude Code's dialog always
// takes a text of the user's own as well. Questions that can't be read can only be
// refused, or left to that dialog.
func (own *claudeCall) setUserQuestions(c *Call, where *schema.Context) {
	f := &form{}
	for _, raw := range c.args.array("questions") {
		var o object
		if json.Unmarshal(raw, &o) != nil || o == nil {
			continue
		}
		q := schema.FormQuestion{Question: o.text("question"), Header: o.text("header"), AllowOther: true}
		if multi := o.boolean("multiSelect"); multi != nil {
			q.Multiple = *multi
		}
		for _, raw := range o.array("options") {
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
		own.questionTexts = append(own.questionTexts, o.text("question"))
	}
	if !f.fitsOneQuestion() {
		c.Capabilities &^= CanAllow | CanEdit
		c.Ask = c.permissionQuestion("", where.Cwd)
		return
	}
	c.Capabilities = c.Capabilities&^CanEdit | CanAnswer
	own.form, c.Ask = f, f.buildQuestion("", where)
}

// inputWithAnswers is the tool's input with the answers in it: by the questions' texts, as
// the dialog would have put them there. nil: there is none.
func (own *claudeCall) inputWithAnswers(c *Call, v Verdict) json.RawMessage {
	answers := map[string]string{}
	for i, key := range own.questionTexts {
		answer := strings.Join(own.form.answers(i, v), ", ")
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
	input["answers"] = encodeJSON(answers)
	return encodeJSON(input)
}
