package tables

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// table has the columns of a table once, for all statements that read or write whole rows.
type table[T any] struct {
	name    string
	key     string         // its primary key
	selects string         // SELECT … FROM name
	inserts string         // INSERT INTO name … VALUES …
	upserts string         // replaces the row with the same key
	fields  func(*T) []any // the members of a row, in the order of the columns
}

// newTable returns a table with the columns that fields reads and stores.
func newTable[T any](name, key, columns string, fields func(*T) []any) *table[T] {
	return &table[T]{
		name: name, key: key, fields: fields, selects: fmt.Sprintf(`SELECT %s FROM %s `, columns, name), inserts: insertInto(name, columns),
		upserts: upsertInto(name, key, columns, ofEach(columns, "%[1]s = excluded.%[1]s")),
	}
}

func insertInto(name, columns string) string {
	places := ""
	for i := range strings.Split(columns, ", ") {
		places += fmt.Sprintf(", $%d", i+1)
	}
	return fmt.Sprintf(`INSERT INTO %s (%s) VALUES (%s)`, name, columns, places[2:])
}

// upsertInto is insertInto that changes a row with the same key.
func upsertInto(name, key, columns, changes string) string {
	return fmt.Sprintf(`%s ON CONFLICT (%s) DO UPDATE SET %s`, insertInto(name, columns), key, changes)
}

// ofEach returns a list with the name of each column in a format.
func ofEach(columns, format string) string {
	list := strings.Split(columns, ", ")
	for i, column := range list {
		list[i] = fmt.Sprintf(format, column)
	}
	return strings.Join(list, ", ")
}

// list returns the rows that the rest of a query selects.
func (t *table[T]) list(ctx context.Context, e Engine, rest string, args ...any) ([]T, error) {
	return collect(ctx, e, t.fields, t.selects+rest, args...)
}

// one returns one row. It fails with schema.ErrNotFound.
func (t *table[T]) one(ctx context.Context, e Engine, rest string, args ...any) (v T, err error) {
	found, err := e.ReadOne(ctx, t.fields(&v), t.selects+rest, args...)
	return v, orNotFound(found, err)
}

// listIn is list in a transaction.
func (t *table[T]) listIn(w *Work, rest string, args ...any) []T {
	return collectIn(w, t.fields, t.selects+rest, args...)
}

// getIn returns one row, in a transaction.
func (t *table[T]) getIn(w *Work, rest string, args ...any) (v T, found bool) {
	found = w.find(t.fields(&v), t.selects+rest, args...)
	return v, found
}

func (t *table[T]) insert(w *Work, v *T) { w.do(t.inserts, t.values(v)...) }

func (t *table[T]) upsert(w *Work, v *T) { w.do(t.upserts, t.values(v)...) }

// values returns the members of a row to store.
func (t *table[T]) values(v *T) []any {
	values := t.fields(v)
	for i, field := range values {
		if pointer := reflect.ValueOf(field); pointer.Kind() == reflect.Pointer {
			values[i] = pointer.Elem().Interface()
		}
	}
	return values
}

// sumTable is a table of sums, to which rows are added.
type sumTable struct{ query string }

// SumColumns are the columns of the tables of sums whose values are added if two rows have the same key.
var SumColumns = map[string][]string{}

// newSumTable returns a table of sums. labels are columns that are the same for all rows of a key.
func newSumTable(name, key, labels, sums string) sumTable {
	SumColumns[name] = strings.Split(sums, ", ")
	return sumTable{upsertInto(name, key, key+", "+labels+sums, ofEach(sums, "%[1]s = "+name+".%[1]s + excluded.%[1]s"))}
}

func (t sumTable) add(w *Work, values ...any) { w.do(t.query, values...) }

// timeColumn stores a time in Unix milliseconds; 0: the zero time.
type timeColumn struct{ dest *time.Time }

// ScanTime returns the column of a time to store, or to scan into.
func ScanTime(dest *time.Time) timeColumn { return timeColumn{dest} }

// Value implements driver.Valuer.
func (c timeColumn) Value() (driver.Value, error) { return Millis(*c.dest), nil }

// Scan implements sql.Scanner.
func (c timeColumn) Scan(value any) error {
	ms, ok := value.(int64)
	if !ok {
		return fmt.Errorf("a time is stored as %T", value)
	}
	*c.dest = Time(ms)
	return nil
}

// jsonColumn stores a value as JSON, and scans it into a pointer.
type jsonColumn struct {
	value  any
	asText bool
}

// JSON returns the text column of a value, or of a pointer to scan into.
func JSON(value any) jsonColumn { return jsonColumn{value, true} }

// JSONBytes is JSON for a column of bytes.
func JSONBytes(value any) jsonColumn { return jsonColumn{value, false} }

// Value implements driver.Valuer.
func (c jsonColumn) Value() (driver.Value, error) {
	text, err := json.Marshal(c.value)
	if c.asText {
		return string(text), err
	}
	return text, err
}

// Scan implements sql.Scanner.
func (c jsonColumn) Scan(value any) error {
	switch text := value.(type) {
	case string:
		return json.Unmarshal([]byte(text), c.value)
	case []byte:
		return json.Unmarshal(text, c.value)
	default:
		return fmt.Errorf("JSON is stored as %T", value)
	}
}

// Millis returns t in Unix milliseconds, and 0 for the zero time.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// Time returns the time of Unix milliseconds, and the zero time for 0.
func Time(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// Nullable stores a nil slice as NULL instead of empty bytes. NonNil does the reverse.
func Nullable(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

// NonNil stores a nil slice as empty bytes.
func NonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
