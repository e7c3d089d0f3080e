package sqlite

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// tableEngine implements tables.Engine.
type tableEngine struct{ *engine }

func (e tableEngine) Write(ctx context.Context, kind tables.Change, run func(*tables.Work) error) error {
	return e.writer.do(ctx, &op{essential: kind&tables.Essential != 0, needsSavepoint: true, run: func(t *tx) error { return run(t.Work) }})
}

func (e tableEngine) Read(ctx context.Context, each func(tables.Rows) error, query string, args ...any) error {
	rows, err := e.readers.query(ctx, query, args...)
	return eachRow(rows, err, func(rows *sql.Rows) error { return each(rows) })
}

func (e tableEngine) ReadOne(ctx context.Context, into []any, query string, args ...any) (bool, error) {
	return isFound(e.readers.getByKey(ctx, into, query, args...))
}

func (e tableEngine) WriteJoined(ctx context.Context, until <-chan struct{}, run func(*tables.Work) error) error {
	o := &op{needsSavepoint: true, run: func(t *tx) error { return run(t.Work) }}
	if until == nil {
		return e.writer.do(ctx, o)
	}
	return e.writer.join(ctx, o, until)
}

func (e tableEngine) Queued() int { return len(e.writer.queue) }

func (e tableEngine) NameColumn(number *int64, _ *string) any { return number }

func (e tableEngine) NameText(ctx context.Context, kind tables.NameKind, number int64, _ string) (string, error) {
	return e.dictionary.nameText(ctx, &e.readers.statements, kind, number)
}

// Question implements store.Questions. The only hub owns all of them.
func (s *engine) Question(ctx context.Context, id schema.EventID) (*store.Question, error) {
	q, err := s.Tables.Question(ctx, id)
	if err == nil {
		q.Owner = s.Self()
	}
	return q, err
}

// writerNames implements tables.Names in a transaction.
type writerNames struct{ *writer }

func (w writerNames) NameColumn(number *int64, _ *string) any { return number }

func (w writerNames) NameText(ctx context.Context, kind tables.NameKind, number int64, _ string) (string, error) {
	return w.dictionary.nameText(ctx, &w.statements, kind, number)
}

func isFound(err error) (bool, error) { return err == nil, ignoreNoRows(err) }

// Exec implements tables.Tx.
func (t *tx) Exec(query string, args ...any) error {
	_, err := t.exec(query, args...)
	return err
}

// ExecCount implements tables.Tx.
func (t *tx) ExecCount(query string, args ...any) (int64, error) { return t.exec(query, args...) }

// Get implements tables.Tx.
func (t *tx) Get(into []any, query string, args ...any) (bool, error) {
	return isFound(t.get(into, query, args...))
}

// ExecOne implements tables.Tx. SQLite counts the rows, so it need not return one.
func (t *tx) ExecOne(guard tables.Guard, query string, args ...any) error {
	plain, _ := strings.CutSuffix(query, " RETURNING 1")
	n, err := t.exec(plain, args...)
	if err == nil && n == 0 {
		return tables.GuardError(guard)
	}
	return err
}

// Query implements tables.Tx.
func (t *tx) Query(each func(tables.Rows) error, query string, args ...any) error {
	rows, err := t.query(query, args...)
	return eachRow(rows, err, func(rows *sql.Rows) error { return each(rows) })
}

// Chain implements tables.Tx.
func (t *tx) Chain() *tables.Chain { return &t.counters.chain }

// read returns the queries of the connection that writes.
func (w *writer) read(ctx context.Context) tables.Query {
	return func(each func(tables.Rows) error, query string, args ...any) error {
		rows, err := w.conn.QueryContext(ctx, translate(query), args...)
		return eachRow(rows, err, func(rows *sql.Rows) error { return each(rows) })
	}
}

// Head implements tables.Tx.
func (t *tx) Head() int64 { return t.counters.head }

// Pruned implements tables.Tx.
func (t *tx) Pruned() int64 { return t.counters.pruned }

// Count implements tables.Tx.
func (t *tx) Count(d tables.Delta) {
	t.counters.events += d.Events
	t.counters.deleted -= min(d.Events, 0)
	t.counters.decided += d.Decided
	t.counters.pruned = max(t.counters.pruned, d.Pruned)
}

// InsertChange implements tables.Tx. Each change names the one before it. The question's row, which still names that
// one, is written once, with its update.
func (t *tx) InsertChange(id schema.EventID, ends bool, status []byte) (seq int64, err error) {
	seq = t.nextSeq()
	_, err = t.exec(`INSERT INTO changes (seq, question, previous, ends, status)
		SELECT ?, seq, last_change, ?, ? FROM questions WHERE seq = ?`, seq, ends, status, id)
	return seq, err
}

// PlaceOf implements tables.Tx. There is one hub.
func (t *tx) PlaceOf(string) (owner, machine string) { return "", "" }

// DeleteChanges implements tables.Tx. It follows the changes of a question from the newest to the oldest,
// because an index for that would cost a page with every change.
func (t *tx) DeleteChanges(questions []int64) (n, last int64, err error) {
	for _, question := range questions {
		var seq int64
		if err := t.get([]any{&seq}, `SELECT last_change FROM questions WHERE seq = ?`, question); err != nil {
			return 0, 0, err
		}
		for last = max(last, seq); seq > 0; n++ {
			change := seq
			if err := t.get([]any{&seq}, `SELECT previous FROM changes WHERE seq = ?`, change); err != nil {
				return 0, 0, err
			}
			if _, err := t.exec(`DELETE FROM changes WHERE seq = ?`, change); err != nil {
				return 0, 0, err
			}
		}
	}
	return n, last, nil
}

// Size implements tables.Tx. It does not count free pages.
func (t *tx) Size() (int64, error) {
	var pages, free, size int64
	for _, p := range []struct {
		dest  *int64
		query string
	}{{&pages, `PRAGMA page_count`}, {&free, `PRAGMA freelist_count`}, {&size, `PRAGMA page_size`}} {
		if err := t.get([]any{p.dest}, p.query); err != nil {
			return 0, err
		}
	}
	return (pages - free) * size, nil
}

// ForgetNames implements tables.Tx.
func (t *tx) ForgetNames() { t.clearCaches() }

// Now implements tables.Tx.
func (t *tx) Now() time.Time { return t.now }
