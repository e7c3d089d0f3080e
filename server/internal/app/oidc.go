package app

import (
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/hookback/hookback/agentclient/socket"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
)

// OIDC configures sign-in with an OpenID provider. The zero value disables it.
type OIDC struct {
	Issuer     string // issuer URL, the parent of /.well-known/openid-configuration
	Client     string // client id; default hookback
	SecretFile string // file with the client secret; empty: public client with PKCE
	Groups     string // claim with a person's groups; default groups
	// Roles maps groups to roles as GROUP=ROLE. It is applied at each sign-in.
	Roles []string
}

// check validates the settings before anything is opened.
func (o *OIDC) check() error {
	if o.Issuer == "" {
		for name, isSet := range map[string]bool{
			"client": o.Client != "", "secret-file": o.SecretFile != "", "groups": o.Groups != "", "roles": len(o.Roles) > 0,
		} {
			if isSet {
				return fmt.Errorf("-oidc-%s requires -oidc-issuer", name)
			}
		}
		return nil
	}
	u, err := url.Parse(o.Issuer)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && !(u.Scheme == "http" && socket.IsLoopback(u.Hostname())) {
		return fmt.Errorf("-oidc-issuer %s: must be an https address, such as https://login.example.com", o.Issuer)
	}
	_, err = o.parseRoles()
	return err
}

func (o *OIDC) parseRoles() (map[string]schema.Role, error) {
	roles := map[string]schema.Role{}
	for _, pair := range o.Roles {
		group, role, ok := strings.Cut(pair, "=")
		switch r := schema.Role(role); {
		case ok && group != "" && (r == schema.Viewer || r == schema.Operator || r == schema.Admin):
			roles[group] = r
		default:
			return nil, fmt.Errorf("-oidc-roles %s: must be GROUP=viewer, GROUP=operator or GROUP=admin", pair)
		}
	}
	return roles, nil
}

// newProvider returns the provider, or nil if none is configured. hub is the hub's URL as
// browsers see it.
func (o *OIDC) newProvider(hub string) (*auth.OIDC, error) {
	if o.Issuer == "" {
		return nil, nil
	}
	roles, err := o.parseRoles()
	if err != nil {
		return nil, err
	}
	p := &auth.OIDC{
		Issuer: o.Issuer, ClientID: "hookback", Groups: o.Groups, Roles: roles,
		CallbackURL: strings.TrimSuffix(withHostname(hub), "/") + schema.PathOIDCCallback,
	}
	if o.Client != "" {
		p.ClientID = o.Client
	}
	if o.SecretFile != "" {
		secret, err := os.ReadFile(o.SecretFile)
		if err != nil {
			return nil, fmt.Errorf("-oidc-secret-file: %w", err)
		}
		p.ClientSecret = strings.TrimSpace(string(secret))
	}
	return p, nil
}

// withHostname replaces a loopback address by localhost. Some providers reject callbacks
// to IP addresses, and passkeys need a host name.
func withHostname(hub string) string {
	u, err := url.Parse(hub)
	if err != nil {
		return hub
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.IsLoopback() {
		u.Host = "localhost:" + u.Port()
	}
	return u.String()
}
