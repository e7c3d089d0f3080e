package install

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/install/jsonc"
)

// editor edits the text of one settings file.
type editor struct {
	agent   *agentConfig
	content string
	record  *record // the file's record, nil if it isn't in the manifest
	change  *Change
	windows bool
}

func (e *editor) handlers() ([]handler, error) {
	d, err := jsonc.Parse(e.content)
	if err != nil {
		return nil, err
	}
	return e.agent.findHandlers(d, e.record.binaries()), nil
}

func (e *editor) addNote(format string, args ...any) {
	e.change.Notes = append(e.change.Notes, fmt.Sprintf(format, args...))
}

// applyEntries makes the file contain exactly the entries for t. Entries that were
// modified by hand stay unless t.Force is set.
func (e *editor) applyEntries(t installTarget) error {
	if err := e.setFormatVersion(); err != nil {
		return err
	}
	wanted := e.wantedEntries(t)
	existing, err := e.handlers()
	if err != nil {
		return err
	}
	if t.Mode != Enforce && slices.ContainsFunc(existing, e.agent.isEnforced) {
		e.addNote("without hookback, calls run again: the hooks were installed with --mode enforce before")
	}
	kept := e.entriesToKeep(existing, wanted)
	var modified []string
	for i, h := range slices.Backward(existing) {
		want, isWanted := wanted[h.event]
		keptIndex, isKept := kept[h.event]
		isKept = isKept && keptIndex == i
		switch {
		case isWanted && isKept && h.normalized == normalizeValue(want):
		case e.record.isModified(h) && !t.Force:
			modified = append(modified, h.event)
			kept[h.event] = i
			continue
		case isWanted && isKept && h.onlyInGroup:
			e.content, err = jsonc.ReplaceMember(e.content, h.listPath, h.index, want)
		default:
			if isKept {
				delete(kept, h.event)
			}
			e.content, err = jsonc.CutMember(e.content, h.listPath, h.index, &e.record.Insertion)
		}
		if err != nil {
			return err
		}
	}
	e.noteModified(modified, "was kept; use --force to overwrite it", "were kept; use --force to overwrite them")
	for _, ev := range e.supportedEvents(t) {
		if _, isKept := kept[ev.key()]; !isKept {
			path := append(slices.Clone(e.agent.eventsPath), ev.name)
			if e.content, err = jsonc.AddEntry(e.content, path, wanted[ev.key()], &e.record.Insertion); err != nil {
				return err
			}
		}
	}
	if e.content, err = jsonc.RemoveCreatedParents(e.content, &e.record.Insertion); err != nil {
		return err
	}
	return e.updateRecord(wanted)
}

// setFormatVersion adds the version member that some formats require at the root.
func (e *editor) setFormatVersion() (err error) {
	if _, err := jsonc.Parse(e.content); err != nil {
		return err
	}
	if e.agent.formatVersion > 0 {
		e.content, err = jsonc.SetMember(e.content, "version", e.agent.formatVersion, &e.record.Insertion)
	}
	return err
}

// supportedEvents returns the events to install that the agent's version supports.
func (e *editor) supportedEvents(t installTarget) (all []event) {
	for _, ev := range e.agent.events {
		if isAtLeast(t.version, ev.since) && (t.Wake || !ev.wake) {
			all = append(all, ev)
		}
	}
	return all
}

// wantedEntries returns the entry to write for each supported event.
func (e *editor) wantedEntries(t installTarget) map[string]jsonc.Fields {
	wanted := map[string]jsonc.Fields{}
	for _, ev := range e.supportedEvents(t) {
		wanted[ev.key()] = e.agent.buildEntry(ev, t.Options, e.windows)
	}
	return wanted
}

// entriesToKeep selects, for each event, the index of our entry that stays: one that is
// already correct, or else the first.
func (e *editor) entriesToKeep(existing []handler, wanted map[string]jsonc.Fields) map[string]int {
	keep := map[string]int{}
	for i, h := range existing {
		want, isWanted := wanted[h.event]
		if !isWanted {
			continue
		}
		if _, has := keep[h.event]; !has {
			keep[h.event] = i
		}
		if current := existing[keep[h.event]]; current.normalized != normalizeValue(want) && h.normalized == normalizeValue(want) {
			keep[h.event] = i
		}
	}
	return keep
}

