package sign

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hookback/hookback/schema"
)

// CallDigest returns the digest of a tool call, which the CallSubject of a Statement carries:
//
//	SHA-256("hookback call 1\n" P(tool) P(canonical arguments))
//
// P is that of AskParts.Digest. The canonical form of the arguments is that of RFC 8785, but with numbers as sent, and
// with U+2028 and U+2029 escaped. Arguments that are not JSON, or name a member twice, count as the bytes sent.
//
// The hub gives no digest of a call from which it redacted a secret: readers could test guesses at
// the secret against it.
func CallDigest(tool string, arguments []byte) [sha256.Size]byte {
	h := sha256.New()
	h.Write([]byte("hookback call 1\n"))
	writePart(h, []byte(tool))
	canonical, ok := canonicalJSON(arguments)
	if !ok {
		canonical = arguments
	}
	writePart(h, canonical)
	return [sha256.Size]byte(h.Sum(nil))
}

// ConsequenceDigest returns the digest of a consequence, which the ConsequenceSubject of a Statement carries:
//
//	SHA-256("hookback consequence 1\n" P(canonical JSON of its known members))
func ConsequenceDigest(c *schema.Consequence) [sha256.Size]byte {
	h := sha256.New()
	h.Write([]byte("hookback consequence 1\n"))
	text, _ := json.Marshal(c) // its members always encode
	canonical, _ := canonicalJSON(text)
	writePart(h, canonical)
	return [sha256.Size]byte(h.Sum(nil))
}

// canonicalJSON returns the canonical form of a JSON text, or false if there is none.
func canonicalJSON(text []byte) ([]byte, bool) {
	if schema.Depth(text) > schema.MaxDepth {
		return nil, false
	}
	canonical := jsontext.Value(bytes.Clone(text))
	err := canonical.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false),
		jsontext.EscapeForJS(true), jsontext.AllowInvalidUTF8(true))
	return canonical, err == nil
}
