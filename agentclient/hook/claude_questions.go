package hook

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/hookback/hookback/schema"
)

// setUserQuestions sets the question for AskUserQuestion: one to four questions with
// labels, of which one or, with multiSelect, several are chosen. Claude Code's dialog
// always accepts the user's own text as well. Questions that can't be parsed can only be
// denied or left to that dialog.
func (s *claudeCall) setUserQuestions(c *Call, context *schema.Context) {
	f := &form{}
	for _, raw := range c.args.list("questions") {
		var o object
		if json.Unmarshal(raw, &o) != nil || o == nil {
			continue
		}
		q := schema.FormQuestion{Question: o.text("question"), Header: o.text("header"), AllowOther: true}
		if multi := o.boolean("multiSelect"); multi != nil {
			q.Multiple = *multi
		}
		for _, raw := range o.list("options") {
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
		s.setDenial(c, "The questions are only in the terminal, because they can't be read. Answer them there, or refuse them here.", context)
		return
	}
	c.Capabilities = c.Capabilities&^CanEdit | CanAnswer
	s.form, c.Ask = f, f.buildQuestion("", context)
}

// setPlan sets the question for ExitPlanMode. Some versions of Claude Code send no plan, only its file or not
// even that. The question has the plan then as newer versions send it.
func (s *claudeCall) setPlan(in Input, c *Call, o object) {
	c.Capabilities &^= CanEdit
	plan := strings.TrimSpace(c.args.text("plan"))
	isSent := plan != ""
	if !isSent && in.Plan != nil {
		plan = in.Plan(c.args.text("planFilePath"), o.text("transcript_path"))
	}
	if plan == "" {
		s.setDenial(c, "The plan is only in the terminal. Read and approve it there, or reject it here.", &schema.Context{Cwd: o.text("cwd")})
		return
	}
	c.Ask = c.permissionQuestion("", o.text("cwd"))
	c.Ask.Question = clip("Go ahead with this plan?\n\n"+plan, schema.MaxQuestionBytes)
	if !isSent {
		arguments := object{}
		maps.Copy(arguments, c.args)
		arguments["plan"] = encodeJSON(plan)
		c.Ask.ToolCall.Arguments = encodeJSON(arguments)
	}
}

// setDenial sets a question whose only answer is a denial: a person can't see here what an approval would
// be about, or Claude Code would not take it.
func (s *claudeCall) setDenial(c *Call, text string, context *schema.Context) {
	s.denyOnly = true
	c.Ask = &schema.HumanInTheLoop{Question: text, Type: schema.Choice, Choices: []string{"Deny"}, Context: context}
}

// list returns an array member, or the array in a string, as some models send it. Its elements can be in
// strings, too.
func (o object) list(name string) []json.RawMessage {
	all := o.array(name)
	if all == nil {
		_ = json.Unmarshal([]byte(o.text(name)), &all)
	}
	for i := range all {
		all[i] = unwrapJSONString(all[i])
	}
	return all
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
	input["questions"] = encodeJSON(c.args.list("questions"))
	input["answers"] = encodeJSON(answers)
	return encodeJSON(input)
}
