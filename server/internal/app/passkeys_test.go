package app

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
)

// Passkeys belong to the host name of the hub's URL, if browsers support them there.
func TestNewPasskeys(t *testing.T) {
	t.Parallel()
	for hub, want := range map[string]auth.Passkeys{
		"http://127.0.0.1:4000":           {RPID: "localhost", Origin: "http://localhost:4000"},
		"http://[::1]:4000":               {RPID: "localhost", Origin: "http://localhost:4000"},
		"https://hub.example.com":         {RPID: "hub.example.com", Origin: "https://hub.example.com"},
		"https://hub.example.com:443/":    {RPID: "hub.example.com", Origin: "https://hub.example.com"},
		"https://hub.example.com:8443/in": {RPID: "hub.example.com", Origin: "https://hub.example.com:8443"},
	} {
		got, err := newPasskeys(schema.PasskeyForHigh, hub, nil)
		require.NoError(t, err, hub)
		want.For = schema.PasskeyForHigh
		require.Equal(t, want, *got, hub)
	}
	for _, hub := range []string{"http://hub.example.com", "https://192.0.2.7:4000", "http://0.0.0.0:4000", "https://[2001:db8::1]"} {
		_, err := newPasskeys(schema.PasskeyForCritical, hub, nil)
		require.ErrorContains(t, err, "-public-url", hub)
	}
	none, err := newPasskeys("", "http://hub.example.com", nil)
	require.NoError(t, err)
	require.Equal(t, auth.Passkeys{}, *none, "no address at which a browser supports them")
}
