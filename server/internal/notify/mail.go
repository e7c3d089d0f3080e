package notify

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"strconv"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/netguard"
)

var mailKind = kind{ //nolint:gosec // names of what to fill in
	name: "smtp", schemes: []string{"smtp", "smtps"}, example: "smtp://USER:PASSWORD@HOST:587/?from=ADDRESS", showsHost: true,
	parse: func(address string) (target, error) {
		c, err := parseMailURL(address)
		if err != nil {
			return target{}, err
		}
		return target{driver: c, perPerson: c.to == "", needsOwner: c.to == ""}, nil
	},
}

// smtpConfig is the parsed address of a mail channel.
type smtpConfig struct {
	oneWay
	host           string
	port           int
	implicitTLS    bool // TLS from the first byte instead of STARTTLS
	user, password string
	from           string
	to             string         // one address for all messages; empty: each person's own
	roots          *x509.CertPool // nil: the system's
}

const mailURLFormat = "must be smtp://USER:PASSWORD@HOST:587/?from=ADDRESS (or smtps://…:465), with &to=ADDRESS to send everything to one address" //nolint:gosec // names of what to fill in

// parseMailURL parses the address of an smtp channel.
func parseMailURL(address string) (*smtpConfig, error) {
	bad := &schema.FieldError{Field: "url", Detail: mailURLFormat}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" {
		return nil, bad
	}
	m := &smtpConfig{host: u.Hostname(), port: 587, implicitTLS: u.Scheme == "smtps", user: u.User.Username()}
	m.password, _ = u.User.Password()
	if m.implicitTLS {
		m.port = 465
	}
	if u.Port() != "" {
		if m.port, err = strconv.Atoi(u.Port()); err != nil {
			return nil, bad
		}
	}
	from, err := mail.ParseAddress(u.Query().Get("from"))
	if err != nil {
		return nil, bad
	}
	m.from = from.Address
	if text := u.Query().Get("to"); text != "" {
		to, err := mail.ParseAddress(text)
		if err != nil {
			return nil, bad
		}
		m.to = to.Address
	}
	return m, nil
}

func (b *smtpConfig) check(g *netguard.Guard) error {
	return g.CheckHost(b.host, uint16(b.port)) //nolint:gosec // a port
}

// send sends a message as plain text only, so that text from agents cannot be markup.
func (b *smtpConfig) send(ctx context.Context, o *outlet, m *message) error {
	to := cmp.Or(b.to, m.email)
	if to == "" {
		return permanentError{errors.New("there is no address to send to")}
	}
	mail, err := m.newMail(b.from, to, o.Store.HubID())
	if err != nil {
		return permanentError{err}
	}
	client, err := b.newClient(o.timing, o.Guard)
	if err != nil {
		return permanentError{err}
	}
	err = client.DialAndSendWithContext(ctx, mail)
	var sendErr *gomail.SendError
	if errors.As(err, &sendErr) && !sendErr.IsTemp() && sendErr.ErrorCode() >= 500 {
		return permanentError{err}
	}
	return err
}

func (m *message) newMail(from, to, hub string) (*gomail.Msg, error) {
	mail := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	if err := errors.Join(mail.FromFormat("Hookback", from), mail.To(to)); err != nil {
		return nil, errors.New("invalid mail address")
	}
	mail.Subject(m.subject())
	mail.SetDateWithValue(m.createdAt)
	_, domain, _ := strings.Cut(from, "@")
	if m.id != 0 { // the same for every attempt, so that mail clients can deduplicate
		mail.SetMessageIDWithValue(fmt.Sprintf("notice-%d.%s@%s", m.id, hub, domain))
	}
	// Suppresses out-of-office replies.
	mail.SetGenHeader("Auto-Submitted", "auto-generated")
	text := m.withReasons().plain(verbatim, maxMailChars)
	if m.link != "" {
		text += "\n\nAnswer without signing in. This link is for you only, answers in your name, and works once until " +
			m.linkExpires.UTC().Format("2006-01-02 15:04 MST") + ":\n" + m.link
	}
	if m.ledger != nil {
		text += fmt.Sprintf("\n\nledger %d · %.8s", m.ledger.N, m.ledger.Hash)
	}
	mail.SetBodyString(gomail.TypeTextPlain, text+"\n")
	return mail, nil
}

func (b *smtpConfig) newClient(p timing, guard *netguard.Guard) (*gomail.Client, error) {
	policy, dial := gomail.TLSMandatory, gomail.DialContextFunc(guard.DialContext)
	switch {
	case b.implicitTLS:
		// A client with its own dial function adds no TLS to the connection, and treats a *tls.Conn as
		// encrypted if STARTTLS is optional.
		policy, dial = gomail.TLSOpportunistic, b.dialTLS(guard)
	case isLoopback(b.host), net.ParseIP(b.host).IsPrivate():
		policy = gomail.TLSOpportunistic // TLS is optional on this machine and in the admin's own network
	}
	options := []gomail.Option{gomail.WithPort(b.port), gomail.WithTimeout(p.timeout), gomail.WithTLSPolicy(policy), gomail.WithDialContextFunc(dial)}
	if b.user != "" {
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover),
			gomail.WithUsername(b.user), gomail.WithPassword(b.password))
	}
	return gomail.NewClient(b.host, options...)
}

// dialTLS returns a dial function whose connections begin with a TLS handshake.
func (b *smtpConfig) dialTLS(guard *netguard.Guard) gomail.DialContextFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := guard.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		secure := tls.Client(conn, &tls.Config{ServerName: b.host, RootCAs: b.roots, MinVersion: tls.VersionTLS12})
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return nil, err
		}
		return secure, nil
	}
}
