package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Limits of a message.
const (
	MaxBody      = 8 << 20   // a request body, bytes
	MaxFrame     = 256 << 10 // a frame to an agent, bytes
	MaxName      = 1 << 10   // source_app, session_id and the like, bytes
	MaxReason    = 16 << 10  // a reason, a comment, bytes
	MaxText      = 64 << 10  // a text answer, bytes
	MaxURL       = 2 << 10
	MaxListed    = 64 << 10 // a payload in a list or on a stream; bigger ones are left out
	MaxBatch     = 1000     // events in one POST /events/batch
	RecentLimit  = 300
	MaxPageLimit = 1000
)

// Validate checks an event as a hub does before it stores it. Its errors are
// *FieldError and wrap ErrInvalid.
func (e *Event) Validate() error {
	for _, f := range []struct{ name, value string }{
		{"source_app", e.SourceApp}, {"session_id", e.SessionID}, {"hook_event_type", e.HookEventType},
	} {
		if err := ValidateName(f.name, f.value); err != nil {
			return err
		}
	}
	if len(e.IdempotencyKey) > MaxName {
		return invalid("idempotency_key", "is too long")
	}
	if !isObject(e.Payload) {
		return invalid("payload", "is required and must be an object")
	}
	if e.HumanInTheLoop != nil {
		return e.HumanInTheLoop.Validate()
	}
	return nil
}

// ValidateName checks one of the three required names of an event.
func ValidateName(field, value string) error {
	switch {
	case value == "":
		return invalid(field, "is required and must be a non-empty string")
	case len(value) > MaxName:
		return invalid(field, fmt.Sprintf("is longer than %d bytes", MaxName))
	default:
		return nil
	}
}

// Validate checks a question. Whether its address may be dialled is not its
// business: a hub stores such a question and shows it as blocked.
func (q *HumanInTheLoop) Validate() error {
	err := firstError(q.validateText, q.validateKind, q.validateTimes, q.validateEnums, q.validateRecipients, q.validateQuestions, q.validateAddress)
	if err != nil {
		return fieldError("humanInTheLoop", err)
	}
	return nil
}

