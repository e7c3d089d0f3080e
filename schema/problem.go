package schema

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// The errors of the protocol. Every one has a code on the wire (see Problem), and
// a client gets the same error back from it: errors.Is works across the network.
var (
	ErrInvalid         = errors.New("the message is not valid")
	ErrTooLarge        = errors.New("the message is too large")
	ErrUnsupportedType = errors.New("the body must be JSON, not compressed")
	ErrForbidden       = errors.New("this origin may not use the hub")
	ErrSignIn          = errors.New("this needs somebody who is signed in")
	ErrNotAllowed      = errors.New("this person may not do that")
	ErrSelfApproval    = errors.New("who asked may not answer")
	ErrProofRequired   = errors.New("this answer needs a passkey")
	ErrTooMany         = errors.New("too many tries")
	ErrMisdirected     = errors.New("the hub does not go by this name")
	ErrNotFound        = errors.New("there is no such event")
	ErrNoRoute         = errors.New("there is no such path")
	ErrMethod          = errors.New("this path does not know the method")
	ErrNoQuestion      = errors.New("this event asks nothing")
	ErrWrongAnswer     = errors.New("the answer does not fit the question")
	ErrDecided         = errors.New("the question has been answered already")
	ErrHeld            = errors.New("the question has an answer that can still be undone")
	ErrNotHeld         = errors.New("there is no answer to undo any more")
	ErrRisky           = errors.New("this permission is too risky to be approved in a list")
	ErrUndecided       = errors.New("the question has no answer yet")
	ErrNoRetry         = errors.New("the answer can't be sent again")
	ErrNoRule          = errors.New("no rule can do this")
	ErrExpired         = errors.New("the question is over")
	ErrStale           = errors.New("the question has changed since it was shown")
	ErrFull            = errors.New("the disk is full")
	ErrBusy            = errors.New("the hub has too much to do")
	ErrStopping        = errors.New("the hub is stopping")
	ErrInternal        = errors.New("something went wrong in the hub")
)

// problems maps every error to its code and HTTP status, both ways.
var problems = []struct {
	err    error
	code   string
	status int
}{
	{ErrInvalid, "invalid", http.StatusBadRequest},
	{ErrTooLarge, "too_large", http.StatusRequestEntityTooLarge},
	{ErrUnsupportedType, "unsupported_type", http.StatusUnsupportedMediaType},
	{ErrForbidden, "forbidden", http.StatusForbidden},
	{ErrSignIn, "sign_in", http.StatusUnauthorized},
	{ErrNotAllowed, "not_allowed", http.StatusForbidden},
	{ErrSelfApproval, "self_approval", http.StatusForbidden},
	{ErrProofRequired, "proof_required", http.StatusForbidden},
	{ErrTooMany, "too_many", http.StatusTooManyRequests},
	{ErrMisdirected, "misdirected", http.StatusMisdirectedRequest},
	{ErrNotFound, "not_found", http.StatusNotFound},
	{ErrNoRoute, "no_route", http.StatusNotFound},
	{ErrMethod, "method_not_allowed", http.StatusMethodNotAllowed},
	{ErrNoQuestion, "no_question", http.StatusUnprocessableEntity},
	{ErrWrongAnswer, "wrong_answer", http.StatusUnprocessableEntity},
	{ErrDecided, "decided", http.StatusConflict},
	{ErrHeld, "held", http.StatusConflict},
	{ErrNotHeld, "not_held", http.StatusConflict},
	{ErrRisky, "too_risky", http.StatusUnprocessableEntity},
	{ErrUndecided, "undecided", http.StatusConflict},
	{ErrNoRetry, "no_retry", http.StatusConflict},
	{ErrNoRule, "no_rule", http.StatusUnprocessableEntity},
	{ErrStale, "stale", http.StatusConflict},
	{ErrExpired, "expired", http.StatusGone},
	{ErrFull, "disk_full", http.StatusInsufficientStorage},
	{ErrBusy, "busy", http.StatusServiceUnavailable},
	{ErrStopping, "stopping", http.StatusServiceUnavailable},
	{ErrInternal, "internal", http.StatusInternalServerError},
}

