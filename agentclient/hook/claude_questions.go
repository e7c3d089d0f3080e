package hook

import (
	"encoding/json"
	"maps"

	"github.com/hookback/hookback/schema"
)

// setUserQuestions sets the question for AskUserQuestion: one to four questions with
// labels, of which one or, with multiSelect, several are chosen. Claude Code's dialog
// always accepts the user's own text as well. Questions that can't be parsed can only be
// denied or left to that dialog.
func (s *claudeCall) setUserQuestions(c *Call, context *schema.Context) {
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
			displayed := schema.Option{Label: option.text("label"), Description: option.text("description")}
			if option.has("preview") {
				displayed.Extra = map[string]json.RawMessage{"preview": option["preview"]}
			}
			q.Options = append(q.Options, displayed)
		}
		f.add(q)
		s.questionTexts = append(s.questionTexts, o.text("question"))
	}
	if !f.fitsOneQuestion() {
		c.Capabilities &^= CanAllow | CanEdit
		c.Ask = c.permissionQuestion("", context.Cwd)
		return
	}
	c.Capabilities = c.Capabilities&^CanEdit | CanAnswer
	s.form, c.Ask = f, f.buildQuestion("", context)
}

// inputWithAnswers returns the tool's input with the answers keyed by question text, as
// Claude Code's dialog would write them. It returns nil without an answer.
func (s *claudeCall) inputWithAnswers(c *Call, v Verdict) json.RawMessage {
	answers := map[string]string{}
	for i, key := range s.questionTexts {
		answer := s.form.answerText(i, v)
		if answer == "" {
			continue
		}
		if other := answers[key]; other != "" {
			answer = other + "; " + answer // two questions with the same text
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
