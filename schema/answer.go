package schema

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/hookback/hookback/schema/internal/object"
)

// State is the protocol version 1 state of a question.
type State string

// The states of a question. A question leaves Pending exactly once.
const (
	Pending   State = "pending"
	Responded State = "responded"
	TimedOut  State = "timeout"
	Failed    State = "error"
)

// Outcome is the label of a question's resolution. A choice resolves to the chosen label.
type Outcome string

// The fixed outcomes. Labels of the form __…__ are reserved and can't be offered as choices.
const (
	Approve   Outcome = "approve"
	Deny      Outcome = "deny"
	Answered  Outcome = "answered"
	Timeout   Outcome = "__timeout__"
	NoQuorum  Outcome = "__no_quorum__"
	Cancelled Outcome = "__cancelled__"
	Withdrawn Outcome = "__withdrawn__"
)

// EndedBy is the cause of a question's resolution.
type EndedBy string

// The causes of a resolution.
const (
	ByHuman      EndedBy = "human"
	ByRule       EndedBy = "rule"
	ByTimeout    EndedBy = "timeout"
	ByCancel     EndedBy = "cancel"
	ByAgent      EndedBy = "agent"       // the agent, or a person at its prompt
	ByDismissal  EndedBy = "dismissed"   // a person interrupted the agent or closed its prompt
	BySessionEnd EndedBy = "session_end" // the agent ended its session
	ByOrphaned   EndedBy = "orphaned"    // the agent is gone, for example because its terminal was closed
	ByQuorum     EndedBy = "quorum"
	// BySuperseded is a version 1 question whose agent asked again (Status.SupersededBy).
	BySuperseded EndedBy = "superseded"
	// ByFreeze is a permission that the hub denied because its agent is frozen.
	ByFreeze EndedBy = "freeze"
)

// Status is the state of a question: its answer, its votes, and the delivery of the answer to the agent.
type Status struct {
	Status      State   `json:"status"`
	RespondedAt Millis  `json:"respondedAt,omitempty"`
	Response    *Answer `json:"response,omitempty"` // without hookEvent, because the event contains this status

	// Version 2.

	Outcome           Outcome    `json:"outcome,omitempty"`
	Source            EndedBy    `json:"source,omitempty"`
	Reason            string     `json:"reason,omitempty"`
	RespondedBy       *Responder `json:"respondedBy,omitempty"`
	ExpiresAt         Millis     `json:"expiresAt,omitempty"` // deadline by the hub's clock; absent if there is none
	Revision          int64      `json:"revision,omitempty"`  // increases with every change of this status
	RequiredApprovals int        `json:"requiredApprovals,omitempty"`
	Votes             []Vote     `json:"votes,omitempty"`
	Awaiting          []string   `json:"awaiting,omitempty"`
	Waiter            Waiter     `json:"waiter,omitempty"`
	Delivery          *Delivery  `json:"delivery,omitempty"`
	Execution         *Execution `json:"execution,omitempty"`
	Test              bool       `json:"test,omitempty"`  // a test request: nothing runs, whatever the answer is
	Probe             bool       `json:"probe,omitempty"` // a test request of hookback doctor, which can only be denied

	// Recipients are the people who may answer, resolved when the question was created. Escalation adds more. If
	// absent, everyone with the right to answer may. Awaiting lists the recipients who have not voted.
	Recipients []string `json:"recipients,omitempty"`
	// Owners is the result of Recipients.Owners.
	Owners *OwnerMatch `json:"owners,omitempty"`
	// Edited is the call that the votes apply to, if a voter has edited it.
	Edited *EditedCall `json:"edited,omitempty"`
	// Reminders is the number of reminders that were due. escalatedAt is the time at which
	// EscalateTo was added to the recipients, by the hub's clock.
	Reminders   int    `json:"reminders,omitempty"`
	EscalatedAt Millis `json:"escalatedAt,omitempty"`
	// Extended is the latest extension of the deadline.
	Extended *DeadlineExtension `json:"extended,omitempty"`
	// Rule is the rule that answered the question.
	Rule *RuleRef `json:"rule,omitempty"`
	// Waiters is the size of the duplicate group: the number of pending questions of the session
	// with equal content, including this one. It is absent for a single question. SameAs is the
	// leader of the group, the first of its questions; the leader itself has none.
	Waiters int     `json:"waiters,omitempty"`
	SameAs  EventID `json:"sameAs,omitempty"`
	// Follows is the question of the same session about the same call that a person answered with
	// askBack, at most AskBackWindow earlier.
	Follows EventID `json:"follows,omitempty"`
	// SupersededBy is the question that ended this one, source superseded.
	SupersededBy EventID `json:"supersededBy,omitempty"`
	// Notifications lists the newest MaxNotifications (50) notifications about the question: their
	// recipient, channel and state. If there are more, noticeCounts counts all of them.
	Notifications      []Notification      `json:"notices,omitempty"`
	NotificationCounts *NotificationCounts `json:"noticeCounts,omitempty"`

	// Risk is the hub's estimate: the higher of the agent's own estimate and the risks of Findings.
	Risk Risk `json:"risk,omitempty"`
	// Class is the hub's class of the tool call; absent, and to be treated as unknown, if the question is about none.
	Class Class `json:"class,omitempty"`
	// Findings are the hub's findings about the tool call, most severe first.
	Findings []Finding `json:"findings,omitempty"`
	// Intent summarizes the tool call that an approval allows; absent if the question is no permission for a call.
	Intent *Intent `json:"intent,omitempty"`
	// View is the hub's reading of the tool call, with the arguments of Edited if there are any; absent if the question
	// is about none.
	View *CallView `json:"view,omitempty"`
	// Defaults lists the additions of the hub's settings to the question; absent: none.
	Defaults *AppliedDefaults `json:"defaults,omitempty"`
	// Held is an answer within its undo window. Until held.until the question stays pending and
	// nothing is sent to the agent.
	Held *PendingUndo `json:"held,omitempty"`
}

