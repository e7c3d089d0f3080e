// Package plaintext reads text that a person or a tool has saved.
package plaintext

import (
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Decode returns text as UTF-8 without a byte order mark. Windows PowerShell 5.1 and Notepad write
// a mark, and PowerShell redirects output as UTF-16. Text without a mark is returned unchanged.
func Decode(text []byte) []byte {
	decoded, _, err := transform.Bytes(unicode.BOMOverride(transform.Nop), text)
	if err != nil {
		return text // the reader of the text reports what is wrong with it
	}
	return decoded
}
