package schema

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/hookback/hookback/schema/internal/object"
)

// The errors of the protocol. Each has a code on the wire (see Problem), and a client converts the
// code back to the same error, so errors.Is works across the network.
var (
	ErrInvalid         = object.ErrInvalid
	ErrTooLarge        = errors.New("the message is too large")
	ErrUnsupportedType = errors.New("the body must be uncompressed JSON")
	ErrForbidden       = errors.New("requests from this origin are not allowed")
	ErrSignIn          = errors.New("authentication is required")
	ErrNotAllowed      = errors.New("the caller is not allowed to do this")
	ErrSelfApproval    = errors.New("the requester may not answer this question")
	ErrProofRequired   = errors.New("this answer requires a passkey")
	ErrTooMany         = errors.New("too many attempts")
	ErrMisdirected     = errors.New("the hub does not accept this host name")
	ErrNotFound        = errors.New("not found")
	ErrNoRoute         = errors.New("path not found")
	ErrMethod          = errors.New("method not allowed for this path")
	ErrNoQuestion      = errors.New("this event is not a question")
	ErrWrongAnswer     = errors.New("the answer does not match the question")
	ErrDecided         = errors.New("the question was already answered")
	ErrHeld            = errors.New("the question has an answer in its undo window")
	ErrNotHeld         = errors.New("there is no answer to undo")
	ErrRisky           = errors.New("the risk of this permission is too high for bulk approval")
	ErrUndecided       = errors.New("the question has no answer yet")
	ErrNoRetry         = errors.New("the answer can't be sent again")
	ErrNoRule          = errors.New("this rule can't be created")
	ErrNoPolicy        = errors.New("this policy can't be used")
	ErrExpired         = errors.New("the question is closed")
	ErrSessionEnded    = errors.New("the session has ended")
	ErrSessionKnown    = errors.New("the hub has this session from its agent")
	ErrNotSupported    = errors.New("this agent can't do this")
	ErrHandedOver      = errors.New("the message is no longer waiting")
	ErrKeyConflict     = errors.New("this key belongs to a different request")
	ErrStale           = errors.New("the question has changed since it was shown")
	ErrFrozen          = errors.New("the agent is frozen")
	ErrTestPending     = errors.New("a test request is open")
	ErrTestFailed      = errors.New("the hub could not ask itself")
	ErrFull            = errors.New("the disk is full")
	ErrStorage         = errors.New("the hub's database does not accept writes")
	ErrBusy            = errors.New("the hub is overloaded")
	ErrStopping        = errors.New("the hub is stopping")
	ErrInternal        = errors.New("internal error in the hub")
)

// problems maps each error to its code and HTTP status, in both directions. The pointers make it constant
// data: copies of the errors would be code, in every program that imports this package.
var problems = []struct {
	err    *error
	code   string
	status int
}{
	{&ErrInvalid, "invalid", http.StatusBadRequest},
	{&ErrTooLarge, "too_large", http.StatusRequestEntityTooLarge},
	{&ErrUnsupportedType, "unsupported_type", http.StatusUnsupportedMediaType},
	{&ErrForbidden, "forbidden", http.StatusForbidden},
	{&ErrSignIn, "sign_in", http.StatusUnauthorized},
	{&ErrNotAllowed, "not_allowed", http.StatusForbidden},
	{&ErrSelfApproval, "self_approval", http.StatusForbidden},
	{&ErrProofRequired, "proof_required", http.StatusForbidden},
	{&ErrTooMany, "too_many", http.StatusTooManyRequests},
	{&ErrMisdirected, "misdirected", http.StatusMisdirectedRequest},
	{&ErrNotFound, "not_found", http.StatusNotFound},
	{&ErrNoRoute, "no_route", http.StatusNotFound},
	{&ErrMethod, "method_not_allowed", http.StatusMethodNotAllowed},
	{&ErrNoQuestion, "no_question", http.StatusUnprocessableEntity},
	{&ErrWrongAnswer, "wrong_answer", http.StatusUnprocessableEntity},
	{&ErrDecided, "decided", http.StatusConflict},
	{&ErrHeld, "held", http.StatusConflict},
	{&ErrNotHeld, "not_held", http.StatusConflict},
	{&ErrRisky, "too_risky", http.StatusUnprocessableEntity},
	{&ErrUndecided, "undecided", http.StatusConflict},
	{&ErrNoRetry, "no_retry", http.StatusConflict},
	{&ErrNoRule, "no_rule", http.StatusUnprocessableEntity},
	{&ErrNoPolicy, "no_policy", http.StatusUnprocessableEntity},
	{&ErrKeyConflict, "key_conflict", http.StatusConflict},
	{&ErrStale, "stale", http.StatusConflict},
	{&ErrSessionEnded, "session_ended", http.StatusConflict},
	{&ErrSessionKnown, "session_known", http.StatusConflict},
	{&ErrNotSupported, "not_supported", http.StatusUnprocessableEntity},
	{&ErrHandedOver, "handed_over", http.StatusConflict},
	{&ErrFrozen, "frozen", http.StatusConflict},
	{&ErrTestPending, "test_pending", http.StatusConflict},
	{&ErrTestFailed, "test_failed", http.StatusServiceUnavailable},
	{&ErrExpired, "expired", http.StatusGone},
	{&ErrFull, "disk_full", http.StatusInsufficientStorage},
	{&ErrStorage, "storage", http.StatusServiceUnavailable},
	{&ErrBusy, "busy", http.StatusServiceUnavailable},
	{&ErrStopping, "stopping", http.StatusServiceUnavailable},
	{&ErrInternal, "internal", http.StatusInternalServerError},
}