// OwnerMatch is whether the owners of the files decide. If not, everyone else who would have been asked may answer.
type OwnerMatch struct {
	// State is matched: the recipients are owners; unstated: the requester named none; unknown: none of them has an
	// account that may answer; or too_few: fewer may answer than have to agree.
	State string `json:"state" jsonschema:"enum=matched,enum=unstated,enum=unknown,enum=too_few"`
	// FallbackAt is when everyone else may answer, because the owners have quiet hours now.
	FallbackAt Millis `json:"fallbackAt,omitempty"`
}

// The states of OwnerMatch.
const (
	OwnersMatched  = "matched"
	OwnersUnstated = "unstated"
	OwnersUnknown  = "unknown"
	OwnersTooFew   = "too_few"
)

// AppliedDefaults lists the members that the hub's settings added to a question.
type AppliedDefaults struct {
	Members []string `json:"members"` // of timeout, recipients and requiredApprovals
	// Reduced is set if a setting could not hold, because too few of its people may answer.
	Reduced bool `json:"reduced,omitempty"`
}

// Intent is a tool call as one line: "Edit", "internal/order/list.go", "+4 −3". Object and Change quote the
// agent, with U+FFFD in place of hidden characters, and are shortened.
type Intent struct {
	Verb   string `json:"verb"`
	Object string `json:"object,omitempty"`
	Change string `json:"change,omitempty"`
}

// Title returns the intent in a few words; empty for nil.
func (i *Intent) Title() string {
	if i == nil {
		return ""
	}
	return strings.Join(strings.Fields(i.Verb+" "+i.Object+" "+i.Change), " ")
}

// DeadlineExtension is a change of a question's deadline by a person. Agent shows whether the
// waiting agent received it. An agent that has not received it stops waiting at the old deadline.
type DeadlineExtension struct {
	By string `json:"by"`
	At Millis `json:"at"`
	// Agent is the delivery of the new deadline: queued while the hub connects, delivered,
	// unreachable (see Error; the hub retried), or none if the agent polls.
	Agent DeliveryState `json:"agent"`
	Error string        `json:"error,omitempty"`
}

// EditedCall is a tool call that a voter edited. An edit drops the earlier votes, because they were
// about a different call. The ledger keeps them.
type EditedCall struct {
	Arguments json.RawMessage `json:"arguments" jsonschema:"type=object"` // the complete arguments
	By        string          `json:"by"`
	At        Millis          `json:"at"`
	// Revision is the first status revision with these arguments. A vote for them names this revision or a later one.
	Revision int64 `json:"revision"`
}

// Finding is a statement about a tool call that an approver should read.
type Finding struct {
	Code string `json:"code"` // name of the rule, such as recursive_delete
	Risk Risk   `json:"risk"`
	Text string `json:"text"` // one plain sentence
	// At is a JSON pointer into the arguments of the tool call. Excerpt is the text there that the
	// finding is about, verbatim.
	At      string `json:"at,omitempty"`
	Excerpt string `json:"excerpt,omitempty"`
}

