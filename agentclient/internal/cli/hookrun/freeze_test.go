package hookrun

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/schema/control"
)

const remoteHub = "https://hub.example"

// freezeHook returns a hook of an account, which starts now, before a call of a session.
func freezeHook(t *testing.T, home, session string) (*hookRun, *hook.Call) {
	t.Helper()
	h := newHookRun(func(name string) string { return map[string]string{"HOME": home}[name] }, cli.Streams{})
	c := newCall(hook.Gate, allCapabilities)
	c.Event.SourceApp, c.Event.SessionID = "shop", session
	return h, c
}

// Hooks of several sessions get their answers at the same time.
func TestRememberFreeze_InParallel(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	var group sync.WaitGroup
	const sessions = 20
	for i := range sessions {
		h, c := freezeHook(t, home, fmt.Sprint(i))
		group.Go(func() {
			h.rememberFreeze(c, []string{remoteHub}, &control.FreezeNotice{ID: int64(i), Scope: control.FreezeSession, By: "Ada"})
		})
	}
	group.Wait()
	for i := range sessions {
		h, c := freezeHook(t, home, fmt.Sprint(i))
		require.NotNil(t, h.knownFreeze(c, []string{remoteHub}), "session %d", i)
		require.Nil(t, h.knownFreeze(c, []string{"https://other.example"}))
	}
	h, c := freezeHook(t, home, "another")
	require.Nil(t, h.knownFreeze(c, []string{remoteHub}))
}

// A hook that the hub answered before the freeze began can report it later.
func TestRememberFreeze_OlderAnswerLiftsNothing(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	hubs := []string{remoteHub}
	older, c := freezeHook(t, home, "s")
	h, _ := freezeHook(t, home, "s")
	h.rememberFreeze(c, hubs, &control.FreezeNotice{ID: 1, By: "Ada"})
	older.rememberFreeze(c, hubs, nil)
	require.NotNil(t, h.knownFreeze(c, hubs))
	h.started = time.Now().Add(time.Millisecond)
	h.rememberFreeze(c, hubs, nil)
	require.Nil(t, h.knownFreeze(c, hubs))
}

// The directory of the freezes is limited, and one that can't be read freezes everything.
func TestRememberFreeze_IsLimited(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	hubs := []string{remoteHub}
	for i := range maxRemembered + 5 {
		h, c := freezeHook(t, home, fmt.Sprint(i))
		h.rememberFreeze(c, hubs, &control.FreezeNotice{ID: int64(i), Scope: control.FreezeSession})
	}
	h, c := freezeHook(t, home, fmt.Sprint(maxRemembered+4))
	require.NotNil(t, h.knownFreeze(c, hubs))
	require.Len(t, h.remembered(remoteHub), maxRemembered)

	dir := h.rememberedDir(remoteHub)
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.WriteFile(dir, []byte("no directory"), 0o600))
	require.NotNil(t, h.knownFreeze(c, hubs))
}

// The hook can't know which folder of a workspace the session began in, so the freezes of all apply.
func TestKnownFreeze_OfAnyFolderOfTheWorkspace(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	hubs := []string{remoteHub}
	inFolder := func(app string, roots ...string) (*hookRun, *hook.Call) {
		h, c := freezeHook(t, home, "s")
		c.Event.SourceApp, c.Roots = app, roots
		return h, c
	}
	h, c := inFolder("api", "/home/dev/shop", "/home/dev/api")
	h.rememberFreeze(c, hubs, &control.FreezeNotice{ID: 1, Scope: control.FreezeApp, SourceApp: "shop"})
	require.NotNil(t, h.knownFreeze(c, hubs))
	h, c = inFolder("shop", "/home/dev/shop")
	require.NotNil(t, h.knownFreeze(c, hubs))
	h, c = inFolder("api", "/home/dev/api")
	require.Nil(t, h.knownFreeze(c, hubs), "no folder of the frozen application")
	h, c = inFolder("chosen", "/home/dev/shop")
	h.app = "chosen"
	require.Nil(t, h.knownFreeze(c, hubs), "a person named the application")
	h, c = inFolder("api", "/home/dev/shop", "/home/dev/api")
	h.started = time.Now().Add(time.Millisecond)
	h.rememberFreeze(c, hubs, nil)
	require.Nil(t, h.knownFreeze(c, hubs))
}
