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
	// maxText is how many characters of a question go into a message.
	maxText = 600
	// maxLine is how many characters of it go into a title or subject.
	maxLine = 80
	// maxName is how many characters of an agent's name do.
	maxName = 60
)

// message is what is to be said, still as it is: each channel writes it its own way.
type message struct {
	id       int64 // of the notice: the same for every attempt
	made     time.Time
	question schema.EventID
	kind     string
	n        int
	person   string
	email    string

	app, session, text, tool string // from the agent: hostile
	risk                     schema.Risk
	wants                    schema.Kind
	deadline                 time.Time

	view     string    // where the card is
	link     string    // a signed link, in mail to one person; empty: none
	linkEnds time.Time // when that ends
	loopback bool      // view is this machine only
	trial    bool      // only to try the channel
}

func (n *Notifier) message(ctx context.Context, notice *store.Notification, q *question) (*message, error) {
	m := &message{
		id: notice.ID, made: notice.MadeAt, question: q.ID, kind: notice.Kind, n: notice.N, person: notice.Person,
		app: q.App, session: q.Session, text: q.hitl.Question, risk: q.status.Risk, wants: q.hitl.Type, deadline: q.Deadline,
		view: n.Base + "/r/" + q.ID.String(), loopback: n.loopback,
	}
	if q.hitl.ToolCall != nil {
		m.tool = q.hitl.ToolCall.Name
	}
	if m.risk == "" {
		m.risk = q.hitl.Risk
	}
	if notice.Person == "" || notice.Channel == 0 {
		return m, nil
	}
	people, err := n.People(ctx)
	for i := range people {
		if people[i].Name == notice.Person {
			m.email = people[i].Email
		}
	}
	return m, err
}

func (n *Notifier) trial(person string) *message {
	now := n.Clock()
	return &message{
		id: 0, made: now, kind: schema.NotificationCreated, person: person, text: "This is how you will be told of requests. Nothing waits for you now.",
		view: n.Base + "/", loopback: n.loopback, trial: true,
	}
}

// headline is our own words, in one line; the agent's name in it is cleaned.
func (m *message) headline() string {
	if m.trial {
		return "Hookback: a test message"
	}
	app := line(m.app, maxName)
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
	if m.trial {
		return m.headline()
	}
	return m.headline() + ": " + line(m.text, maxLine)
}

// plain is the message as text, where clean makes what an agent wrote harmless.
func (m *message) plain(clean func(string) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n", clean(m.headline()), clean(lines(m.text, maxText)))
	if m.tool != "" {
		fmt.Fprintf(&b, "\nTool: %s", clean(line(m.tool, maxName)))
	}
	if m.risk != "" {
		fmt.Fprintf(&b, "\nRisk: %s", clean(line(string(m.risk), maxName)))
	}
	if !m.deadline.IsZero() {
		fmt.Fprintf(&b, "\nUntil: %s", m.deadline.UTC().Format("2006-01-02 15:04 MST"))
	}
	fmt.Fprintf(&b, "\n\n%s", m.view)
	if m.loopback {
		b.WriteString("\n(This address works on the machine of the hub only; -public-url gives it another.)")
	}
	return strings.ReplaceAll(b.String(), "\n\n\n", "\n\n")
}

// line is a text in one line, without what does not show, cut at a length.
func line(text string, limit int) string {
	return cut(strings.Join(strings.Fields(printable(text, ' ')), " "), limit)
}

// lines is a text with its line ends, without what does not show, cut at a length.
func lines(text string, limit int) string {
	return cut(strings.TrimSpace(printable(strings.ReplaceAll(text, "\r\n", "\n"), '\n')), limit)
}

// printable replaces what does not show, or changes how the rest shows (controls, marks
// of direction, invisible characters), by a space; keep is left alone. An address in it
// is no link: one that an agent chose has no place beside the hub's own.
func printable(text string, keep rune) string {
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

func cut(text string, limit int) string {
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
