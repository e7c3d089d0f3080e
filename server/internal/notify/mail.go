package notify

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"strconv"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// mailbox is where and how mail is handed over.
type mailbox struct {
	host           string
	port           int
	ssl            bool // TLS from the first byte
	user, password string
	from           string
	to             string // one address for all of it; empty: each person's own
}

const wantedMail = "must be smtp://USER:PASSWORD@HOST:587/?from=ADDRESS (or smtps://…:465), with &to=ADDRESS to send everything to one address" //nolint:gosec // names of what to fill in

// parseMail reads the address of a channel of kind smtp.
func parseMail(address string) (*mailbox, error) {
	bad := &schema.FieldError{Field: "url", Detail: wantedMail}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" {
		return nil, bad
	}
	m := &mailbox{host: u.Hostname(), port: 587, ssl: u.Scheme == "smtps", user: u.User.Username()}
	m.password, _ = u.User.Password()
	if m.ssl {
		m.port = 465
	}
	if u.Port() != "" {
		if m.port, err = strconv.Atoi(u.Port()); err != nil {
			return nil, bad
		}
	}
	q := u.Query()
	for _, field := range []struct {
		name string
		into *string
		must bool
	}{{"from", &m.from, true}, {"to", &m.to, false}} {
		text := q.Get(field.name)
		if text == "" && !field.must {
			continue
		}
		parsed, err := mail.ParseAddress(text)
		if err != nil {
			return nil, bad
		}
		*field.into = parsed.Address
	}
	return m, nil
}

// sendMail hands a mail over. It is text alone: what an agent wrote can't be markup.
func (n *Notifier) sendMail(ctx context.Context, c *store.Channel, m *message) error {
	box, err := parseMail(c.URL)
	if err != nil {
		return finalError{errors.New("the address of the channel is not understood any more")}
	}
	to := box.to
	if to == "" {
		to = m.email
	}
	if to == "" {
		return finalError{errors.New("there is no address to send it to")}
	}
	letter, err := m.letter(box.from, to, n.Store.HubID())
	if err != nil {
		return finalError{err}
	}
	client, err := box.client(n.pace)
	if err != nil {
		return finalError{err}
	}
	err = client.DialAndSendWithContext(ctx, letter)
	var refused *gomail.SendError
	if errors.As(err, &refused) && !refused.IsTemp() && refused.ErrorCode() >= 500 {
		return finalError{err}
	}
	return err
}

func (m *message) letter(from, to, hub string) (*gomail.Msg, error) {
	letter := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	if err := errors.Join(letter.FromFormat("Hookback", from), letter.To(to)); err != nil {
		return nil, errors.New("the address is not one that mail can be sent to")
	}
	letter.Subject(m.subject())
	letter.SetDateWithValue(m.made)
	_, domain, _ := strings.Cut(from, "@")
	if !m.trial { // the same for every attempt, so that a mailbox can tell a repetition
		letter.SetMessageIDWithValue(fmt.Sprintf("notice-%d.%s@%s", m.id, hub, domain))
	}
	// No automatic answer, please.
	letter.SetGenHeader("Auto-Submitted", "auto-generated")
	text := m.plain(asIs)
	if m.link != "" {
		text += "\n\nAnswer without signing in, in your name. For you alone, works once, until " +
			m.linkEnds.UTC().Format("2006-01-02 15:04 MST") + ":\n" + m.link
	}
	letter.SetBodyString(gomail.TypeTextPlain, text+"\n")
	return letter, nil
}

func (b *mailbox) client(p pace) (*gomail.Client, error) {
	options := []gomail.Option{gomail.WithPort(b.port), gomail.WithTimeout(p.timeout), gomail.WithTLSPolicy(gomail.TLSMandatory)}
	switch {
	case b.ssl:
		options = append(options, gomail.WithSSL())
	case isLoopback(b.host), net.ParseIP(b.host).IsPrivate():
		options = append(options, gomail.WithTLSPolicy(gomail.TLSOpportunistic)) // nobody in between, or the admin's own network
	}
	if b.user != "" {
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(b.user), gomail.WithPassword(b.password))
	}
	return gomail.NewClient(b.host, options...)
}
