package filter

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// eventFromJSON converts an event from the form that lists and streams send.
func eventFromJSON(t testing.TB, raw []byte) *Event {
	t.Helper()
	var known struct {
		ID       int64
		App      string          `json:"source_app"`
		Session  string          `json:"session_id"`
		Type     string          `json:"hook_event_type"`
		Tool     string          `json:"tool_name"`
		Payload  json.RawMessage `json:"payload"`
		Question json.RawMessage `json:"humanInTheLoop"`
		Status   json.RawMessage `json:"humanInTheLoopStatus"`
		Rating   Rating
		Chat     json.RawMessage
	}
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(raw, &known))
	require.NoError(t, json.Unmarshal(raw, &members))
	for _, own := range []string{"id", "chat", "payload", "humanInTheLoop", "humanInTheLoopStatus", "rating"} {
		delete(members, own)
	}
	envelope, err := json.Marshal(members)
	require.NoError(t, err)
	return &Event{
		ID: known.ID, App: known.App, Session: known.Session, Type: known.Type, Tool: known.Tool,
		Envelope: envelope[1 : len(envelope)-1], Payload: known.Payload, Question: known.Question, Status: known.Status, Rating: known.Rating,
		Transcript: TranscriptText(known.Chat, 1<<20),
	}
}

type cases struct {
	Events map[string]json.RawMessage
	Cases  []struct {
		Filter, Event string
		Matches       bool
		Refused       *string // part of the error
	}
}

