package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// sentinels are the errors of the protocol.
var sentinels = map[string]error{
	"ErrInvalid": schema.ErrInvalid, "ErrTooLarge": schema.ErrTooLarge, "ErrUnsupportedType": schema.ErrUnsupportedType,
	"ErrForbidden": schema.ErrForbidden, "ErrMisdirected": schema.ErrMisdirected, "ErrNotFound": schema.ErrNotFound,
	"ErrNoRoute": schema.ErrNoRoute, "ErrMethod": schema.ErrMethod, "ErrNoQuestion": schema.ErrNoQuestion,
	"ErrWrongAnswer": schema.ErrWrongAnswer, "ErrDecided": schema.ErrDecided, "ErrExpired": schema.ErrExpired, "ErrFrozen": schema.ErrFrozen,
	"ErrTestPending": schema.ErrTestPending, "ErrTestFailed": schema.ErrTestFailed,
	"ErrSessionEnded": schema.ErrSessionEnded, "ErrSessionKnown": schema.ErrSessionKnown, "ErrNotSupported": schema.ErrNotSupported, "ErrHandedOver": schema.ErrHandedOver,
	"ErrStale": schema.ErrStale, "ErrFull": schema.ErrFull, "ErrBusy": schema.ErrBusy, "ErrStopping": schema.ErrStopping,
	"ErrInternal": schema.ErrInternal, "ErrHeld": schema.ErrHeld, "ErrNotHeld": schema.ErrNotHeld, "ErrRisky": schema.ErrRisky,
	"ErrUndecided": schema.ErrUndecided, "ErrNoRetry": schema.ErrNoRetry, "ErrNoRule": schema.ErrNoRule, "ErrNoPolicy": schema.ErrNoPolicy,
	"ErrSignIn": schema.ErrSignIn, "ErrNotAllowed": schema.ErrNotAllowed, "ErrSelfApproval": schema.ErrSelfApproval, "ErrProofRequired": schema.ErrProofRequired,
	"ErrTooMany": schema.ErrTooMany, "ErrKeyConflict": schema.ErrKeyConflict, "ErrStorage": schema.ErrStorage,
}

// roundTrip returns the problem and the error that a client receives for err.
func roundTrip(t *testing.T, err error) (schema.Problem, error) {
	sent, marshalErr := json.Marshal(schema.ProblemOf(err))
	require.NoError(t, marshalErr)
	var got schema.Problem
	require.NoError(t, json.Unmarshal(sent, &got))
	return got, got.Err()
}

func TestProblem_RoundTripsEveryError(t *testing.T) {
	t.Parallel()
	codes := map[string]bool{}
	for name, err := range sentinels {
		p, got := roundTrip(t, fmt.Errorf("while doing something secret: %w", err))
		require.ErrorIs(t, got, err, name)
		for other, is := range sentinels {
			require.Equal(t, other == name, errors.Is(got, is), "%s comes back as %s", name, other)
		}
		require.Equal(t, err.Error(), p.Detail, "the wrapping text is not sent")
		require.Equal(t, p.Detail, p.Error)
		require.Equal(t, "about:blank", p.Type)
		require.Equal(t, http.StatusText(p.Status), p.Title)
		require.NotEmpty(t, p.Title)
		require.False(t, codes[p.Code], "the code %s is used twice", p.Code)
		codes[p.Code] = true
		require.Equal(t, p, schema.ProblemOf(got), "%s is the same problem after a round trip", name)
	}
	require.Len(t, schema.Problems(), len(sentinels))
}

// TestProblem_CoversEveryError reads the source. An error that is missing in the table above, or
// has no code, would reach clients as "internal".
func TestProblem_CoversEveryError(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "problem.go", nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "Err") {
			name := spec.Names[0].Name
			require.Contains(t, sentinels, name)
			if name != "ErrInternal" {
				require.NotEqual(t, "internal", schema.ProblemOf(sentinels[name]).Code, name)
			}
		}
		return true
	})
}

func TestProblem_RoundTripsFieldError(t *testing.T) {
	t.Parallel()
	for _, want := range []*schema.FieldError{
		{Field: "humanInTheLoop.choices", Detail: "needs at least one label"},
		{Field: "choice", Detail: "was not offered", Cause: schema.ErrWrongAnswer},
		{Detail: "must be a JSON object"},
		{Detail: "must be a JSON object", Cause: schema.ErrWrongAnswer},
	} {
		p, err := roundTrip(t, want)
		require.Equal(t, want.Error(), p.Detail)
		require.Equal(t, want.Field, p.Field)
		var got *schema.FieldError
		require.ErrorAs(t, err, &got)
		require.Equal(t, want.Error(), got.Error())
		require.Equal(t, want.Field, got.Field)
		require.ErrorIs(t, got, want.Unwrap())
		require.Equal(t, p, schema.ProblemOf(err))
	}
}

func TestProblem_RoundTripsStatusError(t *testing.T) {
	t.Parallel()
	status := schema.Status{Status: schema.Responded, Outcome: schema.Deny, RespondedBy: &schema.Responder{Name: "mara"}}
	for _, sentinel := range []error{schema.ErrDecided, schema.ErrExpired, schema.ErrStale} {
		p, err := roundTrip(t, &schema.StatusError{Err: sentinel, Status: status})
		require.ErrorIs(t, err, sentinel)
		var got *schema.StatusError
		require.ErrorAs(t, err, &got)
		require.Equal(t, status, got.Status)
		require.Equal(t, p, schema.ProblemOf(err))
	}
	p, _ := roundTrip(t, &schema.StatusError{Err: schema.ErrDecided, Status: status})
	require.Equal(t, "the question was already answered by mara", p.Error, "the loser of a race sees the winner")
}

func TestProblem_RoundTripsHint(t *testing.T) {
	t.Parallel()
	want := &schema.HintError{Err: schema.ErrMisdirected, Hint: "Use http://127.0.0.1:4000."}
	p, err := roundTrip(t, want)
	require.Equal(t, want.Hint, p.Hint)
	require.Equal(t, schema.ErrMisdirected.Error(), p.Detail)
	var got *schema.HintError
	require.ErrorAs(t, err, &got)
	require.Equal(t, want, got)
}

func TestProblem_HidesUnknownError(t *testing.T) {
	t.Parallel()
	p := schema.ProblemOf(fs.ErrPermission)
	require.Equal(t, schema.ProblemOf(schema.ErrInternal), p)
	require.Equal(t, http.StatusInternalServerError, p.Status)
}

func TestProblem_UnknownCodeFallsBackToStatus(t *testing.T) {
	t.Parallel()
	require.ErrorIs(t, schema.Problem{Code: "new", Status: 418, Detail: "a teapot"}.Err(), schema.ErrInvalid)
	require.ErrorIs(t, schema.Problem{Code: "new", Status: 599}.Err(), schema.ErrInternal)
	require.ErrorIs(t, schema.Problem{}.Err(), schema.ErrInternal)
	require.EqualError(t, schema.Problem{Code: "new", Status: 418, Detail: "a teapot"}.Err(), "the message is not valid: a teapot")
}