// CallView is the hub's reading of a tool call: its programs and its files. It quotes the agent.
//
// Each entry has a place: at is a JSON pointer into the arguments; absent: the whole call, or a long pointer. From and To are offsets in
// the decoded text there, in UTF-16 code units, as JavaScript counts them; without To the place is the whole value.
type CallView struct {
	Lines    []CallLine    `json:"lines,omitempty"`    // command lines
	Commands []CallCommand `json:"commands,omitempty"` // all commands that can run, in order; absent: none, or too many
	Files    []CallFile    `json:"files,omitempty"`
	Hosts    []CallHost    `json:"hosts,omitempty"`
	Unread   []CallUnread  `json:"unread,omitempty"` // what could not be read; empty: all of it was
	// Omitted is the number of entries that are left out, because a list would have more than 32 or more than 4 KiB of text.
	Omitted int `json:"omitted,omitempty"`
	// Source is the arguments as the agent wrote them, if an object in them has a name twice: a JSON parser of a page keeps
	// one of the two. Absent above 16 KiB; then Unread has a reason.
	Source string `json:"source,omitempty"`
}

// CallPlace is the place of an entry of a CallView.
type CallPlace struct {
	At   string `json:"at,omitempty"`
	From int    `json:"from,omitempty"`
	To   int    `json:"to,omitempty"`
}

// CallLine is a command line.
type CallLine struct {
	CallPlace
	Shell string `json:"shell" jsonschema:"enum=sh,enum=powershell,enum=cmd"`
	// Text is the line if it is not the text at its place, such as the line of a list of words.
	Text string `json:"text,omitempty"`
}

// CallCommand is a command at the place of its program, or of all of it if it has none.
type CallCommand struct {
	CallPlace
	Program string `json:"program,omitempty"` // without quotes; absent: it only assigns or redirects
	Dir     string `json:"dir,omitempty"`     // where it runs, if that is known and not the directory of the call
}

// CallFile is a path that a call touches, absolute if the directory is known.
type CallFile struct {
	CallPlace
	Path string `json:"path"`
	// Op is the operation. list includes searches, move names the old path, and use is an unknown operation.
	Op string `json:"op" jsonschema:"enum=read,enum=write,enum=delete,enum=move,enum=list,enum=use"`
}

// CallHost is a host that a call contacts.
type CallHost struct {
	CallPlace
	Name   string `json:"name"`
	Method string `json:"method,omitempty"` // of HTTP; absent: unknown
}

// CallUnread is a part of a call that could not be read.
type CallUnread struct {
	CallPlace
	Reason string `json:"reason"` // the end of the sentence "The call can't be read completely: …"
}

// PendingUndo is an answer within its undo window.
type PendingUndo struct {
	Until   Millis     `json:"until"` // end of the undo window by the hub's clock
	Outcome Outcome    `json:"outcome"`
	By      *Responder `json:"by,omitempty"`
	// Revision is the status revision that was answered. The answer also applies to the duplicates
	// that had joined the group by then.
	Revision int64 `json:"revision,omitempty"`
}

// IsSettled reports whether the question is resolved.
func (s *Status) IsSettled() bool { return s.Status != Pending }

// Responder identifies the person or rule that answered a question.
type Responder struct {
	Name     string `json:"name"`
	Verified bool   `json:"verified"` // false if any program on the hub's machine could have sent the answer
	// Via is the proof of the name: session (signed-in browser), token, proxy, link (signed link sent only to this
	// person), telegram or slack (chat account that this person linked) or rule. It is empty if the name is not verified.
	Via string `json:"via,omitempty" jsonschema:"enum=session,enum=token,enum=proxy,enum=link,enum=telegram,enum=slack,enum=rule"`
	// Passkey is set if a passkey assertion verified this exact answer.
	Passkey bool `json:"passkey,omitempty"`
	// SelfApproval is set if the answering process is a descendant of the asking process. The audit log names it.
	SelfApproval bool `json:"possibleSelfApproval,omitempty"`
}

// Vote is one person's vote on a question that requires several approvals.
type Vote struct {
	User    string `json:"user"`
	Choice  string `json:"choice"`
	Comment string `json:"comment,omitempty"`
	At      Millis `json:"at"`
	Passkey bool   `json:"passkey,omitempty"` // see Responder
}

// Waiter is the liveness of the agent that waits for the answer. It is unknown for a version 1 listener, which the hub
// does not connect to before it has the answer, and for one that the hub may not connect to.
type Waiter string

