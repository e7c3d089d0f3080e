package notify

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// maxTextChars is how many characters of a question go into a message.
	maxTextChars = 600
	// maxSubjectChars is how many characters of it go into a title or subject.
	maxSubjectChars = 80
	// maxNameChars is how many characters of an agent's name do.
	maxNameChars = 60
)

// message is what is to be said, still as it is: each channel writes it its own way.
type message struct {
	id        int64 // of the notice: the same for every attempt
	createdAt time.Time
	question  schema.EventID
	kind      string
	reminder  int
	person    string
	email     string

	app, session, text, tool string // from the agent: hostile
	risk                     schema.Risk
	questionKind             schema.Kind
	deadline                 time.Time

	url         string    // where the card is
	link        string    // a signed link, in mail to one person; empty: none
	linkExpires time.Time // when that ends
	loopback    bool      // view is this machine only
	isTest      bool      // only to try the channel
}

func (n *Notifier) message(ctx context.Context, notification *store.Notification, q *question) (*message, error) {
	m := &message{
		id: notification.ID, createdAt: notification.MadeAt, question: q.ID, kind: notification.Kind, reminder: notification.N, person: notification.Person,
		app: q.App, session: q.Session, text: q.hitl.Question, risk: q.status.Risk, questionKind: q.hitl.Type, deadline: q.Deadline,
		url: n.Base + "/r/" + q.ID.String(), loopback: n.loopback,
	}
	if q.hitl.ToolCall != nil {
		m.tool = q.hitl.ToolCall.Name
	}
	if m.risk == "" {
		m.risk = q.hitl.Risk
	}
	if notification.Person == "" || notification.Channel == 0 {
		return m, nil
	}
	people, err := n.People(ctx)
	for i := range people {
		if people[i].Name == notification.Person {
			m.email = people[i].Email
		}
	}
	return m, err
}

func (n *Notifier) testMessage(person string) *message {
	now := n.Clock()
	return &message{
		id: 0, createdAt: now, kind: schema.NotificationCreated, person: person, text: "This is how you will be told of requests. Nothing waits for you now.",
		url: n.Base + "/", loopback: n.loopback, isTest: true,
	}
}

// headline is our own words, in one line; the agent's name in it is cleaned.
func (m *message) headline() string {
	if m.isTest {
		return "Hookback: a test message"
	}
	app := singleLine(m.app, maxNameChars)
	switch m.kind {
	case schema.NotificationReminder:
		return app + " is still waiting for an answer"
	case schema.NotificationEscalated:
		return app + " needs an answer, and nobody has given one"
	default:
		return app + " asks for an answer"
	}
}

// subject is the headline and how the question begins.
func (m *message) subject() string {
	if m.isTest {
		return m.headline()
	}
	return m.headline() + ": " + singleLine(m.text, maxSubjectChars)
}

// plain is the message as text, where clean makes what an agent wrote harmless.
func (m *message) plain(clean func(string) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n", clean(m.headline()), clean(multiLine(m.text, maxTextChars)))
	if m.tool != "" {
		fmt.Fprintf(&b, "\nTool: %s", clean(singleLine(m.tool, maxNameChars)))
	}
	if m.risk != "" {
		fmt.Fprintf(&b, "\nRisk: %s", clean(singleLine(string(m.risk), maxNameChars)))
	}
	if !m.deadline.IsZero() {
		fmt.Fprintf(&b, "\nUntil: %s", m.deadline.UTC().Format("2006-01-02 15:04 MST"))
	}
	fmt.Fprintf(&b, "\n\n%s", m.url)
	if m.loopback {
		b.WriteString("\n(This address works on the machine of the hub only; -public-url gives it another.)")
	}
	return strings.ReplaceAll(b.String(), "\n\n\n", "\n\n")
}

// singleLine is a text in one line, without what does not show, cut at a length.
func singleLine(text string, limit int) string {
	return truncate(strings.Join(strings.Fields(stripInvisible(text, ' ')), " "), limit)
}

// multiLine is a text with its line ends, without what does not show, cut at a length.
func multiLine(text string, limit int) string {
	return truncate(strings.TrimSpace(stripInvisible(strings.ReplaceAll(text, "\r\n", "\n"), '\n')), limit)
}

// stripInvisible replaces what does not show, or changes how the rest shows (controls, marks
// of direction, invisible characters), by a space; keep is left alone. An address in it
// is no link: one that an agent chose has no place beside the hub's own.
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

func truncate(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return strings.TrimSpace(string([]rune(text)[:limit-1])) + "…"
}

// isLoopback reports whether only this machine reaches host.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && ip.IsLoopback()
}
