// Package programs holds facts about programs: which calls are harmless, which options execute
// a program or write a file, and which programs run code that their operands contain or name.
//
// The hub's risk assessment, its rules and the policies of agentclient share these tables, so that
// all of them agree about one call. The package reads words, not shell syntax: callers pass the
// words of one simple command with quotes removed, and never a word that a shell still expands. It
// does no I/O.
package programs

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// maxProgramPath is longer than any path that a system can execute.
const maxProgramPath = 4 << 10

// ProgramName returns the canonical name of a program: its base name without an extension or a
// version. With windows set, backslashes separate and case does not count.
func ProgramName(word string, windows bool) string {
	// A nested command can repeat a very long word at every depth, so its length must not matter.
	word = word[max(0, len(word)-maxProgramPath):]
	if windows || len(word) > 2 && word[1] == ':' {
		word = strings.ToLower(strings.ReplaceAll(word, `\`, "/"))
	}
	name := strings.TrimSuffix(path.Base(word), ".exe")
	if len(name) > 1 && (name[0] == '=' || windows && name[0] == '@') { // =rm of zsh, @del of cmd.exe
		name = name[1:]
	}
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".cmd"), ".bat")
	if rest, ok := strings.CutPrefix(name, "python"); ok && strings.Trim(rest, "0123456789.") == "" {
		return "python"
	}
	if rest, ok := strings.CutPrefix(name, "pip"); ok && strings.Trim(rest, "0123456789.") == "" {
		return "pip"
	}
	if strings.Contains(" grm gmv gcp gln gdd gchmod gchown gshred gunlink grmdir gtruncate gtee gcat genv gnohup gnice gxargs gfind ", " "+name+" ") {
		return name[1:] // of GNU, on other systems
	}
	if strings.HasPrefix(name, "mkfs.") {
		return "mkfs"
	}
	return name
}

// powershellAliases are other names of commands of PowerShell.
var powershellAliases = map[string]string{
	"ri": "remove-item", "rd": "remove-item", "del": "remove-item", "erase": "remove-item", "rm": "remove-item", "rmdir": "remove-item",
	"iex": "invoke-expression", "iwr": "invoke-webrequest", "irm": "invoke-restmethod", "gci": "get-childitem", "saps": "start-process", "start": "start-process",
}

// PowerShellName returns the command that a name in lower case stands for in PowerShell.
func PowerShellName(name string) string { return cmp.Or(powershellAliases[name], name) }

// RunsCode reports whether operands of a call are code or name code, as for interpreters, wrappers
// such as env and xargs, and task runners. A rule for such a call must name the whole call: its first
// words do not determine the rest.
func RunsCode(words []string) bool {
	if len(words) == 0 {
		return false
	}
	name := ProgramName(words[0], false)
	plain := strings.TrimRight(name, "0123456789.-") // ruby3.1
	if runsCode(name, words) || len(plain) > 1 && plain != name && runsCode(plain, words) {
		return true
	}
	lower := ProgramName(words[0], true) // a Windows program
	return lower != name && runsCode(lower, words)
}

func runsCode(name string, words []string) bool {
	for _, subcommands := range codePrograms.of(name) {
		if hasSubcommands(words[1:], subcommands) {
			return true
		}
	}
	return name == "git" && slices.ContainsFunc(words[1:], func(w string) bool { return strings.HasPrefix(w, "ext::") })
}

// hasSubcommands reports whether the words may begin with the subcommands. The table of code
// programs does not know which options take a value, so a word after an option may be its value.
func hasSubcommands(words, subcommands []string) bool {
	afterOption := false
	for _, w := range words {
		switch {
		case len(subcommands) == 0:
			return true
		case w == subcommands[0]:
			subcommands, afterOption = subcommands[1:], false
		case strings.HasPrefix(w, "-"), strings.HasPrefix(w, "+"): // cargo +nightly run
			afterOption = true
		case !afterOption:
			return false
		default:
			afterOption = false
		}
	}
	return len(subcommands) == 0
}
