package sign

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"io"
	"maps"
	"slices"

	"github.com/hookback/hookback/schema"
)

// CallDigest returns the digest of a tool call, which the CallSubject of a Statement carries:
//
//	SHA-256("hookback call 1\n" P(tool) P(canonical arguments))
//
// P is that of AskParts.Digest. The canonical form of the arguments has no white space, members in
// the order of their names' UTF-8 bytes, numbers as sent, and strings escaped as by encoding/json
// without HTML escapes. Arguments that are not JSON, or name a member twice, count as the bytes sent.
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
	var out bytes.Buffer
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if !appendCanonical(&out, dec) {
		return nil, false
	}
	_, err := dec.Token()
	return out.Bytes(), err == io.EOF
}

// appendCanonical copies the next value of dec in canonical form.
func appendCanonical(out *bytes.Buffer, dec *json.Decoder) bool {
	token, err := dec.Token()
	if err != nil {
		return false
	}
	switch token {
	case json.Delim('{'):
		return appendCanonicalObject(out, dec)
	case json.Delim('['):
		out.WriteByte('[')
		for first := true; dec.More(); first = false {
			if !first {
				out.WriteByte(',')
			}
			if !appendCanonical(out, dec) {
				return false
			}
		}
		out.WriteByte(']')
		_, err = dec.Token()
		return err == nil
	default:
		return appendScalar(out, token)
	}
}

func appendCanonicalObject(out *bytes.Buffer, dec *json.Decoder) bool {
	members := map[string][]byte{}
	for dec.More() {
		token, err := dec.Token()
		name, isName := token.(string)
		if _, twice := members[name]; err != nil || !isName || twice {
			return false
		}
		var value bytes.Buffer
		if !appendCanonical(&value, dec) {
			return false
		}
		members[name] = value.Bytes()
	}
	out.WriteByte('{')
	for i, name := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			out.WriteByte(',')
		}
		appendScalar(out, name)
		out.WriteByte(':')
		out.Write(members[name])
	}
	out.WriteByte('}')
	_, err := dec.Token()
	return err == nil
}

// appendScalar writes a string, number, boolean or null.
func appendScalar(out *bytes.Buffer, value any) bool {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if enc.Encode(value) != nil {
		return false
	}
	out.Truncate(out.Len() - 1) // the encoder ends each value with a line break
	return true
}
