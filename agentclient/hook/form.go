package hook

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/hookback/hookback/schema"
)

// form is an agent's list of questions in the form that one hub question can hold.
// A hub requires unique, non-empty labels that don't look like __…__; agents
// guarantee none of this.
type form struct {
	questions []schema.FormQuestion
	labels    []map[string]string // by question: displayed label → the agent's label
}

// add appends a question with labels that a hub accepts. Its id is its position,
// starting at 1.
func (f *form) add(q schema.FormQuestion) {
	q.ID = strconv.Itoa(len(f.questions) + 1)
	q.Header = oneLine(q.Header, 100)
	q.Question = clip(cmp.Or(strings.TrimSpace(q.Question), q.Header, "Question "+q.ID), schema.MaxQuestionBytes)
	labels := map[string]string{}
	options := q.Options
	q.Options = nil
	for _, o := range options {
		label := strings.TrimSpace(o.Label)
		if schema.IsReservedName(label) {
			label = "“" + label + "”"
		}
		if _, duplicate := labels[label]; duplicate || label == "" {
			continue
		}
		if len(q.Options) == schema.MaxChoices {
			q.AllowOther = true // an omitted option can still be typed
			break
		}
		labels[label] = o.Label
		o.Label = label
		q.Options = append(q.Options, o)
	}
	f.questions, f.labels = append(f.questions, q), append(f.labels, labels)
}

// fitsOneQuestion reports whether one hub question can hold the form.
func (f *form) fitsOneQuestion() bool {
	return len(f.questions) > 0 && len(f.questions) <= schema.MaxQuestions
}

// answers returns the answers to question i, with the agent's own labels.
func (f *form) answers(i int, v Verdict) []string {
	var all []string
	for _, s := range v.Answers[f.questions[i].ID] {
		if label, ok := f.labels[i][s]; ok {
			s = label
		}
		all = append(all, s)
	}
	return all
}

// answerText returns the answers to question i in one line. Several labels are separated by
// commas, so a label that contains one is quoted.
func (f *form) answerText(i int, v Verdict) string {
	all := f.answers(i, v)
	for n, answer := range all {
		if f.questions[i].Multiple && strings.Contains(answer, ",") {
			all[n] = string(encodeJSON(answer))
		}
	}
	return strings.Join(all, ", ")
}

// buildQuestion returns a hub question with the whole form. title is its heading if
// there is more than one question.
func (f *form) buildQuestion(title string, c *schema.Context) *schema.HumanInTheLoop {
	q := &schema.HumanInTheLoop{Question: f.questions[0].Question, Type: schema.FreeText, Questions: f.questions, Context: c}
	if n := len(f.questions); n > 1 {
		q.Question = cmp.Or(title, fmt.Sprintf("%d questions: %s", n, oneLine(f.questions[0].Question, 200)))
	}
	return q
}

// member is one member of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// orderedMembers returns an object's members in source order.
func orderedMembers(raw json.RawMessage) []member {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var all []member
	for d.More() {
		key, err := d.Token()
		name, ok := key.(string)
		var value json.RawMessage
		if err != nil || !ok || d.Decode(&value) != nil {
			return all
		}
		all = append(all, member{name, value})
	}
	return all
}
