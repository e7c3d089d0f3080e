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
)

// post is a mail server on loopback.
type post struct {
	addr string
	mu   sync.Mutex
	got  []letter
	deny string // an address that it has never heard of
}

type letter struct {
	to   string
	text string
	*mail.Message
}

type postSession struct {
	post *post
	to   string
}

func (s *postSession) Reset()                               {}
func (s *postSession) Logout() error                        { return nil }
func (s *postSession) Mail(string, *smtp.MailOptions) error { return nil }
func (s *postSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	if to == s.post.deny {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such mailbox here"}
	}
	s.to = to
	return nil
}

func (s *postSession) Data(r io.Reader) error {
	parsed, err := mail.ReadMessage(r)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(quotedprintable.NewReader(parsed.Body))
	s.post.mu.Lock()
	defer s.post.mu.Unlock()
	s.post.got = append(s.post.got, letter{s.to, string(body), parsed})
	return err
}

func postOffice(t *testing.T) *post {
	p := &post{}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &postSession{post: p}, nil }))
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

func (p *post) all() []letter {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]letter(nil), p.got...)
}

func (p *post) to(t *testing.T, address string) letter {
	for _, l := range p.all() {
		if l.to == address {
			return l
		}
	}
	require.Fail(t, "no mail to "+address)
	return letter{}
}

func TestMailGoesToEachPersonAtTheirOwnAddress(t *testing.T) {
	t.Parallel()
	office := postOffice(t)
	r := setup(t, ada, eve, grace, mute)
	r.channel("smtp://" + office.addr + "/?from=hub@example.com")
	question := "Delete <b>everything</b>?\r\nBcc: all@example.com\nSee https://evil.example/approve \u202egnp"
	id := r.ask(question)
	r.card(id, "asked ada sent", "asked grace sent", "asked mute suppressed no_address")
	require.Len(t, office.all(), 2)
	l := office.to(t, "ada@example.com")
	require.Equal(t, []string{"ada@example.com"}, addresses(t, l, "To"))
	require.Empty(t, l.Header.Get("Bcc"))
	subject, err := new(mime.WordDecoder).DecodeHeader(l.Header.Get("Subject"))
	require.NoError(t, err)
	require.Equal(t, "shop asks for an answer: Delete <b>everything</b>? Bcc: all@example.com See https:/ /evil.example/approv…", subject)
	require.True(t, strings.HasPrefix(l.Header.Get("Content-Type"), "text/plain"), "no markup")
	require.Equal(t, "auto-generated", l.Header.Get("Auto-Submitted"))
	require.NotContains(t, l.text, "https://evil.example", "the hub's own link is the only one")
	require.Contains(t, l.text, "https://hub.example.com/r/")
}

func addresses(t *testing.T, l letter, header string) (all []string) {
	list, err := l.Header.AddressList(header)
	require.NoError(t, err)
	for _, a := range list {
		all = append(all, a.Address)
	}
	return all
}

func TestAMailboxThatIsNotThereFailsAtOnceAndSaysWhy(t *testing.T) {
	t.Parallel()
	office := postOffice(t)
	office.deny = ada.Email
	r := setup(t, ada)
	r.channel("smtp://" + office.addr + "/?from=hub@example.com")
	notices := r.card(r.ask("May I?"), "asked ada failed")
	require.Equal(t, 1, notices[0].Attempts)
	require.Contains(t, notices[0].Error, "no such mailbox here")
}

func TestAMailServerThatIsAwayIsTriedAgain(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	gone := ln.Addr().String()
	require.NoError(t, ln.Close())
	r := setup(t, ada)
	r.channel("smtp://mail-user:mail-password@" + gone + "/?from=hub@example.com&to=team@example.com")
	notices := r.card(r.ask("May I?"), "asked  failed")
	require.Equal(t, 4, notices[0].Attempts)
	for _, secret := range []string{"mail-user", "mail-password", gone} {
		require.NotContains(t, notices[0].Error, secret)
	}
}

func TestTheAddressOfAMailServer(t *testing.T) {
	t.Parallel()
	box, err := parseMail("smtps://u:p%40ss@mail.example.com/?from=Hub+<hub@example.com>")
	require.NoError(t, err)
	require.Equal(t, mailbox{host: "mail.example.com", port: 465, ssl: true, user: "u", password: "p@ss", from: "hub@example.com"}, *box)
	for _, bad := range []string{
		"smtp://mail.example.com", "smtp://mail.example.com/?from=nobody", "smtp://?from=a@b.example",
		"smtp://mail.example.com/path?from=a@b.example", "smtp://mail.example.com/?from=a@b.example&to=x",
	} {
		var fault *schema.FieldError
		_, err := parseMail(bad)
		require.ErrorAs(t, err, &fault, bad)
	}
}

func TestAMailSaysWhenItsLinkIsOfOneMachineOnly(t *testing.T) {
	t.Parallel()
	m := &message{app: "shop", text: "?", view: "http://127.0.0.1:4000/r/1", loopback: true, kind: schema.NotificationCreated, made: time.Now()}
	require.Contains(t, m.plain(asIs), "-public-url")
	m.loopback = false
	require.NotContains(t, m.plain(asIs), "-public-url")
	require.True(t, New(Config{Base: "http://127.0.0.1:4000"}).loopback)
	require.True(t, New(Config{Base: "http://[::1]:4000"}).loopback)
	require.False(t, New(Config{Base: "https://hub.example.com"}).loopback)
}