// sharedCases returns the cases of testdata.
func sharedCases(t testing.TB) (c cases) {
	t.Helper()
	text, err := os.ReadFile("testdata/filter-cases.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &c))
	return c
}

func TestFilter_SharedCases(t *testing.T) {
	t.Parallel()
	all := sharedCases(t)
	require.Greater(t, len(all.Cases), 200)
	for _, c := range all.Cases {
		f, err := Parse(c.Filter)
		if c.Refused != nil {
			require.ErrorContains(t, err, *c.Refused, c.Filter)
			continue
		}
		require.NoError(t, err, c.Filter)
		e := eventFromJSON(t, all.Events[c.Event])
		require.Equal(t, c.Matches, f.Match(e), "%q of %s", c.Filter, c.Event)
		if c.Matches {
			requireFindable(t, f, e, c.Filter)
		}
	}
}

// requireFindable asserts that e satisfies the index hints of f, so that an index finds it.
func requireFindable(t testing.TB, f *Filter, e *Event, filter string) {
	t.Helper()
	indexed := string(IndexText(nil, e))
	for _, l := range f.RequiredLiterals() {
		require.Contains(t, indexed, l, "%q", filter)
	}
	require.True(t, !f.QuestionsOnly() || e.Question != nil, "%q", filter)
	require.True(t, !f.RatedOnly() || e.Question != nil || e.Rating != (Rating{}), "%q", filter)
	require.True(t, f.ID() == 0 || f.ID() == e.ID, "%q", filter)
	for _, n := range f.Names() {
		name := map[string]string{"app": e.App, "session": e.Session, "type": e.Type, "tool": e.Tool}[n.Key]
		require.True(t, n.Key == "tool" && name == "" || n.Matches(name) != n.Negated, "%q %s", filter, n.Key)
	}
}

func TestParse_ErrorsNameTheField(t *testing.T) {
	t.Parallel()
	for text, reason := range map[string]string{
		"/(/":                     "/(/ is not a regular expression that the hub can search for: missing closing )",
		strings.Repeat("x", 1025): "1024 bytes",
		"\xff":                    "UTF-8",
		strings.Repeat("x ", 65):  "64 terms",
		`/x\u12/`:                 `\u without a number`,
		`/a(?i)b/`:                "inline flags are not supported",
	} {
		_, err := Parse(text)
		require.ErrorIs(t, err, schema.ErrInvalid, text)
		var field *schema.FieldError
		require.ErrorAs(t, err, &field)
		require.Equal(t, "filter", field.Field)
		require.ErrorContains(t, err, reason)
	}
	_, err := Parse(strings.Repeat("x ", 64))
	require.NoError(t, err)
}

// Syntax that JavaScript and RE2 share with different meanings is rewritten.
func TestCompileRegex_MatchesJavaScript(t *testing.T) {
	t.Parallel()
	for pattern, texts := range map[string]map[string]bool{
		`^.$`:               {"x": true, "😀": true, "\n": false, "\u2028": false, "\r": false},
		`^\s$`:              {" ": true, "\v": true, "\u00a0": true, "\ufeff": true, "x": false, "\u200b": false},
		`^\S$`:              {" ": false, "\v": false, "\u00a0": false, "x": true, "\u200b": true, "\x00": true},
		`^[\s]$`:            {"\u3000": true, "x": false},
		`^[^\s]$`:           {"\u3000": false, "x": true},
		`^[\S]$`:            {"\u3000": false, "é": true},
		`^[^]$`:             {"\n": true, "x": true},
		`^[]$`:              {"x": false, "": false},
		`^[[:a]$`:           {"[": true, ":": true, "a": true, "b": false},
		`^[.]$`:             {".": true, "x": false},
		`^[\b]$`:            {"\b": true, "b": false},
		`^\u00e9\u{1f600}$`: {"é😀": true, "É😀": true},
		`^[\]x]$`:           {"]": true, "x": true, `\`: false},
		`^(?<year>\d{4})$`:  {"2026": true, "20261": false},
		`^a\/b$`:            {"a/b": true},
		`K`:                 {"k": true, "\u212a": true},
	} {
		regex, _, _, err := compileRegex(pattern)
		require.NoError(t, err, pattern)
		for text, want := range texts {
			require.Equal(t, want, regex.MatchString(Fold(text)), "%s on %q", pattern, text)
		}
	}
	for _, refused := range []string{`(?i)a`, `(?=a)`, `(?!a)`, `(?P<a>b)`, `\A`, `\z`, `\Qa\E`, `\1`, `\c`, `\`, `\u12`, `\u{}`, `\u{zz}`, `(`, `[a`, `a**`, `(a{1000}){1000}`} {
		_, _, _, err := compileRegex(refused)
		require.Error(t, err, refused)
	}
}

func TestCompileRegex_RequiredLiterals(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string][]string{
		"NoSuch[0-9]thing":     {"nosuch", "thing"},
		"(?:exit) (code)+ x?y": {"exit ", "code", " ", "y"},
		"(ab){2,}c{0,3}":       {"ab"},
		"foo|bar":              nil,
		"fo*":                  {"f"},
		"^straße$":             {"straße"},
		"ϑ":                    nil, // θ means the same, and both are lower case
		"[a]bc":                {"abc"},
		".*":                   nil,
	} {
		_, got, _, err := compileRegex(pattern)
		require.NoError(t, err)
		require.Equal(t, want, got, pattern)
	}
}

// TestMatch_ProbeExcludesNoMatch compares Match with the same filter without its probe.
func TestMatch_ProbeExcludesNoMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		filter, payload string
		want            bool
	}{
		{"needle", `{"a":"a NeeDLE b"}`, true},
		{"needle", `{"a":"\u006eeedle"}`, true},
		{"needle", `{"a":"\u004EEEDLE"}`, true},
		{"needle", `{"a":["x","needle"]}`, true},
		{"needle", `{"a":"needl","b":"e"}`, false},
		{"needle", `{"needle":"only a name"}`, false},
		{"needle", `{"a":"\u003cneedl\u003e"}`, false},
		{"-needle", `{"a":"needle"}`, false},
		{"-needle", `{"a":"other"}`, true},
		{"risk skill", `{"a":"riſK ſkill"}`, true},
		{"risk", `{"a":"ri\u017f\u212a"}`, true},
		{"skill", `{"a":"SKILL"}`, true},
		{"diyar", `{"a":"DİYAR dİyar diyar"}`, true},
		{"infinity", `{"a":1e999}`, true},
		{"object", `{"tool_input":{"command":[{},"x"]}}`, false},
		{"true", `{"a":true}`, true},
		{"/nee+dles?/", `{"a":"NEEEDLE"}`, true},
		{"command:*needle*", `{"tool_input":{"command":"a needle b"}}`, true},
		{"session-name", `{}`, true},
		{"agent:APPNAME stop", `{}`, true},
	} {
		f, err := Parse(c.filter)
		require.NoError(t, err)
		e := &Event{App: "AppName", Session: "Session-Name", Type: "Stop", Payload: []byte(c.payload)}
		require.Equal(t, c.want, f.Match(e), "%s in %s", c.filter, c.payload)
		requireProbeAgrees(t, f, e, c.filter)
	}
}

func requireProbeAgrees(t testing.TB, f *Filter, e *Event, filter string) {
	t.Helper()
	slow := *f
	slow.probe = probe{}
	require.Equal(t, slow.Match(e), f.Match(e), "%q", filter)
}

// BenchmarkIndexText collects the text of a tool call, as the search index does for each event.
func BenchmarkIndexText(b *testing.B) {
	e := &Event{
		App: "my-project", Session: "session-1", Type: "PreToolUse", Tool: "Bash",
		Envelope: []byte(`"source_app":"my-project","session_id":"session-1","hook_event_type":"PreToolUse","tool_name":"Bash","model_name":"a-model","summary":"Bash: go test ./..."`),
		Payload: []byte(`{"session_id":"session-1","transcript_path":"/home/a/.claude/projects/p/session-1.jsonl","cwd":"/home/a/project","permission_mode":"default",` +
			`"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"go test ./...","description":"Run the tests","timeout":120000},"tool_use_id":"toolu_01"}`),
	}
	b.ReportAllocs()
	var text []byte
	for b.Loop() {
		text = IndexText(text[:0], e)
	}
}