// The values of Waiter.
const (
	Listening Waiter = "listening"
	Lost      Waiter = "lost"
	Unknown   Waiter = "unknown"
)

// Execution is the outcome of an approved call. It comes from a later event of the session with the
// same tool_use_id, or from a CallReport.
type Execution struct {
	State      string  `json:"state" jsonschema:"enum=executing,enum=succeeded,enum=failed,enum=interrupted"`
	DurationMS int64   `json:"durationMs,omitempty"` // from the approval to that event, or as reported by the agent
	Error      string  `json:"error,omitempty"`
	EventID    EventID `json:"eventId,omitempty"` // the event with the outcome; absent for a CallReport
}

// CallReport is the body of POST /events/:id/execution. An agent without hooks reports the start and
// the outcome of an approved call with it.
type CallReport struct {
	State         string `json:"state" jsonschema:"enum=executing,enum=succeeded,enum=failed,enum=interrupted"`
	DurationMS    int64  `json:"durationMs,omitempty"` // duration of the call
	Error         string `json:"error,omitempty"`
	RequestSecret string `json:"requestSecret"` // secret of the question
}

// Validate checks a report. Its errors are *FieldError.
func (r *CallReport) Validate() error {
	switch {
	case r.State != Executing && r.State != Succeeded && r.State != ToolFailed && r.State != Interrupted:
		return invalid("state", "must be executing, succeeded, failed or interrupted")
	case r.DurationMS < 0:
		return invalid("durationMs", "must not be negative")
	default:
		return nil
	}
}

// IsOver reports whether the call has ended. A nil Execution has not begun.
func (e *Execution) IsOver() bool { return e != nil && e.State != Executing }

// The states of an Execution.
const (
	Executing   = "executing"
	Succeeded   = "succeeded"
	ToolFailed  = "failed"
	Interrupted = "interrupted"
)

// DeliveryState is the progress of an answer on its way to the agent.
type DeliveryState string

// The states of a delivery. Only Acked and Pulled prove that the agent has the answer.
const (
	NoDelivery  DeliveryState = "none"        // no callback address: the agent polls
	Queued      DeliveryState = "queued"      // waiting for an attempt
	Sending     DeliveryState = "sending"     // an attempt is in progress
	Delivered   DeliveryState = "delivered"   // accepted by a version 1 listener (see Confirmed)
	Acked       DeliveryState = "acked"       // acknowledged by the agent
	Pulled      DeliveryState = "pulled"      // fetched by the agent
	Fetched     DeliveryState = "fetched"     // fetched without the request secret, not verified
	Unconfirmed DeliveryState = "unconfirmed" // the connection broke after sending; the agent may have the answer
	Refused     DeliveryState = "refused"     // rejected by the listener; retried at NextAttemptAt, if set
	Unreachable DeliveryState = "unreachable" // no listener; retried at NextAttemptAt
	TooLate     DeliveryState = "too_late"    // the agent had stopped waiting
	Blocked     DeliveryState = "blocked"     // the dial policy forbids the address
)

// IsFinal reports whether the hub makes no further attempt.
func (s DeliveryState) IsFinal() bool {
	switch s {
	case Queued, Sending:
		return false
	default:
		return true
	}
}

// Delivery is the delivery of an answer to the agent.
type Delivery struct {
	State     DeliveryState `json:"state"`
	Attempts  int           `json:"attempts"`
	Confirmed string        `json:"confirmed,omitempty" jsonschema:"enum=close,enum=write"` // how a version 1 listener confirmed it
	LastError string        `json:"lastError,omitempty"`
	// DeliveredAt and NextAttemptAt are by the hub's clock. An unreachable or refused delivery is
	// retried as long as NextAttemptAt is set.
	DeliveredAt   Millis `json:"deliveredAt,omitempty"`
	NextAttemptAt Millis `json:"nextAttemptAt,omitempty"`
	// HandledAt is the time at which a person marked an undelivered answer as handled.
	HandledAt Millis `json:"handledAt,omitempty"`
}

