package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/httpapi"
	"github.com/hookback/hookback/server/internal/store"
)

// SignIn makes a link that signs name in, and returns its place: the link itself, or a file if
// cfg.Stdout is read by others. The hub must not be running. It restores access for people who lost
// their browser, and gives a hub an owner before it listens on a public address.
func SignIn(ctx context.Context, cfg Config, name string) (place string, err error) {
	if cfg, err = cfg.withDefaults(func(string) string { return "" }); err != nil {
		return "", err
	}
	a := &App{cfg: cfg, log: cfg.logger(), metrics: httpapi.NewMetrics()}
	defer func() { err = errors.Join(err, a.Close()) }()
	if a.store, err = openStore(ctx, &cfg, 0, nil); err != nil {
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
	link := cfg.baseURL(cfg.Addr) + "/#sign-in=" + code
	if !isReadByOthers(cfg.Stdout) {
		return link, nil
	}
	return writeSignInLink(&cfg, link)
}

// isReadByOthers reports whether the output goes to a file or another program and not to a
// terminal: a log is often readable by more people than the one who may own the hub.
func isReadByOthers(stdout io.Writer) bool {
	file, ok := stdout.(*os.File)
	if !ok {
		return false // a buffer of the program that runs the hub
	}
	info, err := file.Stat()
	return err != nil || info.Mode()&os.ModeCharDevice == 0
}

// writeSignInLink writes a link to the file sign-in-link next to the database, readable by the hub's
// account only, and returns the path.
func writeSignInLink(cfg *Config, link string) (string, error) {
	path := filepath.Join(filepath.Dir(databaseFile(cfg)), "sign-in-link")
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(link + "\n")
	return path, errors.Join(err, file.Close())
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
