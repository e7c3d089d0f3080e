package hookrun

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/socket"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// A freeze holds while the hub does not answer. A hub on this machine repeats its freezes in a file
// next to its socket. The hook remembers those of any other hub, until the hub answers a call of their
// scope without one.

// maxRemembered is how many freezes of a hub are remembered. The oldest ones are dropped.
const maxRemembered = 100

// knownFreeze returns the freeze that stops the call although no hub answered about it; nil if none is
// known.
func (h *hookRun) knownFreeze(c *hook.Call, hubs []string) *control.FreezeNotice {
	if h.observe || !c.StopsWhenFrozen() {
		return nil
	}
	for _, hub := range hubs {
		freezes, isKnown := socket.FreezesOf(hub)
		if !isKnown {
			freezes = socket.ReadFreezes(h.rememberedFile(hub))
		}
		for _, f := range freezes {
			if stops(&f, &c.Event) {
				recordFreeze(&c.Event)
				return f.Notice()
			}
		}
	}
	return nil
}

// stops reports whether the freeze stops the event's session. The hub keeps the application of a session whose
// agent changes the directory, and the hook may name another one, so the session's id decides.
func stops(f *control.Freeze, e *schema.Event) bool {
	return f.Stops(e.SourceApp, e.SessionID) || f.Scope == control.FreezeSession && f.Stops(f.SourceApp, e.SessionID)
}

// recordFreeze adds to the event that the hook denied the call by itself.
func recordFreeze(e *schema.Event) {
	if e.Extra == nil {
		e.Extra = map[string]json.RawMessage{}
	}
	e.Extra[control.HookMember] = json.RawMessage(`{"verdict":"` + control.VerdictDeny + `","by":"` + control.ByFreeze + `"}`)
}

// rememberedFile returns the file of the remembered freezes of a hub, in the account's home: the environment
// can't name another one. It returns "" if the account has no home.
func (h *hookRun) rememberedFile(hub string) string {
	home := cli.AccountHome(h.env)
	if home == "" {
		return ""
	}
	return filepath.Join(home, ".local", "state", "hookback", "frozen-"+hashOf([]byte(strings.TrimRight(hub, "/")))[:16])
}

// rememberFreeze remembers the hub's answer about this call: the freeze that stops it, or nil.
func (h *hookRun) rememberFreeze(c *hook.Call, hubs []string, notice *control.FreezeNotice) {
	for _, hub := range hubs {
		if _, isKnown := socket.FreezesOf(hub); isKnown {
			continue
		}
		file := h.rememberedFile(hub)
		if _, err := os.Lstat(file); notice == nil && err != nil {
			continue // the usual case
		}
		known := socket.ReadFreezes(file)
		freezes := slices.DeleteFunc(slices.Clone(known), func(f control.Freeze) bool {
			return stops(&f, &c.Event)
		})
		if notice != nil {
			freezes = append(freezes, freezeOf(&c.Event, notice))
			freezes = freezes[max(0, len(freezes)-maxRemembered):]
		}
		if !slices.Equal(freezes, known) {
			h.writeRemembered(file, freezes)
		}
	}
}

func (h *hookRun) writeRemembered(file string, freezes []control.Freeze) {
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	switch {
	case err != nil:
	case len(freezes) == 0:
		err = os.Remove(file)
	default:
		err = socket.WriteFreezes(file, freezes, 0o600)
	}
	if err != nil && !os.IsNotExist(err) {
		h.logf("freezes of the hub not remembered: %v", err)
	}
}

// freezeOf returns the freeze of a notice to the hook of this event.
func freezeOf(e *schema.Event, n *control.FreezeNotice) control.Freeze {
	f := control.Freeze{ID: n.ID, Scope: n.Scope, By: n.By}
	if f.Scope == control.FreezeApp || f.Scope == control.FreezeSession {
		f.SourceApp = e.SourceApp
	}
	if f.Scope == control.FreezeSession {
		f.SessionID = e.SessionID
	}
	return f
}
