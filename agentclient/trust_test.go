package agentclient_test

import (
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/fakehub"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
)

const hub4000 = "http://127.0.0.1:4000"

// The administrator's file wins over code, and code over the account's file.
func TestTrust_Sources(t *testing.T) {
	t.Parallel()
	user, code, system := fakehub.Hub{Key: fakehub.NewKey()}, fakehub.Hub{Key: fakehub.NewKey()}, fakehub.Hub{Key: fakehub.NewKey()}
	userFile, systemFile := knownHubs(t, user.PinLineFor(hub4000)), knownHubs(t, "# the team's hub\n\n", system.PinLineFor("https://hub.example"))
	none := filepath.Join(t.TempDir(), "none")
	inCode := []string{code.PublicKey()}
	for name, test := range map[string]struct {
		o      agentclient.Options
		system string
		want   string // key id and origin
		file   string
	}{
		"nothing":       {agentclient.Options{KnownHubs: none}, none, "", none},
		"no home":       {agentclient.Options{}, none, "", ""},
		"user":          {agentclient.Options{KnownHubs: userFile}, none, user.KeyID() + " (" + hub4000 + ")", userFile},
		"code":          {agentclient.Options{KnownHubs: userFile, HubKeys: inCode, Hubs: []string{"HTTPS://Hub.example:443/"}}, none, code.KeyID() + " (https://hub.example)", ""},
		"code, default": {agentclient.Options{HubKeys: inCode}, none, code.KeyID() + " (" + hub4000 + ")", ""},
		"system":        {agentclient.Options{KnownHubs: userFile, HubKeys: inCode}, systemFile, system.KeyID() + " (https://hub.example)", systemFile},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trust, err := agentclient.LoadTrustFrom(test.o, test.system, os.Getuid())
			require.NoError(t, err)
			require.Equal(t, test.file, trust.File())
			var got string
			for _, p := range trust.Pins() {
				got += p.String()
			}
			require.Equal(t, test.want, got)
		})
	}
}

// A pin file that another account may change, or that can't be read, is not "no pin".
func TestTrust_UnusableFileFailsClosed(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("files have no mode on Windows")
	}
	line := otherHub.PinLineFor(hub4000)
	none := filepath.Join(t.TempDir(), "none")
	for name, test := range map[string]struct {
		text   string
		mode   os.FileMode
		owner  int
		system bool
		want   string
	}{
		"system, other owner":    {line, 0o644, os.Getuid() + 1, true, "belongs to user id"},
		"system, group writable": {line, 0o664, os.Getuid(), true, "has mode 0664"},
		"system, empty":          {"# none yet\n", 0o644, os.Getuid(), true, "lists no hub"},
		"system, no key":         {"http://x ed25519 AAAA\n", 0o644, os.Getuid(), true, ":1: \"AAAA\" is not the base64 form"},
		"user, readable":         {line, 0o644, 0, false, "has mode 0644; it may have at most 0600 (chmod 600)"},
		"user, group writable":   {line, 0o620, 0, false, "has mode 0620"},
		"user, bad line":         {line + "nonsense\n", 0o600, 0, false, ":2: a line must have the form ORIGIN ed25519 BASE64"},
		"user, other algorithm":  {"http://x rsa AAAA\n", 0o600, 0, false, ":1: a line must have the form"},
		"user, no origin":        {strings.Replace(line, hub4000, "x", 1), 0o600, 0, false, ":1: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := knownHubs(t, test.text)
			require.NoError(t, os.Chmod(file, test.mode))
			system, o := none, agentclient.Options{KnownHubs: file}
			if test.system {
				system, o = file, agentclient.Options{KnownHubs: none, HubKeys: []string{otherHub.PublicKey()}}
			}
			_, err := agentclient.LoadTrustFrom(o, system, test.owner)
			require.ErrorContains(t, err, test.want)
			require.ErrorContains(t, err, file)
			if !test.system {
				b := setup(t, &fixtureConfig{opts: agentclient.Options{KnownHubs: file, OnUnreachable: agentclient.Allow}})
				d, err := b.client.AskPermission(b.ctx, "Go?")
				require.ErrorContains(t, err, test.want)
				require.False(t, d.Approved())
				require.Empty(t, b.hub.Events())
			}
		})
	}
}

func TestTrust_Remember(t *testing.T) {
	t.Parallel()
	a, b := fakehub.Hub{Key: fakehub.NewKey()}, fakehub.Hub{Key: fakehub.NewKey()}
	file := knownHubs(t, "# mine\n", a.PinLineFor(hub4000))
	load := func() *agentclient.Trust {
		trust, err := agentclient.LoadTrust(agentclient.Options{KnownHubs: file})
		require.NoError(t, err)
		return trust
	}
	trust := load()
	key, err := sign.ParsePublicKey(b.PublicKey())
	require.NoError(t, err)
	require.NoError(t, trust.Remember(agentclient.Pin{Origin: "https://hub.example", Key: key}))
	require.Equal(t, "# mine\n"+a.PinLineFor(hub4000)+b.PinLineFor("https://hub.example"), readFile(t, file))
	require.Len(t, trust.Pins(), 2)
	require.NoError(t, load().Remember(agentclient.Pin{Origin: hub4000, Key: key}))
	require.Equal(t, "# mine\n"+b.PinLineFor("https://hub.example")+b.PinLineFor(hub4000), readFile(t, file))
	require.True(t, load().HasOrigin("http://127.0.0.1:4000/"))
	require.False(t, load().HasOrigin("http://localhost:4000"))

	system, err := agentclient.LoadTrustFrom(agentclient.Options{}, file, os.Getuid())
	require.NoError(t, err)
	require.ErrorContains(t, system.Remember(agentclient.Pin{Origin: hub4000, Key: key}), "only its administrator changes them")
}

