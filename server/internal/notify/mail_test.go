package notify

import (
	"errors"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/notify/buttons"
)

// testMailServer is a mail server on loopback.
type testMailServer struct {
	addr           string
	mu             sync.Mutex
	received       []receivedMail
	unknownAddress string // recipient that the server rejects
}

type receivedMail struct {
	to   string
	text string
	*mail.Message
}

type smtpSession struct {
	server *testMailServer
	to     string
}

func (s *smtpSession) Reset()                               {}
func (s *smtpSession) Logout() error                        { return nil }
func (s *smtpSession) Mail(string, *smtp.MailOptions) error { return nil }
func (s *smtpSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	if to == s.server.unknownAddress {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such mailbox here"}
	}
	s.to = to
	return nil
}

func (s *smtpSession) Data(r io.Reader) error {
	parsed, err := mail.ReadMessage(r)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(quotedprintable.NewReader(parsed.Body))
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.received = append(s.server.received, receivedMail{s.to, string(body), parsed})
	return err
}

func startMailServer(t *testing.T) *testMailServer {
	p := &testMailServer{}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &smtpSession{server: p}, nil }))
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p.addr = ln.Addr().String()
	var group sync.WaitGroup
	group.Go(func() { _ = server.Serve(ln) })
	t.Cleanup(func() {
		err := server.Close()
		require.True(t, err == nil || errors.Is(err, smtp.ErrServerClosed), err)
		group.Wait()
	})
	return p
}

func (p *testMailServer) messages() []receivedMail {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]receivedMail(nil), p.received...)
}

func (p *testMailServer) messageTo(t *testing.T, address string) receivedMail {
	for _, msg := range p.messages() {
		if msg.to == address {
			return msg
		}
	}
	require.Fail(t, "no mail to "+address)
	return receivedMail{}
}

func TestMail_GoesToEachPersonsAddress(t *testing.T) {
	t.Parallel()
	mailServer := startMailServer(t)
	h := newHarness(t, ada, eve, grace, mute)
	h.addChannel("smtp://" + mailServer.addr + "/?from=hub@example.com")
	question := "Delete <b>everything</b>?\r\nBcc: all@example.com\nSee https://evil.example/approve \u202egnp"
	id := h.askQuestion(question)
	h.requireNotifications(id, "asked ada sent", "asked grace sent", "asked mute suppressed no_address")
	require.Len(t, mailServer.messages(), 2)
	msg := mailServer.messageTo(t, "ada@example.com")
	require.Equal(t, []string{"ada@example.com"}, parseAddresses(t, msg, "To"))
	require.Empty(t, msg.Header.Get("Bcc"))
	subject, err := new(mime.WordDecoder).DecodeHeader(msg.Header.Get("Subject"))
	require.NoError(t, err)
	require.Equal(t, "shop asks for an answer: Delete <b>everything</b>? Bcc: all@example.com See https:/ /evil.example/approv…", subject)
	require.True(t, strings.HasPrefix(msg.Header.Get("Content-Type"), "text/plain"), "no markup")
	require.Equal(t, "auto-generated", msg.Header.Get("Auto-Submitted"))
	require.NotContains(t, msg.text, "https://evil.example", "the hub's own link is the only one")
	require.Contains(t, msg.text, "https://hub.example.com/r/")
}

// TestMail_SaysWhoMustAgreeAndWhy: a mail has the call, the number of approvals, and the reasons.
func TestMail_SaysWhoMustAgreeAndWhy(t *testing.T) {
	t.Parallel()
	mailServer := startMailServer(t)
	h := newHarness(t, ada, grace)
	h.addChannel("smtp://" + mailServer.addr + "/?from=hub@example.com")
	id := h.askQuestion("Drop the table?",
		`"toolCall":{"name":"Bash","arguments":{"command":"psql -c 'DROP TABLE orders_old'"}}`,
		`"context":{"why":"Nothing reads it.\nUntil: never https://evil.example"}`)
	h.requireNotifications(id, "asked ada sent", "asked grace sent")
	text := strings.ReplaceAll(mailServer.messageTo(t, "grace@example.com").text, "\r\n", "\n")
	require.Contains(t, text, "psql -c 'DROP TABLE orders_old'")
	require.Contains(t, text, "\nWhy: It deletes tables or a whole database, including all data.\n"+
		"The agent says why: Nothing reads it. Until: never https:/ /evil.example\n\nhttps://hub.example.com/r/")

	asked := &buttons.Question{Status: schema.Status{RequiredApprovals: 2, Findings: []schema.Finding{{Text: "secret"}}}}
	m := &message{asked: asked, about: buttons.Text{Heading: "secret"}}
	require.Equal(t, "\nMust agree: 2 people", m.brief().withReasons().reasons, "a channel without details")
	asked.Status.Recipients = []string{"ada", "grace", "linus"}
	require.Equal(t, "\nMust agree: 2 of ada, grace, linus\nWhy: secret", m.withReasons().reasons)
}

