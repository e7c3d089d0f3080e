package app

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/httpapi"
	"github.com/hookback/hookback/server/internal/store"
)

// SignIn makes a link that signs somebody in to the hub, which must not be running:
// the way back in for whoever lost their browser, and the way to own a hub before it
// listens where others can reach it.
func SignIn(ctx context.Context, cfg Config, name string) (link string, err error) {
	if cfg, err = cfg.withDefaults(func(string) string { return "" }); err != nil {
		return "", err
	}
	a := &App{cfg: cfg, log: cfg.logger(), metrics: httpapi.NewMetrics()}
	defer func() { err = errors.Join(err, a.Close()) }()
	if err := a.openStore(ctx); err != nil {
		if errors.Is(err, store.ErrLocked) {
			return "", fmt.Errorf("stop the hub first: %w", err)
		}
		return "", err
	}
	if a.auth, err = auth.Open(ctx, auth.Config{Store: a.store, Clock: cfg.Clock, Log: a.log}); err != nil {
		return "", err
	}
	code, err := a.auth.RecoverAccess(ctx, name)
	if err != nil {
		return "", err
	}
	return cfg.baseURL(cfg.Addr) + "/#sign-in=" + code, nil
}

// baseURL is the hub's address for people, when it listens at addr. It names localhost
// where it can: passkeys belong to a name, not to an address.
func (cfg *Config) baseURL(addr string) string {
	scheme := "http://"
	if cfg.TLSCert != "" {
		scheme = "https://"
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return scheme + addr
	}
	ip := net.ParseIP(host)
	switch {
	case host == "" || ip != nil && ip.IsUnspecified():
		host = "localhost"
		if len(cfg.AllowHosts) > 0 {
			host, _, _ = splitHostPort(cfg.AllowHosts[0])
		}
	case ip != nil && (ip.Equal(net.IPv4(127, 0, 0, 1)) || ip.Equal(net.IPv6loopback)):
		host = "localhost" // which is no other address of this machine's, such as 127.0.0.2
	}
	return scheme + net.JoinHostPort(host, port)
}

// splitHostPort splits the port from a name that may have none.
func splitHostPort(name string) (host, port string, ok bool) {
	host, port, err := net.SplitHostPort(name)
	if err != nil {
		return name, "", false
	}
	return host, port, true
}
