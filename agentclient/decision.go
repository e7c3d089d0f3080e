package agentclient

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
)

// Outcomes and sources that the client itself sets when it has no valid answer from a
// hub.
const (
	Unreachable schema.Outcome = "__unreachable__" // no hub accepted the question
	Rejected    schema.Outcome = "__rejected__"    // the request was invalid, or the hub rejected it
	Malformed   schema.Outcome = "__malformed__"   // the answer did not fit the question

	NoHub     schema.EndedBy = "unreachable"
	NotAsked  schema.EndedBy = "rejected"
	BadAnswer schema.EndedBy = "malformed"
)

// Decision is the outcome of a question. The zero Decision approves nothing.
//
// Use Approved for a permission, and Text, Choice or Answers for the other kinds. Only
// an answer sets these fields; without one, Outcome holds the reason.
type Decision struct {
	Kind schema.Kind `json:"kind"`
	// Outcome is approve, deny, answered or the chosen label. Without an answer it is
	// a reserved name such as schema.Timeout or Unreachable, in the form __name__.
	Outcome schema.Outcome `json:"outcome"`
	// Source is what ended the question: a person, a rule or a timeout, or one of
	// NoHub, NotAsked and BadAnswer.
	Source schema.EndedBy `json:"source"`

	Text    string              `json:"text,omitempty"`    // answer to a text question, or an own answer to a choice
	Choice  string              `json:"choice,omitempty"`  // one of the offered labels
	Answers map[string][]string `json:"answers,omitempty"` // question id → selected labels or text

	Reason  string `json:"reason,omitempty"`
	Comment string `json:"comment,omitempty"`
	// Interrupt is set if the denial ends the agent's turn. Only a Request whose Event.HumanInTheLoop is Interruptible gets it.
	Interrupt bool `json:"interrupt,omitempty"`
	// Guidance states for a model who decided and what to do next.
	Guidance string `json:"guidance,omitempty"`

	// Arguments are the arguments to run the approved tool call with: the person's
	// edit, else the arguments of the request. They are nil unless approved.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Edited    bool            `json:"edited,omitempty"` // Arguments were changed by the person
	// Remember is the suggestion that the person accepted, one of the request's
	// Suggestions, such as "always allow".
	Remember json.RawMessage `json:"remember,omitempty"`

	// Votes are all votes on a question with recipients or a quorum. Awaiting are the
	// recipients who had not voted.
	Votes    []schema.Vote `json:"votes,omitempty"`
	Awaiting []string      `json:"awaiting,omitempty"`
	// RequiredApprovals is the quorum.
	RequiredApprovals int `json:"requiredApprovals,omitempty"`

	RespondedBy *schema.Responder `json:"respondedBy,omitempty"` // nil if the hub does not report it
	RespondedAt time.Time         `json:"respondedAt,omitzero"`  // by the hub's clock
	EventID     schema.EventID    `json:"eventId,omitempty"`     // 0 if no hub has stored the question

	// Signed reports whether a trusted hub signed this decision for exactly this question.
	// It is false if the account trusts no hub yet.
	Signed bool `json:"signed"`
}

// Approved reports whether a person or a rule granted the permission, or the Allow
// fallback applied. It is false for every other kind of question and after any error.
func (d Decision) Approved() bool {
	return d.Kind == schema.Permission && d.Outcome == schema.Approve
}

// Answered reports whether the question was answered. A denial is an answer.
func (d Decision) Answered() bool {
	return d.Outcome != "" && !schema.IsReservedName(string(d.Outcome)) && d.Source != NoHub
}

// message is an answer as received from a hub, by push or pull.
type message struct {
	answer schema.Response // decoded separately: its member names must match exactly

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

	Seal   *schema.Envelope `json:"seal"`
	signed bool             // the values come from a verified Seal
}

// readMessage decodes a message. With an error it returns the fields that could be
// decoded, AnswerID in particular.
func readMessage(b []byte) (message, error) {
	var m message
	if err := json.Unmarshal(b, &m); err != nil {
		return m, fmt.Errorf("decode answer: %w", err)
	}
	return m, json.Unmarshal(b, &m.answer)
}