// updateRecord records the hashes of the written entries. An entry that was modified by
// hand keeps the hash of its original.
func (e *editor) updateRecord(wanted map[string]jsonc.Fields) error {
	existing, err := e.handlers()
	if err != nil {
		return err
	}
	previous := e.record.Entries
	e.record.Entries = map[string]string{}
	for _, h := range existing {
		if want, isWanted := wanted[h.event]; isWanted && h.normalized == normalizeValue(want) {
			e.record.Entries[h.event] = hash(h.normalized)
		} else if previousHash, had := previous[h.event]; had {
			e.record.Entries[h.event] = previousHash
		}
	}
	return nil
}

// removeEntries removes our entries and returns how many remain because they were
// modified by hand.
func (e *editor) removeEntries(force bool) (kept int, err error) {
	existing, err := e.handlers()
	if err != nil {
		return 0, err
	}
	var modified []string
	t := &jsonc.Insertion{}
	if e.record != nil {
		t = &e.record.Insertion
	}
	for _, h := range slices.Backward(existing) {
		if e.record.isModified(h) && !force {
			modified = append(modified, h.event)
			continue
		}
		if e.record == nil {
			err = e.cutUntracked(h)
		} else {
			e.content, err = jsonc.CutMember(e.content, h.listPath, h.index, t)
			delete(e.record.Entries, h.event)
		}
		if err != nil {
			return len(modified), err
		}
	}
	e.noteModified(modified, "was kept; use --force to remove it", "were kept; use --force to remove them")
	if e.record != nil {
		e.content, err = jsonc.RemoveCreatedParents(e.content, t)
	}
	return len(modified), err
}

// noteModified adds a note about entries that were modified by hand. events are in
// reverse order.
func (e *editor) noteModified(events []string, singular, plural string) {
	slices.Reverse(events)
	switch len(events) {
	case 0:
	case 1:
		e.addNote("%s: the entry was changed by hand and %s", events[0], singular)
	default:
		e.addNote("%s: the entries were changed by hand and %s", strings.Join(events, ", "), plural)
	}
}

// cutUntracked removes an entry from a file that isn't in the manifest, and the
// containers that become empty.
func (e *editor) cutUntracked(h handler) (err error) {
	if e.content, err = jsonc.CutMember(e.content, h.listPath, h.index, nil); err != nil {
		return err
	}
	for path := h.listPath; len(path) > 0; path = path[:len(path)-1] {
		d, err := jsonc.Parse(e.content)
		if err != nil {
			return err
		}
		if v := d.Lookup(path...); v == nil || !jsonc.IsEmpty(v) {
			return nil
		}
		if e.content, err = d.CutPath(path, nil); err != nil {
			return err
		}
	}
	return nil
}

// ownContainers returns the containers that hold only our entries, the outermost first. The
// manifest does not know them if it was lost, and they must be removed with the entries.
func (a *agentConfig) ownContainers(content string) (paths [][]string, err error) {
	e := editor{agent: a, content: content, change: &Change{}}
	if content == "" {
		return nil, nil
	}
	ours, err := e.handlers()
	if err != nil || len(ours) == 0 {
		return nil, err
	}
	if _, err := e.removeEntries(true); err != nil {
		return nil, err
	}
	without, err := jsonc.Parse(e.content)
	if err != nil {
		return nil, err
	}
	for n := 1; n <= len(ours[0].listPath); n++ {
		for _, h := range ours {
			path := h.listPath[:min(n, len(h.listPath))]
			if without.Lookup(path...) == nil && !slices.ContainsFunc(paths, func(p []string) bool { return slices.Equal(p, path) }) {
				paths = append(paths, path)
			}
		}
	}
	return paths, nil
}
