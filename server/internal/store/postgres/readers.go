package postgres

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
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
	if err == nil {
		_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) { return struct{}{}, each(row) })
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

// tableEngine implements tables.Engine.
type tableEngine struct {
	textNames
	*tables.Queue
	s *engine
}

func (e tableEngine) Read(ctx context.Context, each func(tables.Rows) error, query string, args ...any) error {
	rows, err := e.s.readers.query(ctx, query, args...)
	return eachRow(rows, err, each)
}

func (e tableEngine) ReadOne(ctx context.Context, into []any, query string, args ...any) (bool, error) {
	return tables.IsFound(e.s.readers.get(ctx, into, query, args...))
}

func (e tableEngine) Member() string { return e.s.Self() }

func (e tableEngine) Place() store.Place {
	self := &e.s.members.self
	return store.Place{Owner: self.ID, Machine: self.Machine}
}

func (e tableEngine) RequireCurrent(a store.Authority) error {
	if isStale, _ := e.s.policy.isStale(); isStale && a != store.NoAuthority {
		return store.ErrPolicyChanged
	}
	return nil
}

// textNames implements tables.Names.
type textNames struct{}

func (textNames) NameColumn(_ *int64, text *string) any { return text }

func (textNames) NameText(_ context.Context, _ tables.NameKind, _ int64, text string) (string, error) {
	return text, nil
}

// exec returns a function that executes statements on the writer's connection.
func (w *writer) exec(ctx context.Context) func(query string, args ...any) error {
	return func(query string, args ...any) error {
		_, err := w.conn.Exec(ctx, query, args...)
		return err
	}
}

// read returns the queries of the writer's connection.
func (w *writer) read(ctx context.Context) tables.Query {
	return func(each func(tables.Rows) error, query string, args ...any) error {
		rows, err := w.conn.Query(ctx, query, args...)
		return eachRow(rows, err, each)
	}
}

func (s *engine) Apply(ctx context.Context, c store.Change) error {
	err := s.Tables.Apply(ctx, c)
	if errors.Is(err, store.ErrPolicyChanged) {
		s.policy.await(ctx)
	}
	return err
}

// After catches up with the other hubs if one of them has committed a row that this hub does not know yet: its
// reader continues here.
func (s *engine) After(ctx context.Context, seq int64, limit int) ([]store.LogRow, error) {
	if seq > s.Head() {
		var commits, head int64
		if err := s.readers.get(ctx, []any{&commits, &head}, `SELECT commits, head FROM streams`); err != nil {
			return nil, err
		}
		if head >= seq {
			if err := s.writer.refreshTo(ctx, commits); err != nil {
				return nil, err
			}
		}
	}
	return s.Tables.After(ctx, seq, limit)
}
