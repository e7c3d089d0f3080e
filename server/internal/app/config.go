package app

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient/socket"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/coverage"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/peer"
)

// Config holds all settings of a hub. Zero values mean the documented defaults. ParseFlags
// fills it from flags and the environment.
type Config struct {
	// Addr is the listen address, host:port; default 127.0.0.1:4000 and [::1]:4000. Port 0
	// picks a free port.
	Addr string
	// Insecure permits a public Addr without TLS and without an owner. Requests from other
	// machines still need credentials.
	Insecure bool
	// TLSCert and TLSKey are PEM files. If set, the hub accepts TLS only.
	TLSCert, TLSKey string
	// TrustProxy lists the addresses or CIDRs of an authenticating proxy, which names the
	// person in ProxyHeader. Any program at these addresses can claim to be anyone.
	TrustProxy  []string
	ProxyHeader string
	// Socket is the path of the hub's Unix socket, or "off"; default: a path that follows
	// from the account and the port, which clients know.
	Socket string
	// LocalUsers lists the accounts whose local programs need no credentials, besides the
	// hub's own and root: names, numbers, "own" for no more, or "all".
	LocalUsers []string
	// SignIn is a name: create a sign-in link for it instead of running the hub.
	SignIn string
	// Health asks the running hub whether it is ready instead of running one.
	Health bool
	// ReadyJSON prints one JSON line instead of the greeting.
	ReadyJSON bool
	// DB is the database file, created if missing; default hookback/hookback.db in the
	// user's data directory. The prefix sqlite: is accepted. It may also be the address of a
	// PostgreSQL database: postgres://USER@HOST/DATABASE.
	DB string
	// Bus wakes the other hubs of a PostgreSQL database: notify (the default with PostgreSQL) or none.
	// With SQLite it must be empty.
	Bus string
	// DataDir holds the hub's key if the database is PostgreSQL; default hookback in the user's data
	// directory.
	DataDir string

	AllowOrigins []string // other web origins that may use the hub, such as http://localhost:5173
	AllowHosts   []string // accepted Host headers in addition to localhost, host or host:port
	// PublicURL is the base URL of links in messages; default: the listen address.
	PublicURL     string
	CallbackAllow []string // callback targets in addition to loopback: CIDRs, host names, host:port
	NotifyAllow   []string // addresses of channels besides public ones, in the same form
	MaxPending    int      // pending questions; a tenth of them per agent; default 10,000
	NotifyProxy   string   // HTTP proxy of channels; empty: none

	OIDC OIDC // sign-in with an OpenID provider; zero value: off
	// Passkeys is the lowest risk, high or critical, at which approving requires a
	// passkey; empty: none.
	Passkeys schema.PasskeyThreshold

	// Retention is how long events are kept; default 30 days. Negative: forever.
	Retention time.Duration
	// RetentionSize is the maximum size of the database in bytes; the oldest events are
	// removed beyond it. Default 2 GiB. Negative: no limit.
	RetentionSize int64
	// RetentionQuestions is how long settled questions and their answers are kept; default
	// 365 days. Negative: forever. Pending questions are never removed.
	RetentionQuestions time.Duration
	// TrustClock removes old events at once although the clock is more than a day ahead of the
	// newest event.
	TrustClock bool

	// NudgeAfter is the delay before people are reminded of a question without a deadline,
	// at most three times; 0: never.
	NudgeAfter time.Duration

	// TestRequest sends a test request after the start.
	TestRequest bool

	// FreezeAfter is the number of equal failures of tool calls in a row after which the hub freezes
	// the session; 0: the stored setting.
	FreezeAfter int

	// KeepSecrets stores events without redaction.
	KeepSecrets bool

	LogLevel  slog.Level // default info
	LogFormat string     // text (default) or json

	// Version of the program, for the dashboard and metrics; default "dev".
	Version string
	// Stdout receives the greeting, Stderr the log; nil: discarded.
	Stdout, Stderr io.Writer
	// Machine reports the installations of this account; nil: none.
	Machine coverage.Machine
	// NotifySocket is the Unix socket of the service manager, from NOTIFY_SOCKET; empty: none.
	NotifySocket string
	// Drain is how long /readyz fails, while everything is served, before the hub stops; default 0.
	Drain time.Duration
	// StopWithin is the time that requests and streams have to end on shutdown; default 5
	// s.
	StopWithin time.Duration
	// Clock is the hub's clock; default: time.Now, and the database's clock with PostgreSQL.
	Clock func() time.Time
}

