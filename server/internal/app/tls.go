package app

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/hookback/hookback/agentclient/socket"
)

// certificate is the TLS certificate. It is reloaded when its files change, so that it can
// be renewed while the hub runs.
type certificate struct {
	cert, key string // file names
	log       *slog.Logger

	mu       sync.Mutex
	loaded   *tls.Certificate
	modTimes [2]time.Time // modification times of the loaded files
}

// wrapTLS replaces the listeners by TLS listeners.
func wrapTLS(lns []net.Listener, cfg *Config, log *slog.Logger) error {
	c := &certificate{cert: cfg.TLSCert, key: cfg.TLSKey, log: log}
	if err := c.load(c.readModTimes()); err != nil {
		return fmt.Errorf("-tls-cert %s, -tls-key %s: %w", c.cert, c.key, err)
	}
	for i := range lns {
		lns[i] = tls.NewListener(lns[i], &tls.Config{
			MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current(), nil },
		})
	}
	return nil
}

func (c *certificate) readModTimes() (times [2]time.Time) {
	for i, name := range []string{c.cert, c.key} {
		if info, err := os.Stat(name); err == nil {
			times[i] = info.ModTime()
		}
	}
	return times
}

func (c *certificate) load(times [2]time.Time) error {
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return err
	}
	c.loaded, c.modTimes = &pair, times
	return nil
}

// current returns the certificate in the files. If they are invalid, it keeps the last
// valid one.
func (c *certificate) current() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if times := c.readModTimes(); times != c.modTimes {
		if err := c.load(times); err != nil {
			c.log.Warn("certificate reload failed, keeping the previous one", "err", err)
		}
	}
	return c.loaded
}

// checkPublicListen rejects a public address while the hub has no owner.
func (a *App) checkPublicListen() error {
	host, _, err := net.SplitHostPort(a.cfg.Addr)
	if err != nil || socket.IsLoopback(host) || a.cfg.Insecure || a.auth.HasOwner() {
		return nil //nolint:nilerr // the address was checked before
	}
	return errors.New("-addr " + a.cfg.Addr + ": others can reach this address, and the hub has no owner yet: the first visitor would become the owner. " +
		"Run this program once with -sign-in YOUR-NAME, then start the hub and open the link")
}
