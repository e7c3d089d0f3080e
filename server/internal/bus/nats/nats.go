// Package nats is a bus on a NATS server: core NATS, one subject for each database.
package nats

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/hookback/hookback/server/internal/bus"
)

// Config configures Open.
type Config struct {
	// URL is nats://HOST or tls://HOST, or several of one cluster, separated by commas. It can hold
	// credentials, which are never logged.
	URL string
	// HubID is the id of the database's hub. Several databases can share a server.
	HubID string
	Log   *slog.Logger

	extra []nats.Option // of tests
}

// subjectPrefix is the beginning of all subjects, for the permissions of a server.
const subjectPrefix = "hookback.rings."

const (
	connectTimeout  = 3 * time.Second
	reconnectWait   = 250 * time.Millisecond
	reconnectJitter = 250 * time.Millisecond
	// The server answers a ping, so a lost connection is noticed within two intervals.
	pingInterval = 2 * time.Second
)

// IsURL reports whether a value of -bus names a NATS server.
func IsURL(value string) bool {
	return strings.HasPrefix(value, "nats://") || strings.HasPrefix(value, "tls://")
}

// CheckURL refuses a value that Open would refuse. The error does not show it.
func CheckURL(value string) error {
	for part := range strings.SplitSeq(value, ",") {
		u, err := url.Parse(strings.TrimSpace(part))
		if err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
			return errors.New("the address is not valid; use nats://HOST:4222 or tls://HOST:4222")
		}
	}
	return nil
}

// Redact returns the URL without credentials. A token is in the place of a user name, so the name
// is removed, too.
func Redact(value string) string {
	var parts []string
	for part := range strings.SplitSeq(value, ",") {
		u, err := url.Parse(strings.TrimSpace(part))
		if err != nil {
			return "nats://…" // they could be anywhere
		}
		parts = append(parts, u.Scheme+"://"+u.Host)
	}
	return strings.Join(parts, ",")
}

// natsBus implements bus.Bus.
type natsBus struct {
	*bus.Merger
	conn     *nats.Conn
	subject  string
	isDenied atomic.Bool // by the permissions of the server
}

// Open connects to the server, and connects again whenever the connection is lost. It fails only
// if the configuration is not valid: without a server the bus is not up.
func Open(cfg Config) (bus.Bus, error) {
	if err := CheckURL(cfg.URL); err != nil {
		return nil, err
	}
	b := &natsBus{subject: subjectPrefix + cfg.HubID}
	conn, err := nats.Connect(cfg.URL, append(b.options(&cfg), cfg.extra...)...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: the address or its credentials are not valid", Redact(cfg.URL)) // err may show them
	}
	b.conn = conn
	b.Merger = bus.NewMerger(b.send)
	if _, err := conn.Subscribe(b.subject, func(m *nats.Msg) { b.Receive(string(m.Data)) }); err != nil {
		return nil, errors.Join(fmt.Errorf("subscribe to %s: %w", b.subject, err), b.Close())
	}
	if !conn.IsConnected() {
		cfg.Log.Warn("bus not connected", "bus", Redact(cfg.URL))
	} else if err := conn.FlushTimeout(connectTimeout); err != nil { // before it, the server does not know the subscription
		cfg.Log.Warn("bus not subscribed yet", "bus", Redact(cfg.URL), "err", err)
	}
	return b, nil
}

func (b *natsBus) options(cfg *Config) []nats.Option {
	name := Redact(cfg.URL)
	return []nats.Option{
		nats.Name("hookback"), nats.NoEcho(), nats.Timeout(connectTimeout),
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort(),
		nats.ReconnectWait(reconnectWait), nats.ReconnectJitter(reconnectJitter, reconnectJitter),
		nats.ReconnectBufSize(-1), // a ring that waits for the server is of no use
		nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(1), nats.FlusherTimeout(connectTimeout),
		nats.ConnectHandler(func(*nats.Conn) { cfg.Log.Info("bus connected", "bus", name) }),
		nats.ReconnectHandler(func(*nats.Conn) { cfg.Log.Info("bus connected again", "bus", name) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			b.isDenied.Store(false)
			if err != nil { // nil: closed by this hub
				cfg.Log.Warn("bus disconnected", "bus", name, "err", err)
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrPermissionViolation) && !b.isDenied.Swap(true) {
				cfg.Log.Error("bus denied: the user needs to publish and subscribe", "bus", name, "subject", b.subject)
			}
		}),
	}
}

func (b *natsBus) send(_ context.Context, commit int64) error {
	return b.conn.Publish(b.subject, []byte(bus.Encode(commit)))
}

// Up implements bus.Link.
func (b *natsBus) Up() bool { return b.conn.IsConnected() && !b.isDenied.Load() }

// Close implements bus.Link.
func (b *natsBus) Close() error {
	b.conn.Close() // also ends a Publish that blocks
	return b.Merger.Close()
}
