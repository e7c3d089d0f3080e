package pins

import (
	"fmt"
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

// Credential is a client's token with the origins that may receive it.
type Credential struct {
	token  string
	origin string // named in the token itself; empty: the origins of the pins
	byCode bool   // code sets both the token and the addresses
}

// NewCredential parses a token. TOKEN@https://hub.example belongs to that origin. byCode
// means that code sets both the token and the addresses.
func NewCredential(token string, byCode bool) (Credential, error) {
	c := Credential{token: strings.TrimSpace(token), byCode: byCode}
	if i := strings.Index(c.token, "@http"); i > 0 {
		origin, err := OriginOf(c.token[i+1:])
		if err != nil {
			return Credential{}, fmt.Errorf("%w: the address in the token after @ is not an origin such as https://hub.example", schema.ErrInvalid)
		}
		c.token, c.origin = c.token[:i], origin
	}
	// A header takes printable ASCII without spaces.
	if strings.ContainsFunc(c.token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return Credential{}, fmt.Errorf("%w: Options.Token or HOOKBACK_TOKEN contains characters that are not allowed in a token", schema.ErrInvalid)
	}
	return c, nil
}

// ForHub returns the token if this address may receive it, else the reason as a
// *TokenRefusedError. trust is called only if the answer depends on the pins.
func (c Credential) ForHub(hub string, trust func() (*Trust, error)) (string, error) {
	if c.token == "" {
		return "", nil
	}
	if c.origin != "" {
		if origin, err := OriginOf(hub); err != nil || origin != c.origin {
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
		return "", &TokenRefusedError{hub, "this account trusts " + origins(t) + " only"}
	}
}