func firstError(checks ...func() error) error {
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (q *HumanInTheLoop) validateText() error {
	switch {
	case strings.TrimSpace(q.Question) == "":
		return invalid("question", "is required and must not be empty")
	case len(q.Question) > MaxQuestionBytes:
		return invalid("question", fmt.Sprintf("is longer than %d bytes", MaxQuestionBytes))
	default:
		return nil
	}
}

func (q *HumanInTheLoop) validateKind() error {
	switch q.Type {
	case Permission, FreeText:
		return nil
	case Choice:
		if len(q.Choices) == 0 {
			return invalid("choices", "needs at least one label")
		}
		return validateLabels("choices", q.Choices)
	default:
		return invalid("type", "must be permission, question or choice")
	}
}

func validateLabels(field string, labels []string) error {
	if len(labels) > MaxChoices {
		return invalid(field, fmt.Sprintf("has more than %d labels", MaxChoices))
	}
	seen := map[string]bool{}
	for _, label := range labels {
		switch {
		case strings.TrimSpace(label) == "":
			return invalid(field, "has an empty label")
		case IsReservedName(label):
			return invalid(field, fmt.Sprintf("has the label %q; labels of the form __…__ are reserved", label))
		case seen[label]:
			return invalid(field, fmt.Sprintf("has the label %q twice", label))
		}
		seen[label] = true
	}
	return nil
}

// IsReservedName reports whether a label stands for an outcome of the protocol's own.
func IsReservedName(label string) bool {
	return len(label) > 4 && strings.HasPrefix(label, "__") && strings.HasSuffix(label, "__")
}

func (q *HumanInTheLoop) validateTimes() error {
	// Less than a nanosecond would round to 0, which means never.
	if t := q.Timeout; t != nil && *t != 0 && (*t < 0.001 || *t > MaxTimeout.Seconds()) {
		return invalid("timeout", fmt.Sprintf("must be 0 (never) or seconds from 0.001 to %.0f", MaxTimeout.Seconds()))
	}
	if err := q.validateReminders(); err != nil {
		return err
	}
	return q.validateEscalation()
}

func (q *HumanInTheLoop) validateReminders() error {
	switch interval := q.ReminderIntervalSeconds; {
	case interval == 0 && q.ReminderMaxCount == 0:
		return nil
	case q.TimeoutDuration() == 0:
		return invalid("reminderIntervalSeconds", "needs a finite timeout")
	case interval < MinReminder.Seconds() || interval > MaxTimeout.Seconds():
		return invalid("reminderIntervalSeconds", "must be at least 30 and at most the longest timeout")
	case q.ReminderMaxCount < 1 || q.ReminderMaxCount > MaxReminders:
		return invalid("reminderMaxCount", "must be from 1 to 20")
	default:
		return nil
	}
}

func (q *HumanInTheLoop) validateEscalation() error {
	switch after, to := q.EscalateAfterSeconds, q.EscalateTo; {
	case after == 0 && to == nil:
		return nil
	case to == nil:
		return invalid("escalateTo", "is required with escalateAfterSeconds")
	case after < 1 || after > MaxTimeout.Seconds():
		return invalid("escalateAfterSeconds", fmt.Sprintf("must be seconds from 1 to %.0f", MaxTimeout.Seconds()))
	case q.TimeoutDuration() > 0 && after >= q.TimeoutDuration().Seconds():
		return invalid("escalateAfterSeconds", "must be less than the timeout")
	case to.Mode == "" || to.Mode == "anyone":
		return invalid("escalateTo.mode", "must be owner, owner_admins or selected_members")
	case to.Mode == "selected_members" && len(to.Members) == 0:
		return invalid("escalateTo.members", "must name somebody")
	default:
		return nil
	}
}

func (q *HumanInTheLoop) validateEnums() error {
	var mode, escalation string
	if q.Recipients != nil {
		mode = q.Recipients.Mode
	}
	if q.EscalateTo != nil {
		escalation = q.EscalateTo.Mode
	}
	for _, f := range []struct {
		name, value string
		allowed     []string
	}{
		{"recipients.mode", mode, []string{"anyone", "owner", "owner_admins", "selected_members"}},
		{"escalateTo.mode", escalation, []string{"owner", "owner_admins", "selected_members"}},
		{"risk", string(q.Risk), []string{"low", "medium", "high", "critical"}},
		{"onTimeout", q.OnTimeout, []string{"emit_timeout", "fail_run"}},
		{"reasonRequired", q.ReasonRequired, []string{"never", "deny", "always"}},
	} {
		if f.value != "" && !slices.Contains(f.allowed, f.value) {
			return invalid(f.name, "must be one of "+strings.Join(f.allowed, ", "))
		}
	}
	if t := q.ToolCall; t != nil {
		if t.Name == "" {
			return invalid("toolCall.name", "is required")
		}
		if t.Editable && !isObject(t.Arguments) {
			return invalid("toolCall.arguments", "must be an object to be editable")
		}
	}
	return nil
}

// MaxRecipients is how many people a question can be put to.
const MaxRecipients = 100

// validateRecipients checks what can be told without knowing who there is.
func (q *HumanInTheLoop) validateRecipients() error {
	switch {
	case q.RequiredApprovals < 0:
		return invalid("requiredApprovals", "must not be negative")
	case q.RequiredApprovals > MaxRecipients:
		return invalid("requiredApprovals", fmt.Sprintf("must be at most %d", MaxRecipients))
	case q.RequiredApprovals > 1 && q.Type == FreeText:
		return invalid("requiredApprovals", "must be 1 for a question that wants a text: no two people write the same")
	}
	r := q.Recipients
	if r == nil || r.Mode != "selected_members" {
		return nil
	}
	switch n := len(r.Members); {
	case n == 0:
		return invalid("recipients.members", "must name somebody")
	case n > MaxRecipients:
		return invalid("recipients.members", fmt.Sprintf("has more than %d names", MaxRecipients))
	case q.RequiredApprovals > n:
		return invalid("requiredApprovals", fmt.Sprintf("is %d, more than the %d that recipients.members names", q.RequiredApprovals, n))
	default:
		return nil
	}
}

func isObject(raw []byte) bool {
	t := bytes.TrimLeft(raw, " \t\r\n")
	return len(t) > 0 && t[0] == '{'
}

func (q *HumanInTheLoop) validateQuestions() error {
	if len(q.Questions) > MaxQuestions {
		return invalid("questions", fmt.Sprintf("has more than %d questions", MaxQuestions))
	}
	seen := map[string]bool{}
	for i, sub := range q.Questions {
		field := fmt.Sprintf("questions.%d", i)
		switch {
		case sub.ID == "":
			return invalid(field+".id", "is required")
		case seen[sub.ID]:
			return invalid(field+".id", "is used twice")
		case strings.TrimSpace(sub.Question) == "":
			return invalid(field+".question", "is required")
		case len(sub.Question) > MaxQuestionBytes:
			return invalid(field+".question", "is too long")
		}
		seen[sub.ID] = true
		labels := make([]string, len(sub.Options))
		for j, o := range sub.Options {
			labels[j] = o.Label
		}
		if err := validateLabels(field+".options", labels); err != nil {
			return err
		}
	}
	if len(q.Questions) > 0 && q.Type != FreeText {
		return invalid("questions", "needs the type question")
	}
	return nil
}

func (q *HumanInTheLoop) validateAddress() error {
	if len(q.ListenerKey) > MaxName {
		return invalid("listenerKey", "is too long")
	}
	if q.ResponseWebSocketURL == "" {
		return nil
	}
	if len(q.ResponseWebSocketURL) > MaxURL {
		return invalid("responseWebSocketUrl", "is too long")
	}
	u, err := url.Parse(q.ResponseWebSocketURL)
	if err != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Host == "" {
		return invalid("responseWebSocketUrl", "must be a ws:// or wss:// address")
	}
	return nil
}

// CheckResponse checks a person's answer against the question it is for. Its
// errors are *FieldError and wrap ErrWrongAnswer.
func (q *HumanInTheLoop) CheckResponse(r *Response) error {
	err := firstError(
		func() error { return q.checkAnswerKind(r) },
		func() error { return q.checkEdit(r) },
		func() error { return q.checkReason(r) },
		func() error { return q.checkRemember(r) },
		func() error { return checkHold(r.HoldMS, ErrWrongAnswer) },
	)
	return err
}

func checkHold(ms int64, cause error) error {
	if ms < 0 || ms > MaxHold.Milliseconds() {
		return &FieldError{Field: "holdMs", Detail: fmt.Sprintf("must be from 0 to %d", MaxHold.Milliseconds()), Cause: cause}
	}
	return nil
}

// Validate checks a list of approvals. Its errors are *FieldError.
func (a *Approvals) Validate() error {
	switch n := len(a.Requests); {
	case n == 0:
		return invalid("requests", "must name what is approved")
	case n > MaxApprovals:
		return invalid("requests", fmt.Sprintf("has more than %d requests", MaxApprovals))
	case len(a.Reason) > MaxReason:
		return invalid("reason", "is too long")
	}
	return checkHold(a.HoldMS, ErrInvalid)
}

func (q *HumanInTheLoop) checkAnswerKind(r *Response) error {
	given := map[string]bool{
		"permission": r.Permission != nil, "response": r.Response != nil,
		"choice": r.Choice != nil, "answers": r.Answers != nil,
	}
	want := map[Kind]string{Permission: "permission", FreeText: "response", Choice: "choice"}[q.Type]
	if len(q.Questions) > 0 {
		want = "answers"
	}
	if !given[want] {
		return invalidAnswer(want, "is required to answer this question")
	}
	for _, name := range []string{"permission", "response", "choice", "answers"} {
		if given[name] && name != want {
			return invalidAnswer(name, "does not answer this question; "+want+" does")
		}
	}
	switch want {
	case "response":
		return checkText("response", *r.Response)
	case "choice":
		if !slices.Contains(q.Choices, *r.Choice) {
			return invalidAnswer("choice", "was not offered")
		}
	case "answers":
		return q.checkAnswers(r.Answers)
	}
	return nil
}

func checkText(field, text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return invalidAnswer(field, "must not be empty")
	case len(text) > MaxText:
		return invalidAnswer(field, fmt.Sprintf("is longer than %d bytes", MaxText))
	default:
		return nil
	}
}

