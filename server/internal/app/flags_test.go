package app

import (
	"bytes"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

func envOf(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestParseFlags_Defaults(t *testing.T) {
	t.Parallel()
	cfg, rest, err := ParseFlags(nil, envOf("XDG_DATA_HOME", t.TempDir()), io.Discard)
	require.NoError(t, err)
	require.Empty(t, rest)
	require.Equal(t, "127.0.0.1:4000", cfg.Addr)
	require.Equal(t, 30*24*time.Hour, cfg.Retention)
	require.Equal(t, int64(2<<30), cfg.RetentionSize)
	require.Equal(t, 365*24*time.Hour, cfg.RetentionQuestions)
	require.False(t, cfg.KeepSecrets)
	require.Equal(t, filepath.Join("hookback", "hookback.db"), filepath.Join(filepath.Base(filepath.Dir(cfg.DB)), filepath.Base(cfg.DB)))
}

// Each flag is set by flag and by variable; the flag overrides the variable.
func TestParseFlags_EveryFlag(t *testing.T) {
	t.Parallel()
	type want = func(Config) any
	for name, c := range map[string]struct {
		text, other string
		want        any
		get         want
	}{
		"addr":                {"localhost:0", "127.0.0.1:1", "localhost:0", func(c Config) any { return c.Addr }},
		"insecure":            {"true", "false", true, func(c Config) any { return c.Insecure }},
		"tls-cert":            {"a.pem", "b.pem", "a.pem", func(c Config) any { return c.TLSCert }},
		"tls-key":             {"a.key", "b.key", "a.key", func(c Config) any { return c.TLSKey }},
		"trust-proxy":         {"10.0.0.5, 10.1.0.0/16", "::1", []string{"10.0.0.5", "10.1.0.0/16"}, func(c Config) any { return c.TrustProxy }},
		"proxy-header":        {"X-User", "X-Other", "X-User", func(c Config) any { return c.ProxyHeader }},
		"socket":              {"/run/a.sock", "off", "/run/a.sock", func(c Config) any { return c.Socket }},
		"local-users":         {"root,all", "own", []string{"root", "all"}, func(c Config) any { return c.LocalUsers }},
		"db":                  {"here.db", "there.db", "here.db", func(c Config) any { return c.DB }},
		"bus":                 {"none", "notify", "none", func(c Config) any { return c.Bus }},
		"drain":               {"5s", "1s", 5 * time.Second, func(c Config) any { return c.Drain }},
		"allow-origin":        {"http://a:1, https://b", "http://c", []string{"http://a:1", "https://b"}, func(c Config) any { return c.AllowOrigins }},
		"allow-host":          {"a,b:2", "c", []string{"a", "b:2"}, func(c Config) any { return c.AllowHosts }},
		"passkeys":            {"high", "unknown", schema.PasskeyForHigh, func(c Config) any { return c.Passkeys }},
		"public-url":          {"https://hub.example.com", "https://b", "https://hub.example.com", func(c Config) any { return c.PublicURL }},
		"callback-allow":      {"10.0.0.0/8", "x", []string{"10.0.0.0/8"}, func(c Config) any { return c.CallbackAllow }},
		"notify-allow":        {"10.0.0.0/8", "x", []string{"10.0.0.0/8"}, func(c Config) any { return c.NotifyAllow }},
		"max-pending":         {"500", "7", 500, func(c Config) any { return c.MaxPending }},
		"notify-proxy":        {"http://proxy:3128", "x", "http://proxy:3128", func(c Config) any { return c.NotifyProxy }},
		"retention":           {"1d12h", "2d", 36 * time.Hour, func(c Config) any { return c.Retention }},
		"retention-size":      {"1.5GiB", "1", int64(3 << 29), func(c Config) any { return c.RetentionSize }},
		"retention-questions": {"0", "1d", time.Duration(-1), func(c Config) any { return c.RetentionQuestions }},
		"trust-clock":         {"true", "false", true, func(c Config) any { return c.TrustClock }},
		"oidc-client":         {"hub", "h", "hub", func(c Config) any { return c.OIDC.Client }},
		"oidc-secret-file":    {"/run/secret", "b", "/run/secret", func(c Config) any { return c.OIDC.SecretFile }},
		"oidc-groups":         {"roles", "b", "roles", func(c Config) any { return c.OIDC.Groups }},
		"oidc-roles":          {"devs=operator,ops=admin", "a=viewer", []string{"devs=operator", "ops=admin"}, func(c Config) any { return c.OIDC.Roles }},
		"oidc-issuer":         {"https://login.example.com", "https://b", "https://login.example.com", func(c Config) any { return c.OIDC.Issuer }},
		"nudge-after":         {"1h", "2h", time.Hour, func(c Config) any { return c.NudgeAfter }},
		"test-request":        {"true", "false", true, func(c Config) any { return c.TestRequest }},
		"freeze-after":        {"5", "2", 5, func(c Config) any { return c.FreezeAfter }},
		"redact":              {"false", "true", true, func(c Config) any { return c.KeepSecrets }},
		"log-level":           {"debug", "warn", slog.LevelDebug, func(c Config) any { return c.LogLevel }},
		"ready-json":          {"true", "false", true, func(c Config) any { return c.ReadyJSON }},
		"log-format":          {"json", "text", "json", func(c Config) any { return c.LogFormat }},
	} {
		variable := "HOOKBACK_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		const oidc = "-oidc-issuer=https://login.example.com"
		var with []string // other flags that it requires
		if other := map[string]string{"tls-cert": "-tls-key=k", "tls-key": "-tls-cert=c", "trust-proxy": "-proxy-header=X-User", "proxy-header": "-trust-proxy=::1",
			"bus": "-db=postgres://localhost/hub", "oidc-client": oidc, "oidc-secret-file": oidc, "oidc-groups": oidc, "oidc-roles": oidc,
		}[name]; other != "" {
			with = []string{other}
		}
		cfg, _, err := ParseFlags(with, envOf(variable, c.text), io.Discard)
		require.NoError(t, err, variable)
		require.Equal(t, c.want, c.get(cfg), variable)
		cfg, rest, err := ParseFlags(append(with, "-"+name+"="+c.text, "more"), envOf(variable, c.other), io.Discard)
		require.NoError(t, err, name)
		require.Equal(t, c.want, c.get(cfg), name)
		require.Equal(t, []string{"more"}, rest)
	}
	require.Len(t, flagsOf(new(Config)), 35, "add a row for the new flag")
}

func TestParseFlags_HelpListsAllFlags(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	_, _, err := ParseFlags([]string{"-help"}, envOf(), &out)
	require.ErrorIs(t, err, ErrHelp)
	for _, spec := range flagsOf(new(Config)) {
		require.Contains(t, out.String(), "-"+spec.name)
		require.Contains(t, out.String(), spec.env())
		require.NotEmpty(t, spec.usage)
		require.NotEmpty(t, spec.defaultText)
	}
	require.Contains(t, out.String(), "backup FILE")
}

// Each error is one line and names the flag.
func TestParseFlags_ErrorsNameFlag(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ arg, want string }{
		{"-addr=4000", "must be host:port"},
		{"-addr=127.0.0.1:99999", "must be host:port"},
		{"-addr=127.0.0.1:http-ish", "must be host:port"},
		{"-addr=0.0.0.0:4000", "-tls-cert FILE"},
		{"-addr=:4000", "without TLS"},
		{"-addr=hub.example.com:4000", "-insecure"},
		{"-tls-cert=c.pem", "must be set together"},
		{"-trust-proxy=10.0.0.5", "must be set together"},
		{"-proxy-header=X-User", "must be set together"},
		{"-trust-proxy=proxy.example.com -proxy-header=X-User", "a CIDR"},
		{"-proxy-header=Authorization -trust-proxy=10.0.0.5", "does not name a person"},
		{"-proxy-header=X-User: -trust-proxy=10.0.0.5", "name of a header"},
		{"-oidc-issuer=http://login.example.com", "must be an https address"},
		{"-oidc-client=hub", "requires -oidc-issuer"},
		{"-oidc-roles=admins=admin", "requires -oidc-issuer"},
		{"-retention=soon", "must be a duration"},
		{"-retention=-1h", "must be a duration"},
		{"-retention=1dd", "must be a duration"},
		{"-retention-size=big", "must be a size"},
		{"-retention-size=-1", "must be a size"},
		{"-retention-size=1XB", "must be a size"},
		{"-bus=notify", "-bus needs -db postgres://…"},
		{"-bus=none", "-bus needs -db postgres://…"},
		{"-bus=nats://u:secret@h -db=postgres://localhost/hub", "-bus: must be notify or none"},
		{"-drain=-1s", "must be a duration"},
		{"-log-level=loud", "must be debug, info, warn or error"},
		{"-log-format=xml", "must be text or json"},
		{"-passkeys=low", "high or critical"},
		{"-redact=maybe", "must be true or false"},
		{"-allow-origin=*", "must be one origin"},
		{"-allow-origin=localhost:5173", "must be one origin"},
		{"-allow-origin=http://a/b", "must be one origin"},
		{"-public-url=https://a.example/hookback", "must have no path"},
		{"-allow-host=http://a", "must be a host name"},
		{"-socket=hub.sock", "an absolute path"},
		{"-local-users=no-such-account", "no such account"},
		{"-colour=red", "-help lists"},
	} {
		_, _, err := ParseFlags(strings.Fields(c.arg), envOf("XDG_DATA_HOME", t.TempDir()), io.Discard)
		require.ErrorContains(t, err, c.want, c.arg)
		require.NotContains(t, err.Error(), "\n")
		require.NotContains(t, err.Error(), "secret")
		name, _, _ := strings.Cut(c.arg, "=")
		require.ErrorContains(t, err, name)
	}
	_, _, err := ParseFlags(nil, envOf("HOOKBACK_RETENTION", "soon"), io.Discard)
	require.ErrorContains(t, err, "HOOKBACK_RETENTION")
}

func TestParseSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "1024": 1024, "10k": 10 << 10, "10KB": 10 << 10, "2MiB": 2 << 20, "3 GiB": 3 << 30, "1T": 1 << 40, "0.5m": 1 << 19, "7b": 7,
	} {
		got, err := parseSize(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func FuzzFlagValues(f *testing.F) {
	f.Add("30d", "2GiB")
	f.Fuzz(func(t *testing.T, duration, size string) {
		if d, err := parseDuration(duration); err == nil {
			require.GreaterOrEqual(t, d, time.Duration(0), duration)
		}
		if n, err := parseSize(size); err == nil {
			require.GreaterOrEqual(t, n, int64(0), size)
		}
	})
}
