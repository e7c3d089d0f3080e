package buttons

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hookback/hookback/agentclient/intent"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/question"
)

// MaxQuestionChars is the length of an agent's own words in a message, on one line.
const MaxQuestionChars = 200

// maxEffectChars limits the effect of a call in a message.
const maxEffectChars = 400

// Text is what a message shows about a question, in the order in which it shows it. The agent's own words
// come last and on one line, so that they push nothing away.
type Text struct {
	Heading   string // the call in the hub's words, on one line; empty: the question is about no call
	Call      string // the tool and its whole arguments, as they run
	Effect    string // of the call, as its agent computed it, on one line; empty: unknown
	Directory string // working directory; empty: unknown, like the branch and the commit
	Branch    string
	Commit    string
	Diff      string // the change that the agent attached, whole
	Question  string // the agent's own words, on one line, shortened

	problem string // why it does not show everything that an answer decides; empty: it does
}

// TextOf returns the text of a message about a question.
func TextOf(q *Question) Text {
	call := question.CallOf(&q.Event, &q.Ask)
	t := Text{Directory: call.Cwd, Question: strings.Join(strings.Fields(q.Ask.Question), " ")}
	if c := q.Ask.Context; c != nil {
		t.Branch, t.Commit, t.Diff = c.Branch, c.Commit, c.Diff
	}
	if call.Exists() {
		if q.Status.Edited != nil {
			call = call.With(q.Status.Edited.Arguments)
		}
		t.Heading = intent.String(new(intent.OfCall(call.Reading(), call.Cwd)))
		t.Call, t.problem = wholeCall(call.Name, call.Arguments)
	}
	if c := q.Ask.ToolCall; c != nil && c.Consequence != nil && q.Status.Edited == nil {
		t.Effect = strings.Join(c.Consequence.Sentences, " ")
		if utf8.RuneCountInString(t.Effect) > maxEffectChars {
			t.problem = cmp.Or(t.problem, "its effect is too long for a message")
			t.Effect = Truncate(t.Effect, maxEffectChars)
		}
	}
	decidesQuestion := !call.Exists() || q.Ask.Type != schema.Permission
	oneLine := t.Heading + call.Name + t.Effect + t.Directory + t.Branch + t.Commit
	switch {
	case t.problem != "":
	case !isPlain(oneLine + t.Call + t.Diff + q.Ask.Question), strings.ContainsAny(oneLine, "\n\t"):
		t.problem = "it contains characters that can't be seen"
	case decidesQuestion && utf8.RuneCountInString(t.Question) > MaxQuestionChars:
		t.problem = "its question is too long for a message"
	}
	t.Question = Truncate(t.Question, MaxQuestionChars)
	return t
}

// Truncate shortens text to at most limit characters.
func Truncate(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return strings.TrimSpace(string([]rune(text)[:limit-1])) + "…"
}

// String returns the whole text.
func (t *Text) String() string {
	diff := t.Diff
	if diff != "" { // indented, so that no line of it looks like one of the message
		diff = "Change:\n " + strings.ReplaceAll(strings.TrimRight(diff, "\n"), "\n", "\n ")
	}
	return joinParts(t.Heading, t.Call, t.Place(), diff, t.Asks())
}

// Short returns the text without arguments and change.
func (t *Text) Short() string { return joinParts(t.Heading, t.Place(), t.Asks()) }

// Place returns the effect of the call, the directory, the branch and the commit as far as they are known, each in a line.
func (t *Text) Place() string {
	var lines []string
	for _, part := range [][2]string{{"Effect: ", t.Effect}, {"Directory: ", t.Directory}, {"Branch: ", t.Branch}, {"Commit: ", t.Commit}} {
		if part[1] != "" {
			lines = append(lines, part[0]+part[1])
		}
	}
	return strings.Join(lines, "\n")
}

// Asks returns the line with the agent's own words.
func (t *Text) Asks() string {
	if t.Question == "" {
		return ""
	}
	return "The agent asks: " + t.Question
}

func joinParts(parts ...string) string {
	var shown []string
	for _, part := range parts {
		if part != "" {
			shown = append(shown, part)
		}
	}
	return strings.Join(shown, "\n\n")
}

// wholeCall returns a tool with its arguments, and why they can't be shown whole.
func wholeCall(name string, arguments json.RawMessage) (text, problem string) {
	if len(arguments) == 0 {
		return name, ""
	}
	shown := jsontext.Value(bytes.Clone(arguments))
	err := checkStrings(arguments)
	if err == nil {
		err = shown.Format(jsontext.AllowDuplicateNames(true), jsontext.WithIndent(" "))
	}
	switch {
	case errors.Is(err, errHidden):
		return name + "\n" + string(arguments), "it contains characters that can't be seen"
	case err != nil:
		return name + "\n" + string(arguments), "its call can't be shown as text"
	}
	return name + "\n" + string(shown), ""
}

var errHidden = errors.New("a string contains characters that can't be seen")

// checkStrings checks the decoded strings of a JSON text, names included: an escape sequence may
// stand for a character that the text must not contain.
func checkStrings(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if s, ok := token.(string); ok && !isPlain(s) {
			return errHidden
		}
	}
}

// blank are characters without a shape that Unicode does not class as invisible.
const blank = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"

// manyMarks are more combining marks than a letter has in any language, which are drawn over the lines above.
var manyMarks = regexp.MustCompile(`\pM{5}`)

// isPlain reports whether a person sees every character of text.
func isPlain(text string) bool {
	if !utf8.ValidString(text) || manyMarks.MatchString(text) {
		return false
	}
	for _, r := range text {
		switch {
		case r == ' ' || r == '\n' || r == '\t':
		case r == utf8.RuneError, !unicode.IsGraphic(r), unicode.IsSpace(r), unicode.Is(unicode.Zs, r),
			unicode.Is(unicode.Variation_Selector, r), strings.ContainsRune(blank, r):
			return false
		}
	}
	return true
}
