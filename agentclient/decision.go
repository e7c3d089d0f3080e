package agentclient

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
)

// Outcomes and sources that only the client itself gives: no answer of a hub's
// was behind them.
const (
	Unreachable schema.Outcome = "__unreachable__" // no hub took the question
	Rejected    schema.Outcome = "__rejected__"    // the hub refused the question, or it was not valid
	Malformed   schema.Outcome = "__malformed__"   // the answer made no sense

	NoHub     schema.EndedBy = "unreachable"
	NotAsked  schema.EndedBy = "rejected"
	BadAnswer schema.EndedBy = "malformed"
)

// Decision is how a question ended. The zero Decision approves nothing.
//
// Read Approved for a permission, Text, Choice or Answers for the rest. They are
// only set by an answer; Outcome says why when there is none.
type Decision struct {
	Kind schema.Kind `json:"kind"`
	// Outcome is approve, deny, answered, the chosen label, or a word of the
	// form __…__ when nobody answered: schema.Timeout, Unreachable and so on.
	Outcome schema.Outcome `json:"outcome"`
	// Source is what ended the question: a human, a rule, the timeout, or
	// NoHub, NotAsked and BadAnswer.
	Source schema.EndedBy `json:"source"`

	Text    string              `json:"text,omitempty"`    // the answer to a question
	Choice  string              `json:"choice,omitempty"`  // one of the offered labels
	Answers map[string][]string `json:"answers,omitempty"` // question id → what was picked or written

	Reason  string `json:"reason,omitempty"`
	Comment string `json:"comment,omitempty"`
	// Guidance is one sentence for a model: who decided, and what that means.
	Guidance string `json:"guidance,omitempty"`

	// Arguments are what the approved tool call shall run with: the person's
	// edit, else the request's own. Unless approved it is nil.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Edited    bool            `json:"edited,omitempty"` // Arguments are the person's
	// Remember is the "always allow" offer the person took, one of the request's Suggestions.
	Remember json.RawMessage `json:"remember,omitempty"`

	// Votes are all that were cast, whatever came of them, where the question was put to
	// certain people or needed several; Awaiting who had not voted.
	Votes    []schema.Vote `json:"votes,omitempty"`
	Awaiting []string      `json:"awaiting,omitempty"`
	// RequiredApprovals is how many had to agree.
	RequiredApprovals int `json:"requiredApprovals,omitempty"`

	RespondedBy *schema.Responder `json:"respondedBy,omitempty"` // nil where the hub doesn't say
	RespondedAt time.Time         `json:"respondedAt,omitzero"`  // the hub's clock
	EventID     schema.EventID    `json:"eventId,omitempty"`     // 0: no hub has the question
}

// Approved reports whether the permission was given. It is false for every other
// kind of question, and whenever anything went wrong.
func (d Decision) Approved() bool {
	return d.Kind == schema.Permission && d.Outcome == schema.Approve
}

// Answered reports whether the question has a real answer; a denial is one.
func (d Decision) Answered() bool {
	return d.Outcome != "" && !schema.IsReservedName(string(d.Outcome)) && d.Source != NoHub
}

// message is one answer as it came from a hub, pushed or pulled.
type message struct {
	answer schema.Response // what approves; its member names must match exactly

	AnswerID    string            `json:"answerId"`
	RespondedAt schema.Millis     `json:"respondedAt"`
	RespondedBy *schema.Responder `json:"respondedBy"`
	Outcome     schema.Outcome    `json:"outcome"`
	Source      schema.EndedBy    `json:"source"`
	Guidance    string            `json:"guidance"`
	HookEvent   json.RawMessage   `json:"hookEvent"`

	Votes             []schema.Vote `json:"votes"`
	Awaiting          []string      `json:"awaiting"`
	RequiredApprovals int           `json:"requiredApprovals"`
}

// readMessage decodes a message. A message with an error still has what could be
// read of it, AnswerID first of all.
func readMessage(b []byte) (message, error) {
	var m message
	if err := json.Unmarshal(b, &m); err != nil {
		return m, fmt.Errorf("it is no JSON object of the right form: %w", err)
	}
	return m, json.Unmarshal(b, &m.answer)
}

// eventRef says which event the message is about, as far as it does: a version 1
// page echoes an event of its own making, or none.
func (m message) eventRef() (id schema.EventID, key string) {
	var e struct {
		ID  schema.EventID `json:"id"`
		Key string         `json:"idempotency_key"`
	}
	if json.Unmarshal(m.HookEvent, &e) != nil {
		return 0, ""
	}
	return e.ID, e.Key
}

