// Package buttons decides which questions may be answered by a button in a chat message, and signs
// the buttons. It is shared by the chat services and does no I/O.
//
// A button may decide only what its message shows completely. Questions of high and critical risk
// never have one.
package buttons

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/risk"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// maxChoices is the number of choices that a message offers as buttons.
	maxChoices = 6
	// maxLabelChars is the length of a label that every chat service shows completely.
	maxLabelChars = 40
)

// Question is a stored question with its decoded JSON.
type Question struct {
	*store.Question
	Ask    schema.HumanInTheLoop
	Status schema.Status
}

// Read decodes a stored question.
func Read(stored *store.Question) (*Question, error) {
	q := &Question{Question: stored}
	if err := errors.Join(json.Unmarshal(stored.Event.Question, &q.Ask), json.Unmarshal(stored.Status, &q.Status)); err != nil {
		return nil, fmt.Errorf("read question %d: %w", stored.ID, err)
	}
	return q, nil
}

// ContentRevision returns the revision of the last edit of the call, or 0.
func (q *Question) ContentRevision() int64 {
	if q.Status.Edited == nil {
		return 0
	}
	return q.Status.Edited.Revision
}

// Button is one answer that a message offers.
type Button struct {
	Label  string
	Answer Answer
}

// Answer is the number of an answer: Deny, Approve, or FirstChoice + the index of a choice.
type Answer byte

// The answers.
const (
	Deny Answer = iota
	Approve
	FirstChoice
)

// Offer is the content of a message about a question.
type Offer struct {
	// Text is the question and the complete call, as the agent sent them; empty if the message must
	// not offer an answer.
	Text    string
	Buttons []Button
	// CanReply is set if the question can be answered by a text.
	CanReply bool
	// Refused explains why the message offers no answer; empty: it offers one.
	Refused string
}

// Limits are the limits of a kind of channel.
type Limits struct {
	MaxChars  int                     // of Offer.Text
	Threshold schema.PasskeyThreshold // the approvals that need a passkey
	IsBrief   bool                    // the channel shows no details
}

// OfferFor returns the offer of a message about a pending question.
func OfferFor(q *Question, limits Limits) Offer {
	if why := refusal(q, limits); why != "" {
		return Offer{Refused: why}
	}
	text, err := fullText(q)
	switch {
	case err != nil:
		return Offer{Refused: "its call can't be shown as text"}
	case utf8.RuneCountInString(text) > limits.MaxChars:
		return Offer{Refused: "it is too long for a message"}
	case !isPlain(text):
		return Offer{Refused: "it contains characters that can't be seen"}
	}
	offer := Offer{Text: text}
	switch q.Ask.Type {
	case schema.Permission:
		offer.Buttons = []Button{{"Approve", Approve}, {"Deny", Deny}}
	case schema.Choice:
		if len(q.Ask.Choices) > maxChoices {
			return Offer{Refused: "it has more than six choices"}
		}
		for i, label := range q.Ask.Choices {
			if !isPlain(label) || strings.ContainsAny(label, "\n\t") || strings.TrimSpace(label) == "" ||
				utf8.RuneCountInString(label) > maxLabelChars {
				return Offer{Refused: "a choice does not fit on a button"}
			}
			offer.Buttons = append(offer.Buttons, Button{label, FirstChoice + Answer(i)}) //nolint:gosec // below maxChoices
		}
	case schema.FreeText:
		offer.CanReply = true
	default:
		return Offer{Refused: "it is of an unknown kind"}
	}
	return offer
}

// level returns the highest risk that the agent or the hub found; empty: none is known.
func (q *Question) level() schema.Risk {
	return risk.Highest(q.Ask.Risk, append([]schema.Finding{{Risk: q.Status.Risk}}, q.Status.Findings...))
}

