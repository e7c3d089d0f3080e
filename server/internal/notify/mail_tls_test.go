package notify

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"
)

// authSession requires a name and a password before it takes mail.
type authSession struct {
	smtpSession
	password string
}

func (s *authSession) AuthMechanisms() []string { return []string{sasl.Plain} }
func (s *authSession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, _, password string) error {
		if password != s.password {
			return smtp.ErrAuthFailed
		}
		return nil
	}), nil
}

// TestMail_ImplicitTLS sends through a server that takes TLS from the first byte and a password.
func TestMail_ImplicitTLS(t *testing.T) {
	t.Parallel()
	web := httptest.NewTLSServer(nil) // for its certificate of 127.0.0.1
	t.Cleanup(web.Close)
	p := &testMailServer{}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) {
		return &authSession{smtpSession{server: p}, "secret"}, nil
	}))
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var group sync.WaitGroup
	t.Cleanup(group.Wait)
	t.Cleanup(func() { _ = server.Close() })
	group.Go(func() {
		_ = server.Serve(tls.NewListener(ln, &tls.Config{Certificates: web.TLS.Certificates, MinVersion: tls.VersionTLS12}))
	})

	config, err := parseMailURL("smtps://hub:secret@" + ln.Addr().String() + "/?from=hub@example.com")
	require.NoError(t, err)
	send := func() error {
		client, err := config.newClient(fastTiming, loopbackGuard(t))
		require.NoError(t, err)
		mail, err := (&message{text: "May I?"}).newMail(config.from, "ada@example.com", "h")
		require.NoError(t, err)
		return client.DialAndSendWithContext(t.Context(), mail)
	}
	require.ErrorContains(t, send(), "certificate", "an unknown authority is refused")
	config.roots = x509.NewCertPool()
	config.roots.AddCert(web.Certificate())
	require.NoError(t, send())
	require.Equal(t, "ada@example.com", p.messageTo(t, "ada@example.com").to)
}