// Programs that pin at the same time lose no pin.
func TestTrust_ConcurrentWriters(t *testing.T) {
	t.Parallel()
	file := knownHubs(t)
	key, err := sign.ParsePublicKey(otherHub.PublicKey())
	require.NoError(t, err)
	var writers sync.WaitGroup
	origins := strings.Split("http://a http://b http://c http://d http://e http://f", " ")
	for _, origin := range origins {
		writers.Go(func() {
			trust, err := agentclient.LoadTrust(agentclient.Options{KnownHubs: file})
			if err == nil {
				err = trust.Remember(agentclient.Pin{Origin: origin, Key: key})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	trust, err := agentclient.LoadTrust(agentclient.Options{KnownHubs: file})
	require.NoError(t, err)
	require.Len(t, trust.Pins(), len(origins))
	left, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*"))
	require.NoError(t, err)
	require.Equal(t, []string{file}, left, "no lock and no temporary file")
}

func TestOriginOf(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"http://127.0.0.1:4000": "http://127.0.0.1:4000", "HTTP://Hub:80/x": "http://hub", "https://hub:443": "https://hub",
		"https://hub:8443/a": "https://hub:8443", "http://[::1]:4000": "http://[::1]:4000", "unix:///run/h.sock": "unix:///run/h.sock",
	} {
		got, err := agentclient.OriginOf(address)
		require.NoError(t, err)
		require.Equal(t, want, got, address)
	}
	for _, address := range []string{"", "x", "http://", "://"} {
		_, err := agentclient.OriginOf(address)
		require.ErrorIs(t, err, schema.ErrInvalid, address)
	}
}

// A token belongs to an origin. The environment can't send it elsewhere.
func TestToken_BelongsToOrigin(t *testing.T) {
	t.Parallel()
	pinned, fake := "http://127.0.0.1:4000", "http://127.0.0.1:4350"
	pin := []string{otherHub.PinLineFor(pinned)}
	token := func(value string) func(string) string { return environment(map[string]string{"HOOKBACK_TOKEN": value}) }
	for name, test := range map[string]struct {
		o    agentclient.Options
		pins []string
		hub  string
		want string
		err  string
	}{
		"no pin":           {o: agentclient.Options{Env: token("t")}, hub: fake, want: "t"},
		"pinned":           {o: agentclient.Options{Env: token(" t\n")}, pins: pin, hub: pinned, want: "t"},
		"not pinned":       {o: agentclient.Options{Env: token("t")}, pins: pin, hub: fake, err: "HOOKBACK_TOKEN was not sent to http://127.0.0.1:4350: this account trusts http://127.0.0.1:4000 only"},
		"flag, not pinned": {o: agentclient.Options{Env: token("t"), Hubs: []string{fake}}, pins: pin, hub: fake, err: "this account trusts"},
		"code and hubs":    {o: agentclient.Options{Token: "t", Hubs: []string{fake}}, pins: pin, hub: fake, want: "t"},
		"code, hub of the environment": {
			o: agentclient.Options{Token: "t", Env: environment(map[string]string{"HOOKBACK_URL": fake})}, pins: pin, hub: fake, err: "this account trusts",
		},
		"named origin":            {o: agentclient.Options{Env: token("t@http://127.0.0.1:4350/")}, pins: pin, hub: fake, want: "t"},
		"another named origin":    {o: agentclient.Options{Env: token("t@https://hub.example")}, pins: pin, hub: pinned, err: "it is for https://hub.example only"},
		"named origin, no pin":    {o: agentclient.Options{Env: token("t@https://hub.example")}, hub: fake, err: "it is for https://hub.example only"},
		"no token":                {pins: pin, hub: fake},
		"named origin is invalid": {o: agentclient.Options{Env: token("t@http://")}, hub: fake, err: "is not an origin"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.o.KnownHubs = knownHubs(t, test.pins...)
			if test.o.Env == nil {
				test.o.Env = environment(nil)
			}
			got, err := agentclient.TokenFor(test.o, test.hub)
			require.Equal(t, test.want, got)
			if test.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.err)
		})
	}
}

// A refused token explains the hub's rejection.
func TestToken_RefusalExplainsRejection(t *testing.T) {
	t.Parallel()
	var got []string
	address := httpServer(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		fakehub.Refuse(w, schema.ErrSignIn)
	})
	c := newClient(t, agentclient.Options{
		KnownHubs: knownHubs(t, otherHub.PinLineFor(hub4000)),
		Env:       environment(map[string]string{"HOOKBACK_URL": address, "HOOKBACK_TOKEN": "t"}),
	}, agentclient.Timings{})
	_, err := c.Send(testContext(t), schema.Event{HookEventType: "Stop"})
	require.ErrorIs(t, err, schema.ErrSignIn)
	var refused *agentclient.TokenRefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, address, refused.Hub)
	require.Equal(t, []string{""}, got)
}
