package postgres

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"

	"github.com/hookback/hookback/server/internal/store/tables"
)

// convert returns a row of the source with the values for the target. isMergeable is set if it has a name in a unique
// index that cleanText changes: another row may have that name.
func (t *copyTable) convert(values []any) (row []any, isMergeable bool, err error) {
	row = make([]any, len(values))
	for i, value := range values {
		column := &t.columns[i]
		if row[i], err = column.convert(value); err != nil {
			return nil, false, err
		}
		if text, ok := row[i].(string); ok && column.isUnique {
			isMergeable = isMergeable || text != string(value.([]byte)) //nolint:forcetypeassert // a text is bytes before
		}
	}
	return row, isMergeable, nil
}

func (c *copyColumn) convert(value any) (any, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case int64:
		switch c.kind {
		case "int8", "int4", "int2":
			return v, nil
		case "bool":
			return v != 0, nil
		case "float8":
			return float64(v), nil
		}
	case float64:
		if c.kind == "float8" {
			return v, nil
		}
	case []byte:
		switch {
		case c.kind == "bytea":
			return tables.NonNil(v), nil // the driver reads empty bytes as nil, which would be NULL
		case c.kind == "uuid" && len(v) == 16:
			return [16]byte(v), nil
		case c.kind == "text":
			return cleanText(string(v)), nil
		}
	}
	return nil, fmt.Errorf("the column %s is %s, and the file has a %T", c.name, c.kind, value)
}

// rowsPerDigest is the number of rows of which one digest is computed.
const rowsPerDigest = 100_000

// rowDigest computes digests of the rows of a table.
type rowDigest struct {
	hash   hash.Hash
	buffer []byte
	rows   int64
	bytes  int64
	sums   [][sha256.Size]byte
}

func newRowDigest() *rowDigest { return &rowDigest{hash: sha256.New()} }

// add adds a row. Numbers of any size are equal if their values are.
func (d *rowDigest) add(row []any) {
	d.buffer = d.buffer[:0]
	for _, value := range row {
		switch v := value.(type) {
		case string:
			d.buffer = append(binary.AppendUvarint(append(d.buffer, 'b'), uint64(len(v))), v...)
		case []byte:
			d.buffer = append(binary.AppendUvarint(append(d.buffer, 'b'), uint64(len(v))), v...)
		case nil:
			d.buffer = append(d.buffer, 'n')
		default:
			d.buffer = fmt.Append(append(d.buffer, 'v'), v, ";")
		}
	}
	_, _ = d.hash.Write(d.buffer)
	d.bytes += int64(len(d.buffer))
	if d.rows++; d.rows%rowsPerDigest == 0 {
		d.cut()
	}
}

func (d *rowDigest) cut() {
	d.sums = append(d.sums, [sha256.Size]byte(d.hash.Sum(nil)))
	d.hash.Reset()
}

// compare fails if the digests differ.
func (d *rowDigest) compare(stored *rowDigest) error {
	d.cut()
	stored.cut()
	for i := range min(len(d.sums), len(stored.sums)) {
		if d.sums[i] != stored.sums[i] {
			return fmt.Errorf("rows %d to %d differ", i*rowsPerDigest+1, (i+1)*rowsPerDigest)
		}
	}
	if d.rows != stored.rows {
		return fmt.Errorf("%d rows were sent, and %d are stored", d.rows, stored.rows)
	}
	return nil
}