// FieldError is an ErrInvalid or ErrWrongAnswer that names the member at fault.
type FieldError struct {
	Field  string // dotted, such as humanInTheLoop.choices; empty: the whole message
	Detail string
	Cause  error // ErrInvalid when nil
}

func (e *FieldError) Error() string {
	if e.Field == "" {
		return "the message " + e.Detail
	}
	return e.Field + " " + e.Detail
}

// Unwrap is ErrInvalid, or the error's own cause.
func (e *FieldError) Unwrap() error {
	if e.Cause == nil {
		return ErrInvalid
	}
	return e.Cause
}

func invalid(field, detail string) error { return &FieldError{Field: field, Detail: detail} }

func invalidAnswer(field, detail string) error {
	return &FieldError{Field: field, Detail: detail, Cause: ErrWrongAnswer}
}

// StatusError is an error of a question together with the question's status as it
// is now: ErrDecided, ErrExpired, ErrStale, ErrHeld, ErrNotHeld, ErrRisky,
// ErrUndecided or ErrNoRetry.
type StatusError struct {
	Err    error
	Status Status
}

func (e *StatusError) Error() string {
	if by := e.Status.RespondedBy; errors.Is(e.Err, ErrDecided) && by != nil {
		return fmt.Sprintf("%v, by %s", e.Err, by.Name)
	}
	return e.Err.Error()
}

// Unwrap is one of the protocol's errors.
func (e *StatusError) Unwrap() error { return e.Err }

// Problem is the body of every error response: RFC 9457, media type
// application/problem+json.
type Problem struct {
	Type   string `json:"type"` // always about:blank: Code tells the problems apart
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	Code   string `json:"code"`
	Field  string `json:"field,omitempty"` // the member at fault
	Error  string `json:"error"`           // Detail again, for version 1 clients
	Hint   string `json:"hint,omitempty"`  // what to do

	// HumanInTheLoopStatus is the question's status now, with decided, expired,
	// stale, held, not_held, too_risky, undecided and no_retry.
	HumanInTheLoopStatus *Status `json:"humanInTheLoopStatus,omitempty"`
}

// ProblemMediaType is the Content-Type of a Problem.
const ProblemMediaType = "application/problem+json"

// ProblemOf describes err on the wire. An error that is none of the protocol's
// becomes ErrInternal, and its text stays inside.
func ProblemOf(err error) Problem {
	for _, row := range problems {
		if !errors.Is(err, row.err) {
			continue
		}
		p := Problem{
			Type: "about:blank", Title: http.StatusText(row.status), Status: row.status,
			Code: row.code, Detail: row.err.Error(),
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

// HintError adds what to do to one of the protocol's errors.
type HintError struct {
	Err  error
	Hint string
}

func (e *HintError) Error() string { return e.Err.Error() }

// Unwrap is the error the hint is for.
func (e *HintError) Unwrap() error { return e.Err }

// Problems lists the problem of every error of the protocol, in a fixed order.
func Problems() []Problem {
	all := make([]Problem, len(problems))
	for i, row := range problems {
		all[i] = ProblemOf(row.err)
	}
	return all
}

// Err is the error that p describes: what ProblemOf was given, as far as it was
// put on the wire. An unknown code is told by its status class.
func (p Problem) Err() error {
	err := p.protocolError()
	detail, isMessage := strings.CutPrefix(p.Detail, "the message ")
	switch {
	case p.HumanInTheLoopStatus != nil:
		err = &StatusError{Err: err, Status: *p.HumanInTheLoopStatus}
	case p.Field != "":
		err = &FieldError{Field: p.Field, Detail: strings.TrimPrefix(p.Detail, p.Field+" "), Cause: err}
	case p.Detail == "" || p.Detail == err.Error():
	case isMessage && (err == ErrInvalid || err == ErrWrongAnswer): //nolint:errorlint // rows of problems, bare
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
			return row.err
		}
	}
	if p.Status >= 400 && p.Status < 500 {
		return ErrInvalid
	}
	return ErrInternal
}