// Response is the body of POST /events/:id/respond. Exactly one of Permission, Response, Choice and
// Answers is set, depending on the kind of question.
type Response struct {
	Permission *bool                      `json:"permission,omitempty"`
	Response   *string                    `json:"response,omitempty"`
	Choice     *string                    `json:"choice,omitempty"`
	Answers    map[string]json.RawMessage `json:"answers,omitempty"` // form question id → label, [labels] or text

	Reason  string `json:"reason,omitempty"`
	Comment string `json:"comment,omitempty"`
	// ModifiedArguments replaces all arguments of an editable tool call.
	ModifiedArguments json.RawMessage `json:"modifiedArguments,omitempty" jsonschema:"type=object"`
	Remember          json.RawMessage `json:"remember,omitempty"` // one of the question's suggestions
	// Interrupt ends the agent's turn with a denial. The question must be interruptible.
	Interrupt bool `json:"interrupt,omitempty"`
	// AskBack denies the call with a question for the agent, which should answer it and try the
	// same call again. Permission is false or absent. It is not possible for votes and appeals.
	AskBack string `json:"askBack,omitempty"`
	// Revision is the status revision that the person saw, for optimistic concurrency. The hub
	// rejects a revision that it never issued, because it belongs to a different database.
	Revision int64 `json:"revision,omitempty"`
	// Proof is a passkey assertion for exactly this answer, if the hub requires one (see POST
	// /api/passkeys/challenge).
	Proof json.RawMessage `json:"proof,omitempty" jsonschema:"type=object"`
	// HoldMS is the undo window in milliseconds, at most MaxHold (30 s). Within it POST
	// /events/:id/undo drops the answer.
	HoldMS int64 `json:"holdMs,omitempty"`
}

// SetDenial sets Permission to false if the answer is an AskBack without it.
func (r *Response) SetDenial() {
	if denied := false; r.AskBack != "" && r.Permission == nil {
		r.Permission = &denied
	}
}

// AskBackWindow is the time in which a question about the same call follows an AskBack.
const AskBackWindow = 10 * time.Minute

// MaxHold is the longest undo window.
const MaxHold = 30 * time.Second

// Approvals is the body of POST /events/approve: the permissions that a person reviewed in one list.
type Approvals struct {
	Requests []SeenRevision `json:"requests"`         // 1 to MaxApprovals (100)
	HoldMS   int64          `json:"holdMs,omitempty"` // undo window as in Response; default 5000
	Reason   string         `json:"reason,omitempty"`
}

// UnmarshalJSON matches member names exactly and rejects unknown members.
func (a *Approvals) UnmarshalJSON(b []byte) error { return object.DecodeStrict(b, a) }

// MaxApprovals is the maximum number of requests in one bulk approval.
const MaxApprovals = 100

// SeenRevision is a request in the revision that a person saw.
type SeenRevision struct {
	ID       EventID `json:"id"`
	Revision int64   `json:"revision"`
}

// Answer is the result that the agent receives: a text frame on its listener, or the body of GET /events/:id/response.
type Answer struct {
	Permission *bool                      `json:"permission,omitempty"` // always set for a permission
	Response   *string                    `json:"response,omitempty"`
	Choice     *string                    `json:"choice,omitempty"`
	Answers    map[string]json.RawMessage `json:"answers,omitempty"`

	Reason            string          `json:"reason,omitempty"`
	Comment           string          `json:"comment,omitempty"`
	ModifiedArguments json.RawMessage `json:"modifiedArguments,omitempty" jsonschema:"type=object"`
	Remember          json.RawMessage `json:"remember,omitempty"`
	Interrupt         bool            `json:"interrupt,omitempty"` // the agent must end its turn
	AskBack           string          `json:"askBack,omitempty"`

	RespondedAt Millis     `json:"respondedAt"`
	RespondedBy *Responder `json:"respondedBy,omitempty"`
	Outcome     Outcome    `json:"outcome,omitempty"`
	Source      EndedBy    `json:"source,omitempty"`
	Guidance    string     `json:"guidance,omitempty"` // an instruction for the model

	// Votes are the votes that counted, Awaiting the recipients who had not voted, and
	// RequiredApprovals the quorum. They are set only for a question with several recipients.
	Votes             []Vote   `json:"votes,omitempty"`
	Awaiting          []string `json:"awaiting,omitempty"`
	RequiredApprovals int      `json:"requiredApprovals,omitempty"`
	Rule              *RuleRef `json:"rule,omitempty"` // the rule that answered

	// HookEvent is the hub's stored event. If HookEventTruncated is set, its payload exceeded the
	// frame limit and contains only agent_name and permission_type.
	HookEvent          *Event `json:"hookEvent,omitempty"`
	HookEventTruncated bool   `json:"hookEventTruncated,omitempty"`

	// AnswerID deduplicates deliveries: a version 2 listener acknowledges it and drops an answer that it already has.
	AnswerID string `json:"answerId,omitempty"`
	Attempt  int    `json:"attempt,omitempty"`

	// Seal is the signed form of this answer, an envelope of type StatementPayload. It is present for a version 2
	// question with a nonce. An agent that trusts a hub key takes every value from it and none from the other members.
	Seal *Envelope `json:"seal,omitempty"`
}

