package schema_test

import (
	"encoding/json"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

func TestReplaceHalfSurrogates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a":"build ok \ud83d"}`:        `{"a":"build ok \ufffd"}`,
		`{"a":"\ude00x\uD83D\ud83d"}`:    `{"a":"\ufffdx\ufffd\ufffd"}`,
		`{"a":"\ud83d\ude00","b":"\ud"}`: "",
		`{"a":"\\ud83d"}`:                "",
		`{"a":"\\\ud83d"}`:               `{"a":"\\\ufffd"}`,
		`{"\udfff":1}`:                   `{"\ufffd":1}`,
		`"\ud7ff\ue000 é"`:               "", "": "", `\`: "", `\u`: "", `\ud83d\u`: `\ufffd\u`,
	} {
		before := string([]byte(text))
		got, changed := schema.ReplaceHalfSurrogates([]byte(text))
		require.Equal(t, want != "", changed, text)
		if want == "" {
			want = text
		}
		require.Equal(t, want, string(got))
		require.Equal(t, before, text)
	}
}

func FuzzReplaceHalfSurrogates(f *testing.F) {
	f.Add(uint16(0xd83d), uint16(0xde00))
	f.Add(uint16(0xde00), uint16('a'))
	f.Fuzz(func(t *testing.T, a, b uint16) {
		text := []byte(`"` + escape(a) + escape(b) + `"`)
		fixed, changed := schema.ReplaceHalfSurrogates(text)
		var want, got string
		require.NoError(t, json.Unmarshal(text, &want)) // reads halves as U+FFFD, too
		require.NoError(t, json.Unmarshal(fixed, &got))
		require.Equal(t, want, got)
		isHalf := utf16.IsSurrogate(rune(a)) || utf16.IsSurrogate(rune(b))
		isPair := utf16.DecodeRune(rune(a), rune(b)) != '\ufffd'
		require.Equal(t, isHalf && !isPair, changed)
	})
}

func escape(c uint16) string {
	const digits = "0123456789abcdef"
	return `\u` + string([]byte{digits[c>>12], digits[c>>8&15], digits[c>>4&15], digits[c&15]})
}
