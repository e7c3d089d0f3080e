package filter

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

const manyElements = "262,144 elements"

// hostileEvents returns adversarial events, each as large as the hub accepts.
func hostileEvents() map[string]*Event {
	deep := strings.Repeat(`{"a":`, schema.MaxDepth-1) + `"x"` + strings.Repeat("}", schema.MaxDepth-1)
	lists := strings.Repeat("[", schema.MaxDepth-1) + strings.Repeat("]", schema.MaxDepth-1)
	var keys, same strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&keys, `"k%d":%d,`, i, i)
		fmt.Fprintf(&same, `"k":%d,`, i)
	}
	payload := func(json string) *Event {
		return &Event{ID: 1, App: "a", Session: "s", Type: "t", Payload: []byte(json)}
	}
	return map[string]*Event{
		"a line of 1 MB":       payload(`{"line":"` + strings.Repeat("a", 1<<20) + `"}`),
		"1 MB of escapes":      payload(`{"line":"` + strings.Repeat(`\u0041`, 1<<17) + `"}`),
		"10,000 keys":          payload(`{` + keys.String() + `"last":"x"}`),
		"10,000 times one key": payload(`{` + same.String() + `"k":"x"}`),
		"deep objects":         payload(`{"a":` + deep + `}`),
		"deep lists":           payload(`{"a":` + lists + `}`),
		"16,384 elements":      payload(`{"a":[` + strings.Repeat("0,", 1<<14-1) + `1]}`),
		manyElements:           payload(`{"a":[` + strings.Repeat("0,", 1<<18-1) + `1]}`),
		"half a surrogate":     payload(`{"a":"\ud83d","b":"\ude00 x"}`),
		"bidi and zero width":  payload(`{"a":"` + strings.Repeat("\u202e\u200b\u2066", 9000) + `"}`),
		"invalid JSON":         {Payload: []byte(`{"a":`), Question: []byte(`}`), Status: []byte(`nil`), Envelope: []byte(`"x`)},
		"empty":                {},
	}
}

// waitLimit is the limit for a match that ends: quadratic work on these events takes longer.
const waitLimit = time.Minute

// TestMatch_HostileEventsCostLinear: the time and memory of a filter are proportional to the size
// of the event. The test is not parallel, so that no other test allocates while it measures.
func TestMatch_HostileEventsCostLinear(t *testing.T) {
	filters := []string{
		"nowhere", `"a b"`, "k:x", "a:*a*b*c*", "line:" + strings.Repeat("a*", 400) + "b", "/(a+)+$b/", "-/(a|aa)+$/",
		strings.Repeat("a.", 500) + "a:x", "last:x k9999:9999", strings.Repeat("-nowhere ", maxTerms), "tool_input:*", "error:* model:*",
	}
	for name, e := range hostileEvents() {
		weight := uint64(len(e.Payload) + 1)
		tested := filters
		if name == manyElements {
			// Decoding dominates the cost, and every filter decodes. These two also look for
			// a missing member and test each element.
			tested = []string{"k:x", "a:*a*b*c*"}
		}
		for _, text := range tested {
			f, err := Parse(text)
			require.NoError(t, err, text)
			var before, after runtime.MemStats
			done := make(chan struct{})
			runtime.ReadMemStats(&before)
			go func() { defer close(done); f.Match(e) }()
			select {
			case <-done:
			case <-time.After(waitLimit):
				require.FailNow(t, "the match does not end", "%s: %s", name, text)
			}
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, 400*weight+1<<20, "%s: %s", name, text)
		}
		require.LessOrEqual(t, uint64(len(IndexText(nil, e))), 3*weight+64, name)
	}
}

// TestParse_LimitsRegexSize: RE2 takes a step per state and character, and repeats multiply the
// states.
func TestParse_LimitsRegexSize(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"/(x?){1000}y$/", "a:/((x?){30}){30}y/", "a:/(.?.?.?){300}y/", strings.Repeat("-a:/(x?){90}y/ ", 10), "/(a{0,20}){25}$/",
	} {
		_, err := Parse(text)
		require.ErrorIs(t, err, schema.ErrInvalid, text)
		require.ErrorContains(t, err, "take too long", text)
	}
	for _, text := range []string{
		`/\b\d{1,3}(\.\d{1,3}){3}\b/`, "/[0-9a-f]{64}/", "/error.{0,80}(timeout|refused|reset)/", "/^(go|npm|cargo|make) (test|build|run)/ -/ok/",
		`command:/\brm\s+-[a-z]*[rf]/ /[\w.+-]+@[\w-]+\.[\w.]+/`, "/" + strings.Repeat("word|", 60) + "end/",
	} {
		_, err := Parse(text)
		require.NoError(t, err, text)
	}
}

