package postgres

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store/tables"
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

// eachRow calls each for every row of a query, and closes rows.
func eachRow(rows pgx.Rows, err error, each func(tables.Rows) error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// clean replaces what PostgreSQL's text can't hold in the arguments of a statement.
func clean(args []any) []any {
	for i, arg := range args {
		switch v := arg.(type) {
		case nil, []byte, int64, int, bool:
		case string:
			args[i] = cleanText(v)
		case tables.Name:
			args[i] = cleanText(v.Text)
		case tables.NameList:
			args[i] = append([]string{}, v.Texts...)
		case tables.BytesPattern:
			args[i] = escapeBytes(string(v))
		case []schema.EventID:
			list := make([]int64, len(v))
			for j, id := range v {
				list[j] = int64(id)
			}
			args[i] = list
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

// escapeBytes converts a LIKE pattern to one for the format escape of bytes, in which a backslash is
// doubled and a byte above ASCII is a backslash with three octal digits.
func escapeBytes(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case strings.HasPrefix(pattern[i:], `\\`): // an escaped backslash: two in the text
			b.WriteString(`\\\\`)
			i++
		case c >= utf8.RuneSelf || c == 0:
			fmt.Fprintf(&b, `\\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
