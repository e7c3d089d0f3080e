package hookrun

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// generousStdinTimeouts are not reached on a busy machine either.
var generousStdinTimeouts = stdinTimeouts{quiet: time.Minute, total: 5 * time.Minute}

func TestReadInput(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{}", `{"a":"` + strings.Repeat("b", 200_000) + `"}`} {
		for _, r := range []io.Reader{strings.NewReader(text), iotest.DataErrReader(strings.NewReader(text))} {
			got, truncated, err := readInput(r, generousStdinTimeouts)
			require.NoError(t, err)
			require.False(t, truncated)
			require.Equal(t, text, string(got))
		}
	}
	broken := errors.New("broken")
	_, _, err := readInput(iotest.ErrReader(broken), generousStdinTimeouts)
	require.ErrorIs(t, err, broken)
	_, _, err = readInput(readerFunc(func([]byte) (int, error) { panic("inside") }), generousStdinTimeouts)
	require.ErrorContains(t, err, "panic: inside")
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// openPipe returns a pipe with text whose writer stays open.
func openPipe(t *testing.T, text string) io.Reader {
	t.Helper()
	r, w := io.Pipe()
	t.Cleanup(func() { _ = w.Close() })
	go func() { _, _ = io.WriteString(w, text) }()
	return r
}

func TestReadInput_StdinStaysOpen(t *testing.T) {
	t.Parallel()
	got, _, err := readInput(openPipe(t, `{"a":1}`), generousStdinTimeouts)
	require.NoError(t, err)
	require.Equal(t, `{"a":1}`, string(got))
	_, _, err = readInput(openPipe(t, `{"a":`), defaultStdinTimeouts)
	require.ErrorIs(t, err, errStdinOpen)
}

func TestReadInput_TruncatesLongStrings(t *testing.T) {
	t.Parallel()
	text := `{"session":"s","list":["` + strings.Repeat(`x`, maxStdin) + `","` + strings.Repeat(`\"`, 20_000) + `",1],"end":true}`
	got, truncated, err := readInput(strings.NewReader(text), generousStdinTimeouts)
	require.NoError(t, err)
	require.True(t, truncated)
	var read struct {
		Session string
		List    []any
		End     bool
	}
	require.NoError(t, json.Unmarshal(got, &read))
	require.Equal(t, "s", read.Session)
	require.True(t, read.End)
	require.Equal(t, strings.Repeat("x", maxString)+"… [hookback left out 8306688 bytes]", read.List[0])
	require.Equal(t, strings.Repeat(`"`, maxString/2)+"… [hookback left out 23616 bytes]", read.List[1])

	_, _, err = readInput(strings.NewReader("["+strings.Repeat("1,", maxStdin)+"1]"), generousStdinTimeouts)
	require.ErrorContains(t, err, "even without its long strings")
}

// The output is valid JSON for every position of the cut.
func TestTruncator_CutsBetweenCharacters(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"x", `\n`, `\\`, `\"`, `\u00e4`, `\ud83d\ude00`, "ä", "€", "😀"} {
		for before := range 8 {
			text := `["` + strings.Repeat("x", maxString-before) + strings.Repeat(unit, 10) + `","` + unit + `",{"k\"":"v"}]`
			var s truncator
			s.add([]byte(text))
			require.True(t, json.Valid(s.out), "%s after %d", unit, before)
			require.True(t, utf8.Valid(s.out), "%s after %d", unit, before)
			require.True(t, strings.HasSuffix(string(s.out), ` bytes]","`+unit+`",{"k\"":"v"}]`), "the rest is unchanged")
		}
	}
}

func FuzzTruncator(f *testing.F) {
	f.Add([]byte(`{"a":"\ud83d\ude00","b":["\\\""]}`), byte(3))
	f.Fuzz(func(t *testing.T, text []byte, at byte) {
		if !json.Valid(text) {
			return
		}
		var full, inPieces truncator
		full.add(text)
		require.Equal(t, string(text), string(full.out), "short strings are unchanged")
		cut := min(int(at), len(text))
		inPieces.add(text[:cut])
		inPieces.add(text[cut:])
		require.Equal(t, full.out, inPieces.out)
	})
}
