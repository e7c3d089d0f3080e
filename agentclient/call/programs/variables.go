package programs

import (
	"slices"
	"strings"
)

// inertVariables can be set to a literal value for a command without changing its code.
const inertVariables = "CI NODE_ENV LANG TZ TERM NO_COLOR DEBUG GOOS GOARCH CGO_ENABLED RUST_LOG PORT FORCE_COLOR"

// executingVariables name programs, code or settings for the programs that run later in the script.
const executingVariables = `LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT BASH_ENV ENV PAGER MANPAGER EDITOR VISUAL BROWSER SHELL IFS PS4 PROMPT_COMMAND LESSOPEN LESSCLOSE ZDOTDIR
	GIT_SSH GIT_SSH_COMMAND GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_EXTERNAL_DIFF GIT_EXEC_PATH GIT_DIR GIT_ASKPASS GIT_PROXY_COMMAND GIT_CONFIG GIT_CONFIG_GLOBAL
	GIT_CONFIG_SYSTEM GIT_CONFIG_COUNT GIT_TEMPLATE_DIR SSH_ASKPASS NODE_OPTIONS NODE_PATH PYTHONPATH PYTHONSTARTUP PYTHONHOME PERL5LIB PERL5OPT RUBYOPT RUBYLIB
	JAVA_TOOL_OPTIONS _JAVA_OPTIONS MAVEN_OPTS GOFLAGS CC CXX RUSTC_WRAPPER RUSTC MAKEFLAGS TAR_OPTIONS RIPGREP_CONFIG_PATH KUBECONFIG DOCKER_HOST`

// ExecutingVariable reports whether an assignment can make a program run other code: one that holds for later
// commands, or, with isPrefix, one before a command, where every variable counts that is not known to be inert.
func ExecutingVariable(name, value string, isPrefix bool) bool {
	switch {
	case isPrefix:
		return !slices.Contains(strings.Fields(inertVariables), name) && !strings.HasPrefix(name, "LC_")
	case name == "PATH":
		return !strings.HasPrefix(value, "$PATH:") && !strings.HasPrefix(value, "${PATH}:")
	default:
		return slices.Contains(strings.Fields(executingVariables), name) || strings.HasPrefix(name, "DYLD_")
	}
}
