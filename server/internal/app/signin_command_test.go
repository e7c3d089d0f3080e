package app

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// certificateFiles writes a new self-signed certificate for localhost and returns a pool
// that trusts it.
func certificateFiles(t *testing.T, dir, name string) (trust *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	secret, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	for file, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "EC PRIVATE KEY", Bytes: secret}} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(block), 0o600))
	}
	trust = x509.NewCertPool()
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	trust.AddCert(cert)
	return trust
}

func TestTLS_ReloadsRenewedCertificate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	trust := certificateFiles(t, dir, "first")
	cfg := testConfig(t)
	cfg.TLSCert, cfg.TLSKey = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	link, err := SignIn(t.Context(), cfg, "ada")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(link, "https://localhost:"), link)
	_, code, _ := strings.Cut(link, "#sign-in=")
	a, _ := startHub(t, cfg)
	require.True(t, strings.HasPrefix(a.URL(), "https://localhost:"), a.URL())

	with := func(trust *x509.CertPool) *http.Client {
		return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust}, DisableKeepAlives: true}}
	}
	client := with(trust)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.URL()+schema.PathSignIn, strings.NewReader(`{"code":"`+code+`"}`))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Origin", a.URL())
	resp, err := client.Do(req)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 200, resp.StatusCode, string(body))
	var in schema.SignInResult
	require.NoError(t, json.Unmarshal(body, &in))
	require.True(t, in.Me.Owner)
	cookie := resp.Cookies()[0]
	require.True(t, cookie.Secure && strings.HasPrefix(cookie.Name, "__Host-"), cookie.String())

	conn, _, err := websocket.Dial(t.Context(), "wss"+strings.TrimPrefix(a.URL(), "https")+schema.PathStream+"?v=2", &websocket.DialOptions{
		HTTPClient: client, HTTPHeader: http.Header{"Cookie": {cookie.Name + "=" + cookie.Value}, "Origin": {a.URL()}},
	})
	require.NoError(t, err)
	_, _, err = conn.Read(t.Context())
	require.NoError(t, err)
	require.NoError(t, conn.Close(websocket.StatusNormalClosure, ""))

	renewed := certificateFiles(t, dir, "second")
	later := time.Now().Add(time.Minute)
	require.NoError(t, os.Chtimes(cfg.TLSCert, later, later))
	resp, err = with(renewed).Get(a.URL() + schema.PathHealth)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.NoError(t, os.WriteFile(cfg.TLSCert, []byte("not yet whole"), 0o600))
	resp, err = with(renewed).Get(a.URL() + schema.PathHealth)
	require.NoError(t, err, "the previous certificate stays in use")
	require.NoError(t, resp.Body.Close())
}

func TestPublicAddress_RequiresTLSAndOwner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certificateFiles(t, dir, "hub")
	cfg := testConfig(t)
	cfg.Addr = "0.0.0.0:0"
	_, err := New(t.Context(), cfg)
	require.ErrorContains(t, err, "-tls-cert")
	cfg.TLSCert, cfg.TLSKey = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "missing.pem")
	_, err = New(t.Context(), cfg)
	require.ErrorContains(t, err, "missing.pem")
	cfg.TLSKey = filepath.Join(dir, "key.pem")
	_, err = New(t.Context(), cfg)
	require.ErrorContains(t, err, "-sign-in YOUR-NAME")

	_, err = SignIn(t.Context(), cfg, "ada")
	require.NoError(t, err)
	a, err := New(t.Context(), cfg)
	require.NoError(t, err)
	_, err = SignIn(t.Context(), cfg, "ada")
	require.ErrorContains(t, err, "stop the hub first")
	require.NoError(t, a.Close())
}

func TestGreeting_PrintsOwnerSignInLink(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	out := &output{}
	cfg.Stdout = out
	a, stop := startHub(t, cfg)
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "/#sign-in=") }, time.Minute, 10*time.Millisecond)
	_, rest, _ := strings.Cut(out.String(), "/#sign-in=")
	code, _, _ := strings.Cut(rest, " ")
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Post(a.URL()+schema.PathSignIn, "application/json", strings.NewReader(`{"code":"`+code+`","name":"ada"}`))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 200, resp.StatusCode)
	stop()
	again := &output{}
	cfg.Stdout = again
	_, stop = startHub(t, cfg)
	require.Eventually(t, func() bool { return strings.Contains(again.String(), "Ctrl-C") }, time.Minute, 10*time.Millisecond)
	stop()
	require.NotContains(t, again.String(), "sign-in", "the hub has an owner")
}
