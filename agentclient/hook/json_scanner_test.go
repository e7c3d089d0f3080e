package hook

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// jsonSamples returns valid and invalid JSON texts.
func jsonSamples(t testing.TB) []string {
	texts := []string{
		``, ` `, `{`, `}`, `{}`, ` { } `, `[]`, `[ ]`, `[1,]`, `[,1]`, `[1 2]`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{"a" : 1 , "b":[{}]}`, `{a:1}`, `{"a":1}x`, `{"a":1} {}`,
		`{"a":1,"a":2}`, `{"A":1,"a":2}`, `{"\u0061":1,"a":2}`, `{"ä":1}`, "{\"\xff\":1}", "{\"a\":\"\xff\"}", "{\"a\x00\":1}", "{\"a\":\"\n\"}", "{\"a\":\"\x7f\"}", "\ufeff{}",
		`{"a":null}`, `null`, `nul`, `nullx`, `true`, `tru`, `false`, `fals`, `0`, `-`, `-0`, `01`, `1.`, `.1`, `1.0`, `1e`, `1e+`, `1E-9`, `+1`, `-1e400`, `0x1`, `1_0`, `NaN`,
		`"`, `"\`, `"\"`, `"\""`, `"\x"`, `"\u12"`, `"\u123g"`, `"\uD800"`, `"\u00E9"`, `"\/\b\f\n\r\t\\"`, `'a'`, `[`, `["`, `[[`, `]`, `/**/{}`, "\v{}", "\u00a0{}",
	}
	samples, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	for _, path := range samples {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		texts = append(texts, string(text))
	}
	return texts
}

// requireSameAsEncodingJSON compares jsonScanner with encoding/json. The scanner itself
// must accept valid JSON: the fallback to the library would hide that it doesn't.
func requireSameAsEncodingJSON(t *testing.T, in []byte) {
	t.Helper()
	s := jsonScanner{text: in}
	require.Equal(t, json.Valid(in), s.scanValue(0) && s.atEnd())
	require.Equal(t, json.Valid(in), Valid(in))

	var want object
	wrong := json.Unmarshal(in, &want)
	got, ok := splitObject(in)
	require.Equal(t, wrong == nil && want != nil, ok)
	var o object
	require.Equal(t, wrong, o.decode(in))
	if wrong != nil {
		return
	}
	require.Equal(t, want, o)
	for name := range got {
		var s string
		_ = json.Unmarshal(want[name], &s)
		require.Equal(t, s, o.text(name))
		require.Equal(t, len(o[name]), cap(o[name]), "appending to a member must not overwrite the next one")
	}
}

func TestScanner_MatchesEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, text := range jsonSamples(t) {
		requireSameAsEncodingJSON(t, []byte(text))
		for end := range min(len(text), 40) {
			requireSameAsEncodingJSON(t, []byte(text[:end]))
		}
	}
	for _, depth := range []int{maxNesting, maxNesting + 1} {
		requireSameAsEncodingJSON(t, []byte(strings.Repeat(`[`, depth)+strings.Repeat(`]`, depth)))
		requireSameAsEncodingJSON(t, []byte(strings.Repeat(`{"a":`, depth)+`1`+strings.Repeat(`}`, depth)))
	}
}

func FuzzScanner_MatchesEncodingJSON(f *testing.F) {
	for _, text := range jsonSamples(f) {
		f.Add([]byte(text))
	}
	f.Fuzz(requireSameAsEncodingJSON)
}

// BenchmarkParse_LargeInput compares the cost of parsing a hook input of a megabyte with
// the time that encoding/json needs to split it.
func BenchmarkParse_LargeInput(b *testing.B) {
	text, err := os.ReadFile("testdata/claude-code-PostToolUse-Bash.json")
	require.NoError(b, err)
	big := []byte(strings.Replace(string(text), `"tool_input": {`, `"tool_input": {"text": "`+strings.Repeat(`0123456789abc de\n`, 1<<16)+`", `, 1))
	b.Run("hook", func(b *testing.B) {
		b.SetBytes(int64(len(big)))
		for b.Loop() {
			in := Input{Stdin: big, Env: func(string) string { return "" }}.Parsed()
			require.Equal(b, "claude-code", Identify("claude-code", in))
			_, err := claude{}.Parse(in)
			require.NoError(b, err)
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.SetBytes(int64(len(big)))
		for b.Loop() {
			var o map[string]json.RawMessage
			require.NoError(b, json.Unmarshal(big, &o))
		}
	})
}
