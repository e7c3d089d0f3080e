package hookrun

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/internal/cli"
)

// hookSharers maps the agents that also run the hooks of another agent's settings to the
// files where install writes their own hooks, relative to the home and to the project.
var hookSharers = map[string]struct{ user, project string }{
	"cursor":  {".cursor/hooks.json", ".cursor/hooks.json"},
	"copilot": {".copilot/hooks/hookback.json", ".github/hooks/hookback.json"},
}

// identifyCaller detects the agent that really runs this hook and switches to its
// adapter. It returns an error if that agent also has its own Hookback hook, which
// handles the call.
func (h *hookRun) identifyCaller(in hook.Input) error {
	caller := hook.Identify(h.agent.Name, in)
	if caller == h.agent.Name {
		return nil
	}
	real, known := hook.Find(caller)
	if !known {
		return nil
	}
	for _, file := range h.hookFilesOf(caller) {
		if !cli.IsRegularFile(file) {
			continue
		}
		text, err := os.ReadFile(file)
		if err == nil && bytes.Contains(text, []byte("hookback")) && bytes.Contains(text, []byte(caller)) {
			return fmt.Errorf("%s runs the hook of %s, and has its own in %s", real.Title, h.agent.Title, file)
		}
	}
	h.agent = real
	return nil
}

func (h *hookRun) hookFilesOf(caller string) (files []string) {
	paths, ok := hookSharers[caller]
	if !ok {
		return nil
	}
	if home := h.env("HOME"); home != "" {
		files = append(files, filepath.Join(home, paths.user))
	}
	return append(files, filepath.Join(cmp.Or(h.env("CLAUDE_PROJECT_DIR"), h.workDir), paths.project))
}
