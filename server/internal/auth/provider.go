package auth

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/hookback/hookback/schema"
)

const providerTimeout = 10 * time.Second

// OIDC is an OpenID provider that people sign in with. A successful sign-in there yields a
// one-time code of the hub, so that browsers create sessions in one way only.
type OIDC struct {
	Issuer, ClientID, ClientSecret string
	// CallbackURL is where the provider redirects browsers: schema.PathOIDCCallback at the
	// hub's address as browsers see it.
	CallbackURL string
	// Groups is the claim with a person's groups. Roles maps groups to roles; the highest
	// role applies and is updated at each sign-in. Without Roles a new person is a viewer.
	Groups string                 // default "groups"
	Roles  map[string]schema.Role // group → role

	mu       sync.Mutex
	provider *oidc.Provider // nil until discovery has succeeded
}

// discover returns the client configuration and the token verifier. It fetches the
// provider's metadata until that has succeeded once.
func (o *OIDC) discover(ctx context.Context) (*oauth2.Config, *oidc.IDTokenVerifier, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.provider == nil {
		ctx, cancel := context.WithTimeout(ctx, providerTimeout)
		defer cancel()
		provider, err := oidc.NewProvider(ctx, o.Issuer)
		if err != nil {
			return nil, nil, err
		}
		o.provider = provider
	}
	client := &oauth2.Config{
		ClientID: o.ClientID, ClientSecret: o.ClientSecret, RedirectURL: o.CallbackURL,
		Endpoint: o.provider.Endpoint(), Scopes: []string{oidc.ScopeOpenID, "profile", "email"},
	}
	return client, o.provider.VerifierContext(context.Background(), &oidc.Config{ClientID: o.ClientID}), nil
}

// providerClaims are the relevant claims about a person.
type providerClaims struct {
	subject        string // issuer and sub, which together are unique and permanent
	names          []string
	email          string // only if verified
	role           schema.Role
	roleFromGroups bool // role was derived from groups and replaces the stored one
}

// fetchClaims returns the claims of the ID token. Some providers return names and groups
// only from the userinfo endpoint, which is queried if they are missing.
func (o *OIDC) fetchClaims(ctx context.Context, id *oidc.IDToken, tokens oauth2.TokenSource) (map[string]any, error) {
	var claims map[string]any
	if err := id.Claims(&claims); err != nil {
		return nil, err
	}
	named := slices.ContainsFunc(nameClaims, func(name string) bool { return claims[name] != nil })
	if named && (len(o.Roles) == 0 || claims[o.groupsClaim()] != nil) {
		return claims, nil
	}
	// If userinfo fails, the ID token is still enough for people who have an account.
	if info, err := o.provider.UserInfo(ctx, tokens); err == nil && info.Subject == id.Subject {
		var extra map[string]any
		if err := info.Claims(&extra); err != nil {
			return nil, err
		}
		maps.Copy(extra, claims)
		claims = extra
	}
	return claims, nil
}

// nameClaims are the claims that can serve as a name, the preferred one first.
var nameClaims = []string{"preferred_username", "name", "email"}

func (o *OIDC) groupsClaim() string { return cmp.Or(o.Groups, "groups") }

func (o *OIDC) parseClaims(claims map[string]any) *providerClaims {
	issuer, _ := claims["iss"].(string)
	subject, _ := claims["sub"].(string)
	parsed := &providerClaims{subject: issuer + " " + subject, role: schema.Viewer, roleFromGroups: len(o.Roles) > 0}
	if claims["email_verified"] == true || claims["email_verified"] == "true" { // some providers send a string
		parsed.email, _ = claims["email"].(string)
	}
	for _, name := range nameClaims {
		if text, ok := claims[name].(string); ok && (name != "email" || parsed.email != "") {
			parsed.names = append(parsed.names, text)
		}
	}
	for _, group := range claimStrings(claims[o.groupsClaim()]) {
		if role, ok := o.Roles[group]; ok && slices.Index(roleOrder, role) > slices.Index(roleOrder, parsed.role) {
			parsed.role = role
		}
	}
	return parsed
}

// claimStrings returns the strings of a claim that is a list or a space-separated string.
func claimStrings(claim any) (list []string) {
	switch v := claim.(type) {
	case string:
		return strings.Fields(v)
	case []any:
		for _, item := range v {
			if text, ok := item.(string); ok {
				list = append(list, text)
			}
		}
	}
	return list
}
