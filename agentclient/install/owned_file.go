package install

import (
	"os"
	"path/filepath"
	"strings"
)

// whole files are ours from the first to the last byte. Their second line says so.

// chainedSuffix is what the name of a hook ends with that was there before ours, and that
// ours calls.
const chainedSuffix = ".chained"

// clineScript is an executable for one of Cline's events. Cline runs one file for
// each, so the one that was there runs behind ours, with the same input; its answer
// is the answer, unless ours said no.
func clineScript(c hookCommand, e event) string {
	there := "[ -x " + quoteWord(c.binary) + " ]"
	if c.binary == programName {
		there = "command -v " + programName + " >/dev/null 2>&1"
	}
	run := quoteWord(c.binary)
	for _, a := range c.args {
		run += " " + quoteWord(a)
	}
	return `#!/bin/sh
` + ownershipMark("cline") + `
# The hook that was here before is ` + e.name + chainedSuffix + `; it runs as well.
input=$(cat)
said=
if ` + there + `; then
` + clineCommandPrefix + run + `) || said=
fi
case $said in
*'"cancel":true'* | *'"cancel": true'*)
	printf '%s\n' "$said"
	exit 0
	;;
esac
next=${0%/*}/` + e.name + chainedSuffix + `
if [ -x "$next" ]; then
	printf '%s\n' "$input" | "$next"
	exit
fi
[ -z "$said" ] || printf '%s\n' "$said"
`
}

// clineCommandPrefix is what stands before the command in a hook of Cline's.
const clineCommandPrefix = "\tsaid=$(printf '%s\\n' \"$input\" | "

// ownershipMark is the line by which a file is known as ours.
func ownershipMark(agent string) string {
	return "# hookback hook " + agent + ": hookback install wrote this file, hookback uninstall takes it away."
}

func (w *agentConfig) isOwned(content string) bool {
	_, rest, _ := strings.Cut(content, "\n")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimPrefix(line, "//") == ownershipMark(w.name) || line == ownershipMark(w.name)
}

// planOwnedFile plans one file that is ours alone.
func (w *agentConfig) planOwnedFile(m Machine, file string, r *record, t installTarget) (Change, error) {
	c, err := w.openFile(file)
	if err != nil {
		return c, err
	}
	if r == nil || !c.Exists {
		r = &record{Agent: w.name, Scope: t.Scope}
	}
	var on event
	for _, e := range w.events {
		if e.name == filepath.Base(file) {
			on = e
		}
	}
	c.After, c.record = w.ownedFile(hookCommand{t.Binary, w.hookArguments(on, t.Options)}, on), r
	switch {
	case !c.Exists:
		r.Created = true
	case !w.isOwned(c.Before):
		c.chained = file + chainedSuffix
		if exists(c.chained) {
			return c, &os.PathError{Op: "put the hook that is there aside as", Path: c.chained, Err: os.ErrExist}
		}
		c.Notes = append(c.Notes, "the hook that is there becomes "+filepath.Base(c.chained)+", and runs behind ours")
	case r.OwnedHash != "" && r.OwnedHash != hash(c.Before) && !t.Force:
		c.After = c.Before
		c.Notes = append(c.Notes, "it was changed by hand and stays as it is; --force writes it anew")
		return c, nil
	}
	c.mode = 0o755
	r.OwnedHash = hash(c.After)
	r.addBinary(t.Binary)
	return c, nil
}

// planOwnedRemoval plans to take such a file away, and to put the one back that was
// there before.
func (w *agentConfig) planOwnedRemoval(file string, r *record, force bool) (Change, error) {
	c, err := w.openFile(file)
	if err != nil || !c.Exists {
		return c, err
	}
	c.After, c.record = c.Before, r
	switch {
	case !w.isOwned(c.Before):
		c.record = nil
	case r != nil && r.OwnedHash != hash(c.Before) && !force:
		c.Notes = append(c.Notes, "it was changed by hand and is left; --force takes it away")
	default:
		c.Delete, c.After = true, ""
		if c.record == nil {
			c.record = &record{}
		}
		if aside := file + chainedSuffix; exists(aside) {
			c.chained = aside
		}
	}
	return c, nil
}