// refusal returns why a question has no button, apart from its text.
func refusal(q *Question, limits Limits) string {
	level := q.level()
	switch {
	case q.Status.IsSettled():
		return "it is answered"
	case q.Status.Held != nil:
		return "an answer is about to become final"
	case limits.IsBrief:
		return "the channel shows no details"
	case level != "" && level != schema.LowRisk && level != schema.MediumRisk:
		return "its risk is " + string(level)
	case q.Ask.Risk != "" && q.Ask.Risk != schema.LowRisk && q.Ask.Risk != schema.MediumRisk:
		return "its risk is unknown"
	case question.IsCovered(limits.Threshold, q.Status.Class, level):
		return "it needs a passkey"
	case q.Ask.ReasonRequired != "" && q.Ask.ReasonRequired != "never":
		return "it needs a reason"
	case len(q.Ask.Questions) > 0:
		return "it is a form"
	case q.Ask.Appeal != nil:
		return "it is an appeal"
	case q.Status.SameAs != 0:
		return "another request of its group is shown"
	}
	for _, f := range q.Status.Findings {
		if f.Code == "hidden_text" || f.Code == "hidden_by_redaction" {
			return "part of it is hidden"
		}
	}
	return ""
}

// fullText returns the question and its whole call.
func fullText(q *Question) (string, error) {
	var b strings.Builder
	b.WriteString(q.Ask.Question)
	call, ok := question.CallOf(&q.Event, &q.Ask)
	if !ok {
		return b.String(), nil
	}
	arguments := call.Arguments
	if q.Status.Edited != nil {
		arguments = q.Status.Edited.Arguments
	}
	fmt.Fprintf(&b, "\n\n%s", call.Name)
	if len(arguments) == 0 {
		return b.String(), nil
	}
	if err := checkStrings(arguments); err != nil {
		return "", err
	}
	var shown bytes.Buffer
	if err := json.Indent(&shown, arguments, "", " "); err != nil {
		return "", err
	}
	b.WriteByte('\n')
	b.WriteString(unescaped(shown.String()))
	return b.String(), nil
}

// unescaped returns a JSON text with <, > and & for their escape sequences, as a person reads them.
func unescaped(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		if i+6 <= len(text) {
			if plain, ok := map[string]byte{`\u003c`: '<', `\u003e`: '>', `\u0026`: '&'}[strings.ToLower(text[i:i+6])]; ok {
				b.WriteByte(plain)
				i += 5
				continue
			}
		}
		b.WriteString(text[i : i+2]) // another escape sequence, such as \\
		i++
	}
	return b.String()
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

// isPlain reports whether a person sees every character of text.
func isPlain(text string) bool {
	if !utf8.ValidString(text) {
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

// Length16 returns the length of text in UTF-16 code units, in which chat services count.
func Length16(text string) int { return len(utf16.Encode([]rune(text))) }

// Response returns the response of an answer to a question, or false if the question has no such
// answer.
func (q *Question) Response(a Answer, revision int64) (*schema.Response, bool) {
	r := &schema.Response{Revision: revision}
	switch {
	case q.Ask.Type == schema.Permission && a <= Approve:
		permission := a == Approve
		r.Permission = &permission
	case q.Ask.Type == schema.Choice && a >= FirstChoice && int(a-FirstChoice) < len(q.Ask.Choices):
		r.Choice = &q.Ask.Choices[a-FirstChoice]
	default:
		return nil, false
	}
	return r, true
}

// Outcome returns how a settled question ended, in a few words, such as "approved by grace".
func Outcome(st *schema.Status) string {
	by := ""
	if st.RespondedBy != nil && st.RespondedBy.Name != "" {
		by = " by " + st.RespondedBy.Name
	}
	switch {
	case st.Outcome == schema.Approve:
		return "approved" + by
	case st.Outcome == schema.Deny:
		return "denied" + by
	case st.Outcome == schema.Timeout:
		return "expired"
	case st.Outcome == schema.NoQuorum:
		return "ended without enough votes"
	case st.Outcome == schema.Withdrawn, st.Source == schema.ByAgent:
		return "withdrawn by the agent"
	case st.Outcome == schema.Cancelled:
		return "cancelled" + by
	default:
		return "answered" + by
	}
}
