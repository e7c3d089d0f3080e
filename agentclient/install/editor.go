package install

import (
	"fmt"
	"slices"
	"strings"
)

// editor changes the text of one settings file.
type editor struct {
	agent   *agentConfig
	content string
	record  *record // of the file; nil: the manifest doesn't know it
	change  *Change
	windows bool
}

func (e *editor) handlers() ([]handler, error) {
	root, err := parse(e.content)
	if err != nil {
		return nil, err
	}
	return e.agent.findHandlers(document{e.content, root}, e.record.binaries()), nil
}

func (e *editor) addNote(format string, args ...any) {
	e.change.Notes = append(e.change.Notes, fmt.Sprintf(format, args...))
}

// applyEntries makes the file hold exactly the entries of t.
func (e *editor) applyEntries(t installTarget) error {
	if err := e.setFormatVersion(); err != nil {
		return err
	}
	wanted := e.wantedEntries(t)
	there, err := e.handlers()
	if err != nil {
		return err
	}
	stays := e.entriesToKeep(there, wanted)
	var byHand []string
	for i, h := range slices.Backward(there) {
		want, wants := wanted[h.event]
		keeps := stays[h.event] == i
		switch {
		case wants && keeps && h.normalized == normalizeValue(want):
		case e.record.isModified(h) && !t.Force:
			byHand = append(byHand, h.event)
			stays[h.event] = i
			continue
		case wants && keeps && h.onlyInGroup:
			e.content, err = replaceMember(e.content, h.listPath, h.index, want)
		default:
			if keeps {
				delete(stays, h.event)
			}
			e.content, err = cutMember(e.content, h.listPath, h.index, &e.record.insertion)
		}
		if err != nil {
			return err
		}
	}
	e.noteModified(byHand, "stays as it is; --force writes it anew", "stay as they are; --force writes them anew")
	for _, on := range e.supportedEvents(t) {
		if _, there := stays[on.name]; !there {
			path := append(slices.Clone(e.agent.eventsPath), on.name)
			if e.content, err = addEntry(e.content, path, wanted[on.name], &e.record.insertion); err != nil {
				return err
			}
		}
	}
	if e.content, err = removeCreatedParents(e.content, &e.record.insertion); err != nil {
		return err
	}
	return e.updateRecord(wanted)
}

// setFormatVersion adds what the file must say beside the events.
func (e *editor) setFormatVersion() (err error) {
	if _, err := parse(e.content); err != nil {
		return err
	}
	if e.agent.formatVersion > 0 {
		e.content, err = setMember(e.content, "version", e.agent.formatVersion, &e.record.insertion)
	}
	return err
}

// supportedEvents are those that the agent's version knows.
func (e *editor) supportedEvents(t installTarget) (all []event) {
	for _, on := range e.agent.events {
		if isAtLeast(t.version, on.since) {
			all = append(all, on)
		}
	}
	return all
}

// wantedEntries is the entry of each event.
func (e *editor) wantedEntries(t installTarget) map[string]fields {
	wanted := map[string]fields{}
	for _, on := range e.supportedEvents(t) {
		wanted[on.name] = e.agent.buildEntry(on, t.Options, e.windows)
	}
	return wanted
}

// entriesToKeep picks for each event which of our entries stays: the one that is right
// already, else the first.
func (e *editor) entriesToKeep(there []handler, wanted map[string]fields) map[string]int {
	stays := map[string]int{}
	for i, h := range there {
		want, wants := wanted[h.event]
		if !wants {
			continue
		}
		if _, has := stays[h.event]; !has {
			stays[h.event] = i
		}
		if kept := there[stays[h.event]]; kept.normalized != normalizeValue(want) && h.normalized == normalizeValue(want) {
			stays[h.event] = i
		}
	}
	return stays
}

// updateRecord notes what was written. An entry that was changed by hand keeps the hash
// of what it was.
func (e *editor) updateRecord(wanted map[string]fields) error {
	there, err := e.handlers()
	if err != nil {
		return err
	}
	was := e.record.Entries
	e.record.Entries = map[string]string{}
	for _, h := range there {
		if want, wants := wanted[h.event]; wants && h.normalized == normalizeValue(want) {
			e.record.Entries[h.event] = hash(h.normalized)
		} else if old, had := was[h.event]; had {
			e.record.Entries[h.event] = old
		}
	}
	return nil
}

// removeEntries takes our entries out and says how many were left: those that were changed
// by hand.
func (e *editor) removeEntries(force bool) (left int, err error) {
	there, err := e.handlers()
	if err != nil {
		return 0, err
	}
	var byHand []string
	t := &insertion{}
	if e.record != nil {
		t = &e.record.insertion
	}
	for _, h := range slices.Backward(there) {
		if e.record.isModified(h) && !force {
			byHand = append(byHand, h.event)
			continue
		}
		if e.record == nil {
			err = e.cutUntracked(h)
		} else {
			e.content, err = cutMember(e.content, h.listPath, h.index, t)
			delete(e.record.Entries, h.event)
		}
		if err != nil {
			return len(byHand), err
		}
	}
	e.noteModified(byHand, "is left; --force takes it out", "are left; --force takes them out")
	if e.record != nil {
		e.content, err = removeCreatedParents(e.content, t)
	}
	return len(byHand), err
}

// noteModified tells of the entries that were changed by hand, which were met from the
// last to the first.
func (e *editor) noteModified(events []string, one, several string) {
	slices.Reverse(events)
	switch len(events) {
	case 0:
	case 1:
		e.addNote("%s: the entry was changed by hand and %s", events[0], one)
	default:
		e.addNote("%s: the entries were changed by hand and %s", strings.Join(events, ", "), several)
	}
}

// cutUntracked takes an entry out of a file that the manifest doesn't know, and the
// lists that this leaves empty.
func (e *editor) cutUntracked(h handler) (err error) {
	if e.content, err = cutMember(e.content, h.listPath, h.index, nil); err != nil {
		return err
	}
	for path := h.listPath; len(path) > 0; path = path[:len(path)-1] {
		root, err := parse(e.content)
		if err != nil {
			return err
		}
		if n := root.lookup(path...); n == nil || !isEmpty(e.content, n) {
			return nil
		}
		parent := path[:len(path)-1]
		if e.content, err = cutMember(e.content, parent, root.lookup(parent...).index(path[len(path)-1]), nil); err != nil {
			return err
		}
	}
	return nil
}
