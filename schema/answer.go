package schema

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"time"
)

// State is the version 1 state of a question.
type State string

// The states of a question. It leaves Pending once, for good.
const (
	Pending   State = "pending"
	Responded State = "responded"
	TimedOut  State = "timeout"
	Failed    State = "error"
)

// Outcome says how a question ended. A choice ends with the chosen label.
type Outcome string

// The fixed outcomes. Labels of the form __…__ can't be offered as choices.
const (
	Approve   Outcome = "approve"
	Deny      Outcome = "deny"
	Answered  Outcome = "answered"
	Timeout   Outcome = "__timeout__"
	NoQuorum  Outcome = "__no_quorum__"
	Cancelled Outcome = "__cancelled__"
	Withdrawn Outcome = "__withdrawn__"
)

// EndedBy says what ended a question.
type EndedBy string

// What can end a question.
const (
	ByHuman      EndedBy = "human"
	ByRule       EndedBy = "rule"
	ByTimeout    EndedBy = "timeout"
	ByCancel     EndedBy = "cancel"
	ByAgent      EndedBy = "agent"
	BySessionEnd EndedBy = "session_end"
	ByOrphaned   EndedBy = "orphaned"
	ByQuorum     EndedBy = "quorum"
)

// Status is what the hub knows of a question: its state, its answer, and whether
// the answer reached the agent.
type Status struct {
	Status      State   `json:"status"`
	RespondedAt Millis  `json:"respondedAt,omitempty"`
	Response    *Answer `json:"response,omitempty"` // without hookEvent: the event around it is the one

	// Version 2.

	Outcome           Outcome    `json:"outcome,omitempty"`
	Source            EndedBy    `json:"source,omitempty"`
	Reason            string     `json:"reason,omitempty"`
	RespondedBy       *Responder `json:"respondedBy,omitempty"`
	ExpiresAt         Millis     `json:"expiresAt,omitempty"` // the deadline, the hub's clock; absent: none
	Revision          int64      `json:"revision,omitempty"`  // grows with every change of this status
	RequiredApprovals int        `json:"requiredApprovals,omitempty"`
	Votes             []Vote     `json:"votes,omitempty"`
	Awaiting          []string   `json:"awaiting,omitempty"`
	Waiter            Waiter     `json:"waiter,omitempty"`
	Delivery          *Delivery  `json:"delivery,omitempty"`
	Execution         *Execution `json:"execution,omitempty"`

	// Recipients are the people who may answer, as they were when it was asked; who was
	// made one later (escalation) is added. Absent: everyone who may answer at all.
	// Awaiting are those of them who have not voted.
	Recipients []string `json:"recipients,omitempty"`
	// Edited is the call that the votes are about, once a voter changed it.
	Edited *EditedCall `json:"edited,omitempty"`
	// Reminders counts the reminders that were due; EscalatedAt is when Escalation.To
	// was asked too, the hub's clock.
	Reminders   int    `json:"reminders,omitempty"`
	EscalatedAt Millis `json:"escalatedAt,omitempty"`
	// Extended is the last time that a person gave the question more time.
	Extended *DeadlineExtension `json:"extended,omitempty"`
	// Rule answered the question.
	Rule *RuleRef `json:"rule,omitempty"`
	// Waiters is how many pending questions of the same session ask exactly this, this
	// one included, when there are several; SameAs is the first of them, in the others.
	Waiters int     `json:"waiters,omitempty"`
	SameAs  EventID `json:"sameAs,omitempty"`
	// Notifications say who was told of the question, by which channel, and whether it went out.
	// The newest MaxNotifications of them; when there are more, NotificationCounts counts all.
	Notifications      []Notification      `json:"notices,omitempty"`
	NotificationCounts *NotificationCounts `json:"noticeCounts,omitempty"`

	// Risk is the hub's estimate: the higher one of the agent's own and of what
	// Findings say.
	Risk Risk `json:"risk,omitempty"`
	// Findings are what the hub's rules see in the tool call, the worst first.
	Findings []Finding `json:"findings,omitempty"`
	// Held is an answer that is given but can still be undone: the question is
	// pending until Held.Until, and the agent hears nothing before.
	Held *PendingUndo `json:"held,omitempty"`
}

// DeadlineExtension says who moved a question's deadline, and whether its agent knows: that was
// not told waits no longer than it meant to.
type DeadlineExtension struct {
	By string `json:"by"`
	At Millis `json:"at"`
	// Agent is how it is told: queued while it is dialled, delivered, unreachable
	// (Error says why; it was tried several times), or none where it asks by itself.
	Agent DeliveryState `json:"agent"`
	Error string        `json:"error,omitempty"`
}

