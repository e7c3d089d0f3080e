package tables

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"
)

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
