package app

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
)

// ErrHelp is returned by ParseFlags after it has printed the help text.
var ErrHelp = flag.ErrHelp

// flagSpec is a flag and its environment variable: -name VALUE or HOOKBACK_NAME.
type flagSpec struct {
	name, placeholder string // placeholder of the value; empty for a boolean
	defaultText       string // default, as shown by -help
	usage             string
	set               func(text string) error
}

// flagsOf lists all flags except -sign-in, -health and -version, in the order of -help. They set the members of c.
func flagsOf(c *Config) []flagSpec {
	return []flagSpec{
		{"addr", "HOST:PORT", defaultAddr, "listen address; on loopback the hub listens on IPv4 and IPv6", text(&c.Addr)},
		{"insecure", "", "false", "allow a public -addr without TLS and without an owner", parsed(&c.Insecure, strconv.ParseBool)},
		{"tls-cert", "FILE", "none", "certificate in PEM format; enables TLS and is reloaded when it is renewed", text(&c.TLSCert)},
		{"tls-key", "FILE", "none", "private key of the certificate in PEM format", text(&c.TLSKey)},
		{"trust-proxy", "CIDR,…", "none", "addresses of an authenticating proxy; every program there can claim to be anyone",
			list(&c.TrustProxy)},
		{"proxy-header", "NAME", "none", "header in which that proxy names the person; ignored from other addresses", text(&c.ProxyHeader)},
		{"socket", "PATH", "follows from account and port", "Unix socket for local programs, in addition to -addr; the word off turns it off",
			text(&c.Socket)},
		{"local-users", "NAME,…", "own", "accounts whose local programs need no credentials: own (and root), all, or more names",
			list(&c.LocalUsers)},
		{"db", "FILE", "hookback.db in your data directory", "database file, created if it is missing; or postgres://USER@HOST/DATABASE",
			text(&c.DB)},
		{"bus", "BUS", "notify with PostgreSQL", "wakes the other hubs of a PostgreSQL database: notify, or none to poll only", text(&c.Bus)},
		{"allow-origin", "ORIGIN,…", "none", "other web origins that may use the hub, such as http://localhost:5173", list(&c.AllowOrigins)},
		{"allow-host", "NAME,…", "none", "host names of the hub in addition to localhost", list(&c.AllowHosts)},
		{"public-url", "URL", "the setting", "URL at which people reach the hub; links in messages start with it, and it overrules the setting of the dashboard",
			text(&c.PublicURL)},
		{"callback-allow", "TARGET,…", "none", "allowed callback targets in addition to loopback: CIDRs, host names, host:port",
			list(&c.CallbackAllow)},
		{"notify-allow", "TARGET,…", "none", "allowed addresses of notification channels on this machine or in a private network: CIDRs, host names, host:port",
			list(&c.NotifyAllow)},
		{"notify-proxy", "URL", "none", "HTTP proxy of notification channels; proxy variables of the environment are ignored",
			text(&c.NotifyProxy)},
		{"max-pending", "NUMBER", "10000", "most questions that wait at the same time; one agent may have a tenth of them, one session 256",
			parsed(&c.MaxPending, parsePositive)},
		{"retention", "DURATION", "30d", "how long events are kept; 0 keeps them forever", parsed(&c.Retention, orNoLimit(parseDuration))},
		{"retention-size", "SIZE", "2GiB", "maximum size of the database; the oldest events are removed beyond it; 0 for no limit",
			parsed(&c.RetentionSize, orNoLimit(parseSize))},
		{"retention-questions", "DURATION", "365d", "how long settled questions are kept; 0 keeps them forever",
			parsed(&c.RetentionQuestions, orNoLimit(parseDuration))},
		{"trust-clock", "", "false", "remove old events at once although the clock is more than a day ahead of the newest event",
			parsed(&c.TrustClock, strconv.ParseBool)},
		{"nudge-after", "DURATION", "never", "delay before people are reminded of a question without a deadline, at most three times",
			parsed(&c.NudgeAfter, parseDuration)},
		{"freeze-after", "NUMBER", "the setting", "freeze a session after this many equal failures in a row: same tool, arguments and error, such as 5; it acts one call late, and overrules the setting of the dashboard",
			parsed(&c.FreezeAfter, strconv.Atoi)},
		{"test-request", "", "false", "send a test request after the start, and print each of its steps as a JSON line; for programs that start the hub",
			parsed(&c.TestRequest, strconv.ParseBool)},
		{"redact", "", "true", "replace tokens and passwords in events before they are stored; -redact=false stores them",
			parsed(&c.KeepSecrets, parseNot)},
		{"ready-json", "", "false", "when the hub listens, print one JSON line with url, version and signInLink, a file, instead of the greeting; for programs that start it",
			parsed(&c.ReadyJSON, strconv.ParseBool)},
		{"drain", "DURATION", "0", "how long /readyz fails after SIGTERM while everything is still served, so that a load balancer sends requests elsewhere",
			parsed(&c.Drain, parseDuration)},
		{"log-level", "LEVEL", "info", "lowest level to log: debug, info, warn or error",
			func(s string) error { return c.LogLevel.UnmarshalText([]byte(s)) }},
		{"log-format", "FORMAT", "text", "format of the log: text or json", text(&c.LogFormat)},
		{"oidc-issuer", "URL", "none", "issuer URL of an OpenID provider that people sign in with", text(&c.OIDC.Issuer)},
		{"oidc-client", "ID", "hookback", "client ID of the hub at the provider; the redirect URI is PUBLIC-URL" + schema.PathOIDCCallback, text(&c.OIDC.Client)},
		{"oidc-secret-file", "FILE", "none", "file with the client secret; without it the hub is a public client with PKCE",
			text(&c.OIDC.SecretFile)},
		{"oidc-groups", "CLAIM", "groups", "claim with a person's groups", text(&c.OIDC.Groups)},
		{"oidc-roles", "GROUP=ROLE,…", "none: new people are viewers", "role of the members of a group: viewer, operator or admin",
			list(&c.OIDC.Roles)},
		{"passkeys", "LEVEL", "none", "approvals that require a passkey: unknown (all but calls that are known to be harmless), high (high and critical risk) or critical",
			text((*string)(&c.Passkeys))},
	}
}

