package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/notify/buttons"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// maxTextChars limits the text of a message that is not about a request.
	maxTextChars = 600
	// maxSubjectChars limits the question's text in a title or subject.
	maxSubjectChars = 80
	// maxNameChars limits names of agents and channels.
	maxNameChars = 60
	// maxPathChars limits a working directory.
	maxPathChars = 200
	// maxCommitChars is the length of the longest name of a Git commit.
	maxCommitChars = 64
	// placeChars is left in a message for what follows the call: place and question.
	placeChars = 400

	// maxBodyChars limits a message about a request, apart from title and footer. maxMailChars is for mail,
	// and maxPushoverChars for Pushover, which refuses more than 1024 characters in all.
	maxBodyChars, maxMailChars, maxPushoverChars = 1500, 20_000, 750
)

// message is the content of a notification. Its text is raw; each channel escapes it for
// its own format.
type message struct {
	id        int64 // of the notification, the same for every attempt
	createdAt time.Time
	asked     *buttons.Question // nil: the message is not about a request
	kind      string
	reminder  int
	person    string
	email     string

	app, session, text, tool string       // from the agent: untrusted
	about                    buttons.Text // zero: the message is not about a request, or shows no details
	risk                     schema.Risk
	questionKind             schema.Kind
	deadline                 time.Time
	reasons                  string // more lines for the footer of a mail; see withReasons

	url         string    // of the question in the dashboard
	link        string    // signed link, only in mail to one person; empty: none
	linkExpires time.Time // expiry of link
	onlyOn      string    // name of the only machine where url works; empty: url works elsewhere
	isTest      bool      // a test of the channel
	isAccount   bool      // about a change of an account, not about a question
	isAlert     bool      // about an alert, not about a question
	isReport    bool      // the daily report
	ledger      *ledgerHead
}

func (k *core) message(ctx context.Context, notification *store.Notification, q *buttons.Question) *message {
	m := &message{
		id: notification.ID, createdAt: notification.CreatedAt, asked: q, kind: notification.Kind,
		reminder: notification.ReminderNumber, person: notification.Person,
		app: q.App, session: q.Session, text: q.Ask.Question, risk: q.Status.Risk, questionKind: q.Ask.Type, deadline: q.Deadline,
		ledger: k.ledgerHead(ctx),
	}
	m.url, m.onlyOn = k.linkTo("/r/" + q.ID.String())
	if q.Ask.ToolCall != nil {
		m.tool = q.Ask.ToolCall.Name
	}
	m.about = buttons.TextOf(q)
	m.risk = cmp.Or(m.risk, q.Ask.Risk)
	if notification.Person != "" && notification.Channel != 0 {
		m.email = k.emailOf(ctx, notification.Person)
	}
	return m
}

// brief returns the message without question and call: for a channel that shows no details.
func (m *message) brief() *message {
	if m.isTest || m.isAccount {
		return m
	}
	short := *m
	short.session, short.text, short.tool, short.about = "", "", "", buttons.Text{}
	return &short
}

func (k *core) testMessage(ctx context.Context, person string) *message {
	now := k.Clock()
	m := &message{
		id: 0, createdAt: now, kind: schema.NotificationCreated, person: person, text: "This is how you will be notified of requests. This test is not about a request.",
		isTest: true, email: k.emailOf(ctx, person),
	}
	m.url, m.onlyOn = k.linkTo("/")
	return m
}

// headline returns the title. It contains no text from the agent except its sanitized
// name.
func (m *message) headline() string {
	switch {
	case m.isTest:
		return "Hookback test message"
	case m.isAccount:
		return "An account of your hub was changed"
	}
	if m.isReport {
		return "What your agents did in the last 24 hours"
	}
	app := singleLine(m.app, maxNameChars)
	if m.isAlert {
		return "Hookback alert: " + cmp.Or(app, "all agents")
	}
	switch m.kind {
	case schema.NotificationReminder:
		return app + " is still waiting for an answer"
	case schema.NotificationEscalated:
		return app + " needs an answer, and no one has given one"
	default:
		return app + " asks for an answer"
	}
}

// subject returns the headline and the summary of the call, or else the start of the question.
func (m *message) subject() string {
	if m.isTest || m.isReport {
		return m.headline()
	}
	subject := cmp.Or(singleLine(m.about.Heading, math.MaxInt), singleLine(m.text, maxSubjectChars)) // its end may count
	if subject == "" {
		return m.headline()
	}
	return m.headline() + ": " + subject
}

// plain returns the message as plain text with at most limit characters of details. clean escapes text for
// the channel's markup.
func (m *message) plain(clean func(string) string, limit int) string {
	body := multiLine(m.text, maxTextChars)
	if m.isReport {
		body = multiLine(m.text, limit)
	}
	if m.about != (buttons.Text{}) {
		body = m.request(limit)
	}
	text := clean(m.headline()) + "\n\n" + clean(body) + "\n" + m.footer(clean)
	return strings.ReplaceAll(text, "\n\n\n", "\n\n")
}

