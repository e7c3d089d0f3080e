// Package plaintext reads text that a person or a tool has saved.
package plaintext

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
)

// Decode returns text as UTF-8 without a byte order mark. Windows PowerShell 5.1 and Notepad write
// a mark, and PowerShell redirects output as UTF-16. Text without a mark is returned unchanged.
func Decode(text []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(text, []byte("\ufeff")):
		return text[len("\ufeff"):]
	case bytes.HasPrefix(text, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(text, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		return text
	}
	units := make([]uint16, len(text)/2-1) // without the mark
	for i := range units {
		units[i] = order.Uint16(text[2*i+2:])
	}
	return []byte(string(utf16.Decode(units)))
}
