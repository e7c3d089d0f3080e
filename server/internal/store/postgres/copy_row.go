package postgres

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"math"
	"strings"
	"unicode/utf8"
)

// copyHeader starts a stream of rows in the binary format of COPY, and copyEnd ends it.
var (
	copyHeader = append([]byte("PGCOPY\n\xff\r\n\x00"), make([]byte, 8)...)
	copyEnd    = []byte{0xff, 0xff}
)

// errMergeable means that a row has a name in a unique index that cleanText changes. Another row may
// have that name.
var errMergeable = errors.New("the row may have the key of another one")

// appendRow appends a row of the source in the binary format of COPY.
func (t *copyTable) appendRow(b []byte, values []any) ([]byte, error) {
	b = binary.BigEndian.AppendUint16(b, uint16(len(values))) //nolint:gosec // a table has few columns
	for i, value := range values {
		var err error
		if b, err = t.columns[i].append(b, value); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// append appends a value with its length.
func (c *copyColumn) append(b []byte, value any) ([]byte, error) {
	if value == nil {
		return binary.BigEndian.AppendUint32(b, math.MaxUint32), nil
	}
	start := len(b)
	b = append(b, 0, 0, 0, 0)
	switch v := value.(type) {
	case int64:
		switch c.kind {
		case "int8":
			b = binary.BigEndian.AppendUint64(b, uint64(v)) //nolint:gosec // two's complement
		case "int4":
			b = binary.BigEndian.AppendUint32(b, uint32(v)) //nolint:gosec // as above
		case "int2":
			b = binary.BigEndian.AppendUint16(b, uint16(v)) //nolint:gosec // as above
		case "bool":
			b = append(b, byte(min(v, 1)))
		case "float8":
			b = binary.BigEndian.AppendUint64(b, math.Float64bits(float64(v)))
		default:
			return nil, c.mismatch(value)
		}
	case float64:
		if c.kind != "float8" {
			return nil, c.mismatch(value)
		}
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(v))
	case []byte:
		switch c.kind {
		case "bytea", "uuid":
			b = append(b, v...)
		case "text":
			if isClean(v) {
				b = append(b, v...)
			} else if c.isUnique {
				return nil, errMergeable
			} else {
				b = append(b, cleanText(string(v))...)
			}
		default:
			return nil, c.mismatch(value)
		}
	default:
		return nil, c.mismatch(value)
	}
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4)) //nolint:gosec // SQLite's values are below 2 GiB
	return b, nil
}

func (c *copyColumn) mismatch(value any) error {
	return fmt.Errorf("the column %s is %s, and the file has a %T", c.name, c.kind, value)
}

// isClean reports whether cleanText changes nothing.
func isClean(text []byte) bool {
	for _, c := range text {
		if c == 0 {
			return false
		}
	}
	return utf8.Valid(text)
}

// argument returns a value of the source for a statement.
func (c *copyColumn) argument(value any) any {
	switch v := value.(type) {
	case []byte:
		switch c.kind {
		case "text":
			return cleanText(strings.Clone(string(v)))
		case "uuid":
			return [16]byte(v)
		}
	case int64:
		if c.kind == "bool" {
			return v != 0
		}
	}
	return value
}

// rowsPerDigest is the number of rows of which one digest is computed.
const rowsPerDigest = 100_000

// rowDigest computes digests of the rows of a table.
type rowDigest struct {
	hash hash.Hash
	rows int64
	sums [][sha256.Size]byte
}

func newRowDigest() *rowDigest { return &rowDigest{hash: sha256.New()} }

// add adds a row in the format of appendRow.
func (d *rowDigest) add(row []byte) {
	_, _ = d.hash.Write(row)
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
