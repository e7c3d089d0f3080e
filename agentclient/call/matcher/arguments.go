package matcher

import (
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
)

// shellArguments are the argument names that tools use for a command line. The operands
// of a command may be in a separate list.
var (
	commandNames   = []string{"command", "commands", "cmd", "command_line", "commandline", "shell_command", "script"}
	operandNames   = []string{"args", "argv", "arguments"}
	shellArguments = slices.Concat(commandNames, operandNames)
)

// environmentNames are the argument names that tools use for environment variables.
var environmentNames = []string{"env", "envs", "environment", "environment_variables", "env_vars"}

// containsName reports whether the name is in the list, in any case and with any separators:
// shellCommand is shell_command.
func containsName(names []string, name string) bool {
	plain := nameSeparators.Replace(name)
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(nameSeparators.Replace(n), plain) })
}

var nameSeparators = strings.NewReplacer("_", "", "-", "")

// IsShellArgument reports whether an argument has a part of a command.
func IsShellArgument(name string) bool { return containsName(shellArguments, name) }

// IsCommandName reports whether an argument has a command line or its program.
func IsCommandName(name string) bool { return containsName(commandNames, name) }

// SetsEnvironment reports whether an object has a member with environment variables. It reads
// the arguments of commands, or with everywhere into all objects.
func SetsEnvironment(v *call.Value, everywhere bool) bool {
	return slices.ContainsFunc(v.Members(), func(m call.Member) bool {
		if containsName(environmentNames, m.Name) && (len(m.Members()) > 0 || m.Literal() != "" || m.Kind() == call.TextKind) {
			return true
		}
		return (everywhere || IsShellArgument(m.Name)) && SetsEnvironment(m.Value, everywhere)
	})
}
