package nats

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"math/big"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/server/internal/bus"
	"github.com/hookback/hookback/server/internal/bus/bustest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// natsServer is a real server on loopback. A restart keeps its port.
type natsServer struct {
	options server.Options
	running *server.Server
}

func startServer(t testing.TB, options *server.Options) *natsServer {
	t.Helper()
	s := &natsServer{options: *options}
	s.options.Host, s.options.Port = "127.0.0.1", server.RANDOM_PORT
	s.options.NoLog, s.options.NoSigs = true, true
	s.start(t)
	t.Cleanup(func() { s.stop(t) })
	return s
}

func (s *natsServer) start(t testing.TB) {
	t.Helper()
	options := s.options
	running, err := server.NewServer(&options)
	require.NoError(t, err)
	running.Start()
	require.True(t, running.ReadyForConnections(time.Minute))
	s.running, s.options.Port = running, running.Addr().(*net.TCPAddr).Port
}

func (s *natsServer) stop(testing.TB) {
	s.running.Shutdown()
	s.running.WaitForShutdown()
}

func (s *natsServer) address() string { return "127.0.0.1:" + strconv.Itoa(s.options.Port) }

// logBuffer collects the log of buses.
type logBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func open(t testing.TB, cfg Config) bus.Bus {
	t.Helper()
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	b, err := Open(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

func eventually(t testing.TB, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, time.Minute, time.Millisecond)
}

func TestOpen_Contract(t *testing.T) {
	t.Parallel()
	bustest.Run(t, func(t testing.TB) bustest.Network {
		s := startServer(t, &server.Options{})
		return bustest.Network{
			Join: func(t testing.TB) bus.Bus {
				b, err := Open(Config{URL: "nats://" + s.address(), HubID: "hub", Log: slog.New(slog.DiscardHandler)})
				require.NoError(t, err)
				return b
			},
			Stop: s.stop, Start: s.start,
		}
	})
}

// Databases that share a server don't wake each other, and neither do their garbled messages.
func TestOpen_SeparatesDatabases(t *testing.T) {
	t.Parallel()
	s := startServer(t, &server.Options{})
	url := "nats://" + s.address()
	a, b := open(t, Config{URL: url, HubID: "one"}), open(t, Config{URL: url, HubID: "one"})
	other := open(t, Config{URL: url, HubID: "two"})
	stranger, err := nats.Connect(url)
	require.NoError(t, err)
	defer stranger.Close()
	for _, garbled := range []string{"", "x", "-1", strings.Repeat("9", 1000), "1 2"} {
		require.NoError(t, stranger.Publish(subjectPrefix+"one", []byte(garbled)))
	}
	require.NoError(t, stranger.Flush())
	bustest.RingUntil(t, a, b, 5)
	require.Zero(t, other.Stats().Received)
	require.Zero(t, a.Stats().Received, "a hub does not hear itself")
}

func TestOpen_NeverLogsCredentials(t *testing.T) {
	t.Parallel()
	s := startServer(t, &server.Options{Username: "ada", Password: "right"})
	log := &logBuffer{}
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	denied := open(t, Config{URL: "nats://ada:secret@" + s.address(), HubID: "hub", Log: logger})
	require.False(t, denied.Up())
	b := open(t, Config{URL: "nats://ada:right@" + s.address(), HubID: "hub", Log: logger})
	require.True(t, b.Up())
	s.stop(t)
	eventually(t, func() bool { return !b.Up() && strings.Contains(log.String(), "bus disconnected") })
	s.options.Password = "secret"
	s.start(t)
	eventually(t, denied.Up)
	eventually(t, func() bool { return strings.Contains(log.String(), "bus connected") })
	require.False(t, b.Up())
	for _, url := range []string{"nats://ada:secret@127.0.0.1:port", "nats://secret@h/path", "nats://ada:secret@"} {
		_, err := Open(Config{URL: url, HubID: "hub", Log: logger})
		require.ErrorContains(t, err, "not valid")
		require.NotContains(t, err.Error(), "secret")
	}
	require.Contains(t, log.String(), "nats://"+s.address())
	for _, secret := range []string{"secret", "right", "ada"} {
		require.NotContains(t, log.String(), secret)
	}
}

// A user who may not use the subject has no bus.
func TestUp_NeedsPermissions(t *testing.T) {
	t.Parallel()
	allow := func(subject string) *server.Permissions {
		p := &server.SubjectPermission{Allow: []string{subject}}
		return &server.Permissions{Publish: p, Subscribe: p}
	}
	s := startServer(t, &server.Options{Users: []*server.User{
		{Username: "right", Password: "p", Permissions: allow(subjectPrefix + "hub")},
		{Username: "wrong", Password: "p", Permissions: allow(subjectPrefix + "other")},
	}})
	right := open(t, Config{URL: "nats://right:p@" + s.address(), HubID: "hub"})
	wrong := open(t, Config{URL: "nats://wrong:p@" + s.address(), HubID: "hub"})
	eventually(t, func() bool { return !wrong.Up() })
	require.True(t, right.Up())
}

func TestOpen_VerifiesTLS(t *testing.T) {
	t.Parallel()
	certificate, roots := newCertificate(t)
	s := startServer(t, &server.Options{TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}, TLSTimeout: 60})
	trusting := nats.Secure(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
	url := "tls://" + s.address()
	a := open(t, Config{URL: url, HubID: "hub", extra: []nats.Option{trusting}})
	b := open(t, Config{URL: url, HubID: "hub", extra: []nats.Option{trusting}})
	distrusting := open(t, Config{URL: url, HubID: "hub"})
	require.True(t, a.Up() && b.Up())
	bustest.RingUntil(t, a, b, 3)
	require.False(t, distrusting.Up(), "the certificate is of no authority of this machine")

	plain := startServer(t, &server.Options{})
	require.False(t, open(t, Config{URL: "tls://" + plain.address(), HubID: "hub"}).Up(), "no connection without TLS")
}

func newCertificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "nats"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	for url, isValid := range map[string]bool{
		"nats://127.0.0.1:4222": true, "nats://h": true, "tls://u:p@h:4222": true, "nats://a,nats://b:1": true, "nats://[::1]:4222": true,
		"nats://": false, "http://h": false, "nats://a,http://b": false, "nats://h/x": false, "nats://h:port": false, "nats://h?x=1": false, "nats://a,b": false,
	} {
		require.Equal(t, isValid, CheckURL(url) == nil, url)
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"nats://h:4222":                       "nats://h:4222",
		"nats://ada:secret@h":                 "nats://h",
		"tls://token@h:1, nats://u:secret@g":  "tls://h:1,nats://g",
		"nats://u:secret@h:port":              "nats://…",
		"nats://u:secret@good,nats://u:p@h:x": "nats://…",
	} {
		require.Equal(t, want, Redact(url))
	}
}
