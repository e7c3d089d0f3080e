package agentclient

import (
	"cmp"
	"os"
	"strings"

	"github.com/hookback/hookback/agentclient/internal/pins"
)

// TokenRefusedError reports that a token was not sent to a hub.
type TokenRefusedError = pins.TokenRefusedError

// credential returns the token of the options, else that of the environment.
func (o Options) credential() (pins.Credential, error) {
	token := cmp.Or(strings.TrimSpace(o.Token), o.getenv("HOOKBACK_TOKEN"))
	return pins.NewCredential(token, o.Token != "" && len(o.Hubs) > 0)
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
	return c.ForHub(hub, func() (*Trust, error) { return LoadTrust(o) })
}
