package hookrun

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/project"
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
			freezes = slices.Collect(maps.Values(h.remembered(hub)))
		}
		for _, f := range freezes {
			if h.isStopped(c, &f) {
				recordFreeze(&c.Event)
				return f.Notice()
			}
		}
	}
	return nil
}

// isStopped reports whether the freeze stops the call. The hub keeps the application of a session whose agent changes
// the directory, and the hook may name another one: the session's id decides, and any folder of its workspace.
func (h *hookRun) isStopped(c *hook.Call, f *control.Freeze) bool {
	e := &c.Event
	if f.Scope == control.FreezeSession {
		return f.Stops(f.SourceApp, e.SessionID)
	}
	return f.Stops(e.SourceApp, e.SessionID) || h.app == "" && slices.ContainsFunc(c.Roots, func(root string) bool {
		return f.Stops(project.Name(schema.MaxName, project.Main(root)), e.SessionID)
	})
}

// recordFreeze adds to the event that the hook denied the call by itself.
func recordFreeze(e *schema.Event) {
	if e.Extra == nil {
		e.Extra = map[string]json.RawMessage{}
	}
	e.Extra[control.HookMember] = json.RawMessage(`{"verdict":"` + control.VerdictDeny + `","by":"` + control.ByFreeze + `"}`)
}

// rememberedDir returns the directory of the remembered freezes of a hub, each in a file of its own, because hooks run
// at the same time. It is in the account's home: the environment can't name another one. It is "" if the account has
// no home.
func (h *hookRun) rememberedDir(hub string) string {
	home := cli.AccountHome(h.env)
	if home == "" {
		return ""
	}
	return filepath.Join(home, ".local", "state", "hookback", "freezes", hashOf([]byte(strings.TrimRight(hub, "/")))[:16])
}

// remembered returns the remembered freezes of a hub by their files.
func (h *hookRun) remembered(hub string) map[string]control.Freeze {
	dir, freezes := h.rememberedDir(hub), map[string]control.Freeze{}
	files, err := os.ReadDir(dir)
	if err != nil {
		for _, freeze := range socket.ReadFreezes(dir) { // everything is frozen, unless there is none
			freezes[dir] = freeze
		}
	}
	for _, f := range files {
		file := filepath.Join(dir, f.Name())
		if strings.HasPrefix(f.Name(), ".") { // another hook writes it
			continue
		}
		for _, freeze := range socket.ReadFreezes(file) {
			freezes[file] = freeze
		}
	}
	return freezes
}

// rememberFreeze remembers the hub's answer about this call: the freeze that stops it, or nil. An answer without one
// lifts those that were remembered before this hook started.
func (h *hookRun) rememberFreeze(c *hook.Call, hubs []string, notice *control.FreezeNotice) {
	for _, hub := range hubs {
		if _, isKnown := socket.FreezesOf(hub); isKnown {
			continue
		}
		if notice != nil {
			if err := h.writeRemembered(hub, freezeOf(&c.Event, notice)); err != nil {
				h.logf("freeze of the hub not remembered: %v", err)
			}
			continue
		}
		for file, f := range h.remembered(hub) {
			if h.isStopped(c, &f) && int64(f.CreatedAt) < h.started.UnixMilli() {
				_ = os.Remove(file) // another hook may have removed it
			}
		}
	}
}

func (h *hookRun) writeRemembered(hub string, f control.Freeze) error {
	dir := h.rememberedDir(hub)
	if dir == "" {
		return errors.New("the account has no home directory")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	name := hashOf([]byte(string(f.Scope) + "\x00" + f.SourceApp + "\x00" + f.SessionID))[:32]
	if err := socket.WriteFreezes(filepath.Join(dir, name), []control.Freeze{f}, 0o600); err != nil {
		return err
	}
	known := h.remembered(hub)
	files := slices.SortedFunc(maps.Keys(known), func(a, b string) int { return cmp.Compare(known[a].CreatedAt, known[b].CreatedAt) })
	for _, file := range files[:max(0, len(files)-maxRemembered)] {
		_ = os.Remove(file)
	}
	return nil
}

// freezeOf returns the freeze of a notice to the hook of this event. It begins now.
func freezeOf(e *schema.Event, n *control.FreezeNotice) control.Freeze {
	f := control.Freeze{ID: n.ID, Scope: n.Scope, By: n.By, CreatedAt: schema.Millis(time.Now().UnixMilli())}
	if f.Scope == control.FreezeApp || f.Scope == control.FreezeSession {
		f.SourceApp = cmp.Or(n.SourceApp, e.SourceApp)
	}
	if f.Scope == control.FreezeSession {
		f.SessionID = e.SessionID
	}
	return f
}
