// Package buttons decides which questions may be answered by a button in a chat message, and signs
// the buttons. It is shared by the chat services and does no I/O.
//
// A button may decide only what its message shows completely. Questions of high and critical risk
// never have one.
package buttons

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
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

// Predates reports whether the question was created and addressed before an account was. Its name then
// meant another person (a reused name).
func (q *Question) Predates(account time.Time) bool {
	return account.UnixMilli() > max(q.Event.ReceivedAt.UnixMilli(), int64(q.Status.EscalatedAt))
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
	// Text is Text.String of the question; empty if the message must not offer an answer.
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
	about := TextOf(q)
	text := about.String()
	switch {
	case about.problem != "":
		return Offer{Refused: about.problem}
	case utf8.RuneCountInString(text) > limits.MaxChars:
		return Offer{Refused: "it is too long for a message"}
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

// Level returns the highest risk that the agent or the hub found; empty: none is known.
func (q *Question) Level() schema.Risk {
	return risk.Highest(q.Ask.Risk, append([]schema.Finding{{Risk: q.Status.Risk}}, q.Status.Findings...))
}

// refusal returns why a question has no button, apart from its text.
func refusal(q *Question, limits Limits) string {
	level := q.Level()
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

// Length16 returns the length of text in UTF-16 code units, in which chat services count.
func Length16(text string) int { return len(utf16.Encode([]rune(text))) }

// undoWindow is how long an approval can be undone in the dashboard, if its call is not known to be
// harmless. The dashboard's own approvals have the same default.
const undoWindow = 2 * time.Second

// Response returns the response of an answer to a question, or false if the question has no such
// answer.
func (q *Question) Response(a Answer, revision int64) (*schema.Response, bool) {
	r := &schema.Response{Revision: revision}
	switch {
	case q.Ask.Type == schema.Permission && a <= Approve:
		permission := a == Approve
		r.Permission = &permission
		if permission && q.Status.Class != schema.ClassHarmless {
			r.HoldMS = undoWindow.Milliseconds()
		}
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
	case st.Outcome == schema.Cancelled && st.Source == schema.ByCancel:
		return "cancelled" + by
	default:
		return cmp.Or(schema.EndText(st.Outcome, st.Source), "answered"+by)
	}
}