// decide makes a decision of a message, or says why it is no answer to q. Only a
// message that fits the question in every part can approve it.
func decide(q *schema.HumanInTheLoop, m message) (Decision, error) {
	d := Decision{
		Kind: q.Type, Outcome: m.Outcome, Source: m.Source,
		Reason: m.answer.Reason, Comment: m.answer.Comment, Guidance: m.Guidance, RespondedBy: m.RespondedBy,
		Votes: m.Votes, Awaiting: m.Awaiting, RequiredApprovals: m.RequiredApprovals,
	}
	if m.RespondedAt > 0 {
		d.RespondedAt = time.UnixMilli(int64(m.RespondedAt))
	}
	if schema.IsReservedName(string(m.Outcome)) {
		d.fillExplanation(q)
		return d, nil
	}
	r := selectAnswer(q, m.answer)
	if err := withoutRequiredReason(q).CheckResponse(&r); err != nil {
		return d, err
	}
	d.Outcome = q.Outcome(&r)
	if m.Outcome != "" && m.Outcome != d.Outcome {
		return d, fmt.Errorf("the answer says %q, its outcome %q", d.Outcome, m.Outcome)
	}
	if votes := countVotes(m.Votes, d.Outcome); q.RequiredApprovals > 1 && votes < q.RequiredApprovals {
		// As from a server that takes one person's word for it.
		return d, fmt.Errorf("%d people had to agree, and the answer has the votes of %d", q.RequiredApprovals, votes)
	}
	if err := d.copyAnswer(q, m, r); err != nil {
		return d, err
	}
	d.fillExplanation(q)
	return d, nil
}

// countVotes is how many people voted for the outcome.
func countVotes(votes []schema.Vote, outcome schema.Outcome) int {
	voters := map[string]bool{}
	for _, v := range votes {
		if v.Choice == string(outcome) {
			voters[v.User] = true
		}
	}
	return len(voters)
}

// selectAnswer picks what answers q: version 1 servers may send members of the other
// kinds along, or nothing that fits.
func selectAnswer(q *schema.HumanInTheLoop, all schema.Response) schema.Response {
	r := schema.Response{ModifiedArguments: all.ModifiedArguments}
	switch {
	case len(q.Questions) > 0:
		r.Answers = all.Answers
	case q.Type == schema.Permission:
		r.Permission = all.Permission
	case q.Type == schema.Choice:
		r.Choice = all.Choice
	default:
		r.Response = all.Response
	}
	return r
}

// withoutRequiredReason is q without the demand for a reason: a server that does not know
// reasons can't be asked for one, and a missing one makes no answer wrong.
func withoutRequiredReason(q *schema.HumanInTheLoop) *schema.HumanInTheLoop {
	c := *q
	c.ReasonRequired = ""
	return &c
}

// copyAnswer copies the answer itself.
func (d *Decision) copyAnswer(q *schema.HumanInTheLoop, m message, r schema.Response) error {
	switch {
	case r.Response != nil:
		d.Text = *r.Response
	case r.Choice != nil:
		d.Choice = *r.Choice
	case r.Answers != nil:
		d.Answers = make(map[string][]string, len(r.Answers))
		for id, raw := range r.Answers {
			labels, err := parseLabels(raw)
			if err != nil {
				return err
			}
			d.Answers[id] = labels
		}
	}
	d.Remember = findSuggestion(q.Suggestions, m.answer.Remember)
	if d.Approved() && q.ToolCall != nil {
		d.Arguments = slices.Clone(q.ToolCall.Arguments)
		if r.ModifiedArguments != nil {
			d.Arguments, d.Edited = r.ModifiedArguments, true
		}
	}
	return nil
}

// parseLabels reads one answer of several: a string, or an array of strings.
func parseLabels(raw json.RawMessage) ([]string, error) {
	var label string
	if json.Unmarshal(raw, &label) == nil {
		return []string{label}, nil
	}
	var labels []string
	err := json.Unmarshal(raw, &labels)
	return labels, err
}

// findSuggestion is the suggestion that was taken, as the agent offered it: a browser
// rewrites the text of what it sends back, and a hub may have redacted it. nil
// when it is none of them.
func findSuggestion(suggestions []json.RawMessage, chosen json.RawMessage) json.RawMessage {
	var want any
	if json.Unmarshal(chosen, &want) != nil {
		return nil
	}
	for _, s := range suggestions {
		var have any
		if json.Unmarshal(s, &have) == nil && reflect.DeepEqual(have, want) {
			return s
		}
	}
	return nil
}

// fillExplanation fills Source and Guidance where the server gave none, as version 1
// servers do.
func (d *Decision) fillExplanation(q *schema.HumanInTheLoop) {
	if d.Source == "" {
		d.Source = schema.ByHuman
		if d.Outcome == schema.Timeout {
			d.Source = schema.ByTimeout
		}
	}
	if d.Guidance != "" {
		return
	}
	switch d.Outcome {
	case schema.Timeout:
		d.Guidance = "Nobody answered in time. That is not a refusal, but nothing was approved either."
	case schema.NoQuorum:
		d.Guidance = "People voted and did not agree. Nothing was approved: say that there was no agreement."
	case schema.Deny:
		d.Guidance = "A person refused this; nothing was run. Don't try it again in another way."
	case schema.Approve:
		if q.Type == schema.Permission {
			d.Guidance = "A person approved this."
		}
	default:
		if schema.IsReservedName(string(d.Outcome)) {
			d.Guidance = fmt.Sprintf("The question ended without an answer (%s). Nothing was approved.", strings.Trim(string(d.Outcome), "_"))
		}
	}
}
