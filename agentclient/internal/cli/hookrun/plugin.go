package hookrun

import (
	"cmp"
	"path/filepath"

	"github.com/hookback/hookback/agentclient/install"
	"github.com/hookback/hookback/agentclient/internal/cli"
)

// isDuplicate reports whether the hook is the plugin's, and the agent also runs the hook of an
// installation for the event. Both would ask.
func (h *hookRun) isDuplicate() bool {
	if !h.plugin {
		return false
	}
	dir := h.workDir
	if project := h.env("CLAUDE_PROJECT_DIR"); filepath.IsAbs(project) {
		dir = project // the session may have changed its directory
	}
	m := install.Machine{Home: cmp.Or(h.env("HOME"), h.env("USERPROFILE")), Dir: dir, State: cli.StateDir(h.env), Env: h.env}
	return install.RunsHook(m, h.agent.Name, h.event)
}