const (
	defaultAddr              = "127.0.0.1:4000"
	day                      = 24 * time.Hour
	defaultRetention         = 30 * day
	defaultRetentionSize     = 2 << 30
	defaultQuestionRetention = 365 * day
)

// withDefaults sets the defaults and validates the result.
func (cfg Config) withDefaults(getenv func(string) string) (Config, error) {
	cfg.Addr = cmp.Or(cfg.Addr, defaultAddr)
	if cfg.Retention == 0 {
		cfg.Retention = defaultRetention
	}
	if cfg.RetentionSize == 0 && !isPostgres(cfg.DB) { // whose server has its own disk
		cfg.RetentionSize = defaultRetentionSize
	}
	if cfg.Bus == "" && isPostgres(cfg.DB) {
		cfg.Bus = notifyBus
	}
	cfg.RetentionQuestions = cmp.Or(cfg.RetentionQuestions, defaultQuestionRetention)
	if cfg.Version == "" {
		cfg.Version = "dev"
	}
	if cfg.Stdout == nil {
		cfg.Stdout = io.Discard
	}
	cfg.StopWithin = cmp.Or(cfg.StopWithin, 5*time.Second)
	if cfg.DataDir == "" && (cfg.DB == "" || isPostgres(cfg.DB)) {
		dir, err := dataDir(getenv)
		if err != nil {
			return cfg, err
		}
		cfg.DataDir = filepath.Join(dir, "hookback")
	}
	cfg.DB = cmp.Or(cfg.DB, filepath.Join(cfg.DataDir, "hookback.db"))
	return cfg, cfg.check()
}

// dataDir returns the user's data directory on this operating system.
func dataDir(getenv func(string) string) (string, error) {
	if dir := getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	if dir := getenv("LocalAppData"); runtime.GOOS == "windows" && dir != "" {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("no home directory for the database; set its location with -db FILE")
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support"), nil
	}
	return filepath.Join(home, ".local", "share"), nil
}

// check validates the settings before anything is opened.
func (cfg Config) check() error {
	host, port, err := net.SplitHostPort(cfg.Addr)
	if _, portErr := strconv.ParseUint(port, 10, 16); err != nil || portErr != nil {
		return fmt.Errorf("-addr %s: must be host:port, such as %s", cfg.Addr, defaultAddr)
	}
	if !cfg.Insecure && !socket.IsLoopback(host) && cfg.TLSCert == "" {
		return fmt.Errorf("-addr %s: others can reach this address, and without TLS they could read and change the traffic; add -tls-cert FILE -tls-key FILE, use %s, or add -insecure if the network is trusted", cfg.Addr, defaultAddr)
	}
	if err := errors.Join(checkDatabase(cfg.DB), checkBus(cfg.Bus, cfg.DB)); err != nil {
		return err
	}
	if cfg.Drain < 0 {
		return fmt.Errorf("-drain %v: must not be negative", cfg.Drain)
	}
	if err := cfg.checkProxy(); err != nil {
		return err
	}
	if cfg.Socket != "" && cfg.Socket != noSocket && (!filepath.IsAbs(cfg.Socket) || !socket.Supported) {
		return fmt.Errorf("-socket %s: must be off or, on Linux and macOS, an absolute path", cfg.Socket)
	}
	if _, err := parseAccounts(cfg.LocalUsers); err != nil {
		return err
	}
	for _, origin := range cfg.AllowOrigins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" ||
			strings.Trim(u.Path, "/") != "" || u.User != nil || strings.Contains(origin, "*") {
			return fmt.Errorf("-allow-origin %s: must be one origin, such as http://localhost:5173", origin)
		}
	}
	if u, err := url.Parse(cfg.PublicURL); cfg.PublicURL != "" &&
		(err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "") {
		return fmt.Errorf("-public-url %s: must be the address of the dashboard, such as https://hub.example.com", cfg.PublicURL)
	} else if strings.Trim(u.Path, "/") != "" {
		return fmt.Errorf("-public-url %s: must have no path, because the hub needs a host name of its own, such as https://hub.example.com", cfg.PublicURL)
	}
	if err := errors.Join(cfg.OIDC.check(), checkPasskeys(cfg.Passkeys)); err != nil {
		return err
	}
	for _, name := range cfg.AllowHosts {
		if strings.ContainsAny(name, "/*@ ") {
			return fmt.Errorf("-allow-host %s: must be a host name, with or without a port, such as hub.example.com", name)
		}
	}
	if cfg.NudgeAfter != 0 && cfg.NudgeAfter < schema.MinReminder {
		return fmt.Errorf("-nudge-after %v: must be at least %v, or 0 for never", cfg.NudgeAfter, schema.MinReminder)
	}
	if cfg.FreezeAfter < 0 || cfg.FreezeAfter == 1 {
		return fmt.Errorf("-freeze-after %d: must be at least 2, or 0 for the setting of the dashboard", cfg.FreezeAfter)
	}
	if cfg.LogFormat != "" && cfg.LogFormat != "text" && cfg.LogFormat != "json" {
		return fmt.Errorf("-log-format %s: must be text or json", cfg.LogFormat)
	}
	return nil
}