// EditedCall is a call that a voter changed. The votes before it were about something
// else and are gone from Votes; the ledger keeps them.
type EditedCall struct {
	Arguments json.RawMessage `json:"arguments" jsonschema:"type=object"` // whole
	By        string          `json:"by"`
	At        Millis          `json:"at"`
	// Revision is the first revision of the status with these arguments: a vote for
	// them names it or a later one.
	Revision int64 `json:"revision"`
}

// Finding is one thing in a tool call that a person should know before saying yes.
type Finding struct {
	Code string `json:"code"` // names the rule, such as recursive_delete
	Risk Risk   `json:"risk"`
	Text string `json:"text"` // one sentence in plain words
	// At is a JSON pointer into the arguments of the tool call, and Excerpt the
	// part of the text there that the finding is about, exactly as it stands.
	At      string `json:"at,omitempty"`
	Excerpt string `json:"excerpt,omitempty"`
}

// PendingUndo is an answer within its undo window.
type PendingUndo struct {
	Until   Millis     `json:"until"` // the hub's clock
	Outcome Outcome    `json:"outcome"`
	By      *Responder `json:"by,omitempty"`
	// Revision is the one that was answered: who asked the same by then is answered
	// with it.
	Revision int64 `json:"revision,omitempty"`
}

// Settled reports whether the question has its end.
func (s *Status) Settled() bool { return s.Status != Pending }

// Responder is who answered, as far as the hub can tell.
type Responder struct {
	Name     string `json:"name"`
	Verified bool   `json:"verified"` // false: anyone on the hub's machine could have sent it
	// Process is the program on the other end of the connection, where the
	// operating system tells (Linux).
	Process *Process `json:"process,omitempty"`
	// Via is how the hub knows the name: session (a signed-in page), token, proxy, link
	// (a signed link that only this person was sent) or rule; empty: it does not.
	Via string `json:"via,omitempty" jsonschema:"enum=session,enum=token,enum=proxy,enum=link,enum=rule"`
	// Passkey is set when the person touched a passkey for exactly this answer.
	Passkey bool `json:"passkey,omitempty"`
	// SelfApproval is set when the answering process descends from the asking one.
	SelfApproval bool `json:"possibleSelfApproval,omitempty"`
}

// Process names a program on the hub's machine.
type Process struct {
	PID       int      `json:"pid"`
	Exe       string   `json:"exe,omitempty"`
	Ancestors []string `json:"ancestors,omitempty"` // the nearest first, as "exe (pid)"
}

// Vote is one person's vote on a question that needs several.
type Vote struct {
	User    string `json:"user"`
	Choice  string `json:"choice"`
	Comment string `json:"comment,omitempty"`
	At      Millis `json:"at"`
	Passkey bool   `json:"passkey,omitempty"` // as in Responder
}

// Waiter says whether the agent still waits.
type Waiter string

// What the hub knows of the waiting agent.
const (
	Listening Waiter = "listening"
	Lost      Waiter = "lost"
	Unknown   Waiter = "unknown"
)

// Execution is what became of an approved call, as a later event of the same
// session with the same tool_use_id tells it, or the agent itself (CallReport).
type Execution struct {
	State      string  `json:"state" jsonschema:"enum=succeeded,enum=failed,enum=interrupted"`
	DurationMS int64   `json:"durationMs,omitempty"` // from the approval to that event, or as the agent says
	Error      string  `json:"error,omitempty"`
	EventID    EventID `json:"eventId,omitempty"` // the event that told; absent: the agent did
}

// CallReport is the body of POST /events/:id/execution, from an agent that runs no
// hooks: what became of the call that was approved.
type CallReport struct {
	State         string `json:"state" jsonschema:"enum=succeeded,enum=failed,enum=interrupted"`
	DurationMS    int64  `json:"durationMs,omitempty"` // of the call itself
	Error         string `json:"error,omitempty"`
	RequestSecret string `json:"requestSecret"` // the question's own
}

// Validate checks a report. Its errors are *FieldError.
func (r *CallReport) Validate() error {
	switch {
	case r.State != Succeeded && r.State != ToolFailed && r.State != Interrupted:
		return invalid("state", "must be succeeded, failed or interrupted")
	case r.DurationMS < 0:
		return invalid("durationMs", "must not be negative")
	default:
		return nil
	}
}

// The states of an Execution.
const (
	Succeeded   = "succeeded"
	ToolFailed  = "failed"
	Interrupted = "interrupted"
)

// DeliveryState is how far an answer got on its way to the agent.
type DeliveryState string