// Ack is the acknowledgment that a version 2 listener sends once its caller has the answer.
type Ack struct {
	Type     string `json:"type" jsonschema:"enum=ack"`
	AnswerID string `json:"answerId"`
	// Result is absent or AckAccepted if the answer was taken, AckDuplicate if it was already known, AckTooLate if
	// nothing waits for it any more, AckMismatch if it belongs to a different question or does not fit its own, and
	// AckUntrusted if no hub that the agent trusts has signed it.
	Result string `json:"result,omitempty" jsonschema:"enum=accepted,enum=duplicate,enum=too_late,enum=mismatch,enum=untrusted"`
}

// The values in an Ack.
const (
	AckType      = "ack"
	AckAccepted  = "accepted"
	AckDuplicate = "duplicate"
	AckTooLate   = "too_late"
	AckMismatch  = "mismatch"
	AckUntrusted = "untrusted"
)

// Control is a message to a version 2 listener that is not an answer. The hub sends it on a separate connection, after
// the same proof. It is not acknowledged. A listener ignores unknown kinds.
type Control struct {
	Type      string `json:"type" jsonschema:"enum=control"`
	Kind      string `json:"kind" jsonschema:"enum=deadline"`
	ExpiresAt Millis `json:"expiresAt,omitempty"` // the new deadline by the hub's clock; absent if there is none
	// InSeconds is the time until the new deadline. It does not depend on the listener's clock.
	InSeconds float64 `json:"inSeconds,omitempty"`
}

// The values in a Control.
const (
	ControlType     = "control"
	ControlDeadline = "deadline"
)

// Extend is the body of POST /events/:id/extend, which extends or removes the deadline.
type Extend struct {
	// Seconds is added to the deadline, which can be at most MaxTimeout (30 days) from now. 0 removes the deadline.
	Seconds float64 `json:"seconds"`
}

// UnmarshalJSON requires seconds, so that an empty body does not remove the deadline.
func (e *Extend) UnmarshalJSON(b []byte) error {
	var body struct {
		Seconds *float64 `json:"seconds"`
	}
	if err := object.DecodeStrict(b, &body); err != nil {
		return err
	}
	if body.Seconds == nil {
		return invalid("seconds", "is required; 0 removes the deadline")
	}
	e.Seconds = *body.Seconds
	return nil
}

// Cancel is the body of POST /events/:id/cancel. With the request secret of the question, the agent
// withdraws it and nothing is sent. Without it, a person cancels it.
type Cancel struct {
	Reason        string `json:"reason,omitempty"`
	RequestSecret string `json:"requestSecret,omitempty"`
	// Revision is the status revision that the person saw. With it, the duplicates in the group at
	// that revision whose agents are not lost are canceled, too; without it, only this question.
	Revision int64 `json:"revision,omitempty"`
}

// UnmarshalJSON rejects unknown members: a misspelled requestSecret would turn a withdrawal into a person's decision.
func (c *Cancel) UnmarshalJSON(b []byte) error { return object.DecodeStrict(b, c) }

// Headers of the callback handshake and of GET /events/:id/response.
const (
	// IdempotencyHeader names a request, so that a repeat with the same body gets the same answer.
	IdempotencyHeader = "Idempotency-Key"
	// ChallengeHeader carries the hub's random challenge to the listener.
	ChallengeHeader = "Hookback-Challenge"
	// ProofHeader carries the listener's proof in the 101 response.
	ProofHeader = "Hookback-Proof"
	// SecretHeader carries the RequestSecret of the question that an agent polls.
	SecretHeader = "Hookback-Request-Secret"
	// ExpiresHeader carries the seconds until the deadline in a response without an answer, or Never.
	ExpiresHeader = "Hookback-Expires-In"
	// Never is the ExpiresHeader of a question without a deadline.
	Never = "never"
)

// ListenerProof returns the response to a challenge: base64url(HMAC-SHA256(listenerKey,
// challenge)). The hub sends an answer only to a listener that can compute it, so a program that
// takes over the port of a dead agent receives nothing.
func ListenerProof(listenerKey, challenge string) string {
	mac := hmac.New(sha256.New, []byte(listenerKey))
	mac.Write([]byte(challenge))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
