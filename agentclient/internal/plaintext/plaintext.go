// Package plaintext reads text that a person or a tool has saved.
package plaintext

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"unicode/utf16"
)

// maxPolicyBytes is 1,000 rules of a policy, and more.
const maxPolicyBytes = 1 << 20

// ReadPolicy reads the text of a policy: a regular file of limited size. A pipe could block a hook.
func ReadPolicy(file string) ([]byte, error) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("the policy is not a regular file")
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxPolicyBytes+1))
	if len(text) > maxPolicyBytes {
		return nil, errors.New("the policy is larger than 1 MiB; it can have at most 1,000 rules")
	}
	return text, err
}

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