func (q *HumanInTheLoop) checkAnswers(answers map[string]json.RawMessage) error {
	for _, sub := range q.Questions {
		field := "answers." + sub.ID
		raw, ok := answers[sub.ID]
		if !ok {
			return invalidAnswer(field, "is missing")
		}
		if err := sub.check(field, raw); err != nil {
			return err
		}
	}
	for id := range answers {
		if !slices.ContainsFunc(q.Questions, func(s FormQuestion) bool { return s.ID == id }) {
			return invalidAnswer("answers."+id, "answers a question that was not asked")
		}
	}
	return nil
}

func (s *FormQuestion) check(field string, raw json.RawMessage) error {
	var label string
	if json.Unmarshal(raw, &label) == nil && string(raw) != "null" {
		return s.checkLabel(field, label)
	}
	var labels []string
	if json.Unmarshal(raw, &labels) != nil || !s.Multiple {
		return invalidAnswer(field, "must be a string, or an array of strings where several may be picked")
	}
	if len(labels) == 0 || len(labels) > MaxChoices {
		return invalidAnswer(field, "must pick something")
	}
	for _, label := range labels {
		if err := s.checkLabel(field, label); err != nil {
			return err
		}
	}
	return nil
}

func (s *FormQuestion) checkLabel(field, label string) error {
	offered := slices.ContainsFunc(s.Options, func(o Option) bool { return o.Label == label })
	switch {
	case offered:
		return nil
	case len(s.Options) == 0 || s.AllowOther:
		return checkText(field, label)
	default:
		return invalidAnswer(field, "was not offered")
	}
}