// The states of a delivery. Only Acked and Pulled prove that the agent has it.
const (
	NoDelivery  DeliveryState = "none"        // nothing to dial: the agent pulls
	Queued      DeliveryState = "queued"      // will be dialled
	Sending     DeliveryState = "sending"     // an attempt is under way
	Delivered   DeliveryState = "delivered"   // a version 1 listener took it (see Confirmed)
	Acked       DeliveryState = "acked"       // the agent said that it has this very answer
	Pulled      DeliveryState = "pulled"      // the agent fetched it
	Unconfirmed DeliveryState = "unconfirmed" // sent, the line broke: the agent may have it or not
	Refused     DeliveryState = "refused"     // the listener would not have it
	Unreachable DeliveryState = "unreachable" // nobody listens; retried at NextAttemptAt
	TooLate     DeliveryState = "too_late"    // the agent had stopped waiting
	Blocked     DeliveryState = "blocked"     // the address may not be dialled
)

// Final reports whether no further attempt will be made.
func (s DeliveryState) Final() bool {
	switch s {
	case Queued, Sending:
		return false
	default:
		return true
	}
}

// Delivery is how an answer got to the agent.
type Delivery struct {
	State     DeliveryState `json:"state"`
	Attempts  int           `json:"attempts"`
	Confirmed string        `json:"confirmed,omitempty" jsonschema:"enum=close,enum=write"` // how a version 1 listener showed it
	LastError string        `json:"lastError,omitempty"`
	// DeliveredAt and NextAttemptAt are the hub's clock. An unreachable delivery
	// with NextAttemptAt is still being tried; without it the hub gave up.
	DeliveredAt   Millis `json:"deliveredAt,omitempty"`
	NextAttemptAt Millis `json:"nextAttemptAt,omitempty"`
	// HandledAt is set when a person took care of an undelivered answer.
	HandledAt Millis `json:"handledAt,omitempty"`
}

// Response is the body of POST /events/:id/respond: exactly one of Permission,
// Response, Choice and Answers, as the question wants it.
type Response struct {
	Permission *bool                      `json:"permission,omitempty"`
	Response   *string                    `json:"response,omitempty"`
	Choice     *string                    `json:"choice,omitempty"`
	Answers    map[string]json.RawMessage `json:"answers,omitempty"` // question id → label, [labels] or text

	Reason  string `json:"reason,omitempty"`
	Comment string `json:"comment,omitempty"`
	// ModifiedArguments replaces the arguments of an editable tool call, whole.
	ModifiedArguments json.RawMessage `json:"modifiedArguments,omitempty" jsonschema:"type=object"`
	Remember          json.RawMessage `json:"remember,omitempty"` // one of the question's suggestions
	// Revision, when given, is the revision of the status the person was looking
	// at. One that the hub never gave out is refused: it is another history's.
	Revision int64 `json:"revision,omitempty"`
	// Proof is the assertion of a passkey for exactly this answer, where the hub wants
	// one (see POST /api/passkeys/challenge).
	Proof json.RawMessage `json:"proof,omitempty" jsonschema:"type=object"`
	// HoldMS keeps the answer back this long, at most MaxHold, so that POST
	// /events/:id/undo can take it back.
	HoldMS int64 `json:"holdMs,omitempty"`
}

// MaxHold is the longest undo window.
const MaxHold = 30 * time.Second

// Approvals is the body of POST /events/approve: exactly the permissions that a
// person saw in one list.
type Approvals struct {
	Requests []SeenRevision `json:"requests"`         // 1 to MaxApprovals
	HoldMS   int64          `json:"holdMs,omitempty"` // as in Response; 5,000 unless told
	Reason   string         `json:"reason,omitempty"`
}

// MaxApprovals is how many requests can be approved at once.
const MaxApprovals = 100

// SeenRevision is a request as a person saw it.
type SeenRevision struct {
	ID       EventID `json:"id"`
	Revision int64   `json:"revision"`
}