// eventRef returns the id and the idempotency key of the message's event. Version 1
// pages echo an event that they made up, or none.
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

// decide converts a message to a decision, or returns why it does not answer q. Only a
// message that fits the question in every part can approve it.
func decide(q *schema.HumanInTheLoop, m message) (Decision, error) {
	d := Decision{
		Kind: q.Type, Outcome: m.Outcome, Source: m.Source,
		Reason: m.answer.Reason, Comment: m.answer.Comment, Guidance: m.Guidance, RespondedBy: m.RespondedBy,
		Votes: m.Votes, Awaiting: m.Awaiting, RequiredApprovals: m.RequiredApprovals,
		Signed: m.signed,
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
	d.Interrupt = m.answer.Interrupt && q.Interruptible && d.Outcome == schema.Deny
	if m.Outcome != "" && m.Outcome != d.Outcome {
		return d, fmt.Errorf("the answer is %q, but its outcome is %q", d.Outcome, m.Outcome)
	}
	if votes := countVotes(m.Votes, d.Outcome); q.RequiredApprovals > 1 && votes < q.RequiredApprovals {
		// The server does not support quorums and accepted a single answer.
		return d, fmt.Errorf("the question requires %d votes, and the answer has %d", q.RequiredApprovals, votes)
	}
	if err := d.copyAnswer(q, m, r); err != nil {
		return d, err
	}
	d.fillExplanation(q)
	return d, nil
}

// countVotes returns the number of distinct people who voted for the outcome.
func countVotes(votes []schema.Vote, outcome schema.Outcome) int {
	voters := map[string]bool{}
	for _, v := range votes {
		if v.Choice == string(outcome) {
			voters[v.User] = true
		}
	}
	return len(voters)
}

// selectAnswer returns only the members of all that answer q's kind: version 1 servers
// may send members of other kinds.
func selectAnswer(q *schema.HumanInTheLoop, all schema.Response) schema.Response {
	r := schema.Response{ModifiedArguments: all.ModifiedArguments}
	switch {
	case len(q.Questions) > 0:
		r.Answers = all.Answers
	case q.Type == schema.Permission:
		r.Permission = all.Permission
	case q.Type == schema.Choice && (all.Choice != nil || !q.AllowOther):
		r.Choice = all.Choice
	default:
		r.Response = all.Response
	}
	return r
}

// withoutRequiredReason returns a copy of q that requires no reason. A server without
// support for reasons can't supply one, and a missing reason invalidates no answer.
func withoutRequiredReason(q *schema.HumanInTheLoop) *schema.HumanInTheLoop {
	c := *q
	c.ReasonRequired = ""
	return &c
}

// copyAnswer sets the fields that hold the answer.
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

// parseLabels decodes one answer of a form: a string or an array of strings.
func parseLabels(raw json.RawMessage) ([]string, error) {
	var label string
	if json.Unmarshal(raw, &label) == nil {
		return []string{label}, nil
	}
	var labels []string
	err := json.Unmarshal(raw, &labels)
	return labels, err
}

// findSuggestion returns the accepted suggestion in the agent's original encoding: a
// browser re-encodes what it sends, and a hub may have redacted it. It returns nil if
// chosen equals none of them.
func findSuggestion(suggestions []json.RawMessage, chosen json.RawMessage) json.RawMessage {
	i := slices.IndexFunc(suggestions, func(s json.RawMessage) bool { return schema.SameJSON(s, chosen) })
	if i < 0 {
		return nil
	}
	return suggestions[i]
}

// fillExplanation sets Source and Guidance if the server did not, as with version 1.
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
		d.Guidance = "No one answered in time. This is not a refusal, but nothing was approved. Do not go ahead; report that you got no answer."
	case schema.NoQuorum:
		d.Guidance = "The vote ended without agreement. Nothing was approved. Do not go ahead; report that there was no agreement."
	case schema.Deny:
		d.Guidance = "A person denied this. Nothing was run. Do not try to achieve the same result another way."
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