func (q *HumanInTheLoop) checkEdit(r *Response) error {
	if r.ModifiedArguments == nil {
		return nil
	}
	switch {
	case q.ToolCall == nil || !q.ToolCall.Editable:
		return invalidAnswer("modifiedArguments", "may not be given: this call can't be edited")
	case r.Permission == nil || !*r.Permission:
		return invalidAnswer("modifiedArguments", "goes with an approval only")
	case !isObject(r.ModifiedArguments):
		return invalidAnswer("modifiedArguments", "must be the whole arguments object")
	case bytes.Contains(r.ModifiedArguments, []byte(RedactedPrefix)):
		return invalidAnswer("modifiedArguments", "still holds a redacted value, which would run as it stands; replace it, or approve without changes")
	default:
		return nil
	}
}

// RedactedPrefix begins what the hub puts in the place of a secret.
const RedactedPrefix = "[redacted:"

func (q *HumanInTheLoop) checkReason(r *Response) error {
	if len(r.Reason) > MaxReason {
		return invalidAnswer("reason", "is too long")
	}
	if len(r.Comment) > MaxReason {
		return invalidAnswer("comment", "is too long")
	}
	denied := r.Permission != nil && !*r.Permission
	if strings.TrimSpace(r.Reason) == "" && (q.ReasonRequired == "always" || q.ReasonRequired == "deny" && denied) {
		return invalidAnswer("reason", "is required for this question")
	}
	return nil
}

func (q *HumanInTheLoop) checkRemember(r *Response) error {
	if r.Remember == nil {
		return nil
	}
	for _, s := range q.Suggestions {
		if sameJSON(s, r.Remember) {
			return nil
		}
	}
	return invalidAnswer("remember", "is none of the question's suggestions")
}

// sameJSON compares values, not text: a browser that parsed a suggestion and
// writes it again turns 1.0 into 1 and \u003e into >.
func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// Outcome is the outcome that an answer gives a question.
func (q *HumanInTheLoop) Outcome(r *Response) Outcome {
	switch {
	case r.Permission != nil && *r.Permission:
		return Approve
	case r.Permission != nil:
		return Deny
	case r.Choice != nil:
		return Outcome(*r.Choice)
	default:
		return Answered
	}
}

// UnmarshalJSON reads an answer; its errors are *FieldError and wrap
// ErrWrongAnswer, or ErrInvalid when b is no object at all. Unknown members (a version 1 page sends the whole hookEvent
// back) are ignored.
func (r *Response) UnmarshalJSON(b []byte) error {
	err := decodeObject(b, r, true)
	var f *FieldError
	if errors.As(err, &f) && f.Field != "" {
		f.Cause = ErrWrongAnswer
	}
	return err
}

// Until is when a question asked at the given time ends: the zero time for never.
func (q *HumanInTheLoop) Until(createdAt time.Time) time.Time {
	if d := q.TimeoutDuration(); d > 0 {
		return createdAt.Add(d)
	}
	return time.Time{}
}
