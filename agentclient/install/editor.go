package install

import (
	"fmt"
	"slices"
	"strings"
)

// editor changes the text of one settings file.
type editor struct {
	wiring  *wiring
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
	return e.wiring.handlersOf(document{e.content, root}, e.record.binaries()), nil
}

func (e *editor) say(format string, args ...any) {
	e.change.Notes = append(e.change.Notes, fmt.Sprintf(format, args...))
}

// fit makes the file hold exactly the entries of t.
func (e *editor) fit(t target) error {
	if err := e.root(); err != nil {
		return err
	}
	wanted := e.wanted(t)
	there, err := e.handlers()
	if err != nil {
		return err
	}
	stays := e.keepers(there, wanted)
	var byHand []string
	for i, h := range slices.Backward(there) {
		want, wants := wanted[h.event]
		keeps := stays[h.event] == i
		switch {
		case wants && keeps && h.plain == meaningOf(want):
		case e.record.changed(h) && !t.Force:
			byHand = append(byHand, h.event)
			stays[h.event] = i
			continue
		case wants && keeps && h.alone:
			e.content, err = replace(e.content, h.place, h.index, want)
		default:
			if keeps {
				delete(stays, h.event)
			}
			e.content, err = cut(e.content, h.place, h.index, &e.record.trace)
		}
		if err != nil {
			return err
		}
	}
	e.sayByHand(byHand, "stays as it is; --force writes it anew", "stay as they are; --force writes them anew")
	for _, on := range e.events(t) {
		if _, there := stays[on.name]; !there {
			path := append(slices.Clone(e.wiring.root), on.name)
			if e.content, err = add(e.content, path, wanted[on.name], &e.record.trace); err != nil {
				return err
			}
		}
	}
	if e.content, err = unmake(e.content, &e.record.trace); err != nil {
		return err
	}
	return e.remember(wanted)
}

// root adds what the file must say beside the events.
func (e *editor) root() (err error) {
	if _, err := parse(e.content); err != nil {
		return err
	}
	if e.wiring.version > 0 {
		e.content, err = set(e.content, "version", e.wiring.version, &e.record.trace)
	}
	return err
}

// events are those that the agent's version knows.
func (e *editor) events(t target) (all []event) {
	for _, on := range e.wiring.on {
		if knows(t.version, on.since) {
			all = append(all, on)
		}
	}
	return all
}

// wanted is the entry of each event.
func (e *editor) wanted(t target) map[string]fields {
	wanted := map[string]fields{}
	for _, on := range e.events(t) {
		wanted[on.name] = e.wiring.entry(on, t.Options, e.windows)
	}
	return wanted
}

// keepers picks for each event which of our entries stays: the one that is right
// already, else the first.
func (e *editor) keepers(there []handler, wanted map[string]fields) map[string]int {
	stays := map[string]int{}
	for i, h := range there {
		want, wants := wanted[h.event]
		if !wants {
			continue
		}
		if _, has := stays[h.event]; !has {
			stays[h.event] = i
		}
		if kept := there[stays[h.event]]; kept.plain != meaningOf(want) && h.plain == meaningOf(want) {
			stays[h.event] = i
		}
	}
	return stays
}

// remember notes what was written. An entry that was changed by hand keeps the hash
// of what it was.
func (e *editor) remember(wanted map[string]fields) error {
	there, err := e.handlers()
	if err != nil {
		return err
	}
	was := e.record.Entries
	e.record.Entries = map[string]string{}
	for _, h := range there {
		if want, wants := wanted[h.event]; wants && h.plain == meaningOf(want) {
			e.record.Entries[h.event] = hash(h.plain)
		} else if old, had := was[h.event]; had {
			e.record.Entries[h.event] = old
		}
	}
	return nil
}

// clear takes our entries out and says how many were left: those that were changed
// by hand.
func (e *editor) clear(force bool) (left int, err error) {
	there, err := e.handlers()
	if err != nil {
		return 0, err
	}
	var byHand []string
	t := &trace{}
	if e.record != nil {
		t = &e.record.trace
	}
	for _, h := range slices.Backward(there) {
		if e.record.changed(h) && !force {
			byHand = append(byHand, h.event)
			continue
		}
		if e.record == nil {
			err = e.cutUnknown(h)
		} else {
			e.content, err = cut(e.content, h.place, h.index, t)
			delete(e.record.Entries, h.event)
		}
		if err != nil {
			return len(byHand), err
		}
	}
	e.sayByHand(byHand, "is left; --force takes it out", "are left; --force takes them out")
	if e.record != nil {
		e.content, err = unmake(e.content, t)
	}
	return len(byHand), err
}

// sayByHand tells of the entries that were changed by hand, which were met from the
// last to the first.
func (e *editor) sayByHand(events []string, one, several string) {
	slices.Reverse(events)
	switch len(events) {
	case 0:
	case 1:
		e.say("%s: the entry was changed by hand and %s", events[0], one)
	default:
		e.say("%s: the entries were changed by hand and %s", strings.Join(events, ", "), several)
	}
}

// cutUnknown takes an entry out of a file that the manifest doesn't know, and the
// lists that this leaves empty.
func (e *editor) cutUnknown(h handler) (err error) {
	if e.content, err = cut(e.content, h.place, h.index, nil); err != nil {
		return err
	}
	for path := h.place; len(path) > 0; path = path[:len(path)-1] {
		root, err := parse(e.content)
		if err != nil {
			return err
		}
		if n := root.at(path...); n == nil || !hollow(e.content, n) {
			return nil
		}
		parent := path[:len(path)-1]
		if e.content, err = cut(e.content, parent, root.at(parent...).find(path[len(path)-1]), nil); err != nil {
			return err
		}
	}
	return nil
}
