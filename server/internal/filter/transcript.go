package filter

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hookback/hookback/schema"
)

// transcriptKey is the key of terms about the transcript of an event.
const transcriptKey = "chat"

// unsearchedMembers are the members of a transcript without words of a person or a model.
var unsearchedMembers = []string{
	"type", "role", "id", "uuid", "parentUuid", "sessionId", "requestId", "tool_use_id", "timestamp", "model", "signature", "data", "media_type",
}

// TranscriptText returns the texts of a transcript, each folded and followed by a line break: the newest
// ones, at most limit bytes. It returns "" for JSON that can't be read.
func TranscriptText(transcript []byte, limit int) string {
	dec := jsontext.NewDecoder(strings.NewReader(string(transcript)), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	text, err := appendTexts(nil, dec, 0)
	if err != nil {
		return ""
	}
	if more := len(text) - limit; more > 0 {
		text = text[more:]
		text = text[slices.Index(text, '\n')+1:]
	}
	return string(text)
}

// appendTexts appends the texts of the next value.
func appendTexts(dst []byte, dec *jsontext.Decoder, depth int) ([]byte, error) {
	switch kind := dec.PeekKind(); {
	case kind == '"':
		token, err := dec.ReadToken()
		if err != nil {
			return dst, err
		}
		return append(appendFold(dst, token.String()), '\n'), nil
	case kind != '{' && kind != '[' || depth > schema.MaxDepth:
		return dst, dec.SkipValue()
	}
	open, err := dec.ReadToken()
	for err == nil && dec.PeekKind() != '}' && dec.PeekKind() != ']' {
		if open.Kind() == '{' {
			var name jsontext.Token
			if name, err = dec.ReadToken(); err != nil {
				break
			}
			if slices.Contains(unsearchedMembers, name.String()) {
				err = dec.SkipValue()
				continue
			}
		}
		dst, err = appendTexts(dst, dec, depth+1)
	}
	if err == nil {
		_, err = dec.ReadToken()
	}
	return dst, err
}