// checkProxy validates flags that depend on each other.
func (cfg Config) checkProxy() error {
	if (cfg.TLSCert == "") != (cfg.TLSKey == "") {
		return errors.New("-tls-cert and -tls-key must be set together")
	}
	if (len(cfg.TrustProxy) == 0) != (cfg.ProxyHeader == "") {
		return errors.New("-trust-proxy and -proxy-header must be set together: the addresses of the proxy, and the header in which it names the person")
	}
	for _, from := range cfg.TrustProxy {
		if _, err := parseNetwork(from); err != nil {
			return fmt.Errorf("-trust-proxy %s: must be an address or a CIDR, such as 10.0.0.5 or 10.0.0.0/24", from)
		}
	}
	for _, r := range cfg.ProxyHeader {
		if r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') {
			return fmt.Errorf("-proxy-header %s: must be the name of a header, such as X-Auth-Request-Email", cfg.ProxyHeader)
		}
	}
	switch strings.ToLower(cfg.ProxyHeader) {
	case "authorization", "cookie", "host", "origin", "x-forwarded-for", "forwarded", "x-real-ip":
		return fmt.Errorf("-proxy-header %s: does not name a person; use the header that your proxy sets for that, such as X-Auth-Request-Email", cfg.ProxyHeader)
	}
	return nil
}

// parseNetwork parses a CIDR or a single address.
func parseNetwork(s string) (netip.Prefix, error) {
	if ip, err := netip.ParseAddr(s); err == nil {
		return netip.PrefixFrom(ip.Unmap(), ip.Unmap().BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	return p.Masked(), err
}

// trustedProxies returns the parsed TrustProxy, which check has validated.
func (cfg Config) trustedProxies() []netip.Prefix {
	var all []netip.Prefix
	for _, from := range cfg.TrustProxy {
		if p, err := parseNetwork(from); err == nil {
			all = append(all, p)
		}
	}
	return all
}

// parseAccounts resolves LocalUsers.
func parseAccounts(names []string) (peer.Accounts, error) {
	var accounts peer.Accounts
	for _, name := range names {
		switch name {
		case "own":
			continue
		case "all":
			accounts.All = true
			continue
		}
		number := name
		if account, err := user.Lookup(name); err == nil {
			number = account.Uid
		}
		uid, err := strconv.ParseUint(number, 10, 32)
		if err != nil {
			return accounts, fmt.Errorf("-local-users %s: this machine has no such account; use own, all, or names of accounts", name)
		}
		accounts.UIDs = append(accounts.UIDs, uint32(uid))
	}
	return accounts, nil
}

// localAccounts returns the parsed LocalUsers, which check has validated.
func (cfg Config) localAccounts() peer.Accounts {
	accounts, _ := parseAccounts(cfg.LocalUsers)
	return accounts
}

func (cfg Config) logger() *slog.Logger {
	options := &slog.HandlerOptions{Level: cfg.LogLevel}
	switch {
	case cfg.Stderr == nil:
		return slog.New(slog.DiscardHandler)
	case cfg.LogFormat == "json":
		return slog.New(slog.NewJSONHandler(cfg.Stderr, options))
	default:
		return slog.New(slog.NewTextHandler(cfg.Stderr, options))
	}
}

// pendingLimits returns the limits for -max-pending; 0 selects the defaults.
func pendingLimits(most int) hub.PendingLimits {
	if most == 0 {
		return hub.PendingLimits{}
	}
	return hub.PendingLimits{Hub: most, Owner: max(most/10, 1)}
}

// clock returns the hub's clock, for a database without its own.
func (cfg *Config) clock() func() time.Time {
	if cfg.Clock == nil {
		return time.Now
	}
	return cfg.Clock
}