// request returns the call, where it runs, and last what the agent says.
func (m *message) request(limit int) string {
	var parts []string
	place := m.about
	place.Effect = buttons.Truncate(singleLine(place.Effect, math.MaxInt), limit/3)
	if call := multiLine(m.about.Heading+"\n\n"+m.about.Call, math.MaxInt); call != "" {
		if most := limit - placeChars - utf8.RuneCountInString(place.Effect); utf8.RuneCountInString(call) > most {
			call = buttons.Truncate(call, most) + "\nThis is not the whole call. Open the request to see it."
		}
		parts = append(parts, call)
	}
	place.Directory = singleLine(place.Directory, maxPathChars)
	place.Branch, place.Commit = singleLine(place.Branch, maxNameChars), singleLine(place.Commit, maxCommitChars)
	if lines := place.Place(); lines != "" {
		parts = append(parts, lines)
	}
	place.Question = singleLine(place.Question, buttons.MaxQuestionChars)
	return buttons.Truncate(strings.Join(append(parts, place.Asks()), "\n\n"), limit)
}

// footer returns risk, deadline and link, after line breaks.
func (m *message) footer(clean func(string) string) string {
	var b strings.Builder
	if m.risk != "" {
		fmt.Fprintf(&b, "\nRisk: %s", clean(singleLine(string(m.risk), maxNameChars)))
	}
	if !m.deadline.IsZero() {
		fmt.Fprintf(&b, "\nUntil: %s", m.deadline.UTC().Format("2006-01-02 15:04 MST"))
	}
	b.WriteString(m.reasons)
	fmt.Fprintf(&b, "\n\n%s", m.url)
	if m.onlyOn != "" {
		fmt.Fprintf(&b, "\nThis link works on this computer only (%s). Other devices need a public address: Settings, Hub, or -public-url.",
			clean(singleLine(m.onlyOn, maxNameChars)))
	}
	return b.String()
}

// withReasons returns the message with the people who must agree and the reasons: the hub's findings, and last the agent's own words.
func (m *message) withReasons() *message {
	if m.asked == nil {
		return m
	}
	full, st := *m, &m.asked.Status
	var b strings.Builder
	if st.RequiredApprovals > 1 {
		people := "people"
		if len(st.Recipients) > 0 {
			people = "of " + strings.Join(st.Recipients, ", ")
		}
		fmt.Fprintf(&b, "\nMust agree: %d %s", st.RequiredApprovals, people)
	}
	if m.about != (buttons.Text{}) {
		for _, f := range st.Findings {
			b.WriteString("\nWhy: " + f.Text)
		}
		if c := m.asked.Ask.Context; c != nil && c.Why != "" {
			b.WriteString("\nThe agent says why: " + singleLine(c.Why, maxTextChars))
		}
	}
	full.reasons = b.String()
	return &full
}

// singleLine returns text on one line, without invisible characters, truncated to limit
// characters.
func singleLine(text string, limit int) string {
	return buttons.Truncate(strings.Join(strings.Fields(stripInvisible(text, ' ')), " "), limit)
}

// multiLine is singleLine with the line breaks kept.
func multiLine(text string, limit int) string {
	return buttons.Truncate(strings.TrimSpace(stripInvisible(strings.ReplaceAll(text, "\r\n", "\n"), '\n')), limit)
}

// stripInvisible replaces control characters, bidirectional marks and other invisible
// characters by spaces, except keep. It also breaks URLs, so that an agent cannot place a
// link next to the hub's own.
func stripInvisible(text string, keep rune) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == keep || r == ' ':
			return r
		case r == utf8.RuneError, unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r),
			unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r):
			return ' '
		default:
			return r
		}
	}, strings.ToValidUTF8(text, "�"))
	return strings.ReplaceAll(text, "://", ":/ /")
}

// ledgerHead is the newest signed head of the audit log. A copy in a mailbox or at a webhook shows
// later whether the log was rewritten.
type ledgerHead struct {
	N    int64           `json:"n"`
	Hash string          `json:"hash"`
	Head json.RawMessage `json:"head"` // schema.Envelope
}

// ledgerHead returns the newest head, or nil if there is none. A failure does not keep a message
// from being sent.
func (k *core) ledgerHead(ctx context.Context) *ledgerHead {
	text, err := k.Store.LedgerHead(ctx)
	var e schema.Envelope
	var head sign.LedgerHead
	if err == nil {
		err = json.Unmarshal(text, &e)
	}
	if err == nil {
		err = json.Unmarshal(e.Payload, &head)
	}
	if err != nil {
		if !errors.Is(err, schema.ErrNotFound) && ctx.Err() == nil {
			k.Log.Warn("audit log head not added to a notification", "err", err)
		}
		return nil
	}
	return &ledgerHead{N: head.N, Hash: head.Hash, Head: text}
}