func parseAddresses(t *testing.T, msg receivedMail, header string) (all []string) {
	list, err := msg.Header.AddressList(header)
	require.NoError(t, err)
	for _, a := range list {
		all = append(all, a.Address)
	}
	return all
}

func TestMail_UnknownMailboxFailsWithoutRetry(t *testing.T) {
	t.Parallel()
	mailServer := startMailServer(t)
	mailServer.unknownAddress = ada.Email
	h := newHarness(t, ada)
	h.addChannel("smtp://" + mailServer.addr + "/?from=hub@example.com")
	notifications := h.requireNotifications(h.askQuestion("May I?"), "asked ada failed")
	require.Equal(t, 1, notifications[0].Attempts)
	require.Contains(t, notifications[0].Error, "no such mailbox here")
}

func TestMail_RetriesUnreachableServer(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	gone := ln.Addr().String()
	require.NoError(t, ln.Close())
	h := newHarness(t, ada)
	h.addChannel("smtp://mail-user:mail-password@" + gone + "/?from=hub@example.com&to=team@example.com")
	notifications := h.requireNotifications(h.askQuestion("May I?"), "asked  failed")
	require.Equal(t, 4, notifications[0].Attempts)
	for _, secret := range []string{"mail-user", "mail-password", gone} {
		require.NotContains(t, notifications[0].Error, secret)
	}
}

func TestParseMailURL(t *testing.T) {
	t.Parallel()
	box, err := parseMailURL("smtps://u:p%40ss@mail.example.com/?from=Hub+<hub@example.com>")
	require.NoError(t, err)
	require.Equal(t, smtpConfig{host: "mail.example.com", port: 465, implicitTLS: true, user: "u", password: "p@ss", from: "hub@example.com"}, *box)
	for _, bad := range []string{
		"smtp://mail.example.com", "smtp://mail.example.com/?from=nobody", "smtp://?from=a@b.example",
		"smtp://mail.example.com/path?from=a@b.example", "smtp://mail.example.com/?from=a@b.example&to=x",
	} {
		var fault *schema.FieldError
		_, err := parseMailURL(bad)
		require.ErrorAs(t, err, &fault, bad)
	}
}

func TestMessage_MentionsLoopbackURL(t *testing.T) {
	t.Parallel()
	m := &message{app: "shop", text: "?", url: "http://127.0.0.1:4000/r/1", onlyOn: "laptop", kind: schema.NotificationCreated, createdAt: time.Now()}
	require.Contains(t, m.plain(verbatim, maxBodyChars), "-public-url")
	require.Contains(t, m.plain(verbatim, maxBodyChars), m.url+"\nThis link works on this computer only (laptop).")
	webhook, err := m.webhookBody()
	require.NoError(t, err)
	require.Contains(t, string(webhook), `"onlyOn":"laptop"`, "programs of that machine can use the link")
	m.onlyOn = ""
	require.NotContains(t, m.plain(verbatim, maxBodyChars), "-public-url")
	require.Contains(t, m.plain(verbatim, maxBodyChars), m.url)
	webhook, err = m.webhookBody()
	require.NoError(t, err)
	require.NotContains(t, string(webhook), "onlyOn")
	onlyOn := func(base string) string {
		_, machine := New(Config{Base: base}).linkTo("/")
		return machine
	}
	require.NotEmpty(t, onlyOn("http://127.0.0.1:4000"))
	require.NotEmpty(t, onlyOn("http://[::1]:4000"))
	require.Empty(t, onlyOn("https://hub.example.com"))
}
