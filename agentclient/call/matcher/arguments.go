package matcher

import (
	"slices"

	"github.com/hookback/hookback/agentclient/call"
)

// IsShellArgument reports whether an argument has a part of a command. The operands of a command may be in a
// separate list.
func IsShellArgument(name string) bool { return IsCommandName(name) || call.NameKind(name) == "words" }

// IsCommandName reports whether an argument has a command line or its program.
func IsCommandName(name string) bool {
	kind := call.NameKind(name)
	return kind == "command" || kind == "lines"
}

// SetsEnvironment reports whether an object has a member with environment variables. It reads
// the arguments of commands, or with everywhere into all objects.
func SetsEnvironment(v *call.Value, everywhere bool) bool {
	return slices.ContainsFunc(v.Members(), func(m call.Member) bool {
		if call.NameKind(m.Name) == "env" && (len(m.Members()) > 0 || m.Literal() != "" || m.Kind() == call.TextKind) {
			return true
		}
		return (everywhere || IsShellArgument(m.Name)) && SetsEnvironment(m.Value, everywhere)
	})
}