func text(to *string) func(string) error {
	return func(s string) error { *to = s; return nil }
}

func list(to *[]string) func(string) error {
	return func(s string) error { *to = append(*to, splitList(s)...); return nil }
}

func parsed[T any](to *T, parse func(string) (T, error)) func(string) error {
	return func(s string) (err error) { *to, err = parse(s); return err }
}

func (f flagSpec) env() string {
	return "HOOKBACK_" + strings.ToUpper(strings.ReplaceAll(f.name, "-", "_"))
}

// apply sets the value; from is the flag or variable that text came from.
func (f flagSpec) apply(from, text string) error {
	if err := f.set(text); err != nil {
		expected := map[string]string{
			"DURATION": "a duration, such as 30d or 12h", "SIZE": "a size, such as 2GiB or 500MiB",
			"LEVEL": "debug, info, warn or error", "NUMBER": "a number above 0", "": "true or false",
		}[f.placeholder]
		return fmt.Errorf("%s %s: must be %s", from, strconv.Quote(text), expected)
	}
	return nil
}

// ParseFlags reads a Config from the command line and the environment; a flag overrides
// its variable. It returns the remaining arguments. Its errors are written for users.
func ParseFlags(args []string, getenv func(string) string, help io.Writer) (cfg Config, rest []string, err error) {
	flags := flag.NewFlagSet("hookback-server", flag.ContinueOnError)
	// Without variables, which would keep the hub from running.
	flags.StringVar(&cfg.SignIn, "sign-in", "", "")
	flags.BoolVar(&cfg.Health, "health", false, "")
	flags.SetOutput(io.Discard)
	isSet := map[string]bool{}
	var firstErr error
	specs := flagsOf(&cfg)
	for _, spec := range specs {
		set := func(text string) error {
			isSet[spec.name] = true
			if err := spec.apply("-"+spec.name, text); err != nil && firstErr == nil {
				firstErr = err
			}
			return nil
		}
		if spec.placeholder == "" {
			flags.BoolFunc(spec.name, spec.usage, set)
		} else {
			flags.Func(spec.name, spec.usage, set)
		}
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			printHelp(help)
			return cfg, nil, ErrHelp
		}
		return cfg, nil, fmt.Errorf("%w; -help lists all flags", err)
	}
	for _, spec := range specs {
		if text := getenv(spec.env()); text != "" && !isSet[spec.name] && firstErr == nil {
			firstErr = spec.apply(spec.env(), text)
		}
	}
	if firstErr != nil {
		return cfg, nil, firstErr
	}
	cfg, err = cfg.withDefaults(getenv)
	return cfg, flags.Args(), err
}