// FieldError is an ErrInvalid or ErrWrongAnswer that names the member at fault: Field, dotted, such as
// humanInTheLoop.choices, and empty for the whole message; Detail; and Cause, where nil means
// ErrInvalid.
type FieldError = object.FieldError

func invalid(field, detail string) error { return &FieldError{Field: field, Detail: detail} }

func invalidAnswer(field, detail string) error {
	return &FieldError{Field: field, Detail: detail, Cause: ErrWrongAnswer}
}

// StatusError is an error about a question with the question's current status. Err is ErrDecided,
// ErrExpired, ErrStale, ErrHeld, ErrNotHeld, ErrRisky, ErrUndecided, ErrNoRetry or ErrFrozen.
type StatusError struct {
	Err    error
	Status Status
}

func (e *StatusError) Error() string {
	if by := e.Status.RespondedBy; errors.Is(e.Err, ErrDecided) && by != nil {
		return fmt.Sprintf("%v by %s", e.Err, by.Name)
	}
	return e.Err.Error()
}

// Unwrap returns the protocol error.
func (e *StatusError) Unwrap() error { return e.Err }

// Problem is the body of every error response (RFC 9457, application/problem+json).
type Problem struct {
	Type   string `json:"type"` // always about:blank; use Code to distinguish problems
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	Code   string `json:"code"`
	Field  string `json:"field,omitempty"` // the member at fault
	Error  string `json:"error"`           // same as Detail, for version 1 clients
	Hint   string `json:"hint,omitempty"`  // what to do next

	// HumanInTheLoopStatus is the current status of the question. It is set for the codes decided,
	// expired, stale, held, not_held, too_risky, undecided, no_retry and frozen.
	HumanInTheLoopStatus *Status `json:"humanInTheLoopStatus,omitempty"`
}

// ProblemMediaType is the Content-Type of a Problem.
const ProblemMediaType = "application/problem+json"

// ProblemOf converts err to a Problem. An error that is not one of the protocol's becomes
// ErrInternal, and its text is not sent.
func ProblemOf(err error) Problem {
	for _, row := range problems {
		if !errors.Is(err, *row.err) {
			continue
		}
		p := Problem{
			Type: "about:blank", Title: http.StatusText(row.status), Status: row.status,
			Code: row.code, Detail: (*row.err).Error(),
		}
		var field *FieldError
		if errors.As(err, &field) {
			p.Field, p.Detail = field.Field, field.Error()
		}
		var state *StatusError
		if errors.As(err, &state) {
			p.HumanInTheLoopStatus, p.Detail = &state.Status, state.Error()
		}
		var hint *HintError
		if errors.As(err, &hint) {
			p.Hint = hint.Hint
		}
		p.Error = p.Detail
		return p
	}
	return ProblemOf(ErrInternal)
}

// HintError adds a next step to a protocol error.
type HintError struct {
	Err  error
	Hint string
}

func (e *HintError) Error() string { return e.Err.Error() }

// Unwrap returns the error that the hint is for.
func (e *HintError) Unwrap() error { return e.Err }

// Problems returns the Problem of every protocol error, in a fixed order.
func Problems() []Problem {
	all := make([]Problem, len(problems))
	for i, row := range problems {
		all[i] = ProblemOf(*row.err)
	}
	return all
}

// Err converts p back to an error, the inverse of ProblemOf. An unknown code is classified by its
// HTTP status.
func (p Problem) Err() error {
	err := p.protocolError()
	detail, isMessage := strings.CutPrefix(p.Detail, "the message ")
	switch {
	case p.HumanInTheLoopStatus != nil:
		err = &StatusError{Err: err, Status: *p.HumanInTheLoopStatus}
	case p.Field != "":
		err = &FieldError{Field: p.Field, Detail: strings.TrimPrefix(p.Detail, p.Field+" "), Cause: err}
	case p.Detail == "" || p.Detail == err.Error():
	case isMessage && (err == ErrInvalid || err == ErrWrongAnswer): //nolint:errorlint // rows of problems are not wrapped
		err = &FieldError{Detail: detail, Cause: err}
	default:
		err = fmt.Errorf("%w: %s", err, p.Detail)
	}
	if p.Hint != "" {
		err = &HintError{Err: err, Hint: p.Hint}
	}
	return err
}

func (p Problem) protocolError() error {
	for _, row := range problems {
		if row.code == p.Code {
			return *row.err
		}
	}
	if p.Status >= 400 && p.Status < 500 {
		return ErrInvalid
	}
	return ErrInternal
}
