package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/schema/internal/object"
)

// MaxDepth is the maximum nesting depth of arrays and objects in a message. MaxExtra is the maximum
// number of unknown members in one object.
const (
	MaxDepth = object.MaxDepth
	MaxExtra = object.MaxExtra
)

// Depth returns the nesting depth of arrays and objects in JSON text. It takes one pass and no memory, so
// it is safe to call before any parser.
func Depth(text []byte) int {
	depth, _ := object.Shape(text)
	return depth
}

// Limits of a message.
const (
	MaxBody        = 8 << 20   // bytes of a request body
	MaxFrame       = 256 << 10 // bytes of a frame to an agent
	MaxSealedFrame = 640 << 10 // bytes of a frame with a seal, which contains the answer again
	MaxName        = 1 << 10   // bytes of source_app, session_id and similar names
	MaxReason      = 16 << 10  // bytes of a reason or comment
	MaxText        = 64 << 10  // bytes of a text answer
	MaxURL         = 2 << 10
	MaxListed      = 64 << 10 // bytes of a payload in a list or stream; larger ones are left out
	MaxBatch       = 1000     // events in one POST /events/batch
	RecentLimit    = 300
	MaxPageLimit   = 1000
)

// Validate checks an event as a hub does before it stores it. Its errors are *FieldError and wrap
// ErrInvalid.
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
	if !object.IsObject(e.Payload) {
		return invalid("payload", "is required and must be an object")
	}
	for _, name := range slices.Sorted(maps.Keys(e.Extra)) {
		if err := CheckEventMember(name); err != nil {
			return err
		}
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

// Validate checks a question. It does not apply the dial policy: a hub stores a question with a
// forbidden address and shows its delivery as blocked.
func (q *HumanInTheLoop) Validate() error {
	err := firstError(q.validateMembers, q.validateText, q.validateKind, q.validateTimes, q.validateEnums,
		q.validateRecipients, q.validateQuestions, q.validateAddress, q.validateSecrets)
	if err != nil {
		return object.Wrap("humanInTheLoop", err)
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
	switch a := q.Appeal; {
	case a != nil && (q.Type != Permission || q.ToolCall == nil || q.ToolCall.Editable):
		return invalid("appeal", "needs type permission and a toolCall that is not editable")
	case a != nil && (len(a.By) > MaxName || len(a.Reason) > MaxReason):
		return invalid("appeal", fmt.Sprintf("has a by of more than %d bytes or a reason of more than %d bytes", MaxName, MaxReason))
	case strings.TrimSpace(q.Question) == "":
		return invalid("question", "is required and must not be empty")
	case len(q.Question) > MaxQuestionBytes:
		return invalid("question", fmt.Sprintf("is longer than %d bytes", MaxQuestionBytes))
	default:
		return nil
	}
}

// The length of a secret that a client chooses, in bytes.
const (
	minSecret = 32
	maxSecret = 128
)

// validateSecrets checks the nonce, the request secret and the commit.
func (q *HumanInTheLoop) validateSecrets() error {
	for _, f := range []struct{ name, value string }{{"nonce", q.Nonce}, {"requestSecret", q.RequestSecret}} {
		if f.value != "" && (len(f.value) < minSecret || len(f.value) > maxSecret || !isPrintable(f.value)) {
			return invalid(f.name, fmt.Sprintf("must be %d to %d printable ASCII characters", minSecret, maxSecret))
		}
	}
	if q.Context != nil && q.Context.Commit != "" && !isCommit(q.Context.Commit) {
		return invalid("context.commit", "must be 40 or 64 lower-case hex digits")
	}
	if q.Context != nil && q.Context.Owners != nil {
		return q.Context.Owners.validate()
	}
	return nil
}

// Limits of FileOwners.
const (
	MaxOwnedFiles = 50 // groups
	MaxOwners     = 50 // of a group
	MaxOwnerBytes = 254
)

func (o *FileOwners) validate() error {
	if len(o.Files) > MaxOwnedFiles {
		return invalid("context.owners.files", fmt.Sprintf("has more than %d groups", MaxOwnedFiles))
	}
	for i := range o.Files {
		owners := o.Files[i].Owners
		isTooLong := func(name string) bool { return len(name) > MaxOwnerBytes }
		if len(owners) == 0 || len(owners) > MaxOwners || slices.ContainsFunc(owners, isTooLong) {
			return invalid(fmt.Sprintf("context.owners.files.%d.owners", i),
				fmt.Sprintf("must be 1 to %d names of at most %d bytes", MaxOwners, MaxOwnerBytes))
		}
	}
	return nil
}

// isCommit reports whether s is a Git commit in hex. A regular expression would cost every
// start of hookback hook 40 allocations.
func isCommit(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// isPrintable reports whether s has only printable ASCII characters without spaces.
func isPrintable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

func (q *HumanInTheLoop) validateKind() error {
	switch q.Type {
	case Permission, FreeText:
		return nil
	case Choice:
		if len(q.Choices) == 0 {
			return invalid("choices", "requires at least one label")
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
			return invalid(field, "contains an empty label")
		case IsReservedName(label):
			return invalid(field, fmt.Sprintf("contains the label %q; labels of the form __…__ are reserved", label))
		case seen[label]:
			return invalid(field, fmt.Sprintf("contains the label %q twice", label))
		}
		seen[label] = true
	}
	return nil
}

// IsReservedName reports whether a label has the form of a fixed outcome.
func IsReservedName(label string) bool {
	return len(label) > 4 && strings.HasPrefix(label, "__") && strings.HasSuffix(label, "__")
}

func (q *HumanInTheLoop) validateTimes() error {
	// Less than a nanosecond would round to 0, which means no deadline.
	if q.PromptAfter < 0 || q.PromptAfter > MaxTimeout.Seconds() {
		return invalid("promptAfter", fmt.Sprintf("must be seconds up to %.0f", MaxTimeout.Seconds()))
	}
	if t := q.Timeout; t != nil && *t != 0 && (*t < 0.001 || *t > MaxTimeout.Seconds()) {
		return invalid("timeout", fmt.Sprintf("must be 0 (no deadline) or seconds from 0.001 to %.0f", MaxTimeout.Seconds()))
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
		return invalid("reminderIntervalSeconds", "requires a finite timeout")
	case interval < MinReminder.Seconds() || interval > MaxTimeout.Seconds():
		return invalid("reminderIntervalSeconds", fmt.Sprintf("must be seconds from %.0f to %.0f", MinReminder.Seconds(), MaxTimeout.Seconds()))
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
		return invalid("escalateTo.members", "must contain at least one name")
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
		if t.Name == "" && (t.ArgumentsRef == "" || t.Arguments != nil) {
			return invalid("toolCall.name", "is required")
		}
		if t.ArgumentsRef != "" && t.Editable {
			return invalid("toolCall.editable", "must be absent if argumentsRef is set")
		}
		if t.Editable && !object.IsObject(t.Arguments) {
			return invalid("toolCall.arguments", "must be an object if editable is set")
		}
		if t.Consequence != nil {
			return t.Consequence.validate()
		}
	}
	return nil
}

// MaxRecipients is the maximum number of people that a question can be addressed to.
const MaxRecipients = 100

// validateRecipients checks the rules that do not depend on the hub's accounts.
func (q *HumanInTheLoop) validateRecipients() error {
	switch {
	case q.RequiredApprovals < 0:
		return invalid("requiredApprovals", "must not be negative")
	case q.RequiredApprovals > MaxRecipients:
		return invalid("requiredApprovals", fmt.Sprintf("must be at most %d", MaxRecipients))
	case q.RequiredApprovals > 1 && (q.Type == FreeText || q.AllowOther):
		return invalid("requiredApprovals", "must be 1 for a free-text question, because two texts never agree")
	}
	r := q.Recipients
	if r == nil || r.Mode != "selected_members" {
		return nil
	}
	switch n := len(r.Members); {
	case n == 0:
		return invalid("recipients.members", "must contain at least one name")
	case n > MaxRecipients:
		return invalid("recipients.members", fmt.Sprintf("has more than %d names", MaxRecipients))
	case q.RequiredApprovals > n:
		return invalid("requiredApprovals", fmt.Sprintf("is %d, more than the %d that recipients.members names", q.RequiredApprovals, n))
	default:
		return nil
	}
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
		return invalid("questions", "requires the type question")
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

// CheckResponse checks an answer against its question. Its errors are *FieldError and wrap
// ErrWrongAnswer.
func (q *HumanInTheLoop) CheckResponse(r *Response) error {
	err := firstError(
		func() error { return q.checkAnswerKind(r) },
		func() error { return q.checkEdit(r) },
		func() error { return q.checkReason(r) },
		func() error { return q.checkRemember(r) },
		func() error { return q.checkStop(r) },
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

// Validate checks a bulk approval. Its errors are *FieldError.
func (a *Approvals) Validate() error {
	switch n := len(a.Requests); {
	case n == 0:
		return invalid("requests", "must contain at least one request")
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
	if q.Type == Choice && q.AllowOther && r.Choice == nil && r.Response != nil {
		want = "response"
	}
	if !given[want] {
		return invalidAnswer(want, "is required to answer this question")
	}
	for _, name := range []string{"permission", "response", "choice", "answers"} {
		if given[name] && name != want {
			return invalidAnswer(name, "is not the answer to this question; use "+want)
		}
	}
	switch want {
	case "response":
		if q.Type == Choice && slices.Contains(q.Choices, *r.Response) {
			return invalidAnswer("response", "is an offered label; send it as choice")
		}
		return checkText("response", *r.Response)
	case "choice":
		if !slices.Contains(q.Choices, *r.Choice) {
			return invalidAnswer("choice", "is not one of the offered labels")
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
			return invalidAnswer("answers."+id, "is not a question of this request")
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
		return invalidAnswer(field, "must be a string, or an array of strings if several options can be picked")
	}
	if len(labels) == 0 || len(labels) > MaxChoices {
		return invalidAnswer(field, fmt.Sprintf("must contain 1 to %d labels", MaxChoices))
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
		return invalidAnswer(field, "is not one of the offered labels")
	}
}

func (q *HumanInTheLoop) checkEdit(r *Response) error {
	if r.ModifiedArguments == nil {
		return nil
	}
	name, isDuplicate := object.DuplicateName(r.ModifiedArguments)
	switch {
	case q.ToolCall == nil || !q.ToolCall.Editable:
		return invalidAnswer("modifiedArguments", "is not allowed: this call can't be edited")
	case r.Permission == nil || !*r.Permission:
		return invalidAnswer("modifiedArguments", "is allowed only in an approval")
	case !object.IsObject(r.ModifiedArguments):
		return invalidAnswer("modifiedArguments", "must be the whole arguments object")
	case isDuplicate:
		// The agent could run the value that the person did not see.
		return invalidAnswer("modifiedArguments", fmt.Sprintf("contains the member %q twice", name))
	case bytes.Contains(r.ModifiedArguments, []byte(RedactedPrefix)):
		return invalidAnswer("modifiedArguments", "still contains a redacted value, which would run verbatim; replace it, or approve without changes")
	default:
		return nil
	}
}

// RedactedPrefix starts the placeholder that replaces a secret.
const RedactedPrefix = "[redacted:"

func (q *HumanInTheLoop) checkReason(r *Response) error {
	if len(r.Reason) > MaxReason {
		return invalidAnswer("reason", "is too long")
	}
	if len(r.Comment) > MaxReason {
		return invalidAnswer("comment", "is too long")
	}
	denied := r.Permission != nil && !*r.Permission
	if strings.TrimSpace(r.Reason) == "" && r.AskBack == "" && (q.ReasonRequired == "always" || q.ReasonRequired == "deny" && denied) {
		return invalidAnswer("reason", "is required for this question")
	}
	return nil
}

func (q *HumanInTheLoop) checkRemember(r *Response) error {
	if r.Remember == nil {
		return nil
	}
	if slices.ContainsFunc(q.Suggestions, func(s json.RawMessage) bool { return SameJSON(s, r.Remember) }) {
		return nil
	}
	return invalidAnswer("remember", "is not one of the question's suggestions")
}

// checkStop checks the two special denials: interrupt and askBack.
func (q *HumanInTheLoop) checkStop(r *Response) error {
	denied := r.Permission != nil && !*r.Permission
	switch {
	case r.Interrupt && !denied:
		return invalidAnswer("interrupt", "is allowed only in a denial")
	case r.Interrupt && (!q.Interruptible || q.RequiredApprovals > 1):
		return invalidAnswer("interrupt", "is not possible: this question is not interruptible, or several people have to agree")
	case r.AskBack == "":
		return nil
	case !denied:
		return invalidAnswer("askBack", "is allowed only in the denial of a permission")
	case q.RequiredApprovals > 1 || q.Appeal != nil:
		return invalidAnswer("askBack", "is not possible for an appeal, or if several people have to agree")
	case r.Interrupt:
		return invalidAnswer("askBack", "can't be combined with interrupt: the agent is to answer")
	case len(r.AskBack) > MaxReason:
		return invalidAnswer("askBack", "is too long")
	}
	return checkText("askBack", r.AskBack)
}

// Outcome returns the outcome that an answer gives the question.
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

// UnmarshalJSON decodes an answer. Its errors are *FieldError and wrap ErrWrongAnswer, or
// ErrInvalid if b is not an object. It ignores unknown members, because a version 1 page sends the
// whole hookEvent back, except members that would restrict the answer in another protocol and
// misspelled ones.
func (r *Response) UnmarshalJSON(b []byte) error {
	err := object.Decode(b, r, true)
	var f *FieldError
	if errors.As(err, &f) && f.Field != "" {
		f.Cause = ErrWrongAnswer
	}
	return err
}

// Deadline returns the deadline of a question created at the given time, or the zero time if there is
// none.
func (q *HumanInTheLoop) Deadline(createdAt time.Time) time.Time {
	if d := q.TimeoutDuration(); d > 0 {
		return createdAt.Add(d)
	}
	return time.Time{}
}