// Answer is what the agent receives: one text frame on its own socket, or the
// body of GET /events/:id/response.
type Answer struct {
	Permission *bool                      `json:"permission,omitempty"` // always set for a permission
	Response   *string                    `json:"response,omitempty"`
	Choice     *string                    `json:"choice,omitempty"`
	Answers    map[string]json.RawMessage `json:"answers,omitempty"`

	Reason            string          `json:"reason,omitempty"`
	Comment           string          `json:"comment,omitempty"`
	ModifiedArguments json.RawMessage `json:"modifiedArguments,omitempty" jsonschema:"type=object"`
	Remember          json.RawMessage `json:"remember,omitempty"`

	RespondedAt Millis     `json:"respondedAt"`
	RespondedBy *Responder `json:"respondedBy,omitempty"`
	Outcome     Outcome    `json:"outcome,omitempty"`
	Source      EndedBy    `json:"source,omitempty"`
	Guidance    string     `json:"guidance,omitempty"` // one sentence for a model

	// Votes are all that counted, Awaiting who had not voted, RequiredApprovals how many
	// had to agree: of a question that needed several.
	Votes             []Vote   `json:"votes,omitempty"`
	Awaiting          []string `json:"awaiting,omitempty"`
	RequiredApprovals int      `json:"requiredApprovals,omitempty"`
	Rule              *RuleRef `json:"rule,omitempty"` // the rule that answered

	// HookEvent is the hub's own stored event. HookEventTruncated: its payload
	// was too big for a frame and holds only agent_name and permission_type.
	HookEvent          *Event `json:"hookEvent,omitempty"`
	HookEventTruncated bool   `json:"hookEventTruncated,omitempty"`

	// Version 2 listeners acknowledge AnswerID, and drop one they have seen.
	AnswerID string `json:"answerId,omitempty"`
	Attempt  int    `json:"attempt,omitempty"`
}

// Ack is what a version 2 listener sends back once its caller has the answer.
type Ack struct {
	Type     string `json:"type" jsonschema:"enum=ack"`
	AnswerID string `json:"answerId"`
	// Result is absent or AckAccepted for an answer that was taken, AckDuplicate
	// for one already known, AckTooLate when nobody waits any more and
	// AckMismatch for somebody else's answer.
	Result string `json:"result,omitempty" jsonschema:"enum=accepted,enum=duplicate,enum=too_late,enum=mismatch"`
}

// The words of an Ack.
const (
	AckType      = "ack"
	AckAccepted  = "accepted"
	AckDuplicate = "duplicate"
	AckTooLate   = "too_late"
	AckMismatch  = "mismatch"
)

// Control tells a version 2 listener something that is no answer, on a connection of
// its own, after the same proof. It is not acknowledged. A listener ignores kinds it
// does not know.
type Control struct {
	Type      string `json:"type" jsonschema:"enum=control"`
	Kind      string `json:"kind" jsonschema:"enum=deadline"`
	ExpiresAt Millis `json:"expiresAt,omitempty"` // the new deadline, the hub's clock; absent: none
	// InSeconds is how far away that is: the listener's clock may be another one.
	InSeconds float64 `json:"inSeconds,omitempty"`
}

// The words of a Control.
const (
	ControlType     = "control"
	ControlDeadline = "deadline"
)

// Extend is the body of POST /events/:id/extend: more time for people.
type Extend struct {
	// Seconds are added to the deadline, at most MaxTimeout from now; 0 takes the
	// deadline away.
	Seconds float64 `json:"seconds"`
}

// UnmarshalJSON wants the seconds said: nobody takes a deadline away by leaving them out.
func (e *Extend) UnmarshalJSON(b []byte) error {
	var body struct {
		Seconds *float64 `json:"seconds"`
	}
	if err := decodeObject(b, &body, false); err != nil {
		return err
	}
	if body.Seconds == nil {
		return invalid("seconds", "is required; 0 takes the limit away")
	}
	e.Seconds = *body.Seconds
	return nil
}

// Cancel is the body of POST /events/:id/cancel. With the question's own secret
// it is the agent's withdrawal and nothing is sent; without, it is a person's.
type Cancel struct {
	Reason        string `json:"reason,omitempty"`
	RequestSecret string `json:"requestSecret,omitempty"`
}

// Headers of the dial-back handshake and of the pull.
const (
	// ChallengeHeader carries the hub's random challenge to the listener.
	ChallengeHeader = "Hookback-Challenge"
	// ProofHeader carries the listener's proof in the 101 response.
	ProofHeader = "Hookback-Proof"
	// SecretHeader carries the RequestSecret of a pull.
	SecretHeader = "Hookback-Request-Secret"
	// ExpiresHeader tells who pulls and gets no answer yet in how many seconds the
	// question ends; Never when it has no limit.
	ExpiresHeader = "Hookback-Expires-In"
	// Never is an ExpiresHeader of a question without a limit.
	Never = "never"
)

// ListenerProof answers a challenge: base64url(HMAC-SHA256(listenerKey,
// challenge)). The hub sends an answer only to a listener that can make it, so a
// program that took over a dead agent's port is told nothing.
func ListenerProof(listenerKey, challenge string) string {
	mac := hmac.New(sha256.New, []byte(listenerKey))
	mac.Write([]byte(challenge))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
