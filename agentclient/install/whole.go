package install

import (
	"os"
	"path/filepath"
	"strings"
)

// whole files are ours from the first to the last byte. Their second line says so.

// chained is what the name of a hook ends with that was there before ours, and that
// ours calls.
const chained = ".chained"

// clineHook is an executable for one of Cline's events. Cline runs one file for
// each, so the one that was there runs behind ours, with the same input; its answer
// is the answer, unless ours said no.
func clineHook(c call, e event) string {
	there := "[ -x " + shellWord(c.binary) + " ]"
	if c.binary == program {
		there = "command -v " + program + " >/dev/null 2>&1"
	}
	run := shellWord(c.binary)
	for _, a := range c.args {
		run += " " + shellWord(a)
	}
	return `#!/bin/sh
` + wholeMark("cline") + `
# The hook that was here before is ` + e.name + chained + `; it runs as well.
input=$(cat)
said=
if ` + there + `; then
` + clineRuns + run + `) || said=
fi
case $said in
*'"cancel":true'* | *'"cancel": true'*)
	printf '%s\n' "$said"
	exit 0
	;;
esac
next=${0%/*}/` + e.name + chained + `
if [ -x "$next" ]; then
	printf '%s\n' "$input" | "$next"
	exit
fi
[ -z "$said" ] || printf '%s\n' "$said"
`
}

// clineRuns is what stands before the command in a hook of Cline's.
const clineRuns = "\tsaid=$(printf '%s\\n' \"$input\" | "

// wholeMark is the line by which a file is known as ours.
func wholeMark(agent string) string {
	return "# hookback hook " + agent + ": hookback install wrote this file, hookback uninstall takes it away."
}

func (w *wiring) isWhole(content string) bool {
	_, rest, _ := strings.Cut(content, "\n")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimPrefix(line, "//") == wholeMark(w.agent) || line == wholeMark(w.agent)
}

// changeWhole plans one file that is ours alone.
func (w *wiring) changeWhole(m Machine, file string, r *record, t target) (Change, error) {
	c, err := w.open(file)
	if err != nil {
		return c, err
	}
	if r == nil || !c.Exists {
		r = &record{Agent: w.agent, Scope: t.Scope}
	}
	var on event
	for _, e := range w.on {
		if e.name == filepath.Base(file) {
			on = e
		}
	}
	c.After, c.record = w.whole(call{t.Binary, w.arguments(on, t.Options)}, on), r
	switch {
	case !c.Exists:
		r.Created = true
	case !w.isWhole(c.Before):
		c.aside = file + chained
		if exists(c.aside) {
			return c, &os.PathError{Op: "put the hook that is there aside as", Path: c.aside, Err: os.ErrExist}
		}
		c.Notes = append(c.Notes, "the hook that is there becomes "+filepath.Base(c.aside)+", and runs behind ours")
	case r.Whole != "" && r.Whole != hash(c.Before) && !t.Force:
		c.After = c.Before
		c.Notes = append(c.Notes, "it was changed by hand and stays as it is; --force writes it anew")
		return c, nil
	}
	c.mode = 0o755
	r.Whole = hash(c.After)
	r.calls(t.Binary)
	return c, nil
}

// removalWhole plans to take such a file away, and to put the one back that was
// there before.
func (w *wiring) removalWhole(file string, r *record, force bool) (Change, error) {
	c, err := w.open(file)
	if err != nil || !c.Exists {
		return c, err
	}
	c.After, c.record = c.Before, r
	switch {
	case !w.isWhole(c.Before):
		c.record = nil
	case r != nil && r.Whole != hash(c.Before) && !force:
		c.Notes = append(c.Notes, "it was changed by hand and is left; --force takes it away")
	default:
		c.Delete, c.After = true, ""
		if c.record == nil {
			c.record = &record{}
		}
		if aside := file + chained; exists(aside) {
			c.aside = aside
		}
	}
	return c, nil
}