func TestMatch_SearchesLimitedText(t *testing.T) {
	t.Parallel()
	e := &Event{App: "app", Payload: []byte(`{"a":"` + strings.Repeat("é", maxTextUnits-3) + `b😀c"}`)}
	for text, want := range map[string]bool{"éb": true, "b😀": true, "😀c": false, "a:*c": true} {
		f, err := Parse(text)
		require.NoError(t, err)
		require.Equal(t, want, f.Match(e), text)
	}
	half := &Event{Payload: []byte(`{"a":"` + strings.Repeat("x", maxTextUnits-1) + `😀"}`)}
	f, err := Parse("😀")
	require.NoError(t, err)
	require.False(t, f.Match(half), "a page cuts the surrogate pair in two")
}

func TestJSNumber(t *testing.T) {
	t.Parallel()
	for json, want := range map[string]string{
		"0": "0", "-0": "0", "-0.0": "0", "7": "7", "-7": "-7", "1.50": "1.5", "1e3": "1000", "1E+3": "1000", "0.1": "0.1",
		"1e21": "1e+21", "1e20": "100000000000000000000", "9007199254740993": "9007199254740992",
		"1e-6": "0.000001", "1e-7": "1e-7", "1.5e-10": "1.5e-10", "5e-324": "5e-324", "1e999": "Infinity", "-1e999": "-Infinity", "12345678901234567890": "12345678901234567000",
	} {
		require.Equal(t, want, jsNumber(json), json)
	}
}

func TestMatch_LastDuplicateMemberWins(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 3 * maxLinearMembers {
		fmt.Fprintf(&many, `"k%d":"v%d",`, i, i)
	}
	for _, payload := range []string{`{"k1":"first","k2":"b","k1":"last"}`, `{` + many.String() + `"k1":"last"}`} {
		e := &Event{Payload: []byte(payload)}
		for text, want := range map[string]bool{"k1:last": true, "k1:first": false, "k1:v1": false, "last": true, "first": false, "K1:LAST": true} {
			f, err := Parse(text)
			require.NoError(t, err)
			require.Equal(t, want, f.Match(e), "%s of %s", text, payload)
		}
	}
}

func TestNextToken(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]token{
		`a b`:         {{value: "a"}, {value: "b"}},
		`-a --a -`:    {{negated: true, value: "a"}, {negated: true, value: "-a"}, {value: "-"}},
		`k:v -k:"a b`: {{keyed: true, key: "k", value: "v"}, {negated: true, keyed: true, key: "k", value: "a b"}},
		`k: x`:        {{value: "k:"}, {value: "x"}},
		`-k:`:         {{negated: true, value: "k:"}},
		`k::v a.b:/`:  {{keyed: true, key: "k", value: ":v"}, {keyed: true, key: "a.b", value: "/"}},
		`"a""b"c`:     {{value: "a"}, {value: "b"}, {value: "c"}},
		`a"b c"`:      {{value: `a"b`}, {value: `c"`}},
		`/a b/ /c/d`:  {{regex: true, value: "a b"}, {value: "/c/d"}},
		`/a\/b/`:      {{regex: true, value: `a\/b`}},
		"/a\\\nb/":    {{value: "/a\\"}, {value: "b/"}},
		`k:// /a\`:    {{keyed: true, key: "k", regex: true}, {value: `/a\`}},
		"a\u3000b":    {{value: "a"}, {value: "b"}},
		`ключ:x`:      {{value: "ключ:x"}},
	} {
		var got []token
		for rest := skipSpace(text); rest != ""; rest = skipSpace(rest) {
			var tok token
			tok, rest = nextToken(rest)
			got = append(got, tok)
		}
		require.Equal(t, want, got, text)
	}
}

func FuzzFilter(f *testing.F) {
	for _, c := range sharedCases(f).Cases {
		f.Add(c.Filter, `{"tool_input":{"command":"go test"},"n":[1,null,"x"]}`, `{"question":"May I?"}`)
	}
	f.Fuzz(func(t *testing.T, text, payload, question string) {
		filter, err := Parse(text)
		if err != nil {
			require.ErrorIs(t, err, schema.ErrInvalid)
			return
		}
		require.LessOrEqual(t, len(filter.terms), maxTerms)
		e := &Event{ID: 7, App: "app", Session: "session", Type: "Stop", Payload: []byte(payload), Question: []byte(question), Status: []byte(`{"status":"pending"}`)}
		requireProbeAgrees(t, filter, e, text)
		if filter.Match(e) {
			requireFindable(t, filter, e, text)
		}
	})
}
