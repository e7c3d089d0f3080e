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

// requireSameAsEncodingJSON compares the package with encoding/json.
func requireSameAsEncodingJSON(t *testing.T, in []byte) {
	t.Helper()
	require.Equal(t, json.Valid(in), Valid(in))

	var want map[string]json.RawMessage
	wrong := json.Unmarshal(in, &want)
	got, ok := splitObject(in)
	require.Equal(t, wrong == nil && want != nil, ok)
	o, err := decodeObject(in)
	require.Equal(t, wrong, err)
	if wrong != nil {
		return
	}
	require.Equal(t, want, o)
	for name := range got {
		var s string
		_ = json.Unmarshal(want[name], &s)
		require.Equal(t, s, stringValue(o[name]))
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
	for _, depth := range []int{10_000, 10_001} /* the limit of encoding/json */ {
		requireSameAsEncodingJSON(t, []byte(strings.Repeat(`[`, depth)+strings.Repeat(`]`, depth)))
		requireSameAsEncodingJSON(t, []byte(strings.Repeat(`{"a":`, depth)+`1`+strings.Repeat(`}`, depth)))
	}
}

// requireSameOuterSplit compares splitOuter with splitObject for the objects that both can read.
func requireSameOuterSplit(t *testing.T, in []byte) {
	t.Helper()
	if want, ok := splitObject(in); ok {
		got, ok := splitOuter(in)
		require.True(t, ok)
		require.Equal(t, want, got)
	}
}

func TestSplitOuter_ReadsNoValue(t *testing.T) {
	t.Parallel()
	for _, text := range jsonSamples(t) {
		requireSameOuterSplit(t, []byte(text))
		for end := range min(len(text), 40) {
			splitOuter([]byte(text[:end]))
		}
	}
	deep := strings.Repeat(`[{"a":`, 1<<20)
	for text, want := range map[string]map[string]json.RawMessage{
		`{"a":"\x\"}","b":[}}`:  {"a": json.RawMessage(`"\x\"}"`), "b": json.RawMessage(`[}`)},
		`{"a": nothing ,"b":1}`: {"a": json.RawMessage(`nothing`), "b": json.RawMessage(`1`)},
		`{"a":1,"a":2}`:         {"a": json.RawMessage(`2`)},
		`{"a":` + deep:          nil,
		`{"a":[1}`:              nil,
		`{"a":"1}`:              nil,
		`{"a":1} {}`:            nil,
		`[1]`:                   nil,
		`"`:                     nil,
	} {
		got, ok := splitOuter([]byte(text))
		require.Equal(t, want != nil, ok, "%.40s", text)
		if ok {
			require.Equal(t, want, got)
		}
	}
}

func FuzzSplitOuter(f *testing.F) {
	for _, text := range jsonSamples(f) {
		f.Add([]byte(text))
	}
	f.Fuzz(requireSameOuterSplit)
}

func FuzzScanner_MatchesEncodingJSON(f *testing.F) {
	for _, text := range jsonSamples(f) {
		f.Add([]byte(text))
	}
	f.Fuzz(requireSameAsEncodingJSON)
}
