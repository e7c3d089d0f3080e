package agentclient

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/hookback/hookback/schema"
)

// TokenRefusedError reports that a token was not sent to a hub.
type TokenRefusedError struct {
	Hub    string // the address that did not get the token
	Reason string
}

func (e *TokenRefusedError) Error() string {
	return "HOOKBACK_TOKEN was not sent to " + e.Hub + ": " + e.Reason
}

// credential is a client's token with the origins that may receive it.
type credential struct {
	token  string
	origin string // named in the token itself; empty: the origins of the pins
	byCode bool   // code sets both the token and the addresses
}

// newCredential parses a token. TOKEN@https://hub.example belongs to that origin. byCode
// means that code sets both the token and the addresses.
func newCredential(token string, byCode bool) (credential, error) {
	c := credential{token: strings.TrimSpace(token), byCode: byCode}
	if i := strings.Index(c.token, "@http"); i > 0 {
		origin, err := originOf(c.token[i+1:])
		if err != nil {
			return credential{}, fmt.Errorf("%w: the address in the token after @ is not an origin such as https://hub.example", schema.ErrInvalid)
		}
		c.token, c.origin = c.token[:i], origin
	}
	// A header takes printable ASCII without spaces.
	if strings.ContainsFunc(c.token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return credential{}, fmt.Errorf("%w: Options.Token or HOOKBACK_TOKEN contains characters that are not allowed in a token", schema.ErrInvalid)
	}
	return c, nil
}

// forHub returns the token if this address may receive it, else the reason as a
// *TokenRefusedError. trust is called only if the answer depends on the pins.
func (c credential) forHub(hub string, trust func() (*Trust, error)) (string, error) {
	if c.token == "" {
		return "", nil
	}
	if c.origin != "" {
		if origin, err := originOf(hub); err != nil || origin != c.origin {
			return "", &TokenRefusedError{hub, "it is for " + c.origin + " only"}
		}
		return c.token, nil
	}
	if c.byCode {
		return c.token, nil
	}
	t, err := trust()
	switch {
	case err != nil:
		return "", &TokenRefusedError{hub, err.Error()}
	case len(t.Pins()) == 0 || t.HasOrigin(hub):
		return c.token, nil
	default:
		return "", &TokenRefusedError{hub, "this account trusts " + t.origins() + " only"}
	}
}

// credential returns the token of the options, else that of the environment.
func (o Options) credential() (credential, error) {
	token := cmp.Or(strings.TrimSpace(o.Token), o.getenv("HOOKBACK_TOKEN"))
	return newCredential(token, o.Token != "" && len(o.Hubs) > 0)
}

// getenv reads a variable of the client's environment.
func (o Options) getenv(name string) string {
	if o.Env != nil {
		return o.Env(name)
	}
	return os.Getenv(name) //nolint:forbidigo // the documented default of Options.Env
}

// TokenFor returns the token that a client with these options sends to a hub address, or
// "" without one. The error is a *TokenRefusedError if the address may not receive the
// token, else it wraps schema.ErrInvalid. It is for programs that make their own requests.
func TokenFor(o Options, hub string) (string, error) {
	c, err := o.credential()
	if err != nil {
		return "", err
	}
	return c.forHub(hub, func() (*Trust, error) { return LoadTrust(o) })
}
