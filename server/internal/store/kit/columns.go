package kit

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"
)

// TimeColumn scans a time in Unix milliseconds; 0: the zero time.
type TimeColumn struct{ dest *time.Time }

// ScanTime returns the column that scans into dest.
func ScanTime(dest *time.Time) TimeColumn { return TimeColumn{dest} }

// Scan implements sql.Scanner.
func (c TimeColumn) Scan(value any) error {
	ms, ok := value.(int64)
	if !ok {
		return fmt.Errorf("a time is stored as %T", value)
	}
	*c.dest = Time(ms)
	return nil
}

// JSONColumn stores a value as JSON text, and scans it into a pointer.
type JSONColumn struct{ value any }

// JSON returns the column of a value, or of a pointer to scan into.
func JSON(value any) JSONColumn { return JSONColumn{value} }

// Value implements driver.Valuer.
func (c JSONColumn) Value() (driver.Value, error) {
	text, err := json.Marshal(c.value)
	return string(text), err
}

// Scan implements sql.Scanner.
func (c JSONColumn) Scan(value any) error {
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf("JSON is stored as %T", value)
	}
	return json.Unmarshal([]byte(text), c.value)
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