func printHelp(w io.Writer) {
	_, _ = fmt.Fprint(w, `The Hookback hub: agents post events and questions, people answer in the dashboard.

Usage:

  hookback-server [flags]                run the hub
  hookback-server [flags] backup FILE    copy the database; the hub may be running
  hookback-server [flags] rescue FILE    copy a database whose file was removed while its hub runs (Linux)
  hookback-server [flags] check          report corruption and changes of the audit log
  hookback-server [flags] key rotate     replace the hub's key; agents follow; stop the hub first
  hookback-server [flags] key new        replace a lost or stolen key; agents must trust it again
  hookback-server copy -to ADDRESS       move the hub to PostgreSQL; see copy -help; stop the hub first
  hookback-server [flags] -sign-in NAME  print a sign-in link for NAME; stop the hub first
  hookback-server [flags] -health        exit with 0 if the hub with these settings is ready, else with 1
  hookback-server -version               print the version

Flags, their environment variables and defaults (a flag overrides its variable):

`)
	for _, spec := range flagsOf(new(Config)) {
		_, _ = fmt.Fprintf(w, "  -%s\n        %s\n        %s   default: %s\n", strings.TrimSpace(spec.name+" "+spec.placeholder), spec.usage, spec.env(), spec.defaultText)
	}
}

func splitList(s string) []string {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// orNoLimit converts the user's 0 to the Config value for no limit.
func orNoLimit[T time.Duration | int64](parse func(string) (T, error)) func(string) (T, error) {
	return func(s string) (T, error) {
		n, err := parse(s)
		if n == 0 {
			n = -1
		}
		return n, err
	}
}

func parseNot(s string) (bool, error) {
	is, err := strconv.ParseBool(s)
	return !is, err
}

var errNegative = errors.New("must not be negative")

func parsePositive(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err == nil && n < 1 {
		err = strconv.ErrRange
	}
	return n, err
}

// parseDuration parses a Go duration that may start with days: 30d, 1d12h, 90m.
func parseDuration(s string) (time.Duration, error) {
	var total time.Duration
	if days, rest, ok := strings.Cut(s, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		if err != nil || n < 0 || n > 100_000 {
			return 0, strconv.ErrRange
		}
		total = time.Duration(n * float64(day))
		if s = rest; s == "" {
			return total, nil
		}
	}
	if s == "0" {
		return total, nil
	}
	d, err := time.ParseDuration(s)
	if d < 0 {
		return 0, errNegative
	}
	return total + d, err
}

// sizeUnits are powers of two; GiB, GB and G are the same.
var sizeUnits = map[string]int64{"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}

func parseSize(s string) (int64, error) {
	number := strings.ToLower(strings.TrimSpace(s))
	number = strings.TrimSuffix(strings.TrimSuffix(number, "b"), "i")
	unit := strings.TrimLeft(number, "0123456789.")
	factor, ok := sizeUnits[strings.TrimSpace(unit)]
	n, err := strconv.ParseFloat(strings.TrimSuffix(number, unit), 64)
	if !ok || err != nil || n < 0 || n*float64(factor) > 1<<50 {
		return 0, strconv.ErrSyntax
	}
	return int64(n * float64(factor)), nil
}
