package install

import (
	_ "embed"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// chainedSuffix is the file name suffix of a previous hook, which our hook runs.
const chainedSuffix = ".chained"

// clineScript returns the executable hook for one of Cline's events. Cline runs one file
// per event, so the previous hook runs after ours with the same input. A denial of either
// one is the answer, then an edit by ours: the unedited call must not run. Otherwise the
// previous hook answers.
func clineScript(c hookCommand, e event) string {
	guard := "[ -x " + quoteWord(c.binary) + " ]"
	if c.binary == programName {
		guard = "command -v " + programName + " >/dev/null 2>&1"
	}
	return `#!/bin/sh
` + ownershipMark("cline") + `
# The previous hook is ` + e.name + chainedSuffix + `; it runs after this one.
input=$(cat)
said=
if ` + guard + `; then
` + clineCommandPrefix + c.line() + `) || said=
fi
case $said in
*'"cancel":true'* | *'"cancel": true'*)
	printf '%s\n' "$said"
	exit 0
	;;
esac
next=${0%/*}/` + e.name + chainedSuffix + `
status=0
if [ -x "$next" ]; then
	other=$(printf '%s\n' "$input" | "$next")
	status=$?
	case $other in
	*'"cancel":true'* | *'"cancel": true'*) said=$other ;;
	*)
		case $said in
		*'"overrideInput":'*) ;;
		*) said=${other:-$said} ;;
		esac
		;;
	esac
fi
[ -z "$said" ] || printf '%s\n' "$said"
exit $status
`
}

// clineCommandPrefix precedes the command in a Cline hook.
const clineCommandPrefix = "\tsaid=$(printf '%s\\n' \"$input\" | "

// ownershipMark returns the second line of every file that is entirely ours.
func ownershipMark(agent string) string {
	return "# hookback hook " + agent + ": hookback install wrote this file, hookback uninstall takes it away."
}

func (a *agentConfig) isOwned(content string) bool {
	_, rest, _ := strings.Cut(content, "\n")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimPrefix(line, "//") == ownershipMark(a.name) || line == ownershipMark(a.name)
}

// planOwnedFile plans the change of one file that is entirely ours.
func (a *agentConfig) planOwnedFile(m Machine, file string, r *record, t installTarget) (Change, error) {
	c, err := a.openFile(file)
	if err != nil {
		return c, err
	}
	if r == nil || !c.Exists {
		r = &record{Agent: a.name, Scope: t.Scope}
	}
	var ev event
	for _, e := range a.events {
		if e.name == filepath.Base(file) {
			ev = e
		}
	}
	c.After, c.record = a.ownedFile(hookCommand{t.Binary, a.hookArguments(ev, t.Options)}, ev), r
	switch {
	case !c.Exists:
		r.Created = true
	case !a.isOwned(c.Before):
		c.chained = file + chainedSuffix
		if exists(c.chained) {
			return c, &os.PathError{Op: "rename the existing hook to", Path: c.chained, Err: os.ErrExist}
		}
		c.Notes = append(c.Notes, "the existing hook is renamed to "+filepath.Base(c.chained)+" and runs after ours")
	case r.OwnedHash != "" && r.OwnedHash != hash(c.Before) && !t.Force:
		c.After = c.Before
		c.Notes = append(c.Notes, "it was changed by hand and was kept; use --force to overwrite it")
		return c, nil
	}
	c.mode = 0o755
	r.OwnedHash = hash(c.After)
	r.addBinary(t.Binary)
	return c, nil
}

// planOwnedRemoval plans the removal of such a file, and the restoration of the previous
// hook.
func (a *agentConfig) planOwnedRemoval(file string, r *record, force bool) (Change, error) {
	c, err := a.openFile(file)
	if err != nil || !c.Exists {
		return c, err
	}
	c.After, c.record = c.Before, r
	switch {
	case !a.isOwned(c.Before):
		c.record = nil
	case r != nil && r.OwnedHash != hash(c.Before) && !force:
		c.Notes = append(c.Notes, "it was changed by hand and was kept; use --force to remove it")
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

// pluginJS is OpenCode's plugin with the hookback on the PATH.
//
//go:embed opencode.js
var pluginJS string

// pluginCommand is the line of pluginJS that defines the command.
const (
	pluginCommandPrefix = "const COMMAND = "
	pluginCommand       = pluginCommandPrefix + "['hookback', 'hook', 'opencode']"
)

// opencodePlugin returns the plugin that runs c.
func opencodePlugin(c hookCommand, _ event) string {
	command, _ := json.Marshal(append([]string{c.binary}, c.args...))
	return strings.Replace(pluginJS, pluginCommand, pluginCommandPrefix+string(command), 1)
}
