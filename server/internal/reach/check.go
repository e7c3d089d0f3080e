package reach

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/netguard"
	"github.com/hookback/hookback/server/internal/store"
)

// The limits of a check.
const (
	checkTimeout = 10 * time.Second
	maxResponse  = 256 << 10
)

// checker asks addresses for the hub's identity.
type checker struct {
	store    store.Store
	proxyURL string
	roots    *x509.CertPool
}

// target returns host:port of an address.
func target(u *url.URL) string {
	port := u.Port()
	port = cmp.Or(port, defaultPort(u))
	return net.JoinHostPort(u.Hostname(), port)
}

func defaultPort(u *url.URL) string {
	if u.Scheme == "http" {
		return "80"
	}
	return "443"
}

// check asks for the hub's identity at an address. It returns an empty reason if this hub answers,
// otherwise one sentence. An admin chose the address, so it may be private; redirects, size and time
// are limited, and nothing of the response is shown.
func (c *checker) check(ctx context.Context, u *url.URL) (reason string) {
	host := u.Host
	guard, err := netguard.New(netguard.Config{Allow: []string{target(u)}, ProxyURL: c.proxyURL})
	if err != nil {
		return host + " is not a valid host name."
	}
	transport := &http.Transport{
		DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
		TLSClientConfig: &tls.Config{RootCAs: c.roots, MinVersion: tls.VersionTLS12},
	}
	guard.Protect(transport)
	client := &http.Client{Transport: transport, CheckRedirect: netguard.RefuseRedirect}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	nonce := rand.Text()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.Scheme+"://"+u.Host+schema.PathHub+"?nonce="+nonce, http.NoBody)
	if err != nil {
		return host + " is not a valid address."
	}
	req.Header.Set("User-Agent", "Hookback")
	resp, err := client.Do(req)
	if err != nil {
		return connectReason(host, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	switch {
	case err != nil:
		return connectReason(host, err)
	case resp.StatusCode >= 300 && resp.StatusCode <= 399:
		return host + " redirects to another address. Enter that address."
	case resp.StatusCode == http.StatusMisdirectedRequest:
		return host + " leads to another hub, or a proxy on the way changes the Host header."
	case resp.StatusCode == http.StatusBadGateway || resp.StatusCode == http.StatusServiceUnavailable ||
		resp.StatusCode == http.StatusGatewayTimeout:
		return fmt.Sprintf("The proxy at %s does not reach a hub (status %d).", host, resp.StatusCode)
	case resp.StatusCode != http.StatusOK || len(body) > maxResponse:
		return fmt.Sprintf("%s is not a Hookback hub (status %d).", host, resp.StatusCode)
	}
	return c.identityReason(host, body, nonce)
}

// identityReason checks that a response to schema.PathHub is from this hub and fresh.
func (c *checker) identityReason(host string, body []byte, nonce string) string {
	var answer sign.HubKey
	if json.Unmarshal(body, &answer) != nil {
		return host + " is not a Hookback hub."
	}
	public, err := sign.ParsePublicKey(answer.PublicKey)
	if err != nil {
		return host + " is not a Hookback hub."
	}
	own := c.store.Identity().Public()
	if answer.HubID != c.store.HubID() || !bytes.Equal(public, own) {
		return fmt.Sprintf("%s is another hub: its key is %s, and the key of this hub is %s.", host, schema.KeyID(public), schema.KeyID(own))
	}
	var hello sign.HubHello
	if answer.Proof == nil || answer.Proof.Verify(schema.HelloPayload, own) != nil ||
		json.Unmarshal(answer.Proof.Payload, &hello) != nil || hello.Nonce != nonce {
		return host + " sent an old response of this hub. Turn off the cache of the proxy."
	}
	return ""
}

// connectReason explains why a request failed.
func connectReason(host string, err error) string {
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return "The name " + host + " is unknown. Check its spelling."
	case errors.As(err, &certificate):
		return "The certificate of " + host + " is not valid for this name, or this machine does not trust its issuer."
	case errors.As(err, &plain):
		return host + " does not use TLS at this port."
	case errors.Is(err, netguard.ErrRefused):
		return "The hub may not connect to " + host + ", because it is a link-local, multicast or metadata address."
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("%s did not answer within %.0f seconds.", host, checkTimeout.Seconds())
	default:
		return "The hub could not connect to " + host + "."
	}
}
