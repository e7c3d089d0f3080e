package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// errorOf returns the error of the server that err is; a zero one if it is none.
func errorOf(err error) *pgconn.PgError {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e
	}
	return &noServerError
}

var noServerError pgconn.PgError

// stateOf returns the SQLSTATE of an error, or the empty string.
func stateOf(err error) string { return errorOf(err).Code }

// guardOf returns the guard of a batch that failed, or the empty string; see the function expect.
func guardOf(err error) tables.Guard {
	if stateOf(err) == "HB001" {
		return tables.Guard(errorOf(err).Message)
	}
	return ""
}

func isRepeatedKey(err error) bool {
	return stateOf(err) == "23505" && errorOf(err).ConstraintName == "events_by_key"
}

// isSerializationFailure reports whether the server ended the transaction for the sake of another.
func isSerializationFailure(err error) bool {
	code := stateOf(err)
	return code == "40001" || code == "40P01"
}

// isFull reports whether the server's disk is full.
func isFull(err error) bool { return stateOf(err) == "53100" }

// isUnreachable reports whether the server can't be reached, or takes no work now.
func isUnreachable(err error) bool {
	code := stateOf(err)
	classes := []string{"08", "57P", "25006", "53300", "53400", "55P03", "57014", "58"}
	if slices.ContainsFunc(classes, func(class string) bool { return strings.HasPrefix(code, class) }) {
		return true
	}
	var connect *pgconn.ConnectError
	var network net.Error
	return code == "" &&
		(errors.As(err, &connect) || errors.As(err, &network) || errors.Is(err, net.ErrClosed) || errors.Is(err, errConnectionLost) ||
			errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || pgconn.SafeToRetry(err) ||
			errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF))
}

// errConnectionLost replaces the errors of a connection that has ended.
var errConnectionLost = errors.New("the connection to PostgreSQL was lost")

// commitFault is the fault of a failed commit; nil: it succeeded.
func commitFault(err error) *tables.Fault {
	switch {
	case err == nil:
		return nil
	case isFull(err):
		return &tables.Fault{Cause: err, Detail: "the disk of the PostgreSQL server is full, so nothing is stored; everything acknowledged before is kept"}
	default:
		return &tables.Fault{Cause: err, Detail: "the database does not accept writes; everything acknowledged before is kept"}
	}
}

// errOfCommit maps the error of a failed commit to one of package schema.
func errOfCommit(err error) error {
	switch {
	case errors.Is(err, schema.ErrStorage), errors.Is(err, schema.ErrStopping):
		return err
	case isFull(err):
		return &schema.HintError{
			Err:  fmt.Errorf("%w: the disk of the PostgreSQL server is full", schema.ErrFull),
			Hint: "This was not stored. Everything acknowledged before is kept. Free space on the disk of the PostgreSQL server; the hub stores again as soon as a write succeeds.",
		}
	case isUnreachable(err):
		return unreachable(err, "It is not known whether this was stored. Send it again with the same idempotency key; everything acknowledged before is kept.")
	default:
		return err
	}
}

func unreachable(err error, hint string) error {
	return &schema.HintError{Err: fmt.Errorf("%w: PostgreSQL does not answer: %w", schema.ErrStorage, err), Hint: hint}
}

// errOfRead maps the error of a query to one of package schema. A query that its caller gave up keeps
// the error of its context.
func errOfRead(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case isUnreachable(err):
		return unreachable(err, "Try again in a second.")
	default:
		return err
	}
}
