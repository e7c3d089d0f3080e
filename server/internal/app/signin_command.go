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

// SignIn returns a link that signs name in. The hub must not be running. It restores
// access for people who lost their browser, and gives a hub an owner before it listens on
// a public address.
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

// baseURL returns the hub's URL for people when it listens at addr. It prefers localhost,
// because passkeys belong to a host name.
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
		host = "localhost" // only these two: localhost does not reach other loopback addresses such as 127.0.0.2
	}
	return scheme + net.JoinHostPort(host, port)
}

// splitHostPort is net.SplitHostPort for a name that may have no port.
func splitHostPort(name string) (host, port string, ok bool) {
	host, port, err := net.SplitHostPort(name)
	if err != nil {
		return name, "", false
	}
	return host, port, true
}
