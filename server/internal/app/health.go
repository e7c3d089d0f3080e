package app

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/hookback/hookback/schema"
)

// healthTimeout is shorter than the time that container engines give a health check.
const healthTimeout = 10 * time.Second

// CheckHealth asks the hub that runs on this machine with the same settings whether it can store
// events. An error says why not.
func CheckHealth(ctx context.Context, cfg Config) error {
	host, port, err := net.SplitHostPort(cmp.Or(cfg.Addr, defaultAddr))
	if err != nil {
		return err
	}
	if port == "0" {
		return errors.New("-health needs the port of the hub; set it with -addr or HOOKBACK_ADDR, as for the hub")
	}
	switch host { // all addresses of the machine
	case "", "0.0.0.0":
		host = "127.0.0.1"
	case "::":
		host = "::1"
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	scheme := "http://"
	if cfg.TLSCert != "" {
		scheme = "https://"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+net.JoinHostPort(host, port)+schema.PathReady, nil)
	if err != nil {
		return err
	}
	req.Host = net.JoinHostPort("localhost", port) // a name that every hub accepts
	transport := &http.Transport{                  // ignores proxies
		// The certificate has the hub's public name. The request has no secret, and the answer gives
		// no rights.
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, //nolint:gosec // see above
		DisableKeepAlives: true,
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("the hub does not answer: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	if err != nil {
		return fmt.Errorf("the hub does not answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the hub is not ready: %s %s", resp.Status, bytes.TrimSpace(body))
	}
	return nil
}
