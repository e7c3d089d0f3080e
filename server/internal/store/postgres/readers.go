package postgres

import (
	"context"
	"errors"
	"reflect"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// readers is the pool of connections that read.
type readers struct{ pool *pgxpool.Pool }

func (r *readers) query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	rows, err := r.pool.Query(ctx, query, clean(args)...)
	return rows, errOfRead(ctx, err)
}

// get reads one row. It returns pgx.ErrNoRows if there is none.
func (r *readers) get(ctx context.Context, into []any, query string, args ...any) error {
	return errOfRead(ctx, r.pool.QueryRow(ctx, query, clean(args)...).Scan(into...))
}

// ignoreNoRows drops the error of get if there was no row.
func ignoreNoRows(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	return err
}

// clean replaces what PostgreSQL's text can't hold in the arguments of a statement.
func clean(args []any) []any {
	for i, arg := range args {
		switch v := arg.(type) {
		case nil, []byte, int64, int, bool:
		case string:
			args[i] = cleanText(v)
		default:
			if value := reflect.ValueOf(arg); value.Kind() == reflect.String {
				args[i] = cleanText(value.String())
			}
		}
	}
	return args
}

// cleanText replaces NUL and invalid UTF-8, which agents may send in names.
func cleanText(text string) string {
	if strings.IndexByte(text, 0) >= 0 {
		text = strings.ReplaceAll(text, "\x00", "\uFFFD")
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
